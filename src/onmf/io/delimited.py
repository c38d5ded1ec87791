"""Text tables: `.csv`, `.tsv` and `.txt`, also packed with gzip; read as a whole when opened.

Cells become numbers, names or classes here, also those of a workbook; one without a value is NaN.
A column of text is set aside and a warning names it; a single cell of text is refused by its place.
"""

import csv
import math
import re
import warnings
from array import array
from collections.abc import Callable, Iterator
from itertools import chain, islice
from typing import NamedTuple

import numpy as np

from onmf.exceptions import TableWarning
from onmf.io.cells import to_number, unguard_cell
from onmf.io.flat import check_memory
from onmf.io.remote import AnyFile
from onmf.io.source import InMemoryTable, Source
from onmf.io.stream import text_lines
from onmf.io.table import (
    ID_HEADINGS,
    LOOK,
    MOST_LISTED,
    Options,
    Table,
    are_classes,
    check_file,
    class_names,
    listing,
    numbered,
    one_line,
)

STRIDE = 4096  # rows between two looks at the memory
Lines = Iterator[tuple[int, list[str]]]  # number of the line, and its cells
Number = Callable[[str], float]  # of a cell; ValueError if it is none

SPACES = " \u00a0\u202f"  # which may all group digits
DIGITS = re.compile(r"\s*[+-]?\d[\d.,'_\s]*")  # a number in somebody's notation
NO_VALUE = {"", "-", ".", "na", "n/a", "#n/a", "nan", "null", "none", "missing"}


class Layout(NamedTuple):
    """Where the names and the numbers are."""

    header: bool
    named: bool
    features: list[str]
    label: int | None  # place of the true classes among the cells
    aside: list[int]  # places of cells that are not read
    text: list[str]  # headings of those that nobody asked to leave out
    rows: set[str]  # names of lines that are not
    width: int


def open_delimited(path: AnyFile, options: Options) -> Source:
    try:
        table = as_table(text_cells(path, options), path.name, options)
    except ValueError as error:
        if ".txt" not in path.name.lower():
            raise
        said = str(error).removesuffix(".")
        raise ValueError(f"{said}; documents are read with --text.") from error
    return InMemoryTable.of(table, path.name)


def text_cells(path: AnyFile, options: Options) -> Lines:
    """The cells of every line that has any."""
    text = text_lines(path, options.progress)
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
    """What stands between the cells: by the ending, or the mark that the first line has most of."""
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
    top = list(islice(lines, LOOK + 1))
    if not top:
        raise ValueError(f"{name} is empty.")
    layout = _layout([cells for _, cells in top], name, options, number)
    if options.labels is not None and layout.label is None:
        check_file(options.labels, name)  # before a text column is blamed for it
    tell_aside(layout.text, name)
    return _parse(chain(top[layout.header :], lines), layout, name, options, number)


def number_reader(decimal: str, thousands: str) -> Number:
    """`to_number`, with other signs; digits may be grouped by three, and only so."""
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
            raise ValueError("it has a point, which is no decimal sign here")
        return to_number(plain.replace(decimal, "."))

    return number


def _layout(top: list[list[str]], name: str, options: Options, number: Number) -> Layout:
    """Header and names, from the first two lines; columns of text, from some more."""
    first, second, label = top[0], top[min(1, len(top) - 1)], options.labels
    short = len(top) > 1 and len(first) == len(second) - 1  # R leaves the first heading out
    headed = len(first) > 1 and first[0].strip().lower() in ID_HEADINGS
    counted = len(first) > 1 and first == numbered(len(first))  # as pandas numbers columns
    header = short or headed or counted or not _is_data(number, first[1:] or first)
    if header and len(top) < 2:
        raise ValueError(f"{name} has a header but no samples.")
    headings = [unguard_cell(cell.strip()) for cell in (["", *first] if short else first)]
    ids = [row[0] for row in top[1:] or top if row[0].strip().lower() not in NO_VALUE]
    place = headings.index(label) if header and label in headings else None
    dropped = {j for j, heading in enumerate(headings) if header and heading in options.drop}
    words = not _is(number, ids[0] if ids else second[0]) and not (header and are_classes(ids))
    named = (short or headed or words) and 0 not in {place, *dropped}
    names = headings if header else numbered(len(first))
    taken = {place} | ({0} if named else set())
    rows = [row for row in top[header:] if len(row) == len(headings)]
    rest = [j for j in range(len(headings)) if j not in taken]
    text = {j for j in rest if header and _is_text(number, [row[j] for row in rows])}
    aside = sorted(text | dropped)
    left = [j for j in rest if j not in aside]
    if text and not left:
        raise ValueError(f"{name} has no column of numbers.")
    features = [names[j] for j in left] if header else numbered(len(left))
    rows_dropped = {*options.drop} - {headings[j] for j in dropped}
    if rows_dropped and not named:
        raise ValueError(f"{name} has no column {listing(map(repr, rows_dropped))} to drop.")
    told = [names[j] for j in sorted(text - dropped)]
    return Layout(header, named, features, place, aside, told, rows_dropped, len(headings))


def tell_aside(names: list[str], file: str) -> None:
    """Columns of text that no name, class or number is taken from."""
    if names:
        warnings.warn(
            f"{file} has columns of text, which are set aside: {listing(map(one_line, names))}.",
            TableWarning,
            stacklevel=2,
        )


def _parse(lines: Lines, layout: Layout, name: str, options: Options, number: Number) -> Table:
    samples: list[str] = []
    labels: list[str] = []
    values = array("d")
    bad: list[tuple[int, str, str]] = []  # line, column, cell
    gone: set[str] = set()
    classes = [] if layout.label is None else [layout.label]
    removed = sorted({*layout.aside, *classes}, reverse=True)
    for line, cells in lines:
        if len(cells) != layout.width:
            raise ValueError(
                f"{name} has {len(cells)} cells in line {line} but {layout.width} above it."
            )
        sample = unguard_cell(cells[0]) if layout.named else str(len(samples))
        if sample in layout.rows:
            gone.add(sample)
            continue
        if layout.label is not None:
            labels.append(unguard_cell(cells[layout.label]))
        if not len(samples) % STRIDE:
            check_memory(values.itemsize * len(values), name)  # which the next ones may take
        samples.append(sample)
        for j in removed:
            del cells[j]
        numbers = cells[1:] if layout.named else cells
        try:
            values.extend(list(map(_quick(number, numbers), numbers)))
        except ValueError:
            pairs = zip(layout.features, numbers, strict=True)
            bad += [(line, column, c) for column, c in pairs if not _is(number, c, gaps=True)]
            if len(bad) >= MOST_LISTED:
                break
            values.extend(number(c) if _is(number, c) else math.nan for c in numbers)
    if bad:
        raise ValueError(_bad_cells(name, bad[:MOST_LISTED], options))
    if unknown := [repr(row) for row in sorted(layout.rows - gone)]:
        raise ValueError(f"{name} has no column or row {listing(unknown)} to drop.")
    X = np.frombuffer(values).reshape(len(samples), len(layout.features))
    return Table(X, samples, layout.features, None if layout.label is None else class_names(labels))


def _bad_cells(name: str, bad: list[tuple[int, str, str]], options: Options) -> str:
    """Which cells cannot be read, and why, as far as one can tell."""
    where = "; ".join(f"{c[:50]!r} in line {i}, column {one_line(f)}" for i, f, c in bad)
    comma = any(re.fullmatch(r"[+-]?[\d.]+,\d+|[+-]?[\d,]+", c.strip()) for _, _, c in bad)
    advice = ""
    if comma and options.decimal == "." and not options.thousands:
        advice = "; if the comma is a decimal sign, say --decimal , and if it groups digits, "
        advice += "--thousands ,"
    return f"{name} has cells that are not numbers: {where}{advice}."


def _is_text(number: Number, cells: list[str]) -> bool:
    """No cell of a column is a number, in whatever notation, and some say something."""
    known = any(cell.strip().lower() not in NO_VALUE for cell in cells)
    return known and not any(DIGITS.fullmatch(cell) or _is(number, cell) for cell in cells)


def _is_data(number: Number, cells: list[str]) -> bool:
    """Numbers, some of which may lack."""
    return any(_is(number, c) for c in cells) and all(_is(number, c, gaps=True) for c in cells)


def _is(number: Number, cell: str, gaps: bool = False) -> bool:
    """Whether a cell is a number or, if there may be gaps, has no value."""
    try:
        number(cell)
    except ValueError:
        return gaps and cell.strip().lower() in NO_VALUE
    return True


def _quick(number: Number, cells: list[str]) -> Number:
    """What makes numbers of these cells: the fast way if nothing in them can deceive it."""
    if number is not to_number:
        return number
    text = "".join(cells)
    return float if text.isascii() and "_" not in text else to_number
