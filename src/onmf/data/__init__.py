"""Places for the rows of X: in memory, on disk, on Dask. One solver runs on all three.

`rows_of` is where an estimator's X, whatever it is, becomes `core.rows.Data`.
"""

from onmf.data.disk import OnDisk, larger_than_memory, open_rows
from onmf.data.door import Placed, is_dask, rows_here, rows_of

__all__ = [
    "OnDisk",
    "Placed",
    "is_dask",
    "larger_than_memory",
    "open_rows",
    "rows_here",
    "rows_of",
]
