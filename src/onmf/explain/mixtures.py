"""Samples that are sums of two clusters, such as two cells in one droplet.

    score(x) = (c_12^2 - c_1^2) / (1 - c_1^2)

c_1 is the cosine of a sample with its nearest ray u, and c_12 that with the nearest non-negative
mixture of two rays. So the score is the share of what one ray leaves of the sample that a second
one explains: 0 if a second one is of no use, 1 if two explain all. Counts are compared as roots of
shares (`Loss.view_rows`), in which lengths do not count, and missing values add nothing.

For two rays with cosine g, beside which the sample has the cosines p and q,

    c_12^2 = (p^2 + q^2 - 2 g p q) / (1 - g^2)   if p > g q and q > g p,   else max(p, q)^2.
"""

from itertools import combinations

import numpy as np

from onmf.explain.strangers import ROUNDING
from onmf.losses.base import Loss
from onmf.losses.missing import mask_missing
from onmf.rows.assign import Rays
from onmf.rows.sweep import Array, Matrix, row_sqnorm


def mixed_scores(X: Matrix, W: Array, loss: Loss) -> Array:
    """Of each sample (n,), by the centroids W; 0 for a sample of zeros."""
    masked = mask_missing(X)
    X = loss.view_rows(X if masked is None else masked.X)
    units = Rays.of(loss.view_rows(W.astype(np.float64))).units

    def squares(A: Array) -> Array:
        """Of the length of each column (n or 1, columns), by what each sample has observed."""
        A = np.square(A)
        return A.sum(axis=0)[None] if masked is None else masked.observed_sums(A)

    own = squares(units)
    C = _ratio(np.asarray(X @ units), np.sqrt(row_sqnorm(X)[:, None] * own))
    first = np.square(np.maximum(C, 0).max(axis=1))
    best = first.copy()
    for a, b in combinations(range(len(W)), 2):
        both = squares((units[:, a] + units[:, b])[:, None])[:, 0]
        g = _ratio(both - own[:, a] - own[:, b], 2 * np.sqrt(own[:, a] * own[:, b]))
        p, q, apart = C[:, a], C[:, b], 1 - g * g
        inside = (p > g * q) & (q > g * p) & (apart > ROUNDING)
        square = (p * p + q * q - 2 * g * p * q) / np.where(apart > ROUNDING, apart, 1)
        best = np.where(inside, np.maximum(best, square), best)
    return np.asarray(np.minimum((best - first) / np.maximum(1 - first, ROUNDING), 1))


def _ratio(a: Array, b: Array) -> Array:
    """a / b, and 0 where b is."""
    return np.asarray(np.divide(a, b, out=np.zeros(np.shape(b)), where=b > 0))
