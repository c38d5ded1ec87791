"""Texts: the files of a folder, the lines of a file, or a column of a table."""

import csv
import warnings
from collections import defaultdict
from collections.abc import Collection, Iterator
from importlib import import_module
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

from onmf.exceptions import TableWarning
from onmf.files import visible_files
from onmf.rows import (
    ID_HEADINGS,
    ROWS_INSPECTED,
    WORDS_OF_A_TEXT,
    Options,
    Progress,
    Table,
    check_unique,
    class_names,
    column_of_texts,
    listing,
    no_progress,
    one_line,
)
from onmf_app.read.annotation import with_classes
from onmf_app.read.cells import unguard_cell
from onmf_app.read.delimited import text_cells
from onmf_app.read.formats import known_ending
from onmf_app.read.layouts import LINES_INSPECTED
from onmf_app.read.records import Row, json_objects
from onmf_app.read.text_files import LONGEST_LINE, decode_text, text_lines

TEXT_TABLES = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet", ".pq", ".xlsx")
NO_CLASS = "no text"  # of an empty text whose cell with the class is empty
MOST_NUMBERS = 2  # columns of numbers beside texts; with more, the numbers may be what is meant
NO_TEXT = (".npy", ".npz", ".mtx", ".h5ad", ".h5", ".hdf5", ".json")


def read_documents(
    path: str | Path,
    *,
    column: str | None = None,
    id_column: str | None = None,
    labels: str | Path | None = None,
    encoding: str | None = None,
    follow_links: bool = False,
    progress: Progress = no_progress,
) -> Table:
    """Read texts: one per file of a folder, line of a file, or row of a table.

    Parameters
    ----------
    path : str or Path
        A folder, without its hidden files; a text file, also `.gz`; or a table (`.csv`, `.tsv`,
        `.jsonl`, `.parquet`, `.xlsx`).
    column : str, optional
        Column with the texts of a table.
    id_column : str, optional
        Column with the names of the documents of a table.
    labels : str or Path, optional
        True classes: a column of the table, or a file with one class per line, or lines
        `document,class`.
    encoding : str, optional
        Of the files; by default UTF-8, and for what is not UTF-8 one that is recognised, with a
        `TableWarning`.
    follow_links : bool, default=False
        Whether the folder may have links to files outside it; otherwise they are refused.
    progress : callable, optional
        Called with (done, total): files of a folder, or bytes of a file.

    Returns
    -------
    Table
        X is the list of texts. Files are named by their path in the folder, lines and rows by their
        number from 1. Empty texts stay, except at the end of a file.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from onmf_app.read.documents import read_documents
    >>> path = pathlib.Path(tempfile.mkdtemp(), "talks.txt")
    >>> _ = path.write_text("stars and planets\\n\\ngenes and cells\\n")
    >>> read_documents(path)[:2]
    (['stars and planets', '', 'genes and cells'], ['1', '2', '3'])
    """
    path = Path(path)
    ending = Path(path.name.lower().removesuffix(".gz")).suffix
    if path.is_file() and ending in NO_TEXT:
        raise ValueError(f"{path.name} has no texts: give a folder, a text file or a table.")
    if path.is_file() and (ending in TEXT_TABLES or column is not None):
        rows = without_empty_end(list(_rows(path, ending, progress, encoding)))
        table = _from_rows(path.name, rows, column, id_column, labels)
    else:
        found = (
            _from_folder(path, follow_links, progress, encoding)
            if path.is_dir()
            else _from_lines(path, progress, encoding)
        )
        table = Table(list(found.values()), list(found), [])
    if not any(table.X):
        raise ValueError(f"{path.name} is empty: it has no documents.")
    return with_classes(table, labels, path.name)


def find_documents(
    path: Path, drop: Collection[str] = (), encoding: str | None = None
) -> str | None:
    """The column of texts, or "" for files and lines; None if the input is something else.

    Documents are a folder of files of no format of numbers, a `.txt` file whose lines are words, or
    a table with texts and at most MOST_NUMBERS columns of numbers, such as a year.
    """
    ending = Path(path.name.lower().removesuffix(".gz")).suffix
    if isinstance(path, Path) and path.is_dir():
        kinds = {known_ending(name.name) for name in visible_files(path, links=True)}
        return "" if kinds and kinds <= {None, ".txt"} and known_ending(path.name) is None else None
    if not path.is_file() or ending not in (*TEXT_TABLES, ".txt"):
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TableWarning)
            if ending == ".txt":
                lines = [*islice(text_lines(path, no_progress, encoding), LINES_INSPECTED)]
                return "" if _are_texts(lines) else None
            rows = [*islice(_rows(path, ending, no_progress, encoding), ROWS_INSPECTED)]
    except (ValueError, ImportError):
        return None  # for the reader of tables, whose message says more
    columns: dict[str, list[Any]] = defaultdict(list)
    for row in rows:
        for name, cell in row.items():
            if name not in drop and cell not in (None, ""):
                columns[name].append(cell)
    numbers = {name for name, cells in columns.items() if any(map(_is_number, cells))}
    if len(numbers - ID_HEADINGS) > MOST_NUMBERS:
        return None
    texts = {j: [*map(str, c)] for j, (n, c) in enumerate(columns.items()) if n not in numbers}
    return column_of_texts([*columns], texts)


def _are_texts(lines: list[str]) -> bool:
    """Whether lines are words: no columns, and hardly a number."""
    words = [line.split() for line in lines if line.strip()]
    if not words or any("\t" in line for line in lines):
        return False
    numbers = sum(_is_number(word.strip(",;")) for line in words for word in line)
    return median(map(len, words)) >= WORDS_OF_A_TEXT and 4 * numbers < sum(map(len, words))


def _is_number(cell: Any) -> bool:
    try:
        float(cell)
    except (TypeError, ValueError):
        return False
    return True


def without_empty_end(rows: list[Any]) -> list[Any]:
    """The rows, or lines, up to the last that is not empty."""
    return rows[: next((i for i in range(len(rows), 0, -1) if rows[i - 1]), 0)]


def _from_rows(
    file: str,
    rows: list[Row],
    column: str | None,
    id_column: str | None,
    labels: str | Path | None,
) -> Table:
    """One document per row of a table."""
    known = list(dict.fromkeys(name for row in rows for name in row))
    column, id_column = wanted = [_spelled(name, known) for name in (column, id_column)]
    if column is None or any(name is not None and name not in known for name in wanted):
        lost = [repr(name) for name in wanted if name is not None and name not in known]
        said = f"has no column {listing(lost)}" if lost else "is a table"
        raise ValueError(
            f"{file} {said}: name the column of texts with --text-column, and that of their "
            f"names, if any, with --id-column. Its columns are {listing(map(one_line, known))}."
        )
    texts = ["" if (text := row.get(column)) is None else str(text).strip() for row in rows]
    names = [str(i) for i in range(1, len(rows) + 1)]
    if id_column is not None:
        given = [row.get(id_column) for row in rows]
        names = [f"row {i}" if own in (None, "") else str(own) for i, own in enumerate(given, 1)]
    check_unique(names, "documents", file)
    classes = None
    if labels in known:
        values = [row.get(str(labels)) for row in rows]
        values = [v if text or v else NO_CLASS for v, text in zip(values, texts, strict=True)]
        classes = class_names(values, names, f"column {str(labels)!r} of {file}")
    return Table(texts, names, [], classes)


def _spelled(name: str | None, known: list[str]) -> str | None:
    """A column; if there is none of this name, the only one that differs from it by capitals."""
    alike = [own for own in known if name is not None and own.lower() == name.lower()]
    return alike[0] if name not in known and len(alike) == 1 else name


def _rows(path: Path, ending: str, progress: Progress, encoding: str | None) -> Iterator[Row]:
    if ending in (".jsonl", ".ndjson"):
        return json_objects(path, progress, encoding)
    if ending in (".parquet", ".pq"):
        rows: Iterator[Row] = import_module("onmf.rows.parquet").read_rows(path)
        return rows
    return _cells(path, ending, progress, encoding)


def _cells(path: Path, ending: str, progress: Progress, encoding: str | None) -> Iterator[Row]:
    sheet = ending == ".xlsx"
    read: Any = import_module("onmf_app.read.workbook").sheet_cells if sheet else text_cells
    before = csv.field_size_limit(LONGEST_LINE)  # documents exceed the default
    try:
        lines = read(path, Options(progress=progress, encoding=encoding))
        before_this, top = next(lines, (0, []))
        headings = [unguard_cell(heading.strip()) for heading in top]
        for number, cells in lines:
            if sheet:  # empty rows, so that later ones keep their numbers
                yield from ({} for _ in range(before_this + 1, number))
                before_this = number
            if len(cells) != len(headings):
                raise ValueError(
                    f"{path.name} has {len(cells)} cells in line {number} but {len(headings)} in "
                    "its header."
                )
            yield dict(zip(headings, map(unguard_cell, cells), strict=True))
    finally:
        csv.field_size_limit(before)


def _from_lines(path: Path, progress: Progress, encoding: str | None) -> dict[str, str]:
    lines = without_empty_end([line.strip() for line in text_lines(path, progress, encoding)])
    return {str(number): line for number, line in enumerate(lines, 1)}


def _from_folder(
    path: Path, links: bool, progress: Progress, encoding: str | None
) -> dict[str, str]:
    names = visible_files(path, links)
    texts: dict[str, str] = {}
    encodings: dict[str, list[str]] = defaultdict(list)  # of files that are not UTF-8
    for done, name in enumerate(map(Path.as_posix, names), 1):
        try:
            texts[name], used = decode_text((path / name).read_bytes(), encoding)
        except ValueError:
            used = ""
        if used != (encoding or "utf-8"):
            encodings[used].append(one_line(name))
        progress(done, len(names))
    if unread := encodings.pop("", []):
        raise ValueError(
            f"{path.name} has files that are not text in {encoding or 'UTF-8'}: {listing(unread)}. "
            "Name their encoding with --encoding, or move them elsewhere."
        )
    for used, files in encodings.items():
        warnings.warn(
            f"{len(files)} of the {len(names)} files are not UTF-8 and are read as {used}: "
            f"{listing(files)}; --encoding names another one.",
            TableWarning,
            stacklevel=3,
        )
    return texts
