"""Known holes in the installed packages, by pip-audit; and how many of them it could look up.

Where the advisory service is out of reach pip-audit either fails or skips every package and finds
nothing: neither is a clean bill of health, and neither is reported as one.
"""

import json
import subprocess
import sys


def main() -> int:
    command = [sys.executable, "-m", "pip_audit", "--skip-editable", "--progress-spinner", "off"]
    done = subprocess.run([*command, "--format", "json"], capture_output=True, text=True)
    try:
        packages = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError):
        reason = (done.stderr.strip().splitlines() or ["it says nothing"])[-1]
        return tell(f"the advisory service does not answer, nothing was audited: {reason}")
    audited = [package for package in packages if "skip_reason" not in package]
    holes = [
        f"{package['name']} {package['version']}: {hole['id']}, mended in {hole['fix_versions']}"
        for package in audited
        for hole in package["vulns"]
    ]
    if not audited:
        return tell(f"none of {len(packages)} packages could be looked up, nothing was audited")
    tell(f"{len(audited)} of {len(packages)} packages audited, {len(holes)} known holes", *holes)
    return 1 if holes else 0


def tell(*lines: str) -> int:
    """A line for each, and the exit code of what is no reason to fail."""
    for line in lines:
        sys.stdout.write(f"== pip-audit: {line}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
