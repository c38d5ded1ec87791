"""Missing values: a NaN in X is an entry that was not observed, and adds nothing to the loss.

    min over h >= 0 of sum_j m_ij (x_ij - h w_kj)^2,      m_ij = 0 where x_ij is missing, else 1
    =>  k = argmax_k [<w_k, x>]_+ / ||m w_k||,   h_k = [<w_k, x>]_+ / ||m w_k||^2,

with zeros in x where it is missing. ``||m w||^2`` costs one more product. X itself stays as it is:
a block is masked when it is read. In a CSR matrix a stored NaN is missing; an entry that is not
stored is zero.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from onmf.losses.ray_alternation import tallies
from onmf.rows.assign import PRODUCT_ROUNDING, Code, Rays, first_largest, nearest, one_sparse
from onmf.rows.source import Source
from onmf.rows.sweep import (
    Array,
    Block,
    Matrix,
    count_missing,
    divisor,
    row_sqnorm,
    same_pattern,
    zero_missing,
)
from onmf.rows.view import View
from onmf.search.numpy_kernels import sums, unit


class MaskedBlock(NamedTuple):
    """A block with zeros where it is missing, and a matrix with ones there and zeros elsewhere."""

    X: Matrix
    missing: Matrix

    def observed_sums(self, A: Array) -> Array:
        """sum_j m_ij a_jk (b, k), for A >= 0; digits are lost only for sparse blocks."""
        if not sp.issparse(self.missing):
            return np.asarray((1 - self.missing) @ A)
        whole = A.sum(axis=0, dtype=np.float64)
        return without_noise(whole - self.missing @ A.astype(np.float64), whole)

    @property
    def completion(self) -> Array:
        """Features per observed entry of each sample (b,); 1 where nothing is observed."""
        m = self.X.shape[1]
        observed = m - np.asarray(self.missing.sum(axis=1, dtype=np.float64)).ravel()
        return np.where(observed > 0, m / np.maximum(observed, 1), 1.0)


def without_noise(left: Array, whole: Array) -> Array:
    """What is left of a sum after a subtraction, zero if that is rounding."""
    return np.where(left > PRODUCT_ROUNDING * np.finfo(np.float64).eps * whole, left, 0)


def mask_missing(X: Matrix) -> MaskedBlock | None:
    """What is observed and what is missing; None if nothing is missing."""
    missing = np.isnan(X.data if sp.issparse(X) else X)
    if not missing.any():
        return None
    missing = missing.astype(X.dtype)
    return MaskedBlock(zero_missing(X), same_pattern(X, missing) if sp.issparse(X) else missing)


def fill_entries(masked: MaskedBlock, A: Array, B: Array) -> Matrix:
    """The block with <a_i, b_j> where it is missing; A (b, r), B (m, r)."""
    X, missing = masked
    if not sp.issparse(X):
        return X + missing * (A @ B.T)
    values, inside = X.data.copy(), np.flatnonzero(missing.data)
    rows = np.searchsorted(X.indptr, inside, side="right") - 1
    values[inside] = np.einsum("er,er->e", A[rows], B[X.indices[inside]])
    return same_pattern(X, values)


class MaskedCode(NamedTuple):
    """A `Code` by the observed entries.

    labels, scores : the nearest ray, and <w, x> / ||m w||.
    multiples : of the unit ray.
    completion : features per observed entry of the sample.
    """

    labels: Array
    scores: Array
    multiples: Array
    completion: Array


@dataclass(frozen=True)
class MaskedRays(Rays):
    """Rays beside samples with missing values; for other samples they are what `Rays` are."""

    def code(self, X: Matrix, masked: MaskedBlock | None = None) -> MaskedCode:
        """The nearest ray of each sample, by what is observed of both."""
        masked = mask_missing(X) if masked is None else masked
        if masked is None:
            code = super().code(X)
            return MaskedCode(code.labels, code.scores, code.scores, np.ones(len(code.labels)))
        products, reach = self._beside(masked)
        code = nearest_masked(products, reach, self.order)
        own = reach[np.arange(len(reach)), code.labels]
        return MaskedCode(*code, code.scores / divisor(own), masked.completion)

    def total_and_score(self, row_sqnorms: Array, code: Any) -> tuple[Array, Array]:
        """||m x||^2 and the score, both as if the sample were observed in full."""
        return row_sqnorms * code.completion, code.scores * np.sqrt(code.completion)

    def _beside(self, masked: MaskedBlock) -> tuple[Array, Array]:
        """<u_k, x> / ||m u_k|| and ||m u_k|| (b, k); zero where nothing of a ray is observed."""
        reach = np.sqrt(masked.observed_sums(np.square(self.units))).astype(
            self.units.dtype, copy=False
        )
        products = np.asarray(masked.X @ self.units)
        return np.divide(products, reach, out=np.zeros_like(reach), where=reach > 0), reach

    def products(self, X: Matrix) -> Array:
        """<u_k, x> / ||m u_k|| (b, k)."""
        masked = mask_missing(X)
        return super().products(X) if masked is None else self._beside(masked)[0]

    def memberships(self, code: Any) -> Array:
        """H (b, k) of a block: the best multiple of the centroid, by what is observed."""
        return super().memberships(Code(code.labels, code.multiples))


def nearest_masked(products: Array, reach: Array, order: Array) -> Code:
    """The ray with the largest product; of equal ones, that of which most is observed, and then the
    first in this order.

    A sample with one observed entry fits every ray that is not zero there.
    """
    own, lost = np.finfo(products.dtype).eps, np.finfo(np.float64).eps
    part = np.square(divisor(reach).astype(np.float64))
    error = PRODUCT_ROUNDING * (own + lost / part) * np.abs(products)  # `observed_sums` subtracts
    close = products + error >= (products - error).max(axis=1, keepdims=True)
    labels = order[first_largest(np.where(close, reach, -1)[:, order])]
    code = nearest(products[np.arange(len(labels)), labels, None])
    return Code(np.where(code.labels < 0, -1, labels), code.scores)


class MaskedSums(NamedTuple):
    """Additive facts about the clusters, a_i being the score of sample i, h_i its multiple."""

    cross: Array  # sum_i d_i h_i x_i (k, m)
    shown: Array  # sum_i d_i h_i^2 m_i (k, m)
    mass: Array  # sum_i d_i h_i^2 (k,)
    explained: Array  # sum_i d_i a_i^2 (k,)
    weight: Array  # sum_i d_i (k,)
    samples: Array  # how many have weight (k,)
    moves: Array  # how many came or left (k,)

    def images(self, W: Array, common: Array | None = None) -> Array:
        """The best centroids (k, m); along `common` where no sample shows a feature, else zero."""
        seen = self.shown > 0
        images = np.where(seen, self.cross / np.where(seen, self.shown, 1), 0)
        if common is not None:
            size = np.where(seen, common * common, 0).sum(axis=1)
            along = (images @ common) / divisor(size)
            images = np.where(seen, images, along[:, None] * common)
        rays = unit(W.astype(np.float64))
        return np.where(images.any(axis=1, keepdims=True), images, rays)


@dataclass(frozen=True)
class AssignMasked:
    """Nearest rays of a block by what is observed, and what the next rays need."""

    rays: MaskedRays

    def __call__(self, block: Block, last: Any) -> tuple[Any, MaskedSums]:
        weight, k, masked = block.weight[:, 0], self.rays.units.shape[1], mask_missing(block.X)
        code = self.rays.code(block.X, masked)
        if self.rays.limit is not None:
            pair = self.rays.total_and_score(row_sqnorm(block.X), code)
            code = self.rays.limit.applied(*pair, code)
        X, labels = block.X if masked is None else masked.X, code.labels
        h = np.where(labels >= 0, code.multiples, 0)
        factors = np.square(h, dtype=np.float64) * weight
        mass = np.bincount(np.maximum(labels, 0), factors, k)
        cross = sums_by_cluster(labels, h * weight, X, k)
        shown = np.repeat(mass[:, None], X.shape[1], axis=1)
        if masked is not None:
            shown = shown_sums(labels, factors, mass, masked)
        tallied = tallies(Code(labels, code.scores), last, weight, k)
        return code, MaskedSums(cross, shown, mass, *tallied)


def shown_sums(labels: Array, factors: Array, mass: Array, masked: MaskedBlock) -> Array:
    """sum_i f_i m_i over the samples of each cluster (k, m); `mass` (k,) is the sum of all f_i.

    The f_i are in double precision: a difference of what was rounded would be no zero.
    """
    if not sp.issparse(masked.missing):
        seen = 1 - masked.missing
        return sums_by_cluster(labels, factors.astype(seen.dtype), seen, len(mass))
    hidden = sums_by_cluster(labels, factors, masked.missing, len(mass))
    return without_noise(mass[:, None] - hidden, mass[:, None])


def sums_by_cluster(labels: Array, factors: Array, X: Matrix, k: int) -> Array:
    """sum_i f_i x_i over the samples of each of k clusters (k, m); f = 0 for label -1."""
    if sp.issparse(X):
        return np.asarray(one_sparse(labels, factors, k).T @ X, np.float64)
    return np.asarray(sums(np.maximum(labels, 0), factors, X, k), np.float64)


@dataclass(frozen=True)
class Fill:
    """Missing entries from the nearest ray, x_ij = h_i w_kj; zero where a sample has no ray."""

    rays: MaskedRays

    @classmethod
    def by(cls, W: Array) -> "Fill":
        return cls(MaskedRays.of(W))

    def __call__(self, X: Matrix) -> Matrix:
        masked = mask_missing(X)
        return X if masked is None else self.within(X, masked)

    def within(self, X: Matrix, masked: MaskedBlock) -> Matrix:
        """The same, for a block that is masked already."""
        code = self.rays.code(X, masked)
        A = one_sparse(code.labels, code.multiples, self.rays.units.shape[1])
        return fill_entries(masked, A, self.rays.units)


class FilledView(View):
    """The rows of a place without missing values; a sample counts for what is observed of it."""

    @property
    def n_missing(self) -> int:
        return 0

    @property
    def row_sqnorms(self) -> Any:
        return self.below.row_sqnorms

    @property
    def sqnorm(self) -> float:
        return self.below.sqnorm

    def with_larger_blocks(self) -> "FilledView":
        below = self.below.with_larger_blocks()
        return self if below is self.below else FilledView(below, self.change)


def fill_missing(X: Any, W: Array) -> Any:
    """X with every NaN replaced by h w, the best multiple of the nearest centroid.

    An array or CSR matrix is copied if it has any; rows on disk are filled when they are read.
    """
    if isinstance(X, Source):
        return X.changed(Fill.by(W.astype(X.dtype, copy=False)))
    if not count_missing(X):
        return X
    return Fill.by(W.astype(X.dtype, copy=False))(sp.csr_array(X) if sp.issparse(X) else X)
