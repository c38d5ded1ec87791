"""A sketch: rows of the data in a small basis, in which to search.

    V (m, r) orthonormal, near the leading right singular vectors of D^(1/2) X;   Y = D^(1/2) X V

A ray w = Vu has scores <w, x> = <u, y>, so what clusters the rows of Y clusters those of X, as far
as X lies in the span of V. Two sweeps of subspace iteration give V, one more gives Y. With few
features V is the identity and nothing is lost.

If rays explain nearly all of the rows, what tells the rows apart is lost in the digits of what they
have in common. The sketch is then made in double precision, and the common part is shrunk:

    Y T,   T = I - L diag(1 - f) L',   L (r, j) leading right singular vectors of Y

To first order in the size of the rest, the clusters of YT are those of Y.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.linalg import qr

from onmf.palm.start import Image
from onmf.rows.memory import weighted_sum
from onmf.rows.sweep import Array, Block, Data, Matrix, divisor, row_sqnorm, same_pattern
from onmf.search.numpy_kernels import kernels, unit

# `make ablate`: with half of the columns, or one step, ARI is .7 and .9 points lower.
# r = min(COLUMNS_PER_CLUSTER k, k + SPARE_COLUMNS) + EXTRA_COLUMNS columns
COLUMNS_PER_CLUSTER, SPARE_COLUMNS, EXTRA_COLUMNS = 4, 40, 20
SUBSPACE_STEPS = 2
# Samples of more times the median energy count as if they had no more: one 1e9 times as long as the
# others hid their clusters (`make ablate`).
HEAVY = 1e4
# Where there may be outliers: they would fill a basis that has room for clusters. Which samples are
# outliers turns on the last digits of single precision, which depend on the chunks: 27 of 35 labels
# differed.
ROBUST_HEAVY, ROBUST_STEPS = 2.0, 3
MIN_SAMPLE_SHARE = 1e-30  # no sample counts for less than this share: single precision loses it
MAX_SKETCH_ROWS = 20_000
NEAR_RAYS = 1e-3  # 1 - cosine of rays of which single precision may not tell which is nearer
# Share left unexplained above which single precision tells rows apart: scores that differ by 4e-6
# of their size are equal there.
SINGLE_ENOUGH = 1e-4
COMMON_SIZE = 10.0  # length of the common part of a row, after it is shrunk, in units of the rest
CACHED_ROWS = 1024
SINGLE_GRAM = 1e-4  # least eigenvalue of columns whose Gram matrix may be in single precision
MAX_SAFE_EXPONENT = 200  # power of two: squares of larger entries may overflow


class CommonPart(NamedTuple):
    """T = I - L diag(1 - f) L'."""

    L: Array  # (r, j), orthonormal columns
    factors: Array  # (j,)

    @classmethod
    def of(cls, Y: Array, k: int) -> "CommonPart | None":
        """What fewer than k directions explain but for a share below SINGLE_ENOUGH, if they do."""
        values, turn = np.linalg.eigh(Y.T @ Y)
        values, turn = np.maximum(values[::-1], 0), turn[:, ::-1]
        rest = np.append(np.cumsum(values[::-1])[::-1][1:], 0)
        few = slice(0, max(min(k, len(values)) - 1, 0))
        share = rest[few] / divisor(values[few])
        if not len(share) or share.min() > SINGLE_ENOUGH:
            return None
        L = turn[:, : share.argmin() + 1]
        parts = Y @ L
        left = float(np.square(Y - parts @ L.T).sum())
        factors = np.sqrt(np.minimum(1, COMMON_SIZE**2 * left / values[: L.shape[1]]))
        return cls(L, factors) if left else None

    def removed(self, Y: Array) -> Array:
        """YT."""
        return Y - ((Y @ self.L) * (1 - self.factors)) @ self.L.T

    def restored(self, U: Array) -> Array:
        """U T^-1, for rays."""
        return U + ((U @ self.L) * (1 / self.factors - 1)) @ self.L.T


class Sketch(NamedTuple):
    """Some rows of the data in a small basis."""

    V: Array | None  # (m, r); None stands for the identity
    Y: Array  # (rows, r), square roots of the weights included
    share: float  # of the energy of these rows that the basis keeps
    sweeps: int
    seen: Any  # which rows, a mask cut like those of the data in large blocks
    shrunk: CommonPart | None = None  # what Y has less of than the rows have
    precise: bool = False  # in double precision

    def lift(self, U: Array, signed: bool, dtype: Any) -> Array:
        """Rays in the space of the features, non-negative if centroids must be."""
        U = U if self.shrunk is None else self.shrunk.restored(U)
        W = (U if self.V is None else U.astype(self.V.dtype) @ self.V.T).astype(dtype)
        return W if signed else np.maximum(W, 0)

    def lower(self, W: Array) -> Array:
        """Given rays in the small basis."""
        U = W if self.V is None else W @ self.V
        return U if self.shrunk is None else self.shrunk.removed(U)

    def along_principal_axes(self) -> "Sketch":
        """The same rows in a basis that does not depend on the order of a sum."""
        if self.V is None:
            return self
        turn = np.linalg.eigh(self.Y.T @ self.Y)[1][:, ::-1]
        Y = self.Y @ turn
        signs = np.sign(Y[np.abs(Y).argmax(axis=0), np.arange(Y.shape[1])])
        return self._replace(V=self.V @ (turn * signs), Y=Y * signs)

    def tells_apart(self, U: Array) -> bool:
        """Whether single precision is enough for U: much is left, or no two rays are near."""
        U = unit(U)
        if (np.triu(U @ U.T, 1) < 1 - NEAR_RAYS).all():
            return True
        best = np.maximum(self.Y @ U.T, 0).max(axis=1).astype(np.float64)
        explained = float(best @ best) / float(row_sqnorm(self.Y).sum())
        return 1 - min(self.share, 1.0) * explained > SINGLE_ENOUGH


def width(k: int) -> int:
    """Columns of a sketch for k clusters."""
    return min(COLUMNS_PER_CLUSTER * k, k + SPARE_COLUMNS) + EXTRA_COLUMNS


def sketch(
    data: Data,
    k: int,
    rng: np.random.Generator,
    max_sweeps: int = 40,
    tell: Callable[[int], object] = lambda sweeps: None,
    *,
    robust: bool = False,
    precise: bool = False,
    basis: Array | None = None,
) -> Sketch:
    """Basis and rows; reads X three times, once if the basis is known or there are few features.

    `robust`: there may be outliers. `precise`: in double precision, common directions shrunk.
    """
    data, (n, m) = data.with_larger_blocks(), data.shape
    r = width(k) if n > 2 * width(k) else n  # few samples: all of their span
    steps, V = ROBUST_STEPS if robust else SUBSPACE_STEPS, None
    steps = steps if precise else min(steps, max_sweeps - 2)
    if 2 * r < m:  # otherwise the sketch would save nothing
        V = rng.random((m, r), np.float32) - np.float32(0.5)
        if basis is not None and not precise:
            V, steps = basis, 0
        kind: Any = np.float64 if precise or robust else np.float32
        damp = damping(data, ROBUST_HEAVY if robust else HEAVY)
        damped = data.map_blocks(np.multiply, data.row_sqnorms, damp)
        scale = 1 / np.sqrt(data.reduce_blocks(weighted_sum, damped) or 1)
        for step in range(steps):  # subspace iteration
            _, image = data.sweep(SubspaceStep(V.astype(kind, copy=False), scale), damp)
            V = orthonormal(image.cross)
            tell(step + 1)
        V = V if steps else orthonormal(V)
    seen = sample(data, rng)
    shrink = float(np.ldexp(1.0, -int(np.frexp(data.sqnorm)[1]) // 2))
    parts, sqnorms = data.sweep(Project(V, shrink), seen)
    whole = data.reduce_blocks(weighted_sum, data.map_blocks(np.multiply, data.row_sqnorms, seen))
    sweeps = 1 if V is None else steps + 1
    tell(sweeps)
    share = sqnorms.inside / whole
    small = Sketch(V, data.gather(parts), share, sweeps, seen, precise=precise)
    small = small.along_principal_axes() if robust else small
    common = CommonPart.of(small.Y, k) if precise else None
    return small if common is None else small._replace(Y=common.removed(small.Y), shrunk=common)


def sample(data: Data, rng: np.random.Generator) -> Any:
    """Which rows to look at, a mask cut like them: MAX_SKETCH_ROWS of those that are not all zero.

    The choice is made by rank among them, so it does not depend on how the rows are cut.
    """
    counts = data.gather(
        data.map_blocks(lambda sqnorms: np.sum(sqnorms != 0, keepdims=True), data.row_sqnorms)
    )
    total = int(counts.sum())
    if total <= MAX_SKETCH_ROWS:
        return data.map_blocks(lambda sqnorms: sqnorms != 0, data.row_sqnorms)
    ranks = np.sort(rng.choice(total, MAX_SKETCH_ROWS, replace=False))
    before = np.cumsum(counts) - counts
    parts = np.split(ranks, np.searchsorted(ranks, before[1:]))
    own = [part - start for part, start in zip(parts, before, strict=True)]
    return data.map_blocks(
        lambda sqnorms, ranks: np.isin(np.arange(len(sqnorms)), np.flatnonzero(sqnorms)[ranks]),
        data.row_sqnorms,
        own,
    )


def damping(data: Data, heavy: float = HEAVY) -> Any:
    """A factor for the weight of each sample: one enormous sample would hide all the others.

    Those with more than `heavy` times the median energy count as if they had that much.
    """
    facts = data.gather(data.map_blocks(_top_and_median, data.row_sqnorms))
    bound, medians = facts[:, 0].max(), facts[facts[:, 1] > 0, 1]
    if bound > heavy * medians.min():  # the median of all is not below the least of the pieces
        sqnorms = data.gather(data.row_sqnorms)
        typical = heavy * np.median(sqnorms[sqnorms > 0])
        bound = min(bound, max(typical, MIN_SAMPLE_SHARE * bound))
    dtype = data.dtype
    return data.map_blocks(
        lambda sqnorms: np.minimum(1, bound / np.maximum(sqnorms, bound)).astype(dtype),
        data.row_sqnorms,
    )


def _top_and_median(sqnorms: Array) -> Array:
    """Largest entry and median of the positive ones, zero if there are none."""
    positive = sqnorms[sqnorms > 0]
    return np.array([[positive.max(), np.median(positive)]] if len(positive) else [[0.0, 0.0]])


def orthonormal(B: Array) -> Array:
    """Basis of the columns' span through their Gram matrix, which is faster than QR for tall B."""
    exponent = int(np.frexp(max(B.max(initial=0), -B.min(initial=0)))[1])
    if abs(exponent) > MAX_SAFE_EXPONENT:  # its squares must be numbers
        B = np.ldexp(B, -exponent)
    gram = np.zeros((B.shape[1],) * 2)
    for i in range(0, len(B), CACHED_ROWS):
        gram += B[i : i + CACHED_ROWS].T @ B[i : i + CACHED_ROWS]
    size = np.sqrt(gram.diagonal())
    scale = np.where(size > 0, 1 / divisor(size), 0)  # columns of unit length
    values, turn = np.linalg.eigh(scale[:, None] * gram * scale)
    least, most = values.min(initial=np.inf), values.max(initial=0)
    if least < SINGLE_GRAM * most and B.dtype == np.float32:
        return orthonormal(B.astype(np.float64))
    if least > 1e-11 * most:
        return B @ (scale[:, None] * turn / np.sqrt(values)).astype(B.dtype)
    # The Gram matrix has half of the digits of B, and columns may be nearly parallel.
    Q, R, _ = qr(B * scale, mode="economic", pivoting=True)
    sizes = np.abs(R.diagonal())
    return np.asarray(Q[:, sizes > 1e-13 * sizes.max(initial=0)])


@dataclass(frozen=True)
class SubspaceStep:
    """Z'ZV of a block, Z = s D^(1/2) X; `damp` (b,) multiplies the weights.

    In the precision of V: the search needs the span of the leading directions, not their digits,
    unless they are nearly one.
    """

    V: Array
    scale: float

    def __call__(self, block: Block, damp: Array) -> tuple[Array, Image]:
        Z = times(block.X, self.scale * np.sqrt(block.weight[:, 0] * damp), self.V.dtype)
        return damp, Image(kernels().image(Z, self.V))


def times(X: Matrix, factors: Array, dtype: Any) -> Matrix:
    """f_i x_i, in this precision."""
    if sp.issparse(X):
        each = np.repeat(factors, np.diff(X.indptr))
        return same_pattern(X, times(X.data[:, None], each, dtype)[:, 0])
    narrow = np.empty(X.shape, dtype)
    return np.multiply(X, factors[:, None].astype(X.dtype), out=narrow, casting="same_kind")


class Energy(NamedTuple):
    """Weighted ||Y||^2 of the wanted rows."""

    inside: float


@dataclass(frozen=True)
class Project:
    """D^(1/2) X V of the wanted rows of a block, in the precision of V."""

    V: Array | None  # None stands for the identity
    scale: float  # a power of two that keeps the squares of rows within single precision

    def __call__(self, block: Block, wanted: Array) -> tuple[Array, Energy]:
        X, weight = (
            (block.X, block.weight) if wanted.all() else (block.X[wanted], block.weight[wanted])
        )
        root = np.sqrt(weight)
        if self.V is None:
            Y = np.asarray(X.toarray() if sp.issparse(X) else X) * root
        else:
            Z = times(X, self.scale * root[:, 0], self.V.dtype)
            wide = np.promote_types(X.dtype, self.V.dtype)
            Y = kernels().products(Z, self.V).astype(wide) / self.scale
        return Y, Energy(float(row_sqnorm(Y).sum()))
