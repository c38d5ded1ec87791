"""The numbers of clusters: the largest is 0, and among equals the one that comes first in X.

Sizes are compared exactly, so that the numbers depend on the clusters alone: counts are whole
numbers, and sums of weights are rounded once, whatever the order of the samples.
"""

from math import fsum
from typing import TYPE_CHECKING

import numpy as np

from onmf.estimators.initialization import Initialization
from onmf.losses import Loss
from onmf.rows.sweep import Array

if TYPE_CHECKING:
    from onmf.estimators.fitting import Solution

SLAB_ROWS = 1 << 16  # rows of a file that are changed at a time


def number_clusters(
    solution: "Solution", weight: Array | None, begin: Initialization, loss: Loss
) -> "Solution":
    """The solution with its clusters in the order of their numbers; given ones keep theirs."""
    lineage, result, H = None, solution.result, solution.result.H
    if begin.previous is not None:
        lineage, order = begin.previous.heirs(result.W, loss.view_rows)
    elif isinstance(begin.init, str) and len(solution.labels):
        order = canonical_order(solution.labels, weight, begin.n_clusters)
    else:
        return solution
    if isinstance(H, np.memmap):  # what is in a file stays there
        for i in range(0, len(H), SLAB_ROWS):
            H[i : i + SLAB_ROWS] = H[i : i + SLAB_ROWS, order]
    else:
        H = H[:, order]
    return solution._replace(
        result=result._replace(H=H, W=result.W[order]),
        labels=renumber(solution.labels, order),
        nearest=renumber(solution.nearest, order),
        lineage=lineage,
    )


def canonical_order(labels: Array, weight: Array | None, k: int) -> Array:
    """Clusters from the largest to the smallest; among equals, the one seen first comes first."""
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
    return np.lexsort((first, -sizes))


def renumber(labels: Array, order: Array) -> Array:
    """Labels of the clusters put in this order; -1 stays."""
    return np.append(np.argsort(order), -1)[labels]
