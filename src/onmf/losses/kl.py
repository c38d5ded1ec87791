"""`KullbackLeibler`, the loss for counts.

    min KL(X || HW) = sum x log(x / y) - x + y,   y = (HW),   one non-zero entry per row of H

A sample goes where its counts are most likely; a centroid is the mean of its samples, with a
hundredth of the overall mean. Square roots of counts compare samples nearly as it does: the
divergence is close to four times their squared distance.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from onmf.losses.alternation import Alternation, Settings
from onmf.losses.base import Words
from onmf.losses.batches import BatchSums, CountBatches, has_samples
from onmf.losses.kl_alternation import CountAlternation
from onmf.losses.profiles import (
    CountProfiles,
    MeasureTotals,
    influence_of,
    root_shares,
    row_sums,
)
from onmf.losses.support import EVERY_FEATURE
from onmf.rows.sweep import Array, Data, Matrix, Move, Place
from onmf.rows.view import View


@dataclass(frozen=True)
class KullbackLeibler:
    """The Kullback-Leibler divergence."""

    name = "kl"
    words = Words("relative divergence", "Kullback-Leibler divergence")
    supports = EVERY_FEATURE - {"missing", "signed", "bound", "penalty"}
    degree = 1
    takes_counts = True
    min_sweeps = 3

    def assignment(self, W: Array, n_missing: int = 0, equal_votes: bool = False) -> CountProfiles:
        return CountProfiles.of(W, influence_of(equal_votes))

    def alternation(self, data: Data, settings: Settings) -> Alternation:
        """Reads X once, for its totals."""
        rows, totals = data.sweep(MeasureTotals(influence_of(settings.equal_votes)))
        return CountAlternation(data, settings, totals=totals, row_totals=rows)

    def batch(self, state: Any) -> BatchSums:
        return CountBatches.of(state.sums)

    def batch_of_centroids(self, W: Array, sizes: Array, equal_votes: bool) -> BatchSums:
        """A centroid is the mean of its samples."""
        sums = np.ascontiguousarray(W.astype(np.float64) * sizes[:, None])
        return CountBatches(has_samples(sizes), sizes, sums)

    def with_equal_votes(self, data: Place) -> Place:
        """As they are: the assignment divides counts by the total of their sample."""
        return data

    def sampling_weight(self, X: Matrix) -> Array:
        return row_sums(X)

    def measure(self, equal_votes: bool) -> Move | None:
        return MeasureTotals(influence_of(equal_votes))

    def cosine(self, distance: Array) -> Array:
        """KL = d^2 / (1 - d^2) is about 4 (1 - cosine) of the square roots."""
        square = np.minimum(np.square(distance), 1 - np.finfo(float).eps)
        return np.maximum(1 - square / (1 - square) / 4, 0)

    def view(self, data: Data, equal_votes: bool) -> Data:
        return View(data, root_shares if equal_votes else np.sqrt)

    def view_rows(self, X: Matrix) -> Matrix:
        return root_shares(X)
