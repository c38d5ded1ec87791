"""Places for the rows of X: in memory, on disk, on Dask. One solver runs on all three.

`place` is where the X of a user, whatever it is, becomes `core.rows.Data`.
"""

from onmf.data.check import Check
from onmf.data.disk import OnDisk, open_rows
from onmf.data.placement import (
    Placement,
    Terms,
    fill_holes,
    matrix_of,
    place,
    place_in_memory,
)
from onmf.data.validation import Features, is_dask

__all__ = [
    "Check",
    "Features",
    "OnDisk",
    "Placement",
    "Terms",
    "fill_holes",
    "is_dask",
    "matrix_of",
    "open_rows",
    "place",
    "place_in_memory",
]
