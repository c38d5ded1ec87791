"""Best single-cluster code of a sample, given the centroids.

min over h >= 0 with at most one non-zero entry of ||x - hW||^2
=>  k = argmax_k [<w_k, x>]_+ / ||w_k||,   h_k = [<w_k, x>]_+ / ||w_k||^2
"""

from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from onmf.core.rows import Block, Data, row_sqnorm

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

    def __call__(self, block: Block, rows: Any) -> tuple[Code, Fit]:
        code = nearest(block.X @ self.units)
        weight = block.weight[:, 0].astype(np.float64)
        explained = float(weight @ np.square(code.scores, dtype=np.float64))
        return code, Fit(explained, float(weight @ row_sqnorm(block.X)))

    def codes(self, code: Code) -> Array:
        """h: the best multiple of the centroid itself."""
        return code.scores / self.lengths[code.labels]

    def memberships(self, code: Code) -> Array:
        """H (b, k) of a block."""
        return one_sparse(code.labels, self.codes(code), len(self.lengths))


def nearest(products: Array) -> Code:
    """The ray with the largest product, for each row."""
    labels = products.argmax(axis=1)
    scores = np.maximum(products[np.arange(len(labels)), labels], 0)
    labels[scores == 0] = -1
    return Code(labels, scores)


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

    def codes(self, code: Code) -> Array:
        return code.scores

    def memberships(self, code: Code) -> Array:
        """H (b, k) of a block."""
        return one_sparse(code.labels, code.scores, len(self.W))


def nearest_ray(data: Data, W: Array) -> tuple[Array, Array, Fit]:
    """Labels, codes h and fit of every sample; reads X once."""
    return assigned(data, Rays.of(W))


def nearest_mean(data: Data, W: Array) -> tuple[Array, Array, Fit]:
    """Like `nearest_ray`, for centroids that are means."""
    return assigned(data, Means(W))


def assigned(data: Data, rule: Rays | Means) -> tuple[Array, Array, Fit]:
    rows, fit = data.sweep(rule)
    labels = data.gather(data.each(labels_of, rows))
    return labels, data.gather(data.each(rule.codes, rows)), fit


def labels_of(code: Code) -> Array:
    return code.labels


def scores_of(code: Code) -> Array:
    return code.scores


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


def one_sparse(labels: Array, codes: Array, k: int) -> Array:
    """H (n, k) with `codes` at `labels`; rows labelled -1 are zero."""
    H = np.zeros((len(labels), k), codes.dtype)
    inside = np.flatnonzero(labels >= 0)
    H[inside, labels[inside]] = codes[inside]
    return H
