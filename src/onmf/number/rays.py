"""One half of the samples under squares: its rays for every K, and what they make of all samples.

Two rays are merged at the loss of the best one in their span, and a few alternations follow. Rows
of more than `HEAVY` times the median energy count as if they had that much, lest a few long samples
take all clusters for themselves.
"""

from functools import cached_property
from typing import Any

import numpy as np

from onmf.number.halves import Cut, HalfLabels
from onmf.number.path import ONE_BY_ONE, beginning, line
from onmf.rows.sweep import Array, row_sqnorm
from onmf.search.numpy_kernels import kernels, unit
from onmf.search.rays import Clustering, alternate, spread
from onmf.search.sketch import SUBSPACE_STEPS, orthonormal

WIDTH = 100  # columns of the sketch, the same for all K: figures must not depend on the last K
MOST_ROWS = 5000  # that are searched
ALTERNATIONS, ROUGH = 8, 3  # of a K, and of those above 20
HEAVY = 2.0
NOTHING = 1e-10  # share of the energy: rays that could be merged at no loss,
ROUNDING = 30  # or at so many times the precision of the numbers
ALONG_ONE = 1e-3  # share of the energy beside one ray, below which single precision is too coarse


class RayHalf:
    """A sketch of the samples in a basis that this half alone made, and a line of rays in it."""

    def __init__(self, X: Any, weight: Array, cut: Cut, side: bool) -> None:
        self.rows, size = cut.rows(side), np.frexp(np.sqrt(row_sqnorm(X).mean()))[1]
        scale = X.dtype.type(np.ldexp(1.0, -int(size)))  # of two: rounds nothing
        V = basis(X[self.rows], weight[self.rows] * float(scale) ** 2, int(side)).astype(X.dtype)
        Y: Array = np.asarray(X @ V) * scale
        self.number, self.rng = precision(Y), np.random.default_rng(int(side))
        self.Y: Array = Y.astype(self.number, copy=False)
        self.part: Array | None = None  # the same by one half of the features
        if cut.features is not None:
            inside = np.where(cut.features[:, None], V, 0)
            self.part = (np.asarray(X @ inside) * scale).astype(self.number)
            self.grams = inside.T @ inside, V.T @ V - inside.T @ inside
        self.weight = weight[self.rows]
        self.length = np.where(weight > 0, np.sqrt(row_sqnorm(Y)), 0)  # without weight: no label

    def labels_by_k(self, first: int, last: int) -> dict[int, HalfLabels]:
        """All samples by the clusters of this half, for the K from first to last."""
        rows, weight = self.rows, self.weight
        if len(rows) > MOST_ROWS:
            some = np.sort(self.rng.choice(len(rows), MOST_ROWS, replace=False))
            rows, weight = rows[some], weight[some]
        Y = damped(self.Y[rows], weight)
        if not len(Y):
            return {}
        U = spread(Y, row_sqnorm(Y), beginning(last, len(Y)), self.rng)
        found = line(RayClusters(Y, U, ROUGH), first, last)
        return {k: self.label_all(clusters.now.U) for k, clusters in found.items()}

    def label_all(self, U: Array) -> HalfLabels:
        """All samples by these prototypes; by parts of the features, rays have other lengths."""
        U = U.astype(self.number)
        scores, parts = self.Y @ U.T, []
        if self.part is not None:
            one = self.part @ U.T
            for part, gram in zip((one, scores - one), self.grams, strict=True):
                size = np.sqrt(np.maximum(np.einsum("kr,kr->k", U @ gram, U), 0))
                inverse = np.divide(1, size, out=np.zeros_like(size), where=size > 0)
                parts.append(part * inverse.astype(self.number))
        return HalfLabels.by_scores(scores, parts, self.length)


class RayClusters:
    """Rays of the rows Y after some alternations, and what is lost if two are merged."""

    def __init__(self, Y: Array, U: Array, alternations: int) -> None:
        self.Y, self.k = Y, len(U)
        self.now: Clustering = alternate(Y, U, alternations)

    @cached_property
    def own(self) -> Array:
        """What each ray explains."""
        return np.bincount(self.now.labels, np.square(self.now.best), self.k)

    @cached_property
    def losses(self) -> Array:
        """(k, k): e_k + e_c less what the best ray in the span of u_k and u_c explains of both.

        Of a 2 x 2 matrix the larger eigenvalue, in the basis u_k, (u_c - c u_k) / s, c = u_k'u_c.
        """
        now, own = self.now, self.own
        squares = kernels().sums(now.labels, np.ones(len(self.Y)), np.square(now.scores), self.k)
        products = kernels().sums(now.labels, now.best, now.scores, self.k)
        C = np.clip(now.U @ now.U.T, -1, 1)
        sine = np.sqrt(np.maximum(1 - C * C, 1e-12))
        uu, cc, uc = own[:, None] + squares.T, squares + own, products + products.T
        ud, dd = (uc - C * uu) / sine, (cc - 2 * C * uc + C * C * uu) / sine**2
        loss = own[:, None] + own - (uu + dd) / 2 - np.sqrt(np.square((uu - dd) / 2) + ud**2)
        return np.where(np.eye(self.k), np.inf, loss)

    @property
    def distinct(self) -> bool:
        rounding = max(NOTHING, ROUNDING * float(np.finfo(self.Y.dtype).eps))
        return self.k == 1 or bool(self.losses.min() > rounding * self.own.sum())

    def merged(self, count: int) -> "RayClusters":
        """Each ray is in one pair at most."""
        U, loss, gone = self.now.U, self.losses.copy(), np.zeros(self.k, bool)
        sums = U.copy()
        for _ in range(count):
            a, b = np.unravel_index(loss.argmin(), loss.shape)
            sums[a], gone[b] = self.own[a] * U[a] + self.own[b] * U[b], True
            loss[[a, b]] = loss[:, [a, b]] = np.inf
        rays = unit(sums[~gone], otherwise=U[~gone])
        return RayClusters(self.Y, rays, ROUGH if len(rays) > ONE_BY_ONE else ALTERNATIONS)


def precision(Y: Array) -> type:
    """Single, unless rows are so near one ray that its rounding hides what tells them apart."""
    sqnorms = row_sqnorm(Y)
    ray = unit(Y.sum(axis=0, keepdims=True, dtype=np.float64))[0]
    left = sqnorms.sum() - np.square(Y @ ray).sum()
    return np.float32 if left > ALONG_ONE * sqnorms.sum() else np.float64


def damped(Y: Array, weight: Array) -> Array:
    """The rows that are not zero, the heavy ones shortened, times the roots of their weights."""
    sqnorms = row_sqnorm(Y)
    inside = (sqnorms > 0) & (weight > 0)
    Y, sqnorms = Y[inside], sqnorms[inside]
    most = HEAVY * np.median(sqnorms) if len(sqnorms) else 0.0
    scale = np.sqrt(np.minimum(1, most / sqnorms) * weight[inside])
    return np.ascontiguousarray(Y * scale[:, None].astype(Y.dtype))


def basis(X: Any, weight: Array, seed: int, width: int = WIDTH) -> Array:
    """Orthonormal columns near the leading right singular vectors of some rows."""
    m, r = X.shape[1], min(width, X.shape[0])
    if r >= m:
        return np.eye(m)
    V = np.random.default_rng(seed).standard_normal((m, r))
    for _ in range(SUBSPACE_STEPS):
        V = orthonormal(np.asarray(X.T @ ((X @ V) * weight[:, None]), np.float64))
    return V
