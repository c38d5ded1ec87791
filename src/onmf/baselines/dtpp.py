"""DTPP: multiplicative updates under an orthogonality constraint.

    W <- W * (H'X) / (H'H W),      H <- H * sqrt( XW' / (H H'XW') )

Products and quotients are entry by entry. H'XW' = (H'X)W' is k x k and known before X is read: one
sweep an iteration, and nothing of size n x n.

C. Ding, T. Li, W. Peng and H. Park, "Orthogonal nonnegative matrix tri-factorizations for
clustering", KDD 2006.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

import numpy as np

from onmf.baselines.iterate import Iterate, Sums, iterative, multiply_by_ratio, summarise
from onmf.rows.sweep import Array, Block, Data


@iterative
def dtpp(data: Data, H: Array, W: Array) -> Iterator[Iterate]:
    """From the raw start; one sweep an iteration and one before the first."""
    rows, sums = data.sweep(summarise, data.scatter(H))
    for sweeps in count(2):
        W = multiply_by_ratio(W, sums.cross, sums.gram @ W)
        rows, sums = data.sweep(DTPPRows(W, sums.cross @ W.T), rows)
        yield Iterate(rows, W, sums, sweeps)


@dataclass(frozen=True)
class DTPPRows:
    """The update of a block's memberships, M being H'XW'."""

    W: Array
    M: Array

    def __call__(self, block: Block, before: Array) -> tuple[Array, Sums]:
        H = multiply_by_ratio(before, np.sqrt(block.X @ self.W.T), np.sqrt(before @ self.M))
        return summarise(block, H)
