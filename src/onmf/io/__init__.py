"""Samples from files, and results into files.

One module a format, imported when a file of its ending is opened: `open_source(path)` tells shape,
names and type and reads rows when asked for, `open_source(path).load()` is a table in memory.
Documents, which have no columns yet, are always read as a whole. Nothing is ever unpickled, and no
result is lost to a failed write.
"""

from onmf.io.blocks import Blocks
from onmf.io.documents import read_documents
from onmf.io.formats import FORMATS, checksum, complete_table, open_source, read_table
from onmf.io.output import (
    Sheet,
    csv_text,
    csv_texts,
    place_for,
    replace_files,
    seal_files,
    to_json_values,
)
from onmf.io.source import Source
from onmf.io.table import Table

__all__ = [
    "FORMATS",
    "Blocks",
    "Sheet",
    "Source",
    "Table",
    "checksum",
    "complete_table",
    "csv_text",
    "csv_texts",
    "open_source",
    "place_for",
    "read_documents",
    "read_table",
    "replace_files",
    "seal_files",
    "to_json_values",
]
