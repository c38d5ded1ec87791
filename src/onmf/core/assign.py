"""Best single-cluster code of a sample, given the centroids.

min over h >= 0 with at most one non-zero entry of ||x - hW||^2
=>  k = argmax_k [<w_k, x>]_+ / ||w_k||,   h_k = [<w_k, x>]_+ / ||w_k||^2
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onmf.core.blocks import Block, Data, row_sqnorm

Array = NDArray[Any]


class Fit(NamedTuple):
    """Additive: what the code explains, sum_i d_i ||x_i||^2 and how many samples fit no cluster."""

    explained: float
    sqnorm: float
    without: int


@dataclass(frozen=True)
class NearestRay:
    """Code a block of samples: label (-1 where no centroid has a positive product) and weight."""

    rays: Array  # unit centroids (m, k)
    size: Array  # their norms (k,)

    @classmethod
    def of(cls, W: Array) -> "NearestRay":
        size = np.sqrt(np.einsum("km,km->k", W, W))
        safe = np.where(size > 0, size, 1)
        return cls(np.ascontiguousarray((W / safe[:, None]).T), safe)

    def __call__(self, block: Block, rows: Any) -> tuple[tuple[Array, Array], Fit]:
        score = block.X @ self.rays
        labels = score.argmax(axis=1)
        best = np.maximum(score[np.arange(len(score)), labels], 0)
        codes = best / self.size[labels]
        labels[best == 0] = -1
        weight = block.weight[:, 0].astype(np.float64)
        explained = float(weight @ np.square(best, dtype=np.float64))
        return (labels, codes), Fit(
            explained, float(weight @ row_sqnorm(block.X)), int(np.sum(labels < 0))
        )


def nearest_ray(data: Data, W: Array) -> tuple[Array, Array, Fit]:
    """Labels, codes and fit of every sample; reads X once."""
    rows, fit = data.sweep(NearestRay.of(W))
    labels = data.gather(data.each(lambda r: r[0], rows))
    return labels, data.gather(data.each(lambda r: r[1], rows)), fit


def one_sparse(labels: Array, codes: Array, k: int) -> Array:
    """H (n, k) with `codes` at `labels`; rows labelled -1 are zero."""
    H = np.zeros((len(labels), k), codes.dtype)
    inside = np.flatnonzero(labels >= 0)
    H[inside, labels[inside]] = codes[inside]
    return H
