"""The cells of a table as a frame: pandas reads them, this module says where the table is.

    first lines  ->  separator, header, columns of text  (`layouts`)
    every line   ->  counted: pandas pads short lines in silence
    columns      ->  45%, <20, 1.234,5 and the minus of a text program, where pandas finds no number

Footnotes and counts of reads outside of genes are left out, with a note.
"""

import csv
import io
import re
import warnings
from bisect import bisect_right
from collections import Counter, deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, takewhile
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from onmf_app.read.cells import (
    LIMIT,
    NO_VALUE,
    Number,
    has_no_value,
    is_cell,
    number_reader,
    unguard_cell,
)
from onmf_app.read.layouts import (
    ID_HEADINGS,
    LINES_INSPECTED,
    column_of_texts,
    filled,
    find_head,
    geo_fact,
    is_header,
    is_text,
    remedy,
)
from onmf_app.read.streams import File, listing

ROWS_INSPECTED = 20  # enough to tell text from one wrong cell
MOST_LISTED = 10  # cells that an error names
MOST_EXACT = 15  # digits of a number that the quick parser of pandas rounds correctly
NA_VALUES = sorted({f(v) for v in NO_VALUE for f in (str, str.upper, str.title)} | {"NaN"})
NO_GENE = re.compile(  # rows of HTSeq and STAR that count reads outside genes
    r"__(no_feature|ambiguous|too_low_aqual|not_aligned|alignment_not_unique)"
    r"|N_(unmapped|multimapping|noFeature|ambiguous)",
    re.IGNORECASE,
)
GEO_TABLE = "!series_matrix_table_"
SPECIAL = (b"__", b"N_", b"!", b'"__', b'"N_', b'"!')  # lines to look at begin so
DECIMAL_COMMA = re.compile(r"[+-]?[\d.\s]*\d,\d+([eE][+-]?\d+)?")
Blocks = Iterator[list[bytes]]  # lines in UTF-8


class Parsed(NamedTuple):
    """All columns of a table, by position, and what was found above and beside them.

    about : classes of the columns; turned : whether rows are surely features.
    beside : headings of columns that only annotate rows, which are left out.
    """

    frame: Any
    about: dict[str, list[str]]
    turned: bool
    beside: set[str]


def separator(lines: Sequence[str], ending: str) -> str:
    """The separator of cells: by the ending, the mark that is as often in most lines, or spaces."""
    if ending in (".tsv", ".tab", ".gct"):
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


def as_blocks(rows: Iterable[Sequence[str]]) -> Blocks:
    """Cells that a library read, as lines; an empty row is an empty line."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for row in rows:
        if filled(row):
            writer.writerow(row)
        else:
            text.write("\n")
    return iter([text.getvalue().encode("utf-8", "surrogatepass").split(b"\n")])


def parse(
    file: File,
    blocks: Blocks,
    *,
    mark: str | None = None,
    skip_rows: int = 0,
    decimal: str = ".",
    thousands: str = "",
    as_text: Collection[str] = (),
) -> Parsed:
    """The table in these lines; columns named in `as_text` stay text."""
    name = file.name
    number = number_reader(decimal, thousands)
    seen: list[bytes] = []
    for block in blocks:
        seen += block
        if sum(bool(s.strip()) and s[:1] != b"!" for s in seen[skip_rows:]) >= LINES_INSPECTED:
            break
    first = [s.decode("utf-8", "replace") for s in seen if s[:1] != b"!"][:LINES_INSPECTED]
    mark = mark or separator(first, file.ending)
    about: dict[str, list[str]] = {}
    top, begins = _top(seen, name, mark, skip_rows, about)
    try:
        head = find_head(top, partial(is_cell, number), about)
    except ValueError as error:
        raise ValueError(f"{name} cannot be read: {error}.") from error
    if not head.lines:
        raise ValueError(f"{name} is empty.")
    few = [cells for _, cells in head.lines[: ROWS_INSPECTED + 1]]
    headings, header, text, unused = _layout(few, name, number, head.beside)
    text |= {j for j, heading in enumerate(headings) if heading in as_text}
    start = begins[head.lines[header][0]] - 1
    body = Body(chain([seen[start:]], blocks), file, mark, len(headings), start)
    kept = [j for j in range(len(headings)) if j not in unused]
    digits = max(sum(c.isdigit() for c in cell) for row in few for cell in row)
    found = _read(body, kept, text, decimal, digits <= MOST_EXACT)
    bad, limits = _make_numbers(found, text, number)
    if bad:
        words = {headings[j]: [r[j] for r in few[header:] if len(r) > j] for j in text & {*kept}}
        listed = {headings[j]: [(body.line(i), c) for i, c in own] for j, own in bad.items()}
        raise NotNumbersError(name, listed, decimal == "." and not thousands, words)
    ends = takewhile(lambda cells: filled(cells) == 1 and cells[0].strip(), body.tail[::-1])
    remarks = [cells[0] for cells in ends if len(headings) > 2][::-1]  # footnotes
    frame = found.iloc[: len(found) - len(remarks)]
    remarks += [cells[0] for _, cells in body.short]
    for cells, said in (
        (limits, "is beyond a limit, and the limit is taken"),
        (body.outside, "count reads outside of genes, and are left out"),
        (remarks, "has no numbers, and is left out"),
    ):
        if cells:
            file.note(f"{name}: {listing(map(repr, cells))} {said}.")
    if not header and text - ({0} if not headings[0] else set()):
        file.note(f"{name} has no header: its first line is a sample. Columns are numbered from 0.")
    frame.columns = [headings[j] for j in frame.columns]
    about = {key: ["", *(cells[j] for j in kept[1:] if j < len(cells))] for key, cells in
             head.about.items()}  # fmt: skip
    return Parsed(frame, about, head.turned, {headings[j] for j in unused})


def _read(body: "Body", kept: list[int], text: set[int], decimal: str, exact: bool) -> Any:
    """All columns, by position; pandas loses the errors of what it reads from."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", pd.errors.DtypeWarning)
            return pd.read_csv(
                body, sep=body.mark, header=None, names=range(body.width), index_col=False,
                usecols=kept, dtype=dict.fromkeys(text & {*kept}, str), keep_default_na=False,
                na_values={j: NA_VALUES for j in kept if j not in text}, decimal=decimal,
                float_precision="high" if exact else "round_trip",
            )  # fmt: skip
    except (ValueError, OSError) as error:  # of pandas, ValueErrors
        if body.error is not None:
            raise body.error from None
        said = " ".join(str(error).split()).removesuffix(".")
        raise ValueError(f"{body.file.name} is not a text table: {said}.") from error


def _top(
    seen: list[bytes], name: str, mark: str, skip_rows: int, about: dict[str, list[str]]
) -> tuple[list[tuple[int, list[str]]], dict[int, int]]:
    """The first lines of cells by their number in the file, and where each of them begins."""
    lines = (line.decode("utf-8", "surrogatepass") + "\n" for line in seen)
    reader = csv.reader(lines, delimiter=mark, skipinitialspace=mark == " ")
    top: list[tuple[int, list[str]]] = []
    begins, before = dict[int, int](), 0
    try:
        for cells in reader:
            begin, before = before + 1, reader.line_num
            if before <= skip_rows or not filled(cells):
                continue
            if cells[0].startswith(GEO_TABLE) and top:
                break
            if cells[0].startswith("!") and not top:
                if cells[0].startswith("!Sample_"):
                    geo_fact(about, cells)
                continue
            top.append((before, cells))
            begins[before] = begin
            if len(top) == LINES_INSPECTED:
                break
    except csv.Error as error:
        line = reader.line_num
        raise ValueError(f"{name} is not a text table at line {line}: {error}.") from error
    return top, begins


def _layout(
    top: list[list[str]], name: str, number: Number, beside: set[int]
) -> tuple[list[str], bool, set[int], set[int]]:
    """Headings, whether the first line has them, columns of text, and columns without use."""
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
    text, unused = set(), set(beside)
    for j, cells in enumerate(zip(*rows, strict=True)):
        if is_text(number, cells):
            text.add(j)
        elif j and not headings[j] and not filled(cells):
            unused.add(j)  # a separator at the end of each line
    starts = [row[0] for row in top[header:] if not has_no_value(row[0])]
    named = bool(starts) and not is_cell(number, starts[0])
    padded = any(cell != "0" and cell[:1] == "0" and cell.isdecimal() for cell in starts)
    if named or (padded and header and headings[0].lower() in ID_HEADINGS):
        text.add(0)
    if not header:
        classes = 4 * len({*starts[:ROWS_INSPECTED]}) <= len(starts[:ROWS_INSPECTED])
        numbers = [*map(str, range(len(first)))]
        headings = ["", *numbers[:-1]] if named and not classes else numbers
    return headings, header, text, unused


class Body:
    """What pandas reads: lines that all have as many cells as the header."""

    def __init__(
        self, blocks: Iterator[list[bytes]], file: File, mark: str, width: int, line: int
    ) -> None:
        self._blocks, self.file, self.mark, self.width = blocks, file, mark, width
        self._line, self._rows, self._checked_bytes = line, 0, 1 << 20
        self._places: list[tuple[int, int]] = []  # a row, and the line before it; all that follow
        self.outside: list[str] = []  # counts of reads outside of genes
        self.short: list[tuple[int, list[str]]] = []  # lines with one text, at the end
        self.error: Exception | None = None
        self._last: list[bytes] = []
        self._over = False
        m = re.escape(mark.encode())
        self._quoted = re.compile(rb'(?m)(?<![^%s\n])"[^"\n]*"(?![^%s\n])' % (m, m))
        self._parts = self._checked()

    def __iter__(self) -> Iterator[bytes]:
        return self._parts

    def read(self, size: int = -1) -> bytes:
        """The next lines; an error is kept, as pandas forgets it."""
        try:
            if (needed := 8 * self._rows * self.width) > self._checked_bytes:
                from onmf.rows import check_memory

                check_memory(needed, self.file.name)  # and as much again as it grows
                self._checked_bytes = 2 * needed
            return next(self._parts, b"")
        except Exception as error:
            self.error = error
            raise

    @property
    def tail(self) -> list[list[str]]:
        """The cells of the last lines that pandas read."""
        lines = (line.decode("utf-8", "replace") for line in self._last[-LINES_INSPECTED:])
        return [*csv.reader(lines, delimiter=self.mark)]

    def line(self, row: int) -> int:
        """The line of a row in the file."""
        first, before = self._places[bisect_right(self._places, (row, 1 << 62)) - 1]
        return before + row - first + 1

    def _checked(self) -> Iterator[bytes]:
        mark = self.mark.encode()
        for lines in self._blocks:
            if self._over:
                return
            if self.mark == " ":
                lines = [b" ".join(line.split()) for line in lines]
            text = b"\n".join([*lines, b""])
            bare = lines
            if b'"' in text:
                bare = self._quoted.sub(b"", text).split(b"\n")[:-1]
            even = {line.count(mark) for line in bare} == {self.width - 1} and b"\r" not in text
            even = even and mark * (self.width - 1) not in bare  # nothing in it
            even = even and not (b'"' in text and any(b'"' in line for line in bare))
            if even and not {line[:1] for line in lines}.isdisjoint((b"_", b"N", b"!", b'"')):
                even = not any(line.startswith(SPECIAL) for line in lines)
            if even:
                if self.short:
                    self._refuse(*self.short[0])
                self._places.append((self._rows, self._line))
                self._rows += len(lines)
                self._line += len(lines)
                self._last = lines
                yield text
            elif lines:
                yield self._one_by_one(lines)

    def _one_by_one(self, block: list[bytes]) -> bytes:
        """The same for lines with other numbers of cells, or ends of lines in a cell."""
        lines, text = deque(block), io.StringIO()

        def feed() -> Iterator[str]:
            while True:
                if not lines:
                    lines.extend(next(self._blocks, ()))
                if not lines:
                    return
                self._line += 1
                yield lines.popleft().decode("utf-8", "surrogatepass") + "\n"

        reader = csv.reader(feed(), delimiter=self.mark)
        writer = csv.writer(text, delimiter=self.mark, lineterminator="\n")
        while lines:
            before = self._line
            try:
                cells = next(reader, [])
            except csv.Error as error:
                raise ValueError(
                    f"{self.file.name} is not a text table at line {self._line}: {error}."
                ) from error
            if not filled(cells):
                continue
            first = cells[0].strip()
            if first.startswith(GEO_TABLE):
                self._over = True
                break
            if NO_GENE.fullmatch(first):
                self.outside.append(first)
            elif len(cells) == self.width:
                if self.short:
                    self._refuse(*self.short[0])
                self._places.append((self._rows, before))
                self._rows += 1
                writer.writerow(cells)
            elif self.width > 2 and filled(cells) == 1 and first:
                self.short.append((self._line, cells))
            else:
                self._refuse(self._line, cells)
        found = text.getvalue().encode("utf-8", "surrogatepass")
        self._last = [line for line in found.split(b"\n") if line] or self._last
        return found or b"\n"

    def _refuse(self, line: int, cells: list[str]) -> None:
        raise ValueError(
            f"{self.file.name} has {len(cells)} cells in line {line} but {self.width} above it; "
            "lines above a table are left out with --set read.skip_rows=N."
        )


def _make_numbers(
    found: Any, text: set[int], number: Number
) -> tuple[dict[int, list[tuple[int, str]]], list[str]]:
    """Numbers where pandas found none, and text as it was before `guard_cell`.

    Returns rows and cells that are not numbers, by column; and limits such as <20.
    """
    bad: dict[int, list[tuple[int, str]]] = {}
    limits: dict[str, None] = {}
    for j in [j for j in found.columns if found[j].dtype.kind not in "iuf"]:
        values = found[j]
        if j in text:
            if values.str.startswith("'", na=False).any():
                found[j] = values.map(unguard_cell)
            continue
        codes, cells = pd.factorize(values)
        parsed, wrong = np.full(len(cells) + 1, np.nan), []
        for i, cell in enumerate(cells):
            plain = str(cell)
            if LIMIT.match(plain):
                limits[plain] = None
                plain = LIMIT.sub("", plain)
            if is_cell(number, plain) or isinstance(cell, float):
                parsed[i] = number(plain)
            elif not has_no_value(plain):
                wrong.append(i)
        found[j] = parsed[codes]
        if wrong:
            rows = np.flatnonzero(np.isin(codes, wrong))[:MOST_LISTED].tolist()
            bad[j] = [(row, str(values.iloc[row])) for row in rows]
    return bad, [*limits]


class NotNumbersError(ValueError):
    """Which cells, by column, are not numbers, and what may help."""

    def __init__(
        self,
        name: str,
        bad: dict[str, list[tuple[int, str]]],
        plain: bool,
        words: dict[str, list[str]],
    ) -> None:
        texts, each = column_of_texts(words), MOST_LISTED if len(bad) == 1 else 1
        shown = [(c, line, column) for column in bad for line, c in bad[column][:each]]
        shown = shown[: MOST_LISTED if texts is None else 1]
        where = "; ".join(f"{c[:50]!r} in line {i}, column {column}" for c, i, column in shown)
        if more := len(bad) - len({column for *_, column in shown}):
            where += f"; and in {more} more columns"
        cells = [cell.strip() for found in bad.values() for _, cell in found]
        commas = [cell for cell in cells if DECIMAL_COMMA.fullmatch(cell)]
        groups = [cell for cell in cells if re.fullmatch(r"[+-]?\d{1,3}(,\d{3})+", cell)]
        self.decimal_commas = len(groups) < len(commas) == len(cells)
        drop = " ".join(f"--drop {column!r}" for column in bad)
        advice = f"; columns that are no features are left out with {drop}"
        if (commas or groups) and plain:
            advice = "; if the comma is a decimal sign, use --set read.decimal=, and if "
            advice += "it groups digits, use --set read.thousands=,"
        if texts is not None:
            advice = f"; {remedy(texts)}{advice}"
        super().__init__(f"{name} has cells that are not numbers: {where}{advice}.")
