"""How sure a model is of the label of a sample, and how far the sample lies from its centroid."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from onmf.core.assign import Rays
from onmf.core.rows import Array, Block, Data, row_sqnorm


class Certainty(NamedTuple):
    """How clear the label of each sample is, and how far the sample lies from its centroid."""

    confidence: Array
    distance: Array


@dataclass(frozen=True)
class Angles:
    """c_1 >= c_2, a sample's two largest cosines with a centroid (those below zero count as zero):

    confidence = 1 - (c_2 / c_1)^2,   distance = sqrt(1 - c_1^2);   0 and 1 where c_1 = 0.
    """

    rays: Rays

    def __call__(self, block: Block, rows: Any) -> tuple[Certainty, tuple[()]]:
        products = np.maximum(block.X @ self.rays.units, 0).astype(np.float64, copy=False)
        products.partition(-min(2, products.shape[1]), axis=1)
        first, inside = products[:, -1], products[:, -1] > 0
        second = products[:, -2] if products.shape[1] > 1 else np.zeros_like(first)
        size = np.sqrt(row_sqnorm(block.X))
        ratio = np.divide(second, first, out=np.ones_like(first), where=inside)
        cosine = np.divide(first, size, out=np.zeros_like(first), where=inside)
        return Certainty(1 - ratio**2, np.sqrt(np.maximum(1 - cosine**2, 0))), ()


def certainty(data: Data, W: Array) -> Certainty:
    """Confidence and distance of every sample; reads X once."""
    rows, _ = data.sweep(Angles(Rays.of(W)))
    return Certainty(
        data.gather(data.each(lambda row: row.confidence, rows)),
        data.gather(data.each(lambda row: row.distance, rows)),
    )
