"""Places for the rows of X: in memory, on disk, on Dask. One solver runs on all three.

`place` is where the X of a user, whatever it is, becomes `rows.sweep.Data`.
"""

from onmf.rows.check import Check
from onmf.rows.columns import (
    ID_HEADINGS,
    ROWS_INSPECTED,
    WORDS_OF_A_TEXT,
    Columns,
    are_classes,
    check_file,
    class_file,
    class_names,
    column_of_texts,
    find_columns,
    remedy,
)
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
    "ID_HEADINGS",
    "MOST_LISTED",
    "PICTURES",
    "ROWS_INSPECTED",
    "SAMPLES",
    "WORDS_OF_A_TEXT",
    "Array",
    "Check",
    "Coded",
    "Columns",
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
    "are_classes",
    "check_extent",
    "check_file",
    "check_memory",
    "check_size",
    "check_text",
    "check_unique",
    "class_file",
    "class_names",
    "column_of_texts",
    "count_missing",
    "find_columns",
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
    "remedy",
    "stays_on_disk",
    "turn",
    "zero_missing",
]
