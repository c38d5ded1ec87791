"""Places for the rows of X: in memory, on disk, on Dask. One solver runs on all three.

`rows_of` is where an estimator's X, whatever it is, becomes `core.blocks.Data`.
"""

from onmf.data.disk import OPENERS, OnDisk, larger_than_memory, open_rows
from onmf.data.door import Placed, is_dask, rows_here, rows_of
from onmf.data.sources import Changed, Source

__all__ = [
    "OPENERS",
    "Changed",
    "OnDisk",
    "Placed",
    "Source",
    "is_dask",
    "larger_than_memory",
    "open_rows",
    "rows_here",
    "rows_of",
]
