"""`Squares`, the loss of the paper.

    min ||X - HW||^2  over W and H >= 0 with one non-zero entry per row

Every sample is a multiple of one centroid: clusters are rays. With missing values the sum is over
the observed entries.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from onmf.losses.alternation import Alternation
from onmf.losses.base import Words
from onmf.losses.batches import BatchSums, MaskedBatches, RayBatches, has_samples
from onmf.losses.masked_alternation import MaskedAlternation, MaskedState
from onmf.losses.missing import MaskedRays
from onmf.losses.quick_fit import Look, quick_look
from onmf.losses.ray_alternation import KernelRays, RayAlternation
from onmf.losses.support import EVERY_FEATURE
from onmf.rows.assign import Rays
from onmf.rows.summary import quick_sqnorm
from onmf.rows.sweep import Array, Block, Data, Matrix, Move, row_sqnorm
from onmf.search.starts import Settings


@dataclass(frozen=True)
class Squares:
    """The Frobenius loss."""

    name = "frobenius"
    words = Words("relative error", "squared error")
    supports = EVERY_FEATURE
    degree = 2
    takes_counts = False
    min_sweeps = 2
    kinds_of_batch = (RayBatches, MaskedBatches)

    def assignment(self, W: Array, n_missing: int = 0) -> Rays:
        return MaskedRays.of(W) if n_missing else KernelRays.of(W)

    def value(self, X: Matrix, H: Array, W: Array) -> float:
        """||X||^2 - 2 <X, HW> + ||HW||^2."""
        fit = float(np.vdot(H, X @ W.T))
        return float(row_sqnorm(X).sum()) - 2 * fit + float(np.vdot(H.T @ H, W @ W.T))

    def alternation(self, data: Data, settings: Settings) -> Alternation:
        kind = MaskedAlternation if data.n_missing else RayAlternation
        return kind(data, settings)

    def batch(self, state: Any) -> BatchSums:
        kind: Any = MaskedBatches if isinstance(state, MaskedState) else RayBatches
        batch: BatchSums = kind.of(state.sums)
        return batch

    def batch_of_centroids(self, W: Array, sizes: Array) -> BatchSums:
        """At a fixed point the image of a ray is along it; the centroid is a typical sample."""
        W = W.astype(np.float64)
        sqnorm = np.einsum("km,km->k", W, W)
        image = np.ascontiguousarray(W * (sizes * np.sqrt(sqnorm))[:, None])
        return RayBatches(has_samples(sizes), sizes, image, sizes * sqnorm)

    def sampling_weight(self, X: Matrix) -> Array:
        return quick_sqnorm(X)

    def measure(self) -> Move | None:
        return None

    def cosine(self, distance: Array) -> Array:
        return np.sqrt(np.maximum(1 - np.square(distance), 0))

    def view(self, data: Data) -> Data:
        return data

    def quick_look(self, seen: Block, k: int, rng: np.random.Generator) -> Look:
        return quick_look(seen, k, rng)

    def view_rows(self, X: Matrix) -> Matrix:
        return X
