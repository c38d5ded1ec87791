"""A sheet of an `.xlsx` workbook by openpyxl: the only module that imports it."""

import re
import warnings
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, time
from functools import partial
from io import BufferedReader, BytesIO
from itertools import chain, islice
from time import thread_time
from typing import IO, Any
from zipfile import ZipFile

from onmf.exceptions import FormatError, TableWarning
from onmf.io.delimited import as_table
from onmf.io.layouts import LINES_INSPECTED, Line
from onmf.io.remote import AnyFile
from onmf.io.source import InMemoryTable, Source
from onmf.io.table import Options, listing, reading_errors
from onmf.io.text_files import check_unpacked

try:
    from openpyxl import Workbook, load_workbook
    from openpyxl.cell import WriteOnlyCell
    from openpyxl.utils.exceptions import InvalidFileException
except ImportError as missing:
    raise ImportError(
        'Workbooks need openpyxl, which `pip install "onmf[excel]"` installs.'
    ) from missing


PIECE_BYTES = 1 << 20  # of XML; a cell has at most 32,767 characters, so many parts of it end there
ENDLESS = ((b"<!--", b"-->"), (b"<![CDATA[", b"]]>"), (b"<?", b"?>"))
SECONDS, SECONDS_PER_MB = 10.0, 2.0  # of processor time; openpyxl took .1 to .2 for a MB of XML
ILLEGAL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")  # in XML
MOST_SHEETS_TRIED = 20  # for the first table of numbers
MOST_ROWS = 1_048_576  # of a sheet


def open_workbook(path: AnyFile, options: Options) -> Source:
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


def workbook_bytes(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> bytes:
    """The content of a workbook of one sheet; text is text, whatever it begins with."""
    book = Workbook(write_only=True)
    sheet = book.create_sheet("labels")
    sheet.freeze_panes = "B2"
    for number, row in enumerate(chain([header], rows)):
        if number == MOST_ROWS:
            raise ValueError(f"a workbook has at most {MOST_ROWS:,} rows: write .csv or .parquet.")
        sheet.append([_cell(sheet, value) for value in row])
    content = BytesIO()
    book.save(content)
    return content.getvalue()


def workbook_rows(path: AnyFile) -> list[tuple[Any, ...]]:
    """The rows of the first sheet of a workbook that `workbook_bytes` made."""
    with _opened(path) as (book, _):
        return [*book.worksheets[0].iter_rows(values_only=True)]


def _cell(sheet: Any, value: Any) -> Any:
    if not isinstance(value, str):
        return value
    cell = WriteOnlyCell(sheet, ILLEGAL.sub("\ufffd", value))
    cell.data_type = "s"  # not a formula
    return cell


def sheet_names(path: AnyFile) -> list[str]:
    """The names of the sheets."""
    with _opened(path) as (book, _):
        return list(book.sheetnames)


def sheet_cells(path: AnyFile, options: Options, inspected: int = 1) -> Generator[Line]:
    """The cells of a sheet as text, without empty rows; as wide as the first rows."""
    with _opened(path) as (book, file):
        names = book.sheetnames
        if options.sheet is not None and options.sheet not in names:
            raise ValueError(
                f"{path.name} has no sheet {options.sheet!r}; its sheets are {listing(names)}."
            )
        if len(names) > 1 and options.sheet is None:
            _note_sheet(path.name, names[0], names)
        sheet = book[options.sheet or names[0]]
        sheet.reset_dimensions()  # what a sheet says about its size may be wrong
        rows = enumerate(_rows(sheet, file), 1)
        full = ((number, cells) for number, cells in rows if _length(cells))
        top = list(islice(full, inspected))
        width = max((_length(cells) for _, cells in top), default=0)
        for number, cells in chain(top, full):
            yield number, (cells + [""] * width)[: max(width, _length(cells))]


class TimedReader(BufferedReader):
    """A workbook that may be read for SECONDS + SECONDS_PER_MB times its unpacked size."""

    name = ""
    end = float("inf")

    def read(self, size: int | None = -1, /) -> bytes:
        self.check()
        return super().read(size)

    def check(self) -> None:
        if thread_time() > self.end:
            raise FormatError(
                f"{self.name} takes far longer to read than other workbooks of its size: save it "
                "again, or as .csv."
            )


@contextmanager
def _opened(path: AnyFile) -> Iterator[tuple[Any, TimedReader]]:
    form = "a workbook", InvalidFileException, SyntaxError  # which an XML parser raises
    with reading_errors(path.name, *form), TimedReader(path.open("rb")) as file:
        megabytes = check_parts(file, path.name) / 1e6
        file.name, file.end = path.name, thread_time() + SECONDS + SECONDS_PER_MB * megabytes
        book = load_workbook(file, read_only=True, data_only=True)
        try:
            yield book, file
        finally:
            book.close()


def check_parts(file: BufferedReader, name: str) -> int:
    """The unpacked size, if nothing is in it that no spreadsheet program writes."""
    with ZipFile(file) as packed:
        parts = packed.infolist()
        for part in parts:
            check_unpacked(name, part.file_size, max(part.compress_size, 1))
            if part.filename.endswith((".xml", ".rels")):
                with packed.open(part) as content:
                    check_markup(content, name)
    file.seek(0)
    return sum(part.file_size for part in parts)


def check_markup(content: IO[bytes], name: str) -> None:
    """Refuse entities, and comments, tags or texts so long that a parser would never end."""
    pending: bytes | None = None  # what would end the comment that is open
    for number, piece in enumerate(iter(partial(content.read, PIECE_BYTES), b"")):
        if number == 0 and b"<!DOCTYPE" in piece:
            raise FormatError(
                f"{name} declares XML entities, as no spreadsheet program does: save it again, or "
                "as .csv."
            )
        if len(piece) == PIECE_BYTES and (b"<" not in piece or (pending and pending not in piece)):
            raise FormatError(
                f"{name} has over {PIECE_BYTES} bytes of XML without an end, as no spreadsheet "
                "program writes them: save it again, or as .csv."
            )
        opened = (end for begin, end in ENDLESS if piece.rfind(begin) > piece.rfind(end))
        pending = next(opened, None)


def _rows(sheet: Any, file: TimedReader) -> Iterator[list[str]]:
    """The cells of each row: any number of them may be between two that are in the file."""
    for row in sheet.iter_rows(values_only=True):
        file.check()
        yield [*map(_text, row)]


def _length(cells: list[str]) -> int:
    """Number of cells without the empty ones at the end."""
    return next((j for j in range(len(cells), 0, -1) if cells[j - 1]), 0)


def _text(value: Any) -> str:
    """A cell as a text table would have it: dates without midnight, true as 1."""
    if isinstance(value, datetime) and value.time() == time.min:
        value = value.date()
    return "" if value is None else str(int(value) if isinstance(value, bool) else value)
