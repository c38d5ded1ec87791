"""Text tables: `.csv`, `.tsv` and `.txt`, also compressed by gzip; read as a whole when opened.

The cells of a workbook become numbers, names and classes here, too. A cell without a value is NaN;
one that is not a number is an error that names its line and column.
"""

import csv
import math
import re
from array import array
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice
from typing import NamedTuple

import numpy as np

from onmf.io.cells import to_number, unguard_cell
from onmf.io.columns import ID_HEADINGS, ROWS_INSPECTED, Columns, class_names, find_columns
from onmf.io.memory import check_memory
from onmf.io.remote import AnyFile
from onmf.io.source import InMemoryTable, Source
from onmf.io.table import MOST_LISTED, Options, Table, listing, numbered, one_line
from onmf.io.text_files import text_lines

ROWS_PER_MEMORY_CHECK = 4096
Lines = Iterator[tuple[int, list[str]]]  # line number and cells
Number = Callable[[str], float]  # the number in a cell; ValueError if there is none

SPACES = " \u00a0\u202f"  # all of them may group digits
DIGITS = re.compile(r"\s*[+-]?\d[\d.,'_\s]*")  # a number in any notation
NO_VALUE = {"", "-", ".", "na", "n/a", "#n/a", "nan", "null", "none", "missing"}


class Layout(NamedTuple):
    """Where names, classes and numbers are."""

    header: bool
    headings: list[str]
    columns: Columns

    @property
    def features(self) -> list[str]:
        chosen = self.columns.features
        return [self.headings[j] for j in chosen] if self.header else numbered(len(chosen))


def open_delimited(path: AnyFile, options: Options) -> Source:
    try:
        table = as_table(text_cells(path, options), path.name, options)
    except ValueError as error:
        if ".txt" not in path.name.lower():
            raise
        said = str(error).removesuffix(".")
        raise ValueError(f"{said}; for documents, add --text.") from error
    return InMemoryTable.of(table, path.name)


def text_cells(path: AnyFile, options: Options) -> Lines:
    """The cells of every line that is not blank."""
    text = text_lines(path, options.progress, options.encoding)
    first = next(text, "")
    mark = separator(first, path.name.lower().removesuffix(".gz"), options.decimal)
    reader = csv.reader(chain([first], text), delimiter=mark, skipinitialspace=mark == " ")
    try:
        for row in reader:
            if row:
                yield reader.line_num, row
    except csv.Error as error:
        raise ValueError(
            f"{path.name} is not a text table at line {reader.line_num}: {error}."
        ) from error


def separator(line: str, name: str, decimal: str = ".") -> str:
    """The separator of cells: by the ending, or the most frequent mark of the first line."""
    if name.endswith((".tsv", ".tab")):
        return "\t"
    marks = "\t;," if decimal == "," else ",;\t"
    best = max(marks, key=line.count)
    if best in line:
        return best
    return " " if name.endswith(".txt") and len(line.split()) > 1 else ","


def as_table(lines: Lines, name: str, options: Options) -> Table:
    """The numbers of the cells, with the names around them."""
    number = number_reader(options.decimal, options.thousands)
    top = list(islice(lines, ROWS_INSPECTED + 1))
    if not top:
        raise ValueError(f"{name} is empty.")
    layout = _layout([cells for _, cells in top], name, options, number)
    return _parse(chain(top[layout.header :], lines), layout, name, options, number)


def number_reader(decimal: str, thousands: str) -> Number:
    """`to_number` for other decimal signs and for digits in groups of three."""
    thousands = thousands or ("." if decimal == "," else "")
    if decimal == "." and not thousands:
        return to_number
    part = re.escape(thousands) if thousands.strip() else f"[{SPACES}]"
    shape = re.compile(rf"[+-]?\d{{1,3}}(?:{part}\d{{3}})+(?:{re.escape(decimal)}\d*)?", re.ASCII)
    gone = re.compile(part)

    def number(cell: str) -> float:
        plain = cell.strip()
        if shape.fullmatch(plain):
            plain = gone.sub("", plain)
        elif decimal != "." and "." in plain:
            raise ValueError("a point is not the decimal sign here.")
        return to_number(plain.replace(decimal, "."))

    return number


def _layout(top: list[list[str]], name: str, options: Options, number: Number) -> Layout:
    """Header and names, from the first two lines; columns of text, from some more."""
    first, second = top[0], top[min(1, len(top) - 1)]
    short = len(top) > 1 and len(first) == len(second) - 1  # R leaves the first heading out
    is_id = len(first) > 1 and first[0].strip().lower() in ID_HEADINGS
    counted = len(first) > 1 and first == numbered(len(first))  # as pandas numbers columns
    header = short or is_id or counted or not _is_data(number, first[1:] or first)
    if header and len(top) < 2:
        raise ValueError(f"{name} has a header but no samples.")
    headings = [unguard_cell(cell.strip()) for cell in (["", *first] if short else first)]
    rows = [row for row in top[header:] if len(row) == len(headings)]
    columns = zip(*rows, strict=True) if header else ()
    text = {j for j, cells in enumerate(columns) if _is_text(number, cells)}
    starts = [row[0] for row in top[1:] or top if not _has_no_value(row[0])]
    names = [] if not starts or _is(number, starts[0]) else starts
    return Layout(
        header, headings, find_columns(headings, text, names, name, options, header=header)
    )


def _parse(lines: Lines, layout: Layout, name: str, options: Options, number: Number) -> Table:
    samples: list[str] = []
    labels: list[str] = []
    values = array("d")
    bad: list[tuple[int, str, str]] = []  # line, column, cell
    left_out: set[str] = set()
    columns, features, width = layout.columns, layout.features, len(layout.headings)
    for line, cells in lines:
        if len(cells) != width:
            raise ValueError(f"{name} has {len(cells)} cells in line {line} but {width} above it.")
        sample = str(len(samples)) if columns.names is None else unguard_cell(cells[columns.names])
        if sample in columns.rows_to_drop:
            left_out.add(sample)
            continue
        if columns.classes is not None:
            labels.append(unguard_cell(cells[columns.classes]))
        if not len(samples) % ROWS_PER_MEMORY_CHECK:
            check_memory(values.itemsize * len(values), name)  # the array may double
        samples.append(sample)
        numbers = [cells[j] for j in columns.features]
        try:
            values.extend(list(map(_quick(number, numbers), numbers)))
        except ValueError:
            pairs = zip(features, numbers, strict=True)
            bad += [(line, column, c) for column, c in pairs if not _is(number, c, gaps=True)]
            if len(bad) >= MOST_LISTED:
                break
            values.extend(number(c) if _is(number, c) else math.nan for c in numbers)
    if bad:
        raise ValueError(_bad_cells(name, bad[:MOST_LISTED], options))
    if unknown := [repr(row) for row in sorted(columns.rows_to_drop - left_out)]:
        raise ValueError(f"{name} has no column or row {listing(unknown)} to drop.")
    X = np.frombuffer(values).reshape(len(samples), len(features))
    if columns.classes is None:
        return Table(X, samples, features)
    where = f"column {layout.headings[columns.classes]!r} of {name}"
    return Table(X, samples, features, class_names(labels, samples, where))


def _bad_cells(name: str, bad: list[tuple[int, str, str]], options: Options) -> str:
    """Which cells are not numbers, and what may help."""
    where = "; ".join(f"{c[:50]!r} in line {i}, column {one_line(f)}" for i, f, c in bad)
    comma = any(re.fullmatch(r"[+-]?[\d.]+,\d+|[+-]?[\d,]+", c.strip()) for _, _, c in bad)
    advice = ""
    if comma and options.decimal == "." and not options.thousands:
        advice = "; if the comma is a decimal sign, use --decimal , and if it groups digits, "
        advice += "use --thousands ,"
    return f"{name} has cells that are not numbers: {where}{advice}."


def _is_text(number: Number, cells: Sequence[str]) -> bool:
    """Whether a column has values, and none of them is a number in any notation."""
    values = [cell for cell in cells if not _has_no_value(cell)]
    return bool(values) and not any(DIGITS.fullmatch(c) or _is(number, c) for c in values)


def _is_data(number: Number, cells: list[str]) -> bool:
    """Whether cells are numbers, some of which may be missing."""
    return any(_is(number, c) for c in cells) and all(_is(number, c, gaps=True) for c in cells)


def _is(number: Number, cell: str, gaps: bool = False) -> bool:
    """Whether a cell is a number or, if there may be gaps, has no value."""
    try:
        number(cell)
    except ValueError:
        return gaps and _has_no_value(cell)
    return True


def _has_no_value(cell: str) -> bool:
    return cell.strip().lower() in NO_VALUE


def _quick(number: Number, cells: list[str]) -> Number:
    """`number`, or `float` where it gives the same."""
    if number is not to_number:
        return number
    text = "".join(cells)
    return float if text.isascii() and "_" not in text else to_number
