"""Texts: the files of a folder, the lines of a file, or a column of a table."""

import csv
import json
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from onmf.io.annotation import with_classes
from onmf.io.cells import unguard_cell
from onmf.io.columns import class_names
from onmf.io.delimited import text_cells
from onmf.io.remote import AnyFile, RemoteFile, as_file
from onmf.io.table import (
    Options,
    Progress,
    Table,
    check_unique,
    listing,
    no_progress,
    one_line,
)
from onmf.io.text_files import LONGEST_LINE, text_lines, visible_files

Row = dict[str, Any]
TEXT_TABLES = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet", ".pq", ".xlsx")
NO_TEXT = (".npy", ".npz", ".mtx", ".h5ad", ".h5", ".hdf5", ".json")


def read_documents(
    path: str | AnyFile,
    *,
    column: str | None = None,
    id_column: str | None = None,
    labels: str | Path | None = None,
    follow_links: bool = False,
    progress: Progress = no_progress,
) -> Table:
    """Read texts in UTF-8: one per file of a folder, line of a file, or row of a table.

    Parameters
    ----------
    path : str or Path
        A folder, without its hidden files; a text file, also `.gz`; or a table (`.csv`, `.tsv`,
        `.jsonl`, `.parquet`, `.xlsx`). Files, but not folders, may be remote, as for `read_table`.
    column : str, optional
        Column with the texts of a table.
    id_column : str, optional
        Column with the names of the documents of a table.
    labels : str or Path, optional
        True classes: a column of the table, or a file with one class per line, or lines
        `document,class`.
    follow_links : bool, default=False
        Whether the folder may have links to files outside it; otherwise they are refused.
    progress : callable, optional
        Called with (done, total): files of a folder, or bytes of a file.

    Returns
    -------
    Table
        X is the list of texts. Files are named by their path in the folder, lines and rows by their
        number; empty ones are left out.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from onmf.io import read_documents
    >>> path = pathlib.Path(tempfile.mkdtemp(), "talks.txt")
    >>> _ = path.write_text("stars and planets\\n\\ngenes and cells\\n")
    >>> read_documents(path)[:2]
    (['stars and planets', 'genes and cells'], ['1', '3'])
    """
    path = as_file(path)
    ending = Path(path.name.lower().removesuffix(".gz")).suffix
    if path.is_file() and ending in NO_TEXT:
        raise ValueError(f"{path.name} has no texts: give a folder, a text file or a table.")
    if path.is_file() and (ending in TEXT_TABLES or column is not None):
        table = _from_rows(path, ending, column, id_column, labels, progress)
    else:
        found = (
            _from_folder(path, follow_links, progress)
            if path.is_dir()
            else _from_lines(path, progress)
        )
        table = Table(list(found.values()), list(found), [])
    if not table.X:
        raise ValueError(f"{path.name} is empty: it has no documents.")
    return with_classes(table, labels, path.name)


def _from_rows(
    path: AnyFile,
    ending: str,
    column: str | None,
    id_column: str | None,
    labels: str | Path | None,
    progress: Progress,
) -> Table:
    """One document per row of a table."""
    rows = [row for row in _rows(path, ending, progress) if row]
    known = list(dict.fromkeys(name for row in rows for name in row))
    wanted = [column, id_column]
    if column is None or any(name is not None and name not in known for name in wanted):
        lost = [repr(name) for name in wanted if name is not None and name not in known]
        said = f"has no column {listing(lost)}" if lost else "is a table"
        raise ValueError(
            f"{path.name} {said}: name the column of texts with --text-column, and that of their "
            f"names, if any, with --id-column. Its columns are {listing(map(one_line, known))}."
        )
    texts = {i: str(row.get(column) or "").strip() for i, row in enumerate(rows, 1)}
    kept = [i for i, text in texts.items() if text]
    names = [str(i if id_column is None else rows[i - 1].get(id_column)) for i in kept]
    check_unique(names, "documents", path.name)
    classes = None
    if labels in known:
        values = [rows[i - 1].get(str(labels)) for i in kept]
        classes = class_names(values, names, f"column {str(labels)!r} of {path.name}")
    return Table([texts[i] for i in kept], names, [], classes)


def _rows(path: AnyFile, ending: str, progress: Progress) -> Iterator[Row]:
    if ending in (".jsonl", ".ndjson"):
        return _objects(path, progress)
    if ending in (".parquet", ".pq"):
        rows: Iterator[Row] = import_module("onmf.io.parquet").read_rows(path)
        return rows
    return _cells(path, ending, progress)


def _objects(path: AnyFile, progress: Progress) -> Iterator[Row]:
    for number, line in enumerate(text_lines(path, progress), 1):
        if not line.strip():
            continue
        try:
            found = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{path.name} is not JSON in line {number}: {error}.") from None
        if not isinstance(found, dict):
            raise ValueError(f"{path.name} has no JSON object in line {number}.")
        yield found


def _cells(path: AnyFile, ending: str, progress: Progress) -> Iterator[Row]:
    sheet = ending == ".xlsx"
    read: Any = import_module("onmf.io.workbook").sheet_cells if sheet else text_cells
    before = csv.field_size_limit(LONGEST_LINE)  # documents exceed the default
    try:
        lines = read(path, Options(progress=progress))
        _, top = next(lines, (0, []))
        headings = [unguard_cell(heading.strip()) for heading in top]
        for number, cells in lines:
            if len(cells) != len(headings):
                raise ValueError(
                    f"{path.name} has {len(cells)} cells in line {number} but {len(headings)} in "
                    "its header."
                )
            yield dict(zip(headings, map(unguard_cell, cells), strict=True))
    finally:
        csv.field_size_limit(before)


def _from_lines(path: AnyFile, progress: Progress) -> dict[str, str]:
    lines = enumerate(text_lines(path, progress), 1)
    return {str(number): line.strip() for number, line in lines if line.strip()}


def _from_folder(path: AnyFile, links: bool, progress: Progress) -> dict[str, str]:
    if isinstance(path, RemoteFile):
        raise ValueError(
            f"{path} is a remote folder: copy it to this machine first, or use a table with one "
            "document per row."
        )
    names = visible_files(path, links)
    texts: dict[str, str] = {}
    not_utf8 = []
    for done, name in enumerate(names, 1):
        try:
            texts[name.as_posix()] = (path / name).read_text(encoding="utf-8-sig")
        except UnicodeDecodeError:
            not_utf8.append(name.as_posix())
        progress(done, len(names))
    if not_utf8:
        raise ValueError(
            f"{path.name} has files that are not text in UTF-8: {listing(not_utf8)}. Save them as "
            "UTF-8, or move them elsewhere."
        )
    return texts
