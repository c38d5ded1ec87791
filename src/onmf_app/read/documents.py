"""Texts: the files of a folder, the lines of a file, or a column of a table."""

import csv
from collections import defaultdict
from collections.abc import Collection, Iterator
from itertools import chain, islice
from pathlib import Path
from statistics import median
from typing import Any

from onmf_app.read.cells import unguard_cell
from onmf_app.read.encodings import decode_text
from onmf_app.read.formats import FORMATS
from onmf_app.read.layouts import ID_HEADINGS, LINES_INSPECTED, WORDS_OF_A_TEXT, column_of_texts
from onmf_app.read.sources import Row, json_objects, open_workbook, sheet_rows
from onmf_app.read.streams import LONGEST_LINE, File, listing
from onmf_app.read.tables import separator

TEXT_TABLES = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet", ".pq", ".xlsx")
NO_TEXT = (".npy", ".npz", ".mtx", ".h5ad", ".h5", ".hdf5", ".json")
ROWS_INSPECTED = 20
MOST_NUMBERS = 2  # columns of numbers beside texts; with more, the numbers may be what is meant


def read_documents(
    file: File, column: str | None, id_column: str | None, links: bool
) -> tuple[list[str], list[str], list[Row]]:
    """Texts, their names, and for a table all of its cells.

    Files are named by their path in the folder, lines and rows by their number from 1. Empty texts
    stay, except at the end of a file.
    """
    rows: list[Row] = []
    if file.path.is_file() and file.ending in NO_TEXT:
        raise ValueError(f"{file.name} has no texts: give a folder, a text file or a table.")
    if file.path.is_dir():
        found = _from_folder(file, links)
        texts, names = [*found.values()], [*found]
    elif file.ending in TEXT_TABLES or column is not None:
        rows = _without_empty_end([*table_rows(file)])
        texts, names = _from_rows(file.name, rows, column, id_column)
    else:
        texts = _without_empty_end([line.strip() for line in file.lines()])
        names = [str(i) for i in range(1, len(texts) + 1)]
    if not any(texts):
        raise ValueError(f"{file.name} is empty: it has no documents.")
    return texts, names, rows


def find_documents(
    path: Path, drop: Collection[str] = (), encoding: str | None = None
) -> str | None:
    """The column of texts, or "" for files and lines; None if the input is something else.

    Documents are a folder of files of no format of numbers, a `.txt` file whose lines are words, or
    a table with texts and at most MOST_NUMBERS columns of numbers, such as a year.
    """
    file = File(path, encoding)
    if path.is_dir():
        from onmf.files import visible_files

        names = [name.name.lower() for name in visible_files(path, links=True)]
        others = [n.removesuffix(".gz") for n in names if not n.endswith(".txt")]
        plain = not any(n.endswith((*FORMATS,)) for n in others)
        return "" if names and plain and file.ending not in FORMATS else None
    if not path.is_file() or file.ending not in (*TEXT_TABLES, ".txt"):
        return None
    try:
        if file.ending == ".txt":
            return "" if _are_texts([*islice(file.lines(), LINES_INSPECTED)]) else None
        rows = [*islice(table_rows(file), ROWS_INSPECTED)]
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
    return column_of_texts({n: [*map(str, c)] for n, c in columns.items() if n not in numbers})


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


def _without_empty_end(rows: list[Any]) -> list[Any]:
    """The rows, or lines, up to the last that is not empty."""
    return rows[: next((i for i in range(len(rows), 0, -1) if rows[i - 1]), 0)]


def _from_rows(
    file: str, rows: list[Row], column: str | None, id_column: str | None
) -> tuple[list[str], list[str]]:
    """One document per row of a table."""
    known = list(dict.fromkeys(name for row in rows for name in row))
    wanted = []
    for name in (column, id_column):  # capitals do not matter, if only one column is meant
        alike = [own for own in known if name is not None and own.lower() == name.lower()]
        wanted.append(alike[0] if name not in known and len(alike) == 1 else name)
    column, id_column = wanted
    if column is None or any(name is not None and name not in known for name in wanted):
        lost = [repr(name) for name in wanted if name is not None and name not in known]
        said = f"has no column {listing(lost)}" if lost else "is a table"
        raise ValueError(
            f"{file} {said}: name the column of texts with --text-column, and that of their "
            f"names, if any, with --id-column. Its columns are {listing(known)}."
        )
    texts = ["" if (text := row.get(column)) is None else str(text).strip() for row in rows]
    names = [str(i) for i in range(1, len(rows) + 1)]
    if id_column is not None:
        given = [row.get(id_column) for row in rows]
        names = [f"row {i}" if own in (None, "") else str(own) for i, own in enumerate(given, 1)]
    return texts, names


def table_rows(file: File) -> Iterator[Row]:
    """The rows of a table as dictionaries, by the headings."""
    if file.ending in (".jsonl", ".ndjson", ".json"):
        yield from json_objects(file)
        return
    if file.ending in (".parquet", ".pq"):
        from onmf.rows.parquet import read_rows

        yield from read_rows(file.path)
        return
    headings: list[str] | None = None
    for number, cells in cell_lines(file):
        if headings is None:
            headings = [heading.strip() for heading in cells]
        elif cells and len(cells) != len(headings):
            raise ValueError(
                f"{file.name} has {len(cells)} cells in line {number} but {len(headings)} in its "
                "header."
            )
        else:
            yield dict(zip(headings, cells, strict=False))


def cell_lines(
    file: File, sheet: str | None = None, spaces: bool = True
) -> Iterator[tuple[int, list[str]]]:
    """The cells of each line of a text table, or row of a sheet, from the first one on."""
    if file.ending == ".xlsx":
        with open_workbook(file) as book:
            rows = sheet_rows(book, sheet or book.sheet_names[0])
        start = next((i for i, row in enumerate(rows) if row), len(rows))
        yield from ((i, [*map(unguard_cell, row)]) for i, row in enumerate(rows[start:], start + 1))
        return
    lines = file.lines()
    top = [*islice(lines, 1)]
    mark = separator(top, file.ending)
    mark = "," if mark == " " and not spaces else mark
    reader = csv.reader(chain(top, lines), delimiter=mark, skipinitialspace=mark == " ")
    before = csv.field_size_limit(LONGEST_LINE)  # documents exceed the default
    try:
        for cells in reader:
            if cells:
                yield reader.line_num, [*map(unguard_cell, cells)]
    except csv.Error as error:
        line = reader.line_num
        raise ValueError(f"{file.name} is not a text table at line {line}: {error}.") from error
    finally:
        csv.field_size_limit(before)


def _from_folder(file: File, links: bool) -> dict[str, str]:
    from onmf.files import visible_files

    path, names, encoding = file.path, visible_files(file.path, links), file.encoding
    texts: dict[str, str] = {}
    encodings: dict[str, list[str]] = defaultdict(list)  # of files that are not UTF-8
    for done, name in enumerate(map(Path.as_posix, names), 1):
        try:
            texts[name], used = decode_text((path / name).read_bytes(), encoding)
        except (ValueError, LookupError):
            used = ""
        if used != (encoding or "utf-8"):
            encodings[used].append(name)
        file.progress(done, len(names))
    if unread := encodings.pop("", []):
        raise ValueError(
            f"{file.name} has files that are not text in {encoding or 'UTF-8'}: {listing(unread)}. "
            "Name it with --set read.encoding=NAME, or move them elsewhere."
        )
    for used, files in encodings.items():
        file.note(
            f"{len(files)} of the {len(names)} files are not UTF-8 and are read as {used}: "
            f"{listing(files)}; --set read.encoding=NAME names another."
        )
    return texts
