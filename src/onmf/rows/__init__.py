"""Places for the rows of X: in memory, on disk, on Dask. One solver runs on all three.

`place` is where the X of a user, whatever it is, becomes `rows.sweep.Data`.
"""

from onmf.rows.check import Check
from onmf.rows.disk import OnDisk, open_rows
from onmf.rows.placement import (
    Placement,
    PlacementRequest,
    matrix_of,
    place,
)
from onmf.rows.validation import Features, is_dask

__all__ = [
    "Check",
    "Features",
    "OnDisk",
    "Placement",
    "PlacementRequest",
    "is_dask",
    "matrix_of",
    "open_rows",
    "place",
]
