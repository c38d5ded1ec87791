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


def nearest_ray(data: Data, W: Array) -> tuple[Array, Array, Fit]:
    """Labels, codes h and fit of every sample; reads X once."""
    rays = Rays.of(W)
    rows, fit = data.sweep(rays)
    labels = data.gather(data.each(lambda code: code.labels, rows))
    scores = data.gather(data.each(lambda code: code.scores, rows))
    return labels, scores / rays.lengths[labels], fit


@dataclass(frozen=True)
class Means:
    """The nearest centroid itself, as in K-means: argmin_k ||x - w_k||, with code 1.

    A sample that is all zero has label -1 here too.
    """

    W: Array

    def __call__(self, block: Block, rows: Any) -> tuple[Code, Fit]:
        energy, sqnorm = row_sqnorm(block.X), np.einsum("km,km->k", self.W, self.W)
        gains = 2 * (block.X @ self.W.T) - sqnorm  # ||x||^2 - ||x - w||^2
        labels = gains.argmax(axis=1)
        inside, weight = energy > 0, block.weight[:, 0].astype(np.float64)
        best = np.where(inside, gains[np.arange(len(labels)), labels], 0)
        labels[~inside] = -1
        fit = Fit(float(weight @ best), float(weight @ energy))
        return Code(labels, inside.astype(self.W.dtype)), fit


def nearest_mean(data: Data, W: Array) -> tuple[Array, Array, Fit]:
    """Like `nearest_ray`, for centroids that are means; reads X once."""
    rows, fit = data.sweep(Means(W))
    labels = data.gather(data.each(lambda code: code.labels, rows))
    return labels, data.gather(data.each(lambda code: code.scores, rows)), fit


def one_sparse(labels: Array, codes: Array, k: int) -> Array:
    """H (n, k) with `codes` at `labels`; rows labelled -1 are zero."""
    H = np.zeros((len(labels), k), codes.dtype)
    inside = np.flatnonzero(labels >= 0)
    H[inside, labels[inside]] = codes[inside]
    return H
