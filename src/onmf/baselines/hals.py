"""HALS: one column after the other, kept orthogonal to the sum of the others.

    A = XW',  B = WW':     g = sum_{l != j} h_l,   v = A_j - H B_j + B_jj h_j
                           h_j <- [v - (g'v / g'g) g]_+  to unit length,            j = 1, ..., k
    C = H'X,  D = H'H:     w_j <- [C_j - D_j W + D_jj w_j]_+,                        j = 1, ..., k

[.]_+ clips at 1e-30 instead of 0. Every column of H looks at all samples, so H is complete before
its product with X can begin: two sweeps an iteration.

K. Kimura, Y. Tanaka and M. Kudo, "A fast hierarchical alternating least squares algorithm for
orthogonal nonnegative matrix factorization", ACML 2014.
"""

from collections.abc import Iterator
from itertools import count

import numpy as np

from onmf.baselines.iterate import Iterate, iterative, products, summarise
from onmf.rows.sweep import Array, Data

FLOOR = 1e-30


@iterative
def hals(data: Data, H: Array, W: Array) -> Iterator[Iterate]:
    """From the raw start; two sweeps an iteration."""
    for sweeps in count(2, 2):
        H = update_columns(H, products(data, W), W @ W.T, data.weight)
        rows, sums = data.sweep(summarise, data.scatter(H))
        W = update_centroids(W, sums.cross, sums.gram)
        yield Iterate(rows, W, sums, sweeps)


def update_columns(H: Array, A: Array, B: Array, weight: Array) -> Array:
    """The columns of H in turn, by formula; lengths and angles count a sample by its weight."""
    H = np.array(H, order="F")
    total = H.sum(axis=1)
    for j in range(H.shape[1]):
        others = total - H[:, j]
        v = A[:, j] - H @ B[:, j] + B[j, j] * H[:, j]
        if (length := (weight * others) @ others) > 0:
            v -= ((weight * others) @ v / length) * others
        v = np.maximum(v, FLOOR)
        # The squares of the floor are too small for single precision.
        v /= np.sqrt(np.square(v, dtype=np.float64) @ weight).astype(v.dtype)
        total, H[:, j] = others + v, v
    return np.ascontiguousarray(H)


def update_centroids(W: Array, C: Array, D: Array) -> Array:
    """The rows of W in turn, by formula."""
    W = W.copy()
    for j in range(len(W)):
        W[j] = np.maximum(C[j] - D[j] @ W + D[j, j] * W[j], FLOOR)
    return W
