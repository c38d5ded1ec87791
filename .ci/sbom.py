"""The parts of an installation without extras, as CycloneDX: onmf and what it needs, with licenses.

python .ci/sbom.py > dist/sbom.cdx.json
"""

import json
import re
import sys
from importlib.metadata import PackageNotFoundError, distribution

from packaging.requirements import Requirement


def main() -> None:
    needs = closure("onmf")
    bom = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": component("onmf") | {"type": "application"}},
        "components": [component(name) for name in sorted(needs) if name != "onmf"],
        "dependencies": [
            {"ref": address(name), "dependsOn": sorted(address(one) for one in needs[name])}
            for name in sorted(needs)
        ],
    }
    json.dump(bom, sys.stdout, indent=1)
    sys.stdout.write("\n")


def closure(root: str) -> dict[str, set[str]]:
    """Every distribution that is needed, with those that it needs itself."""
    found: dict[str, set[str]] = {}
    left = [root]
    while left:
        name = left.pop()
        if name not in found:
            found[name] = needs_of(name)
            left += found[name]
    return found


def needs_of(name: str) -> set[str]:
    wanted = (Requirement(line) for line in distribution(name).requires or [])
    return {
        plain(one.name)
        for one in wanted
        if (one.marker is None or one.marker.evaluate({"extra": ""})) and is_here(one.name)
    }


def is_here(name: str) -> bool:
    try:
        distribution(name)
    except PackageNotFoundError:
        return False
    return True


def component(name: str) -> dict[str, object]:
    facts = distribution(name).metadata
    license_ = facts.get("License-Expression") or (facts.get("License") or "").partition("\n")[0]
    return {
        "type": "library",
        "bom-ref": address(name),
        "name": plain(name),
        "version": facts["Version"],
        "purl": address(name),
        "licenses": [{"license": {"name": license_ or "see its files"}}],
    }


def address(name: str) -> str:
    return f"pkg:pypi/{plain(name)}@{distribution(name).version}"


def plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


if __name__ == "__main__":
    main()
