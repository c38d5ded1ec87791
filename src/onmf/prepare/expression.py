"""Gene expression: how raw counts and amounts are recognised, and how they are prepared by default.

    raw counts      10,000 x_ij / sum_j x_ij,  then as amounts
    amounts         log2(1 + x_ij),  then as logarithms
    logarithms      the 1,500 most variable of many genes

Clusters of counts as they are are depths of sequencing, and a few genes decide. A total of 10,000
is that of scanpy and Seurat; with counts per million, noise of small counts weighs more.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from onmf.prepare.arrays import known_totals, parts_of
from onmf.prepare.genes import are_genes
from onmf.prepare.steps import Depth, Log, Variable

COUNT_TOTAL = 1e4
VARIABLE_GENES = 1500  # `make bench ONLY=expression`: 500 to 3,000 give about the same
MANY_GENES = 3000  # of fewer, most vary
LARGEST_LOGARITHM = 100  # of the 99th percentile, as GEO2R tells amounts from logarithms
FEWEST_GENES = 100  # in a panel of fewer, one gene changes the shares of all others
SMALLEST_MAXIMUM = 10  # counts of mutations or copies are smaller, and no depth is in them
UNEQUAL = 1.1  # ratio of the 95th to the 5th percentile of totals; below, they were made equal

FIRST_LOOK = 1000  # rows of measurements nearly always have a fraction: the others are not read

DEFAULT_WORDS = {  # what is said of the default steps
    Depth.name: "raw counts were scaled to the same total (--cp10k)",
    Log.name: "logarithms were taken (--log)",
    Variable.name: "the 1500 most variable of {} genes are used (--variable all uses all)",
}


def are_raw_counts(X: Any) -> bool:
    """Whether entries are whole, some zero and some large, and samples have different totals.

    Judged by the first part of rows on disk.
    """
    part = next(iter(parts_of(X)), None)
    if part is None or not part.shape[0]:
        return False
    values = part.data if sp.issparse(part) else np.asarray(part)
    if any((np.floor(some) < some).any() for some in (values[:FIRST_LOOK], values)):
        return False
    if values.dtype.kind == "f":
        values = values[~np.isnan(values)]
    zeros = (
        part.nnz < np.prod(part.shape, dtype=float) if sp.issparse(part) else (values == 0).any()
    )
    if not values.size or not zeros or values.min() < 0 or not SMALLEST_MAXIMUM < values.max():
        return False
    if not np.isfinite(values.max()):
        return False
    low, high = np.percentile(known_totals(part), [5, 95])
    return bool(high > UNEQUAL * low)


def are_counts_of_events(X: Any) -> bool:
    """Whether these are raw counts in which one is the most frequent number above zero.

    So are words in documents and reads of genes in cells, unlike the grey levels of images, whose
    most frequent number is the brightest (`make bench ONLY=events`).
    """
    part = next(iter(parts_of(X)), None)
    if part is None or not are_raw_counts(part):
        return False
    values = part.data if sp.issparse(part) else np.asarray(part)
    numbers, times = np.unique(values[values > 0], return_counts=True)
    return bool(numbers[times.argmax()] == 1)


def are_amounts(X: Any) -> bool:
    """Whether entries are not negative, and too large for logarithms."""
    part = next(iter(parts_of(X)), None)
    if part is None or not part.shape[0]:
        return False
    values = part.data if sp.issparse(part) else np.ravel(part)
    values = values[np.isfinite(values)]
    if not values.size or values.min() < 0:
        return False
    return bool(np.percentile(values, 99) > LARGEST_LOGARITHM)


def default_steps(X: Any, names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """The steps for features of these names, with their settings; none unless they are genes."""
    if len(names) < FEWEST_GENES or not are_genes(names):
        return {}
    steps: dict[str, dict[str, Any]] = {}
    counts = are_raw_counts(X)
    if counts:
        steps[Depth.name] = {"total": str(COUNT_TOTAL)}
    if counts or are_amounts(X):
        steps[Log.name] = {}
    if len(names) > MANY_GENES:
        steps[Variable.name] = {"variable": VARIABLE_GENES}
    return steps


def prepare_counts(X: Any) -> Any:
    """Counts, scaled to the same total and as logarithms."""
    return Log()(Depth(COUNT_TOTAL)(X))
