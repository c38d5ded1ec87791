"""Tables as comma-separated text, written some rows at a time."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import IO, Any, NamedTuple, Self

import numpy as np

from onmf.io.cells import FORMULA_STARTS, guard_cell
from onmf.io.output import Content
from onmf.io.table import Array, Coded, Numbered, in_blocks

ROWS_PER_BLOCK = 10_000  # of a table that is written
LINE_ENDS = "\r\n\v\f\x1c\x1d\x1e\x85\u2028\u2029"
MARK = "\ufeff"  # byte order mark
NEEDS_QUOTES = re.compile(f'[,"{LINE_ENDS}]')


class Sheet(NamedTuple):
    """A table to be written as comma-separated text; its rows, or `Columns` of them."""

    header: Sequence[str]
    rows: "Iterable[Iterable[Any]] | Columns"


class Columns(NamedTuple):
    """Rows given by their columns: arrays of numbers, or names.

    They are read a block at a time: as text a number takes 50 bytes.

    digits : decimals of the numbers of each column; 6 if not given.
    """

    parts: Sequence[Sequence[Any] | Array]
    digits: Sequence[int] | None = None

    def is_ascii(self) -> bool:
        """Whether all names are."""
        named = [own for own in self.parts if not isinstance(own, np.ndarray | Numbered)]
        named = [own.words if isinstance(own, Coded) else own for own in named]
        return all("".join(some).isascii() for own in named for some in in_blocks(own))

    def lines(self, raw: bool) -> Iterator[str]:
        """The rows as text, some at a time."""
        digits = self.digits or [6] * len(self.parts)
        written = [_Column.of(own, raw, n) for own, n in zip(self.parts, digits, strict=True)]
        line = ",".join(own.form for own in written) + "\n"
        for blocks in zip(*(in_blocks(own.entries) for own in written), strict=True):
            cells: list[Any] = [None] * (len(blocks) * len(blocks[0]))
            for j, (own, block) in enumerate(zip(written, blocks, strict=True)):
                cells[j :: len(blocks)] = own.cells(block)
            yield line * len(blocks[0]) % tuple(cells)


class _Column(NamedTuple):
    """How `%` writes a column, its entries, and what the cells of some of them are."""

    form: str
    entries: Any
    cells: Callable[[Any], Sequence[Any]]

    @classmethod
    def of(cls, column: Any, raw: bool, digits: int) -> Self:
        if isinstance(column, Numbered):
            return cls("%d", range(len(column)), lambda block: block)
        if isinstance(column, Coded):
            words = np.array(text_cells(column.words, raw), object)
            return cls("%s", column.codes, lambda block: words[block].tolist())
        kind = column.dtype.kind if isinstance(column, np.ndarray) else "O"
        if kind == "b":  # yes and no as most programs read them
            return cls.of(Coded(["false", "true"], column.view(np.int8)), raw, digits)
        if kind in "fiu":
            form = f"%.{digits}f" if kind == "f" else "%d"
            return cls(form, column, lambda block: block.tolist())
        return cls("%s", column, lambda block: text_cells(block, raw))


def csv_text(
    header: Sequence[str], rows: Iterable[Iterable[Any]] | Columns, raw: bool = False
) -> str:
    """The rows as comma-separated text; unless `raw`, formulas are guarded (`onmf.io.cells`).

    Text that is not all ASCII begins with a byte order mark, by which Excel knows UTF-8.
    """
    text = "".join(csv_blocks(header, rows, raw))
    return text if text.isascii() else f"{MARK}{text}"


def csv_writers(sheets: Mapping[str, Sheet], raw: bool = False) -> dict[str, Content]:
    """The files of these sheets: functions that write them, some rows at a time."""
    return {name: csv_writer(sheet, raw) for name, sheet in sheets.items()}


def csv_writer(sheet: Sheet, raw: bool = False) -> Content:
    """The same as a function that writes it, some rows at a time."""
    if not isinstance(sheet.rows, Columns):
        return csv_text(*sheet, raw)
    plain = sheet.rows.is_ascii() and "".join(sheet.header).isascii()

    def write(file: IO[bytes]) -> None:
        for text in chain([] if plain else [MARK], csv_blocks(*sheet, raw)):
            file.write(text.encode("utf-8"))

    return write


def csv_blocks(
    header: Sequence[str], rows: Iterable[Iterable[Any]] | Columns, raw: bool = False
) -> Iterator[str]:
    """The text, some rows at a time."""
    lines = chain([header], () if isinstance(rows, Columns) else rows)
    while block := list(islice(lines, ROWS_PER_BLOCK)):
        yield "".join(csv_line(row, raw) for row in block)
    if isinstance(rows, Columns):
        yield from rows.lines(raw)


def csv_line(row: Iterable[Any], raw: bool) -> str:
    """One row as a line."""
    cells = text_cells(["" if cell is None else cell for cell in row], raw)
    return ('""' if cells == [""] else ",".join(cells)) + "\n"


def text_cells(cells: Sequence[Any], raw: bool) -> list[str]:
    """Cells as they stand in a file: guarded unless `raw`, and in quotes if they need them."""
    texts = [*map(str, cells)]
    if not raw and FORMULA_STARTS & {text[:1] for text in texts}:
        texts = [*map(guard_cell, texts)]
    if not NEEDS_QUOTES.search("".join(texts)):
        return texts
    return [_quoted(text) if NEEDS_QUOTES.search(text) else text for text in texts]


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'
