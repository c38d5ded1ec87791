"""Samples with holes: a NaN in X is an entry that was not observed, and nothing is lost there.

    min over h >= 0 of sum_j m_ij (x_ij - h w_kj)^2,      m_ij = 0 in a hole, 1 elsewhere
    =>  k = argmax_k [<w_k, x>]_+ / ||m w_k||,   h_k = [<w_k, x>]_+ / ||m w_k||^2,

x being zero in its holes. ``||m w||^2`` is one product more. Holes stay in the place as they are: a
block is opened when its turn comes. In a CSR matrix a stored NaN is a hole; an entry that is not
stored is zero, as ever.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from onmf.io import Source
from onmf.rows.assign import (
    ROUNDING,
    Code,
    ExplainedShare,
    Rays,
    first_largest,
    nearest,
    one_sparse,
)
from onmf.rows.sweep import (
    Array,
    Block,
    Data,
    Matrix,
    count_missing,
    row_sqnorm,
    same_pattern,
    zero_missing,
)
from onmf.rows.view import View


class MaskedBlock(NamedTuple):
    """A block with zeros in its holes, and a matrix with ones in them and zeros elsewhere."""

    X: Matrix
    missing: Matrix

    def seen(self, A: Array) -> Array:
        """sum_j m_ij a_jk (b, k), for A >= 0: digits are lost only where zeros are not stored."""
        if not sp.issparse(self.missing):
            return np.asarray((1 - self.missing) @ A)
        whole = A.sum(axis=0, dtype=np.float64)
        return without_noise(whole - self.missing @ A.astype(np.float64), whole)


def without_noise(left: Array, whole: Array) -> Array:
    """What is left of a sum after a subtraction, zero if that is rounding."""
    return np.where(left > ROUNDING * np.finfo(np.float64).eps * whole, left, 0)


def mask_missing(X: Matrix) -> MaskedBlock | None:
    """What is seen and what is not; None if all is seen."""
    missing = np.isnan(X.data if sp.issparse(X) else X)
    if not missing.any():
        return None
    missing = missing.astype(X.dtype)
    return MaskedBlock(zero_missing(X), same_pattern(X, missing) if sp.issparse(X) else missing)


def fill_entries(opened: MaskedBlock, A: Array, B: Array) -> Matrix:
    """The block with <a_i, b_j> in its holes; A (b, r), B (m, r)."""
    X, missing = opened
    if not sp.issparse(X):
        return X + missing * (A @ B.T)
    values, inside = X.data.copy(), np.flatnonzero(missing.data)
    rows = np.searchsorted(X.indptr, inside, side="right") - 1
    values[inside] = np.einsum("er,er->e", A[rows], B[X.indices[inside]])
    return same_pattern(X, values)


class MaskedCode(NamedTuple):
    """A `Code` by what is seen: label, score <w, x> / ||m w||, and the multiple of a unit ray."""

    labels: Array
    scores: Array
    multiples: Array


@dataclass(frozen=True)
class MaskedRays(Rays):
    """Rays beside samples with holes; beside others they are what `Rays` are."""

    def __call__(self, block: Block, rows: Any) -> tuple[Any, ExplainedShare]:
        code, weight = (
            self.code(block.X, mask_missing(block.X)),
            block.weight[:, 0].astype(np.float64),
        )
        explained = float(weight @ np.square(code.scores, dtype=np.float64))
        return code, ExplainedShare(explained, float(weight @ row_sqnorm(block.X)))

    def code(self, X: Matrix, opened: MaskedBlock | None) -> MaskedCode:
        """The nearest ray of each sample, by what is seen of both."""
        if opened is None:
            code = nearest(X @ self.units)
            return MaskedCode(*code, code.scores)
        products, reach = self._beside(opened)
        code = nearest_masked(products, reach)
        own = reach[np.arange(len(reach)), code.labels]
        return MaskedCode(*code, code.scores / np.where(own > 0, own, 1))

    def _beside(self, opened: MaskedBlock) -> tuple[Array, Array]:
        """<u_k, x> / ||m u_k|| and ||m u_k|| (b, k); zero where nothing of a ray is seen."""
        reach = np.sqrt(opened.seen(np.square(self.units))).astype(self.units.dtype, copy=False)
        products = np.asarray(opened.X @ self.units)
        return np.divide(products, reach, out=np.zeros_like(reach), where=reach > 0), reach

    def products(self, X: Matrix) -> Array:
        """<u_k, x> / ||m u_k|| (b, k)."""
        opened = mask_missing(X)
        return super().products(X) if opened is None else self._beside(opened)[0]

    def memberships(self, code: Any) -> Array:
        """H (b, k) of a block: the best multiple of the centroid itself, by what is seen."""
        return super().memberships(Code(code.labels, code.multiples))


def nearest_masked(products: Array, reach: Array) -> Code:
    """The ray with the largest product, as `nearest`; of several, that of which most is seen.

    A sample of one entry fits every ray that has some of it: who comes first must not decide.
    """
    top = products.max(axis=1, keepdims=True)
    close = products >= top - ROUNDING * np.finfo(products.dtype).eps * np.abs(top)
    labels = first_largest(np.where(close, reach, -1))
    code = nearest(products[np.arange(len(labels)), labels, None])
    return Code(np.where(code.labels < 0, -1, labels), code.scores)


def check_no_missing(data: Data) -> None:
    """How far a sample may lie from its ray is known of whole samples alone."""
    if data.n_missing:
        raise ValueError(
            "X has missing values, where outliers cannot be told: fill them, or fit with "
            "outliers=None."
        )


def rays_beside(data: Data, W: Array) -> Rays:
    """The rule by which these centroids take the samples of a place, with holes or without."""
    return MaskedRays.of(W) if data.n_missing else Rays.of(W)


@dataclass(frozen=True)
class Fill:
    """Every hole as the nearest ray has it, x_ij = h_i w_kj; zero where a sample has no ray."""

    rays: MaskedRays

    @classmethod
    def by(cls, W: Array) -> "Fill":
        return cls(MaskedRays.of(W))

    def __call__(self, X: Matrix) -> Matrix:
        opened = mask_missing(X)
        return X if opened is None else self.within(X, opened)

    def within(self, X: Matrix, opened: MaskedBlock) -> Matrix:
        """The same, of a block whose holes are known."""
        code = self.rays.code(X, opened)
        A = one_sparse(code.labels, code.multiples, self.rays.units.shape[1])
        return fill_entries(opened, A, self.rays.units)


class FilledView(View):
    """The rows of a place with their holes filled; a sample counts for what is seen of it."""

    @property
    def n_missing(self) -> int:
        return 0

    @property
    def sqnorms(self) -> Any:
        return self.below.row_sqnorms

    @property
    def sqnorm(self) -> float:
        return self.below.sqnorm

    @property
    def influence(self) -> Any:
        return self.below.influence

    @property
    def membership_scale(self) -> Any:
        return self.below.membership_scale

    def wide(self) -> "FilledView":
        below = self.below.with_larger_blocks()
        return self if below is self.below else FilledView(below, self.change)


def fill_holes(X: Any, W: Array) -> Any:
    """X with every NaN replaced by h w, the multiple of its nearest centroid that fits a sample.

    An array or CSR matrix is copied if it has any; rows on disk are filled as they are read.
    """
    if isinstance(X, Source):
        return X.changed(Fill.by(W.astype(X.dtype, copy=False)))
    if not count_missing(X):
        return X
    return Fill.by(W.astype(X.dtype, copy=False))(sp.csr_array(X) if sp.issparse(X) else X)
