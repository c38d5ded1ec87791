"""Places for the rows of X: in memory, on disk, on Dask. One solver runs on all three.

`place` is where the X of a user, whatever it is, becomes `rows.sweep.Data`.
"""

from onmf.rows.check import Check
from onmf.rows.disk import OnDisk, open_rows
from onmf.rows.flat import TemporaryFolder
from onmf.rows.formats import ARRAYS, open_arrays, stays_on_disk
from onmf.rows.placement import (
    Placement,
    PlacementRequest,
    matrix_of,
    place,
)
from onmf.rows.room import check_memory, free_memory
from onmf.rows.source import ENTRIES_PER_PART, InMemoryTable, Source
from onmf.rows.sweep import Array, count_missing, zero_missing
from onmf.rows.table import (
    MOST_LISTED,
    Coded,
    Numbered,
    Options,
    Progress,
    Table,
    check_extent,
    check_size,
    check_text,
    check_unique,
    class_names,
    in_blocks,
    listing,
    no_progress,
    numbered,
    one_line,
    printable,
    reading_errors,
    turn,
)
from onmf.rows.terms import CELLS, DOCUMENTS, EMBEDDED, PICTURES, SAMPLES, Terms
from onmf.rows.validation import Features, is_dask

__all__ = [
    "ARRAYS",
    "CELLS",
    "DOCUMENTS",
    "EMBEDDED",
    "ENTRIES_PER_PART",
    "MOST_LISTED",
    "PICTURES",
    "SAMPLES",
    "Array",
    "Check",
    "Coded",
    "Features",
    "InMemoryTable",
    "Numbered",
    "OnDisk",
    "Options",
    "Placement",
    "PlacementRequest",
    "Progress",
    "Source",
    "Table",
    "TemporaryFolder",
    "Terms",
    "check_extent",
    "check_memory",
    "check_size",
    "check_text",
    "check_unique",
    "class_names",
    "count_missing",
    "free_memory",
    "in_blocks",
    "is_dask",
    "listing",
    "matrix_of",
    "no_progress",
    "numbered",
    "one_line",
    "open_arrays",
    "open_rows",
    "place",
    "printable",
    "reading_errors",
    "stays_on_disk",
    "turn",
    "zero_missing",
]
