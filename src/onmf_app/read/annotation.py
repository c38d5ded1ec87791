"""Classes of samples from another file.

    classes.txt              one class per line, or lines `sample,class`
    metadata.csv:cell_type   a column of a table with one row per sample, matched by their names

The names of the samples may be in any column of such a table, and its rows in any order.
"""

import csv
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from onmf.rows import (
    Options,
    Table,
    check_file,
    check_unique,
    class_file,
    class_names,
    listing,
    one_line,
)
from onmf_app.read.cells import unguard_cell
from onmf_app.read.delimited import text_cells
from onmf_app.read.layouts import LINES_INSPECTED
from onmf_app.read.text_files import text_lines

Rows = list[list[str]]


def with_classes(table: Table, labels: str | Path | None, file: str) -> Table:
    """The table with its true classes, from a file if no column of it has them."""
    if labels is None or table.labels is not None:
        return table
    check_file(labels, file)
    return table._replace(labels=read_labels(labels, table.samples))


def read_labels(labels: str | Path, samples: Sequence[str]) -> list[str]:
    """The class of each sample, from FILE or FILE:COLUMN."""
    found = class_file(labels)
    if found is None:
        raise FileNotFoundError(f"there is no file {labels}.")
    path, column = found
    if column is None:
        return class_names(_listed(path, samples), samples, path.name)
    where = f"column {column!r} of {path.name}"
    return class_names(_from_column(path, column, samples), samples, where)


def _from_column(path: Path, column: str, samples: Sequence[str]) -> list[str]:
    """The entries of a column, in the order of the samples."""
    known: list[str] = []
    for rows in _tables(path):
        header, body = _with_header(rows)
        if column in header:
            return _matched(header, body, column, samples, path.name)
        known += [one_line(name) for name in header if name]
    raise ValueError(f"{path.name} has no column {column!r}; its columns are {listing(known)}.")


def _matched(
    header: list[str], body: Rows, column: str, samples: Sequence[str], file: str
) -> list[str]:
    """The classes by the column in which most samples are named."""
    place, wanted = header.index(column), {*samples}
    body = [row for row in body if len(row) > place]
    shared = {
        j: len(wanted & {row[j].strip() for row in body if len(row) > j})
        for j in range(len(header)) if j != place
    }  # fmt: skip
    names = max(shared, key=lambda j: (shared[j], -j), default=None)
    if names is None or not shared[names]:
        few = listing([repr(name) for name in samples[:3]], len(samples))
        raise ValueError(f"no column of {file} has the names of the samples: {few}.")
    rows = [row for row in body if len(row) > names and row[names].strip() in wanted]
    check_unique([row[names].strip() for row in rows], "samples", file)
    classes = {row[names].strip(): unguard_cell(row[place]) for row in rows}
    _check_all(samples, classes, file, f" (by column {header[names]!r})" if header[names] else "")
    return [classes[name] for name in samples]


def _check_all(samples: Sequence[str], classes: dict[str, str], file: str, by: str = "") -> None:
    if missing := [repr(name) for name in samples if name not in classes]:
        raise ValueError(
            f"{file} has no class for {len(missing)} of {len(samples)} samples: "
            f"{listing(missing)}{by}."
        )


def _with_header(rows: Rows) -> tuple[list[str], Rows]:
    """Headings of all columns; R leaves out that of the first."""
    if not rows:
        return [], []
    short = len(rows) > 1 and len(rows[0]) == len(rows[1]) - 1
    header = [unguard_cell(cell.strip()) for cell in (["", *rows[0]] if short else rows[0])]
    return header, [[unguard_cell(cell) for cell in row] for row in rows[1:]]


def _tables(path: Path) -> Iterator[Rows]:
    """The cells of a file; of all sheets of a workbook, one after another."""
    name = path.name.lower()
    if name.endswith(".xlsx"):
        book: Any = import_module("onmf_app.read.workbook")
        for sheet in book.sheet_names(path):
            yield [cells for _, cells in book.sheet_cells(path, Options(sheet=sheet))]
    elif name.endswith((".parquet", ".pq")):
        found = list(import_module("onmf.rows.parquet").read_rows(path))
        heads = list(found[0]) if found else []
        yield [heads, *([str("" if v is None else v) for v in row.values()] for row in found)]
    else:
        lines = text_cells(path, Options(), LINES_INSPECTED)
        yield [cells for _, cells in lines if not cells[0].startswith("#")]


def _listed(path: Path, samples: Sequence[str]) -> list[str]:
    """In order, or by name if each line is `sample,class`."""
    text = list(text_lines(path))
    reader = csv.reader(text, delimiter="\t" if "\t" in "".join(text[:1]) else ",")
    try:
        rows = [[unguard_cell(cell) for cell in row] for row in reader if row]
    except csv.Error as error:
        raise ValueError(
            f"{path.name} is not a list of classes at line {reader.line_num}: {error}."
        ) from error
    widths = {len(row) for row in rows}
    if widths == {1}:
        heading = path.suffix.lower() in (".csv", ".tsv") and len(rows) == len(samples) + 1
        classes = [row[0] for row in rows[heading:]]
        if len(classes) != len(samples):
            raise ValueError(f"{path.name} has {len(classes)} classes for {len(samples)} samples.")
        return classes
    if widths == {2}:
        check_unique([row[0] for row in rows], "samples", path.name)
        known = dict(rows)
        _check_all(samples, known, path.name)
        return [known[name] for name in samples]
    if min(widths, default=0) > 2:
        columns = listing([one_line(name) for name in rows[0] if name])
        raise ValueError(
            f"{path.name} has several columns: name that of the classes as "
            f"{path.name}:COLUMN. They are {columns}."
        )
    raise ValueError(
        f"{path.name} must have lines of one class, or of `sample,class`; its lines have "
        f"{listing(sorted(widths)) or 'no'} cells."
    )
