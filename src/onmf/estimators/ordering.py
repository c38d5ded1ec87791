"""The numbers of clusters: the largest is 0; among equals the one of the widest centroid.

    spread(w) = |w|_1 / |w|_2, between 1, a single feature, and sqrt(m), all features alike

So the numbers depend on the clusters alone, neither on the order nor on the lengths of samples.
Sizes are compared exactly: counts are whole numbers, and sums of weights are rounded once. Spreads
are compared to SPREAD_DIGITS digits, for the last ones depend on the processor. If they are equal,
too, the cluster that comes first in X comes first.
"""

from math import fsum
from typing import TYPE_CHECKING

import numpy as np

from onmf.estimators.initialization import Initialization
from onmf.losses import Loss
from onmf.rows.sweep import Array
from onmf.search.numpy_kernels import unit

if TYPE_CHECKING:
    from onmf.estimators.fitting import Solution

SPREAD_DIGITS = 5  # of seven in single precision
SLAB_ROWS = 1 << 16  # rows that are changed at a time


def number_clusters(
    solution: "Solution", weight: Array | None, begin: Initialization, loss: Loss
) -> "Solution":
    """The solution with its clusters in the order of their numbers; given ones keep theirs."""
    lineage, result, H = None, solution.result, solution.result.H
    if begin.previous is not None:
        lineage, order = begin.previous.heirs(result.W, loss.view_rows)
    elif isinstance(begin.init, str) and len(solution.labels):
        order = canonical_order(solution.labels, weight, begin.n_clusters, result.W)
    else:
        return solution
    for i in range(0, len(H), SLAB_ROWS):  # in place: it may be in a file, or as large as X
        H[i : i + SLAB_ROWS] = H[i : i + SLAB_ROWS, order]
    return solution._replace(
        result=result._replace(H=H, W=result.W[order]),
        labels=renumber(solution.labels, order),
        nearest=renumber(solution.nearest, order),
        lineage=lineage,
    )


def canonical_order(
    labels: Array, weight: Array | None, k: int, centers: Array | None = None
) -> Array:
    """Clusters from the largest to the smallest; among equals from the widest centroid to the
    narrowest, if they are given, and then in the order of their first samples."""
    first = np.full(k, len(labels))
    clusters, where = np.unique(labels, return_index=True)
    first[clusters[clusters >= 0]] = where[clusters >= 0]
    if weight is None:
        sizes = np.bincount(labels[labels >= 0], minlength=k)
    else:
        by_cluster = np.argsort(labels, kind="stable")
        edges = np.searchsorted(labels[by_cluster], np.arange(k + 1))
        parts = np.split(weight[by_cluster].astype(np.float64), edges)[1:-1]
        sizes = np.array([fsum(part.tolist()) for part in parts])
    return np.lexsort((first, np.zeros(k) if centers is None else -spread(centers), -sizes))


def spread(W: Array) -> Array:
    """Over how many features each centroid spreads, to SPREAD_DIGITS digits; 0 if it is zero."""
    size = np.abs(unit(W.astype(np.float64))).sum(axis=1)
    return np.asarray(size.round(SPREAD_DIGITS - 1))


def renumber(labels: Array, order: Array) -> Array:
    """Labels of the clusters put in this order; -1 stays."""
    return np.append(np.argsort(order), -1)[labels]
