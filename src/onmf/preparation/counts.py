"""Raw counts of reads: how they are recognised, and how they are prepared by default.

    10,000 x_ij / sum_j x_ij,  then  log2(1 + x)

As they are, clusters of counts are depths of sequencing, and a few genes decide. A total of 10,000
is that of scanpy and Seurat; with counts per million, noise of small counts weighs more.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp

from onmf.preparation.arrays import known_totals, parts_of
from onmf.preparation.steps import Depth, Log

COUNT_STEPS = (Depth.name, Log.name)
COUNT_TOTAL = 1e4
SMALLEST_MAXIMUM = 10  # counts of mutations or copies are smaller, and no depth is in them
UNEQUAL = 1.1  # ratio of the 95th to the 5th percentile of totals; below, they were made equal


def are_raw_counts(X: Any) -> bool:
    """Whether entries are whole, some zero and some large, and samples have different totals.

    Judged by the first part of rows on disk.
    """
    part = next(iter(parts_of(X)), None)
    if part is None or not part.shape[0]:
        return False
    values = part.data if sp.issparse(part) else np.asarray(part)
    if values.dtype.kind == "f":
        values = values[~np.isnan(values)]
    zeros = (
        part.nnz < np.prod(part.shape, dtype=float) if sp.issparse(part) else (values == 0).any()
    )
    if not values.size or not zeros or values.min() < 0 or not SMALLEST_MAXIMUM < values.max():
        return False
    if not np.isfinite(values.max()) or (values != np.floor(values)).any():
        return False
    low, high = np.percentile(known_totals(part), [5, 95])
    return bool(high > UNEQUAL * low)


def prepare_counts(X: Any) -> Any:
    """Counts after the default steps."""
    return Log()(Depth(COUNT_TOTAL)(X))
