"""Best single-cluster code of a sample, given the centroids.

min over h >= 0 with at most one non-zero entry of ||x - hW||^2
=>  k = argmax_k [<w_k, x>]_+ / ||w_k||,   h_k = [<w_k, x>]_+ / ||w_k||^2
"""

from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from onmf.core.blocks import Block, Data, Matrix, row_sqnorm

Array = NDArray[Any]


class Code(NamedTuple):
    """Label of each sample, -1 where no product is positive, and its score <w, x> / ||w||."""

    labels: Array
    scores: Array


class Fit(NamedTuple):
    """Additive: what the codes explain, sum_i d_i score_i^2, and sum_i d_i ||x_i||^2."""

    explained: float
    sqnorm: float


@dataclass(frozen=True)
class Rays:
    """Unit centroids (m, k) and their lengths (k,)."""

    units: Array
    lengths: Array

    @classmethod
    def of(cls, W: Array) -> Self:
        lengths = np.linalg.norm(W, axis=1)
        lengths = np.where(lengths > 0, lengths, 1).astype(W.dtype)
        return cls(np.ascontiguousarray((W / lengths[:, None]).T), lengths)

    def nearest(self, X: Matrix) -> Code:
        products = X @ self.units
        labels = products.argmax(axis=1)
        scores = np.maximum(products[np.arange(len(labels)), labels], 0)
        labels[scores == 0] = -1
        return Code(labels, scores)

    def __call__(self, block: Block, rows: Any) -> tuple[Code, Fit]:
        code = self.nearest(block.X)
        weight = block.weight[:, 0].astype(np.float64)
        explained = float(weight @ np.square(code.scores, dtype=np.float64))
        return code, Fit(explained, float(weight @ row_sqnorm(block.X)))

    def memberships(self, code: Code) -> Array:
        """H (b, k) of a block: the score over the length of its ray, where the label is."""
        return one_sparse(code.labels, code.scores / self.lengths[code.labels], len(self.lengths))


def nearest_ray(data: Data, W: Array) -> tuple[Array, Array, Fit]:
    """Labels, codes h and fit of every sample; reads X once."""
    rays = Rays.of(W)
    rows, fit = data.sweep(rays)
    labels = data.gather(data.each(labels_of, rows))
    scores = data.gather(data.each(lambda code: code.scores, rows))
    return labels, scores / rays.lengths[labels], fit


def labels_of(code: Code) -> Array:
    return code.labels


def one_sparse(labels: Array, codes: Array, k: int) -> Array:
    """H (n, k) with `codes` at `labels`; rows labelled -1 are zero."""
    H = np.zeros((len(labels), k), codes.dtype)
    inside = np.flatnonzero(labels >= 0)
    H[inside, labels[inside]] = codes[inside]
    return H
