"""How near a sample lies to its centroid, and by how much nearer than to the next.

With c_1 >= c_2 its two largest cosines with a centroid (those below zero count as zero),

    margin = c_1 - c_2,   distance = sqrt(1 - c_1^2);   0 and 1 where c_1 = 0.

Under the Kullback-Leibler divergence c = 1 / (1 + KL(x / t || p)) in place of the squared cosine is
the share that is explained: margin = c_1 - c_2, distance = sqrt(1 - c_1).
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from onmf.losses.missing import rays_beside
from onmf.losses.profiles import CountProfiles
from onmf.rows.assign import Rays
from onmf.rows.sweep import Array, Block, Data, row_sqnorm


class Nearness(NamedTuple):
    """Margin and distance of each sample."""

    margin: Array
    distance: Array


@dataclass(frozen=True)
class Angles:
    """Margin and distance of the samples of a block."""

    rays: Rays

    def __call__(self, block: Block, rows: Any) -> tuple[Nearness, tuple[()]]:
        products = np.maximum(self.rays.products(block.X), 0).astype(np.float64, copy=False)
        products.partition(-min(2, products.shape[1]), axis=1)
        size = np.sqrt(row_sqnorm(block.X))
        first = np.divide(products[:, -1], size, out=np.zeros_like(size), where=size > 0)
        second = np.zeros_like(first)
        if products.shape[1] > 1:
            np.divide(products[:, -2], size, out=second, where=size > 0)
        return Nearness(first - second, np.sqrt(np.maximum(1 - first**2, 0))), ()


@dataclass(frozen=True)
class Divergences:
    """Margin and distance of the samples of a block, by their likelihood."""

    shares: CountProfiles

    def __call__(self, block: Block, rows: Any) -> tuple[Nearness, tuple[()]]:
        scores = np.sort(self.shares.scores(block).astype(np.float64), axis=1)
        first, second = scores[:, -1], scores[:, -2] if scores.shape[1] > 1 else 0.0
        return Nearness(first - second, np.sqrt(1 - first)), ()


def nearness(data: Data, W: Array, loss: str = "frobenius") -> Nearness:
    """Margin and distance of every sample; reads X once."""
    move = Divergences(CountProfiles.of(W)) if loss == "kl" else Angles(rays_beside(data, W))
    rows, _ = data.sweep(move)
    return Nearness(
        data.gather(data.map_blocks(lambda row: row.margin, rows)),
        data.gather(data.map_blocks(lambda row: row.distance, rows)),
    )
