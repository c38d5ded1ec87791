"""The sdist and the wheel; the same commit gives the same bytes.

    python .ci/dist.py [folder]        # default: dist

Times in the files are that of the commit (SOURCE_DATE_EPOCH). setuptools writes the user and the
time of the build into the sdist: it is packed again, in order and without them. The wheel is built
from that sdist; setup.py keeps the name of the folder out of what is compiled.
"""

import gzip
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]


def main() -> None:
    target = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "dist").resolve()
    os.environ.setdefault("SOURCE_DATE_EPOCH", commit_time())
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        build("--sdist", ROOT, Path(scratch))
        (made,) = Path(scratch).glob("*.tar.gz")
        sdist = repack(made, target / made.name, int(os.environ["SOURCE_DATE_EPOCH"]))
        with tarfile.open(sdist) as archive:
            archive.extractall(scratch, filter="data")
        build("--wheel", Path(scratch, sdist.name.removesuffix(".tar.gz")), target)


def commit_time() -> str:
    done = subprocess.run(
        ["git", "log", "-1", "--pretty=%ct"], cwd=ROOT, capture_output=True, text=True
    )
    return done.stdout.strip() or "315532800"  # 1980, outside of a repository


def build(kind: str, source: Path, target: Path) -> None:
    command = [sys.executable, "-m", "build", kind, "--outdir", str(target), str(source)]
    subprocess.run(command, check=True)


def repack(made: Path, path: Path, time: int) -> Path:
    """The same files in alphabetical order, with one time and one owner."""
    with (
        tarfile.open(made) as old,
        path.open("wb") as raw,
        gzip.GzipFile("", "wb", fileobj=raw, mtime=time) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as new,
    ):
        for member in sorted(old.getmembers(), key=lambda member: member.name):
            member.mtime, member.pax_headers = time, {}
            member.uid = member.gid = 0
            member.uname = member.gname = ""
            member.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
            new.addfile(member, old.extractfile(member) if member.isfile() else None)
    return path


if __name__ == "__main__":
    main()
