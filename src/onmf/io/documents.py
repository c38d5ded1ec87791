"""Texts: the files of a folder, or the lines of a file."""

from pathlib import Path

from onmf.io.labels import read_labels
from onmf.io.stream import text_lines, visible_files
from onmf.io.table import Progress, Table, listing, no_progress


def read_documents(
    path: str | Path,
    *,
    labels: str | Path | None = None,
    follow_links: bool = False,
    progress: Progress = no_progress,
) -> Table:
    """Read texts in UTF-8: one a file of a folder, or one a line of a file.

    Parameters
    ----------
    path : str or Path
        A folder, whose hidden files are left out, or a text file, which may be packed (`.gz`).
    labels : str or Path, optional
        File of true classes: one a line, or lines `document,class`.
    follow_links : bool, default=False
        Whether files of the folder may be links that lead out of it; otherwise they are refused.
    progress : callable, optional
        Called with (done, total), files of a folder or bytes of a file.

    Returns
    -------
    Table
        X is the list of texts. Files are named by their path in the folder, lines by their number;
        lines without text are no documents.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from onmf.io import read_documents
    >>> path = pathlib.Path(tempfile.mkdtemp(), "talks.txt")
    >>> _ = path.write_text("stars and planets\\n\\ngenes and cells\\n")
    >>> read_documents(path)[:2]
    (['stars and planets', 'genes and cells'], ['1', '3'])
    """
    path = Path(path)
    found = (
        _from_folder(path, follow_links, progress) if path.is_dir() else _from_lines(path, progress)
    )
    if not found:
        raise ValueError(f"{path.name} is empty: it has no documents.")
    table = Table(list(found.values()), list(found), [])
    if labels is None:
        return table
    if not Path(labels).is_file():
        raise ValueError(f"there is no file {str(labels)!r} with the classes of the documents.")
    return table._replace(labels=read_labels(Path(labels), table.samples))


def _from_lines(path: Path, progress: Progress) -> dict[str, str]:
    lines = enumerate(text_lines(path, progress), 1)
    return {str(number): line.strip() for number, line in lines if line.strip()}


def _from_folder(path: Path, links: bool, progress: Progress) -> dict[str, str]:
    names = visible_files(path, links)
    texts: dict[str, str] = {}
    foreign = []
    for done, name in enumerate(names, 1):
        try:
            texts[name.as_posix()] = (path / name).read_text(encoding="utf-8-sig")
        except UnicodeDecodeError:
            foreign.append(name.as_posix())
        progress(done, len(names))
    if foreign:
        raise ValueError(
            f"{path.name} has files that are not text in UTF-8: {listing(foreign)}; save them in "
            "that encoding, or move them elsewhere."
        )
    return texts
