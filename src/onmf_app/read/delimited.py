"""Text tables: `.csv`, `.tsv`, `.txt` and `.data`, also `.gz`; read as a whole when opened.

The cells of a workbook become numbers, names and classes here, too. A cell without a value is NaN;
one that is not a number is an error that names its line and column.
"""

import csv
import math
import re
import warnings
from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from onmf.exceptions import FormatError, TableWarning
from onmf.prepare.genes import rows_are_genes
from onmf.prepare.numerals import to_number
from onmf.rows import (
    MOST_LISTED,
    ROWS_INSPECTED,
    Columns,
    InMemoryTable,
    Options,
    Source,
    Table,
    are_classes,
    check_memory,
    class_names,
    find_columns,
    listing,
    numbered,
    one_line,
    remedy,
    turn,
)
from onmf_app.read.cells import Number, has_no_value, is_cell, number_reader, unguard_cell
from onmf_app.read.headers import is_header, is_text
from onmf_app.read.layouts import (
    LINES_INSPECTED,
    Lines,
    filled,
    find_head,
    note_left_out,
    note_turned,
    sample_names,
    without_limits,
    without_notes,
    without_remarks,
    without_sums,
)
from onmf_app.read.text_files import text_lines

ROWS_PER_MEMORY_CHECK = 4096
LINE_ENDS = re.compile(r"(?<=\r)(?!\n)(?=.)", re.DOTALL)  # of old Macintosh programs
PLAIN_TEXT = (".txt", ".dat", ".data")  # endings of documents, too

DECIMAL_COMMA = re.compile(r"[+-]?[\d.\s]*\d,\d+([eE][+-]?\d+)?")


class Layout(NamedTuple):
    """Where names, classes and numbers are."""

    header: bool
    headings: list[str]
    columns: Columns

    @property
    def features(self) -> list[str]:
        return [self.headings[j] for j in self.columns.features]


def open_delimited(path: Path, options: Options) -> Source:
    try:
        table = _by_decimal_sign(path, options)
    except ValueError as error:
        if not path.name.lower().removesuffix(".gz").endswith(PLAIN_TEXT):
            raise
        said = str(error).removesuffix(".")
        raise ValueError(f"{said}; for documents, add --text.") from error
    return InMemoryTable.of(table, path.name)


def _by_decimal_sign(path: Path, options: Options) -> Table:
    """The table; a decimal comma is tried if cells look like it and a point does not fit."""

    def read(options: Options) -> Table:
        return as_table(text_cells(path, options, LINES_INSPECTED), path.name, options)

    if options.decimal is not None:
        return read(options)
    try:
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always", TableWarning)
            table = read(options._replace(decimal="."))
    except NotNumbersError as error:
        if options.thousands or not error.decimal_commas:
            raise
    else:
        for warning in said:
            warnings.warn_explicit(
                warning.message, warning.category, warning.filename, warning.lineno
            )
        return table
    table = read(options._replace(decimal=","))
    warnings.warn(f"{path.name} has decimal commas.", TableWarning, stacklevel=2)
    return table


def text_cells(path: Path, options: Options, inspected: int = 1) -> Lines:
    """The cells of every line that is not blank; the first lines show what separates them."""
    lines = text_lines(path, options.progress, options.encoding)
    text = chain.from_iterable(map(LINE_ENDS.split, lines))
    top = list(islice(text, inspected))
    mark = separator(top, path.name.lower().removesuffix(".gz"))
    reader = csv.reader(chain(top, text), delimiter=mark, skipinitialspace=mark == " ")
    try:
        for row in reader:
            if row:
                yield reader.line_num, row
    except csv.Error as error:
        raise ValueError(
            f"{path.name} is not a text table at line {reader.line_num}: {error}."
        ) from error


def separator(lines: Sequence[str], name: str) -> str:
    """The separator of cells: by the ending, the mark that is as often in most lines, or spaces."""
    if name.endswith((".tsv", ".tab", ".gct")):
        return "\t"
    same = {}
    for mark in "\t;,":
        often = Counter(line.count(mark) for line in lines if mark in line).most_common(1)
        same[mark] = [(lines_with, times) for times, lines_with in often] or [(0, 0)]
    best = max(same, key=lambda mark: same[mark])
    if best in "".join(lines):
        return best
    words = Counter(len(line.split()) for line in lines if line.strip()).most_common(1)
    return " " if words and words[0][0] > 1 else ","


def as_table(lines: Lines, name: str, options: Options) -> Table:
    """The numbers of the cells, with the names around them; samples are its rows."""
    number = number_reader(options.decimal or ".", options.thousands)
    about: dict[str, list[str]] = {}
    lines = without_notes(lines, options.skip_rows, about)
    try:
        head = find_head(lines, partial(is_cell, number), about)
    except FormatError:
        raise
    except ValueError as error:
        raise ValueError(f"{name} cannot be read: {error}.") from error
    if not head.lines:
        raise ValueError(f"{name} is empty.")
    turned = head.turned if options.transpose is None else options.transpose
    own = options._replace(labels=None) if turned or options.labels in about else options
    few = [cells for _, cells in head.lines[: ROWS_INSPECTED + 1]]
    layout = _layout(few, name, own, number, head.beside)
    rows = without_remarks(chain(head.lines[layout.header :], lines), len(layout.headings), name)
    table = without_sums(_parse(rows, layout, name, own, number), name)
    heading = "" if layout.columns.names is None else layout.headings[0]
    genes = options.transpose is None and rows_are_genes(table.samples, table.features, heading)
    if turned or genes:
        if options.transpose is None:
            note_turned(name)
        table = turn(table)
        table = table._replace(samples=sample_names(table.samples))
        classes = about.get(options.labels or "")
        if classes is not None:
            values = [classes[j] for j in layout.columns.features]
            where = f"{options.labels!r} in {name}"
            table = table._replace(labels=class_names(values, table.samples, where))
    return table


def _layout(
    top: list[list[str]], name: str, options: Options, number: Number, beside: set[int]
) -> Layout:
    """Header and names, from the first two lines; columns of text, from some more."""
    first, second = top[0], top[min(1, len(top) - 1)]
    short = len(top) > 1 and len(first) == len(second) - 1  # R leaves the first heading out
    marked = first[0].startswith("# ") and is_cell(number, second[0])  # as numpy.savetxt writes it
    below = [row for row in top[1:] if len(row) == len(first)]
    header = short or marked or is_header(number, first, below)
    if header and len(top) < 2:
        raise ValueError(f"{name} has a header but no samples.")
    headings = [unguard_cell(cell.strip()) for cell in (["", *first] if short else first)]
    if marked:
        headings[0] = headings[0].removeprefix("# ")
    rows = [row for row in top[header:] if len(row) == len(headings)]
    empty, text = set(beside), {}
    for j, cells in enumerate(zip(*rows, strict=True)):
        if is_text(number, cells):
            text[j] = [cell for cell in cells if not has_no_value(cell)]
        elif j and not headings[j] and not filled(cells):
            empty.add(j)  # a separator at the end of each line
    starts = [row[0] for row in top[header:] or top if not has_no_value(row[0])]
    names = [] if not starts or is_cell(number, starts[0]) else starts
    if not header:
        named = names and not are_classes(names)
        headings = ["", *numbered(len(first) - 1)] if named else numbered(len(first))
    found = find_columns(headings, text, names, name, options, unused=empty)
    if not header and {*text} - {found.names}:
        said = f"{name} has no header: its first line is a sample, and columns are numbered from 0."
        warnings.warn(said, TableWarning, stacklevel=2)
    return Layout(header, headings, found)


def _parse(lines: Lines, layout: Layout, name: str, options: Options, number: Number) -> Table:
    samples: list[str] = []
    labels: list[str] = []
    values = array("d")
    bad: dict[str, list[tuple[int, str]]] = {}  # lines and cells, by column
    left_out: set[str] = set()
    limits: list[str] = []
    columns, features, width = layout.columns, layout.features, len(layout.headings)
    for line, cells in lines:
        if len(cells) != width:
            raise ValueError(
                f"{name} has {len(cells)} cells in line {line} but {width} above it; lines above a "
                "table are left out with --skip-rows."
            )
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
            numbers, limits = without_limits(numbers, limits)
            for feature, c in zip(features, numbers, strict=True):
                if not is_cell(number, c, gaps=True) and len(bad.get(feature, ())) < MOST_LISTED:
                    bad.setdefault(feature, []).append((line, c))
            values.extend(number(c) if is_cell(number, c) else math.nan for c in numbers)
    if bad:
        raise NotNumbersError(name, bad, options, columns.texts)
    note_left_out(name, limits, "is beyond a limit, and the limit is taken")
    if unknown := [repr(row) for row in sorted(columns.rows_to_drop - left_out)]:
        raise ValueError(f"{name} has no column or row {listing(unknown)} to drop.")
    X = np.frombuffer(values).reshape(len(samples), len(features))
    if columns.classes is None:
        return Table(X, samples, features)
    where = f"column {layout.headings[columns.classes]!r} of {name}"
    return Table(X, samples, features, class_names(labels, samples, where))


class NotNumbersError(ValueError):
    """Which cells are not numbers, and what may help."""

    def __init__(
        self,
        name: str,
        bad: Mapping[str, list[tuple[int, str]]],
        options: Options,
        texts: str | None,
    ) -> None:
        each = MOST_LISTED if len(bad) == 1 else 1
        listed = [(c, line, column) for column in bad for line, c in bad[column][:each]]
        shown = listed[: MOST_LISTED if texts is None else 1]
        where = "; ".join(f"{c[:50]!r} in line {i}, column {one_line(f)}" for c, i, f in shown)
        where += (
            f"; and in {more} more columns"
            if (more := len(bad) - len({f for *_, f in shown}))
            else ""
        )
        cells = [cell.strip() for found in bad.values() for _, cell in found]
        commas = [cell for cell in cells if DECIMAL_COMMA.fullmatch(cell)]
        groups = [cell for cell in cells if re.fullmatch(r"[+-]?\d{1,3}(,\d{3})+", cell)]
        self.decimal_commas = len(groups) < len(commas) == len(cells)
        drop = " ".join(f"--drop {one_line(column)!r}" for column in bad)
        advice = f"; columns that are no features are left out with {drop}"
        if (commas or groups) and options.decimal != "," and not options.thousands:
            advice = "; if the comma is a decimal sign, use --decimal , and if it groups digits, "
            advice += "use --thousands ,"
        if texts is not None:
            advice = f"; {remedy(texts)}{advice}"
        super().__init__(f"{name} has cells that are not numbers: {where}{advice}.")


def _quick(number: Number, cells: list[str]) -> Number:
    """`number`, or `float` where it gives the same."""
    if number is not to_number:
        return number
    text = "".join(cells)
    return float if text.isascii() and "_" not in text else to_number
