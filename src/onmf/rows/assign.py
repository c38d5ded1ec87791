"""Best single-cluster code of a sample, given the centroids.

min over h >= 0 with at most one non-zero entry of ||x - hW||^2
=>  k = argmax_k [<w_k, x>]_+ / ||w_k||,   h_k = [<w_k, x>]_+ / ||w_k||^2
"""

from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, NamedTuple, Self

import numpy as np

from onmf.rows.sweep import Array, Block, Matrix, row_sqnorm

ROUNDING = 32  # times the machine precision: products that differ by less are equal


class Code(NamedTuple):
    """Label of each sample, -1 where no product is positive, and its score <w, x> / ||w||."""

    labels: Array
    scores: Array


class ExplainedShare(NamedTuple):
    """Additive: what the codes explain, sum_i d_i score_i^2, and sum_i d_i ||x_i||^2."""

    explained: float
    sqnorm: float


def first_largest(A: Array) -> Array:
    """Where each row is largest. Of entries that differ by rounding alone, the first.

    How a product is rounded depends on the processor and on the place of the row in its block. Two
    equal rays must not share the samples by that.
    """
    top = A.max(axis=-1, keepdims=True)
    return (A >= top - ROUNDING * np.finfo(A.dtype).eps * np.abs(top)).argmax(axis=-1)


def nearest(products: Array) -> Code:
    """The ray with the largest product, for each row; none if it is lost in rounding."""
    labels = first_largest(products)
    scores = np.maximum(products[np.arange(len(labels)), labels], 0)
    info = np.finfo(products.dtype)
    scores[scores < info.tiny / info.eps] = 0
    labels[scores == 0] = -1
    return Code(labels, scores)


def one_sparse(labels: Array, codes: Array, k: int) -> Array:
    """H (n, k) with `codes` at `labels`; rows labelled -1 are zero."""
    H = np.zeros((len(labels), k), codes.dtype)
    inside = np.flatnonzero(labels >= 0)
    H[inside, labels[inside]] = codes[inside]
    return H


@dataclass(frozen=True)
class Rays:
    """Unit centroids (m, k) and their lengths (k,)."""

    units: Array
    lengths: Array

    @classmethod
    def of(cls, W: Array) -> Self:
        top, most = np.maximum(W.max(axis=1), -W.min(axis=1)), np.finfo(W.dtype).maxexp - 2
        exponent = np.frexp(top)[1].clip(-most, most)  # the squares of each row must be numbers
        W = W * np.ldexp(W.dtype.type(1), -exponent)[:, None]
        lengths = np.sqrt(np.einsum("km,km->k", W, W))
        lengths = np.where(lengths > 0, lengths, 1).astype(W.dtype)
        W /= lengths[:, None]
        return cls(np.ascontiguousarray(W.T), np.ldexp(lengths, exponent))

    def __call__(self, block: Block, rows: Any) -> tuple[Code, ExplainedShare]:
        code = nearest(block.X @ self.units)
        weight = block.weight[:, 0].astype(np.float64)
        explained = float(weight @ np.square(code.scores, dtype=np.float64))
        return code, ExplainedShare(explained, float(weight @ row_sqnorm(block.X)))

    def scores(self, block: Block) -> Array:
        """Cosines (b, k) of the samples of a block with the rays; 0 for a sample of zeros."""
        size = np.sqrt(row_sqnorm(block.X))[:, None]
        cosines = self.products(block.X) / np.where(size > 0, size, 1)
        return np.clip(cosines, -1, 1).astype(self.units.dtype)

    def products(self, X: Matrix) -> Array:
        """<u_k, x> (b, k)."""
        return np.asarray(X @ self.units)

    def memberships(self, code: Code) -> Array:
        """H (b, k) of a block: the best multiple of the centroid itself."""
        h = code.scores / self.lengths[code.labels]
        return one_sparse(code.labels, h, len(self.lengths))


labels_of: Callable[[Any], Array] = attrgetter("labels")
scores_of: Callable[[Any], Array] = attrgetter("scores")
