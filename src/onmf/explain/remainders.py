"""What the rays of clusters leave of samples: r = x / ||x|| - c u, by products with X alone."""

from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp

from onmf.losses.base import Loss
from onmf.losses.missing import Fill, mask_missing
from onmf.losses.profiles import row_sums
from onmf.rows.assign import Rays
from onmf.rows.sweep import Array, Matrix, row_sqnorm


class Left(NamedTuple):
    """Samples and what their rays leave of them: r_i = s_i x_i - c_i u_i, never written out.

    X : samples as the loss compares them (n, m); zeros explained by the ray where one is missing.
    scale : s (n,), 0 for a sample of zeros.
    labels, cosines : the nearest ray, -1 for none, and c (n,).
    units : the rays (k, m).
    completion : features per observed entry (n,).
    noise : 1 / t for counts, 0 for other data (n,).
    """

    X: Matrix
    scale: Array
    labels: Array
    cosines: Array
    units: Array
    completion: Array
    noise: Array

    @classmethod
    def of(cls, X: Matrix, labels: Array, W: Array, loss: Loss, factor: float = 1.0) -> Self:
        """Of samples with these labels, multiplied by a factor, beside the centroids W."""
        totals = row_sums(X) / factor if loss.takes_counts else np.zeros(len(labels))
        noise = np.divide(1, totals, out=np.zeros_like(totals), where=totals > 0)
        masked = mask_missing(X)
        completion = np.ones(len(labels))
        if masked is not None:
            X, completion = Fill.by(W).within(X, masked), masked.completion
        X, units = loss.view_rows(X), Rays.of(loss.view_rows(W.astype(np.float64))).units.T
        size = np.sqrt(row_sqnorm(X))
        scale = np.divide(1, size, out=np.zeros_like(size), where=size > 0)
        if not sp.issparse(X):
            X = X.astype(np.float64, copy=False)  # once, and not in each product
        own = np.asarray(X @ units.T)[np.arange(len(labels)), labels] * scale
        cosines = np.where(labels >= 0, np.clip(own, 0, 1), 0)
        return cls(X, scale, labels, cosines, units, completion, noise)

    def take(self, some: Array) -> Self:
        """Some of them."""
        numbers = self.scale[some], self.labels[some], self.cosines[some]
        return type(self)(
            self.X[some], *numbers, self.units, self.completion[some], self.noise[some]
        )

    @property
    def codes(self) -> Any:
        """c at the label (n, k), sparse."""
        inside, shape = np.flatnonzero(self.labels >= 0), (len(self.labels), len(self.units))
        cells = inside, self.labels[inside]
        return sp.coo_array((self.cosines[inside], cells), shape).tocsr()

    def variances(self, weight: Array) -> Array:
        """sum_i w_i r_ij^2 (m,)."""
        X, C, w = self.X, self.codes, weight
        squares = (w * self.scale**2) @ (X.multiply(X) if sp.issparse(X) else np.square(X))
        across = (C * (w * self.scale)[:, None]).T @ X
        across = across.toarray() if sp.issparse(across) else across
        own = np.asarray((C.multiply(C) * w[:, None]).sum(axis=0)).ravel()
        v = np.asarray(squares).ravel() - 2 * np.einsum("km,km->m", across, self.units)
        return np.maximum(v + own @ np.square(self.units), 0)

    def along(self, D: Array) -> Array:
        """<d, r> (n, directions)."""
        of_rays = self.cosines[:, None] * (self.units @ D.T)[self.labels]
        return np.asarray(self.X @ D.T) * self.scale[:, None] - of_rays

    def weighted_squares(self, a: Array) -> Array:
        """sum_j a_j^2 r_ij^2 (n,)."""
        square = np.square(a)
        X = self.X.multiply(self.X) if sp.issparse(self.X) else np.square(self.X)
        beside = np.asarray(self.X @ (self.units * square).T)[
            np.arange(len(self.labels)), self.labels
        ]
        rays = (np.square(self.units) @ square)[self.labels]
        q = np.asarray(X @ square).ravel() * self.scale**2
        return np.maximum(q + self.cosines * (self.cosines * rays - 2 * self.scale * beside), 0)
