"""ONMF-S: multiplicative updates along the Stiefel manifold.

    W <- W * (H'X) / (H'H W),      H <- H * (XW') / (H WX'H),      columns of H divided by their sum

Products and quotients are entry by entry. WX'H = W(H'X)' is k x k and known before X is read, and
the sums of H with its columns divided follow from those before: one sweep an iteration.

S. Choi, "Algorithms for orthogonal nonnegative matrix factorization", IJCNN 2008.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import count

import numpy as np

from onmf.baselines.iterate import Iterate, Sums, iterative, multiply_by_ratio, summarise
from onmf.rows.sweep import Array, Block, Data, divisor


@iterative
def onmf_s(data: Data, H: Array, W: Array) -> Iterator[Iterate]:
    """From the raw start; one sweep an iteration and one before the first."""
    rows, sums = data.sweep(summarise, data.scatter(H))
    for sweeps in count(2):
        W = multiply_by_ratio(W, sums.cross, sums.gram @ W)
        rows, sums = data.sweep(StiefelRows(W, W @ sums.cross.T), rows)
        scale = 1 / divisor(sums.mass)
        rows, sums = data.map_blocks(partial(np.multiply, scale), rows), _rescaled(sums, scale)
        yield Iterate(rows, W, sums, sweeps)


@dataclass(frozen=True)
class StiefelRows:
    """The update of a block's memberships before the division, M being WX'H."""

    W: Array
    M: Array

    def __call__(self, block: Block, before: Array) -> tuple[Array, Sums]:
        H = multiply_by_ratio(before, block.X @ self.W.T, before @ self.M)
        return summarise(block, H)


def _rescaled(sums: Sums, scale: Array) -> Sums:
    """The sums of H diag(scale)."""
    return Sums(scale[:, None] * sums.gram * scale, scale[:, None] * sums.cross, scale * sums.mass)
