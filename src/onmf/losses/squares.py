"""`Squares`, the loss of the paper.

    min ||X - HW||^2  over W and H >= 0 with one non-zero entry per row

Every sample is a multiple of one centroid: clusters are rays. With missing values the sum is over
the observed entries.
"""

from dataclasses import dataclass

import numpy as np

from onmf.losses.alternation import Alternation
from onmf.losses.base import Words
from onmf.losses.masked_alternation import MaskedAlternation
from onmf.losses.missing import MaskedRays, fill_missing
from onmf.losses.quick_fit import Look, quick_look
from onmf.losses.ray_alternation import KernelRays, RayAlternation
from onmf.losses.support import EVERY_FEATURE
from onmf.rows.assign import Rays, one_sparse
from onmf.rows.summary import quick_sqnorm
from onmf.rows.sweep import Array, Block, Data, Matrix, Move, divisor, row_sqnorm
from onmf.search.starts import Settings


@dataclass(frozen=True)
class Squares:
    """The Frobenius loss."""

    name = "frobenius"
    words = Words("relative error", "squared error")
    supports = EVERY_FEATURE
    degree = 2
    min_sweeps = 2

    def assignment(self, W: Array, n_missing: int = 0) -> Rays:
        return MaskedRays.of(W) if n_missing else KernelRays.of(W)

    def value(self, X: Matrix, H: Array, W: Array) -> float:
        """||X||^2 - 2 <X, HW> + ||HW||^2."""
        fit = float(np.vdot(H, X @ W.T))
        return float(row_sqnorm(X).sum()) - 2 * fit + float(np.vdot(H.T @ H, W @ W.T))

    def alternation(self, data: Data, settings: Settings) -> Alternation:
        kind = MaskedAlternation if data.n_missing else RayAlternation
        return kind(data, settings)

    def typical_samples(self, W: Array, weight: Array) -> Array:
        """Itself: at a fixed point ||w||^2 is the mean energy of its samples along it."""
        return W

    def joint_centroids(self, rows: Array, weight: Array, cluster: Array, k: int) -> Array:
        """The leading right singular vector of sqrt(d_i) x_i, as long as a typical sample."""
        W = np.zeros((k, rows.shape[1]), rows.dtype)
        for number in np.unique(cluster).tolist():
            own = cluster == number
            whole = float(weight[own].sum())
            if own.sum() == 1 or not whole:
                W[number] = rows[own][0]
                continue
            energy = rows[own] * np.sqrt(weight[own] / whole)[:, None]
            _, values, directions = np.linalg.svd(energy, full_matrices=False)
            ray = directions[0] * np.sign((energy @ directions[0]).sum())
            W[number] = values[0] * (np.maximum(ray, 0) if rows[own].min() >= 0 else ray)
        return W

    def sums(self, X: Matrix, weight: Array, rays: Array, W: Array) -> Array:
        """sum_i d_i a_i x_i, a_i being the score of a sample on its ray."""
        X, units = fill_missing(X, W), Rays.of(W).units
        scores = np.asarray(X @ units)[np.arange(len(rays)), rays]
        codes = one_sparse(rays, weight * np.maximum(scores, 0), len(W))
        return np.asarray(codes.T @ X, np.float64)

    def centroids_of_sums(self, S: Array, weight: Array, W: Array) -> Array:
        """At a fixed point S = E u, with E = d ||w||^2 the energy along the ray."""
        size = np.linalg.norm(S, axis=1) * weight
        known = (size > 0)[:, None]
        return np.where(known, S / np.sqrt(divisor(size))[:, None], W).astype(W.dtype)

    def sampling_weight(self, X: Matrix) -> Array:
        return quick_sqnorm(X)

    def measure(self) -> Move | None:
        return None

    def view(self, data: Data) -> Data:
        return data

    def quick_look(self, seen: Block, k: int, rng: np.random.Generator) -> Look:
        return quick_look(seen, k, rng)

    def view_rows(self, X: Matrix) -> Matrix:
        return X
