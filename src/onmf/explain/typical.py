"""Which samples stand for a cluster, and with how many digits numbers are told apart.

    typical: as far from the centroid as the median of the cluster, and more certain than half of it

The samples nearest to a centroid are no examples of it: they are the longest texts and the deepest
cells, of which least is noise, and mixtures of two of them.
"""

import math

import numpy as np

from onmf.rows.sweep import Array

MOST_DECIMALS = 9


def typical_samples(inside: Array, distance: Array, certainty: Array, n: int) -> Array:
    """Numbers of n of the samples `inside` a cluster, the most typical first."""
    if not len(inside):
        return inside
    sure = inside[certainty[inside] >= np.median(certainty[inside])]
    middle = np.quantile(distance[inside], 0.5, method="lower")  # of a sample: no two are as near
    away = np.abs(distance[sure] - middle)
    return sure[smallest(away, n)]


def smallest(values: Array, n: int) -> Array:
    """Where the n smallest values are, the smallest first; of equal ones the first."""
    if len(values) <= n:
        return np.argsort(values, kind="stable")
    some = np.flatnonzero(values <= np.partition(values, n - 1)[n - 1])
    return some[np.argsort(values[some], kind="stable")[:n]]


def decimals(values: Array, least: int = 2, more: int = 0) -> int:
    """After how many decimals these values differ, `more` digits further; at least so many."""
    finite = np.asarray(values)
    with np.errstate(over="ignore", invalid="ignore"):
        if not np.isfinite(finite.sum()):
            finite = finite[np.isfinite(finite)]
    spread = float(finite.max()) - float(finite.min()) if len(finite) else 0.0
    needed = math.ceil(-math.log10(spread)) + more if spread > 0 else least
    return min(max(needed, least), MOST_DECIMALS)
