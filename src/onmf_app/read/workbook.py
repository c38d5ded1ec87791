"""A sheet of an `.xlsx` workbook by python-calamine: the only module that imports it."""

import re
import warnings
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, time
from itertools import chain, islice
from pathlib import Path
from typing import Any
from xml.parsers.expat import ExpatError, ParserCreate
from zipfile import ZipFile

from python_calamine import CalamineError, CalamineWorkbook

from onmf.exceptions import FormatError, TableWarning
from onmf.rows import InMemoryTable, Options, Source, check_memory, listing, reading_errors
from onmf_app.read.delimited import as_table
from onmf_app.read.layouts import LINES_INSPECTED, Line
from onmf_app.read.text_files import check_unpacked

PLACE = re.compile(r"([A-Za-z]{0,3})(\d{1,7})")  # of a cell, or the number of a row
BEFORE_XML = b"\xef\xbb\xbf \t\r\n"
CELL_BYTES = 64  # of a cell in memory, and again as a text
MOST_SHEETS_TRIED = 20  # for the first table of numbers


def open_workbook(path: Path, options: Options) -> Source:
    plain = options._replace(decimal=".", thousands="")  # cells are numbers already
    names = sheet_names(path)
    tried = [options.sheet] if options.sheet is not None else names[:MOST_SHEETS_TRIED]
    errors: list[ValueError] = []
    for sheet in tried:
        lines = sheet_cells(path, plain._replace(sheet=sheet), LINES_INSPECTED)
        try:
            table = as_table(lines, path.name, plain)
        except FormatError:
            raise
        except ValueError as error:
            errors.append(error)
            lines.close()
            continue
        if options.sheet is None and len(names) > 1:
            _note_sheet(path.name, str(sheet), names)
        return InMemoryTable.of(table, path.name)
    if len(names) < 2:
        raise errors[0]
    said = str(errors[0]).removesuffix(".")
    raise ValueError(f"{said}; --sheet reads another sheet: {listing(names)}.") from errors[0]


def _note_sheet(file: str, sheet: str, names: Sequence[str]) -> None:
    """Warn that of several sheets only the first with a table is read."""
    others = listing([name for name in names if name != sheet])
    which = "the first" if sheet == names[0] else "the first with a table of numbers"
    warnings.warn(
        f"{file} has {len(names)} sheets; only {which}, {sheet!r}, is read "
        f"(--sheet reads another: {others}).",
        TableWarning,
        stacklevel=3,
    )


def sheet_names(path: Path) -> list[str]:
    """The names of the sheets."""
    with _opened(path) as book:
        return list(book.sheet_names)


def sheet_cells(path: Path, options: Options, inspected: int = 1) -> Generator[Line]:
    """The cells of a sheet as text, without empty rows; as wide as the first rows."""
    with _opened(path) as book:
        names = book.sheet_names
        if options.sheet is not None and options.sheet not in names:
            raise ValueError(
                f"{path.name} has no sheet {options.sheet!r}; its sheets are {listing(names)}."
            )
        if len(names) > 1 and options.sheet is None:
            _note_sheet(path.name, names[0], names)
        sheet = book.get_sheet_by_name(options.sheet or names[0])
        rows = enumerate(([*map(_text, row)] for row in sheet.iter_rows()), 1)
        full = ((number, cells) for number, cells in rows if _length(cells))
        top = list(islice(full, inspected))
        width = max((_length(cells) for _, cells in top), default=0)
        for number, cells in chain(top, full):
            yield number, (cells + [""] * width)[: max(width, _length(cells))]


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    with (
        reading_errors(path.name, "a workbook", CalamineError, ExpatError),
        path.open("rb") as file,
    ):
        with ZipFile(file) as packed:
            for part in packed.infolist():
                check_unpacked(path.name, part.file_size, max(part.compress_size, 1))
                content = packed.read(part)
                if content.lstrip(BEFORE_XML).startswith(b"<"):  # a sheet may have any name
                    check_sheet(content, path.name)
        file.seek(0)
        with CalamineWorkbook.from_filelike(file) as book:
            yield book


def check_sheet(content: bytes, name: str) -> None:
    """Refuse a sheet whose cells are so far apart that those between them would fill the memory."""
    rows = columns = 0

    def look(tag: str, attributes: dict[str, str]) -> None:
        nonlocal rows, columns
        if tag.rpartition("}")[2] not in ("c", "row") or "r" not in attributes:
            return
        place = PLACE.fullmatch(attributes["r"])
        if place is None:
            raise FormatError(f"a sheet of {name} has a cell at {attributes['r']!r}.")
        rows = max(rows, int(place[2]))
        columns = max(columns, _number(place[1].upper()))

    def refuse(*declared: object) -> None:
        raise FormatError(f"{name} declares XML entities, as no spreadsheet program does.")

    parser = ParserCreate(namespace_separator="}")
    parser.StartElementHandler, parser.StartDoctypeDeclHandler = look, refuse
    parser.Parse(content, True)
    check_memory(rows * max(columns, 1) * CELL_BYTES, f"a sheet of {name}")


def _number(letters: str) -> int:
    """A column by its letters: A is 1, AA is 27."""
    number = 0
    for letter in letters:
        number = 26 * number + ord(letter) - ord("A") + 1
    return number


def _length(cells: list[str]) -> int:
    """Number of cells without the empty ones at the end."""
    return next((j for j in range(len(cells), 0, -1) if cells[j - 1]), 0)


def _text(value: Any) -> str:
    """A cell as a text table would have it: dates without midnight, true as 1, 2 as 2."""
    if isinstance(value, datetime) and value.time() == time.min:
        value = value.date()
    whole = isinstance(value, bool) or (isinstance(value, float) and value.is_integer())
    return str(int(value) if whole else value)
