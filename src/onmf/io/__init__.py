"""Samples from files, and results into files.

One module a format, imported when a file of its ending is read. Nothing is ever unpickled, and no
result is lost to a failed write.
"""

from onmf.io.documents import read_documents
from onmf.io.output import csv_text, replace_files, to_json_values
from onmf.io.source import READERS, fingerprint, read_table, with_labels
from onmf.io.table import Table

__all__ = [
    "READERS",
    "Table",
    "csv_text",
    "fingerprint",
    "read_documents",
    "read_table",
    "replace_files",
    "to_json_values",
    "with_labels",
]
