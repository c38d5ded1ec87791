"""Workbooks, by python-calamine, and JSON: the cells that they hold, as rows of text."""

import json
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, time
from typing import Any
from xml.parsers.expat import ExpatError, ParserCreate
from zipfile import BadZipFile, ZipFile

from onmf_app.read.streams import File, check_unpacked

PLACE = re.compile(r"([A-Za-z]{0,3})(\d{1,7})")  # of a cell, or the number of a row
BEFORE_XML = b"\xef\xbb\xbf \t\r\n"
CELL_BYTES = 64  # of a cell in memory, and again as a text
MOST_PARTS = 10_000  # of a workbook
Row = dict[str, Any]


@contextmanager
def open_workbook(source: File) -> Iterator[Any]:
    """A workbook whose parts unpack to no more than any workbook does."""
    from python_calamine import CalamineError, CalamineWorkbook

    try:
        with source.path.open("rb") as file:
            _check_parts(file, source.name)
            file.seek(0)
            with CalamineWorkbook.from_filelike(file) as book:
                if not book.sheet_names:
                    raise ValueError("it has no sheets")
                yield book
    except (CalamineError, ExpatError, BadZipFile, zlib.error, EOFError, NotImplementedError,
            RuntimeError, LookupError) as error:  # fmt: skip
        said = " ".join(str(error).split()).removesuffix(".")
        raise ValueError(f"{source.name} cannot be read as a workbook: {said}.") from error


def _check_parts(file: Any, name: str) -> None:
    """Refuse parts that unpack to too much in all, and sheets that would fill the memory."""
    size, given = file.seek(0, 2), 0
    with ZipFile(file) as packed:
        parts = packed.infolist()
        if len(parts) > MOST_PARTS:
            raise ValueError(f"{name} has {len(parts)} parts, more than a workbook has.")
        if len({part.header_offset for part in parts}) < len(parts):
            raise ValueError(f"{name} declares parts that lie in the same place.")
        for part in parts:
            content = bytearray()
            with packed.open(part) as stream:
                while some := stream.read(1 << 20):
                    given += len(some)
                    check_unpacked(name, given, size)
                    content += some
            if content.lstrip(BEFORE_XML).startswith(b"<"):  # a sheet may have any name
                _check_sheet(bytes(content), name)


def _check_sheet(content: bytes, name: str) -> None:
    """Refuse a sheet whose cells are so far apart that those between them would fill the memory."""
    rows = columns = 0

    def look(tag: str, attributes: dict[str, str]) -> None:
        nonlocal rows, columns
        if tag.rpartition("}")[2] not in ("c", "row") or "r" not in attributes:
            return
        place = PLACE.fullmatch(attributes["r"])
        if place is None:
            raise ValueError(f"a sheet of {name} has a cell at {attributes['r']!r}.")
        rows = max(rows, int(place[2]))
        letters = 0
        for letter in place[1].upper():  # A is 1, AA is 27
            letters = 26 * letters + ord(letter) - ord("A") + 1
        columns = max(columns, letters)

    def refuse(*declared: object) -> None:
        raise ValueError(f"{name} declares XML entities, as no spreadsheet program does.")

    parser = ParserCreate(namespace_separator="}")
    parser.StartElementHandler, parser.StartDoctypeDeclHandler = look, refuse
    parser.Parse(content, True)
    if (needed := rows * max(columns, 1) * CELL_BYTES) > 1 << 28:
        from onmf.rows import check_memory

        check_memory(needed, f"a sheet of {name}")


def sheet_rows(book: Any, sheet: str) -> list[list[str]]:
    """The cells of a sheet as text, all rows as wide as the first ones."""
    rows = [[*map(_text, row)] for row in book.get_sheet_by_name(sheet).iter_rows()]
    lengths = [next((j for j in range(len(row), 0, -1) if row[j - 1]), 0) for row in rows]
    width = max([n for n in lengths if n][:60], default=0)
    padded = ((row + [""] * width)[: max(width, n)] for row, n in zip(rows, lengths, strict=True))
    return [row if n else [] for row, n in zip(padded, lengths, strict=True)]


def _text(value: Any) -> str:
    """A cell as a text table would have it: dates without midnight, true as 1, 2 as 2."""
    if isinstance(value, datetime) and value.time() == time.min:
        value = value.date()
    whole = isinstance(value, bool) or (isinstance(value, float) and value.is_integer())
    return str(int(value) if whole else value)


def json_objects(file: File) -> Iterator[Row]:
    """The objects of a .json list, or of the lines of a file."""
    if file.ending == ".json":
        found = _parsed("".join(file.lines()), file.name, "")
        if not isinstance(found, list) or not all(isinstance(row, dict) for row in found):
            raise ValueError(
                f"{file.name} is no table: a table in JSON is a list of objects, one for each "
                "sample, as pandas writes with to_json(orient='records')."
            )
        yield from found
        return
    for number, line in enumerate(file.lines(), 1):
        if line.strip():
            found = _parsed(line, file.name, f" in line {number}")
            if not isinstance(found, dict):
                raise ValueError(f"{file.name} has no JSON object in line {number}.")
            yield found


def _parsed(text: str, name: str, where: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{name} is not JSON{where}: {error}.") from None


def object_rows(objects: list[Row]) -> list[list[str]]:
    """The names of all members, and their values as text."""
    headings = list(dict.fromkeys(name for row in objects for name in row))
    cells = [
        ["" if row.get(name) is None else str(row[name]) for name in headings] for row in objects
    ]
    return [headings, *cells] if headings else []
