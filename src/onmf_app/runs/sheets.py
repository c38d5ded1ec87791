"""Tables as comma-separated text, written some rows at a time."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, groupby, islice
from typing import IO, Any, NamedTuple, Self

import numpy as np

from onmf.files import Content
from onmf.rows import Array, Coded, Numbered, in_blocks
from onmf_app.read.cells import FORMULA_STARTS, guard_cell

ROWS_PER_BLOCK = 10_000  # of a table that is written
LINE_ENDS = "\r\n\v\f\x1c\x1d\x1e\x85\u2028\u2029"
FILL, END = 0xFF, 0xFE  # no bytes of UTF-8: after the end of a cell, and of a row
MOST_IN_BYTES = 10**9  # larger whole numbers are written by Python, ...
MOST_EXACT, ROUNDING = 2.0**52, 2.0**-52  # ... and larger multiples of the last decimal
MARK = "\ufeff"  # byte order mark
NEEDS_QUOTES = re.compile(f'[,"{LINE_ENDS}]')


class Sheet(NamedTuple):
    """A table to be written as comma-separated text; its rows, or `Columns` of them."""

    header: Sequence[str]
    rows: "Iterable[Iterable[Any]] | Columns"


class Columns(NamedTuple):
    """Rows given by their columns: arrays of numbers, or names.

    They are written a block at a time, numbers as digits in a matrix of bytes: as text each would
    take 50 bytes, and five times as long.

    digits : decimals of the numbers of each column; 6 if not given.
    """

    parts: Sequence[Sequence[Any] | Array]
    digits: Sequence[int] | None = None

    def is_ascii(self) -> bool:
        """Whether all names are."""
        named = [own for own in self.parts if not isinstance(own, np.ndarray | Numbered)]
        named = [own.words if isinstance(own, Coded) else own for own in named]
        return all("".join(some).isascii() for own in named for some in in_blocks(own))

    def lines(self) -> Iterator[str]:
        """The rows as text, some at a time."""
        digits = self.digits or [6] * len(self.parts)
        written = [_Column.of(own, n) for own, n in zip(self.parts, digits, strict=True)]
        entries = (in_blocks(own.entries, ROWS_PER_BLOCK) for own in written)
        for blocks in zip(*entries, strict=True):
            yield _joined([own.cells(block) for own, block in zip(written, blocks, strict=True)])


class _Column(NamedTuple):
    """The entries of a column, and some of them as texts, or as a matrix of bytes, row by row.

    A matrix has FILL where a cell is shorter than the longest.
    """

    entries: Any
    cells: Callable[[Any], list[str] | Array]

    @classmethod
    def of(cls, column: Any, digits: int) -> Self:
        if isinstance(column, Numbered):
            return cls(range(len(column)), lambda block: _whole(np.array(block)))
        if isinstance(column, Coded):
            words = _byte_rows(text_cells(column.words))
            return cls(column.codes, lambda block: words[block])
        kind = column.dtype.kind if isinstance(column, np.ndarray) else "O"
        if kind == "b":  # yes and no as most programs read them
            return cls.of(Coded(["false", "true"], column.view(np.int8)), digits)
        if kind in "iu":
            return cls(column, _whole)
        if kind == "f":
            return cls(column, lambda block: _decimals(block, digits))
        return cls(column, lambda block: text_cells(block))


def _joined(cells: Sequence[list[str] | Array]) -> str:
    """The lines of some rows, given by their columns. Neighbouring matrices are one column."""
    n, columns = len(cells[0]), list[Any]()
    for in_bytes, group in groupby(cells, lambda own: isinstance(own, np.ndarray)):
        if not in_bytes:
            columns += group
            continue
        marks = [np.full((n, 1), ord(","), np.uint8), np.full((n, 1), END, np.uint8)]
        parts = [part for own in group for part in (own, marks[0])]
        text = np.hstack([*parts[:-1], marks[1]]).tobytes().replace(bytes([FILL]), b"")
        if len(parts) == 2 * len(cells):
            return text.replace(bytes([END]), b"\n").decode("utf-8")
        columns.append(text.decode("utf-8", "surrogateescape").split(chr(0xDC00 + END))[:-1])
    line = ",".join(["%s"] * len(columns)) + "\n"
    return line * n % tuple(chain.from_iterable(zip(*columns, strict=True)))


def _byte_rows(texts: Sequence[str]) -> Array:
    """Each text as a row of bytes."""
    coded = [text.encode("utf-8") for text in texts]
    width = max(map(len, coded), default=0)
    joined = b"".join(text.ljust(width, bytes([FILL])) for text in coded)
    return np.frombuffer(joined, np.uint8).reshape(len(coded), width)


def _whole(numbers: Array) -> Array:
    """`%d` of each number."""
    size = np.abs(numbers.astype(np.float64))
    if size.max(initial=0) >= MOST_IN_BYTES:
        return _byte_rows([*map(str, numbers.tolist())])
    digits = _digits(size.astype(np.int32), len(str(int(size.max(initial=0)))))
    for j in range(digits.shape[1] - 1):
        digits[size < 10 ** (digits.shape[1] - 1 - j), j] = FILL
    return digits if numbers.min(initial=0) >= 0 else np.hstack([_minus(numbers < 0), digits])


def _decimals(numbers: Array, n: int) -> Array:
    """`%.nf` of each number, for n from 1 to 9."""
    exact = numbers.astype(np.float64)
    size = np.abs(exact)
    if not size.max(initial=0) * 10**n < MOST_EXACT:
        return _byte_rows([f"{x:.{n}f}" for x in exact.tolist()])
    product = size * 10**n
    scaled = np.rint(product)
    for i in np.flatnonzero(np.abs(np.abs(product - scaled) - 0.5) <= ROUNDING * product):
        scaled[i] = int(f"{size[i]:.{n}f}".replace(".", ""))  # half way, but for rounding
    whole = np.floor(scaled / 10**n)
    after = _digits((scaled - whole * 10**n).astype(np.int32), n)
    parts = [_whole(whole), np.full((len(exact), 1), ord("."), np.uint8), after]
    negative = np.signbit(exact)
    return np.hstack([_minus(negative), *parts] if negative.any() else parts)


def _digits(numbers: Array, n: int) -> Array:
    """The last n decimal digits of numbers (int32, which divides ten times as fast as int64)."""
    digits = np.empty((len(numbers), n), np.uint8)
    for j in reversed(range(n)):
        rest = numbers // 10
        digits[:, j] = numbers - 10 * rest + ord("0")
        numbers = rest
    return digits


def _minus(negative: Array) -> Array:
    """A column with the sign of each number."""
    return np.where(negative, ord("-"), FILL).astype(np.uint8)[:, None]


def csv_text(header: Sequence[str], rows: Iterable[Iterable[Any]] | Columns) -> str:
    """The rows as comma-separated text; formulas are guarded (`onmf_app.read.cells`).

    Text that is not all ASCII begins with a byte order mark, by which Excel knows UTF-8.
    """
    text = "".join(csv_blocks(header, rows))
    return text if text.isascii() else f"{MARK}{text}"


def csv_writers(sheets: Mapping[str, Sheet]) -> dict[str, Content]:
    """The files of these sheets: functions that write them, some rows at a time."""
    return {name: csv_writer(sheet) for name, sheet in sheets.items()}


def csv_writer(sheet: Sheet) -> Content:
    """The same as a function that writes it, some rows at a time."""
    if not isinstance(sheet.rows, Columns):
        return csv_text(*sheet)
    plain = sheet.rows.is_ascii() and "".join(sheet.header).isascii()

    def write(file: IO[bytes]) -> None:
        for text in chain([] if plain else [MARK], csv_blocks(*sheet)):
            file.write(text.encode("utf-8"))

    return write


def csv_blocks(header: Sequence[str], rows: Iterable[Iterable[Any]] | Columns) -> Iterator[str]:
    """The text, some rows at a time."""
    lines = chain([header], () if isinstance(rows, Columns) else rows)
    while block := list(islice(lines, ROWS_PER_BLOCK)):
        yield "".join(csv_line(row) for row in block)
    if isinstance(rows, Columns):
        yield from rows.lines()


def csv_line(row: Iterable[Any]) -> str:
    """One row as a line."""
    cells = text_cells(["" if cell is None else cell for cell in row])
    return ('""' if cells == [""] else ",".join(cells)) + "\n"


def text_cells(cells: Sequence[Any]) -> list[str]:
    """Cells as they stand in a file: guarded, and in quotes if they need them."""
    texts = [*map(str, cells)]
    if FORMULA_STARTS & {text[:1] for text in texts}:
        texts = [*map(guard_cell, texts)]
    if not NEEDS_QUOTES.search("".join(texts)):
        return texts
    return [_quoted(text) if NEEDS_QUOTES.search(text) else text for text in texts]


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'
