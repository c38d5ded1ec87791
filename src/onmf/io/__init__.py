"""Reading samples from files, and writing results.

Each format has its module, imported when a file with its ending is opened. `open_source(path)` has
shape, names and type and reads rows when asked; `open_source(path).load()` is a table in memory.
Documents are always read as a whole. Nothing is unpickled, and a failed write loses no result.
"""

from onmf.io.documents import read_documents
from onmf.io.formats import FORMATS, checksum, complete_table, open_source, read_table
from onmf.io.output import (
    finish_replacement,
    place_for,
    replace_files,
    replace_together,
    seal_files,
    to_json_values,
)
from onmf.io.sheets import Sheet, csv_text, csv_writer, csv_writers
from onmf.io.source import Source
from onmf.io.table import Table

__all__ = [
    "FORMATS",
    "Sheet",
    "Source",
    "Table",
    "checksum",
    "complete_table",
    "csv_text",
    "csv_writer",
    "csv_writers",
    "finish_replacement",
    "open_source",
    "place_for",
    "read_documents",
    "read_table",
    "replace_files",
    "replace_together",
    "seal_files",
    "to_json_values",
]
