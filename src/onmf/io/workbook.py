"""The first sheet of an `.xlsx` workbook by openpyxl: the only module that imports it."""

import warnings
from datetime import datetime, time
from typing import Any, BinaryIO
from zipfile import ZipFile

from onmf.exceptions import FormatError, TableWarning
from onmf.io.delimited import Lines, as_table
from onmf.io.remote import AnyFile
from onmf.io.source import InMemoryTable, Source
from onmf.io.table import Options, reading_errors
from onmf.io.text_files import check_unpacked

try:
    from openpyxl import load_workbook
    from openpyxl.utils.exceptions import InvalidFileException
except ImportError as missing:
    raise ImportError(
        'Workbooks are read by openpyxl, which `pip install "onmf[excel]"` installs.'
    ) from missing


XML_HEAD_BYTES = 1 << 16  # in which a part declares entities if it does


def open_workbook(path: AnyFile, options: Options) -> Source:
    plain = options._replace(decimal=".", thousands="")  # cells are numbers already
    return InMemoryTable.of(as_table(sheet_cells(path, plain), path.name, plain), path.name)


def sheet_cells(path: AnyFile, options: Options) -> Lines:
    """The cells of the first sheet as text, without empty rows."""
    form = "a workbook", InvalidFileException, SyntaxError  # which an XML parser raises
    with reading_errors(path.name, *form), path.open("rb") as file:
        check_parts(file, path.name)
        book = load_workbook(file, read_only=True, data_only=True)
        try:
            if len(book.sheetnames) > 1:
                warnings.warn(
                    f"{path.name} has {len(book.sheetnames)} sheets; only the first, "
                    f"{book.sheetnames[0]!r}, is read.",
                    TableWarning,
                    stacklevel=2,
                )
            width = 0
            for number, row in enumerate(book.worksheets[0].iter_rows(values_only=True), 1):
                cells = [_text(value) for value in row]
                width = width or _length(cells)
                if _length(cells):
                    yield number, (cells + [""] * width)[: max(width, _length(cells))]
        finally:
            book.close()


def check_parts(file: BinaryIO, name: str) -> None:
    """Refuse what no spreadsheet program writes: parts that unpack to very much, and entities."""
    with ZipFile(file) as packed:
        for part in packed.infolist():
            check_unpacked(name, part.file_size, max(part.compress_size, 1))
            if part.filename.endswith((".xml", ".rels")):
                with packed.open(part) as content:
                    if b"<!DOCTYPE" in content.read(XML_HEAD_BYTES):
                        raise FormatError(
                            f"{name} declares XML entities, as no spreadsheet program does: save "
                            "it again, or as .csv."
                        )
    file.seek(0)


def _length(cells: list[str]) -> int:
    """Number of cells without the empty ones at the end."""
    return next((j for j in range(len(cells), 0, -1) if cells[j - 1]), 0)


def _text(value: Any) -> str:
    """A cell as a text table would have it: dates without midnight, true as 1."""
    if isinstance(value, datetime) and value.time() == time.min:
        value = value.date()
    return "" if value is None else str(int(value) if isinstance(value, bool) else value)
