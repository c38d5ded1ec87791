"""What a file or folder contains, as SHA-256."""

import hashlib
import warnings
from pathlib import Path

from onmf.exceptions import TableWarning
from onmf.rows.table import listing, one_line


def checksum(path: Path, links: bool = False) -> str:
    """SHA-256 of a file, or of the names and contents of the visible files of a folder."""
    if path.is_file():
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    whole = hashlib.sha256()
    for name in visible_files(path, links):
        line = f"{checksum(path / name)} {name.as_posix()}\n"
        whole.update(line.encode("utf-8", "surrogateescape"))
    return whole.hexdigest()


def visible_files(folder: Path, links: bool = False) -> list[Path]:
    """Relative paths of all files of a folder that are not hidden, sorted.

    A link to a file outside the folder is refused unless `links` are followed: the folder may come
    from somebody else.
    """
    inside = ((file.relative_to(folder), file) for file in folder.rglob("*") if not file.is_dir())
    seen = sorted(pair for pair in inside if not any(part[0] == "." for part in pair[0].parts))
    names = [name for name, file in seen if file.is_file()]
    if other := [one_line(name) for name, file in seen if not file.is_file()]:
        warnings.warn(
            f"{one_line(folder.name)} has entries that are no files (pipes, devices, links to "
            f"nothing), which are skipped: {listing(other)}.",
            TableWarning,
            stacklevel=2,
        )
    home = folder.resolve()
    outside = [one_line(n) for n in names if home not in (folder / n).resolve().parents]
    if outside and not links:
        raise ValueError(
            f"{one_line(folder.name)} has links to files outside it: {listing(outside)}. Remove "
            "them, or use follow_links=True (--set read.follow_links=true)."
        )
    return names
