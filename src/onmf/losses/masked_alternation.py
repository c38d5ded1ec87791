"""The exact alternation on samples with missing values, to a fixed point.

    label_i, h_i  by the observed entries of the sample (`missing`),
    w_kj = sum_i d_i h_i x_ij / sum_i d_i h_i^2 m_ij  over the samples i of cluster k

Both steps are exact, so the error over the observed entries never rises. A feature that no sample
of a cluster shows gets the entry of the one ray of all samples.
"""

from dataclasses import dataclass, replace

import numpy as np

from onmf.losses.alternation import AlternationState, Starts, is_still, no_membership
from onmf.losses.filling import estimate_fill
from onmf.losses.missing import AssignMasked, Fill, FilledView, MaskedRays, MaskedSums
from onmf.losses.ray_alternation import (
    SquaresAlternation,
    refill_empty,
    with_length,
    without_outlier_loss,
)
from onmf.result import Recorder
from onmf.rows.sweep import Array, divisor
from onmf.search.numpy_kernels import kernels, unit
from onmf.search.outliers import OutlierLimit
from onmf.search.starts import find_starts


@dataclass(frozen=True)
class MaskedAlternation(SquaresAlternation):
    """Squares over the observed entries; `common` is the one ray of all samples."""

    common: Array | None = None

    def assignment(self, W: Array, limit: OutlierLimit | None = None) -> MaskedRays:
        return replace(MaskedRays.of(W), limit=limit)

    def starts(
        self, k: int, rng: np.random.Generator, recorder: Recorder, given: Array | None = None
    ) -> Starts:
        """The search, in rows whose missing values are filled; the filled values are not kept."""
        data, settings = self.data, self.settings
        nothing = no_membership(data, k, data.row_sqnorms)
        fill = estimate_fill(data, k, rng, settings.max_sweeps - 2)
        recorder.tell(fill.sweeps, nothing)
        settings = replace(settings, max_sweeps=2)  # the sketch takes one sweep: its basis is known
        Ws, small = find_starts(settings, fill.view(data), k, rng, given, basis=fill.V)
        sweeps = fill.sweeps + small.sweeps
        recorder.tell(sweeps, nothing)
        if small.precise and data.dtype != np.float64:  # as must be what is filled in
            return replace(self, data=data.in_double()).starts(k, rng, recorder, given)
        return Starts(Ws, replace(self, common=fill.common.astype(np.float64)), sweeps)

    def move(self, W: Array, limit: OutlierLimit | None) -> AssignMasked:
        return AssignMasked(self.assignment(W, limit))

    def after(self, state: AlternationState, limit: OutlierLimit | None) -> AlternationState:
        W = self.next_centroids(state)
        rows, sums = self.data.sweep(self.move(W, limit), state.rows)
        residual = float(kernels().ray_distance(W, state.W))
        still = is_still(residual, self.settings.tol, W.dtype)
        settled = bool(still and not sums.moves.any() and sums.samples.all())
        return AlternationState(W, rows, sums, limit, residual, settled)

    def images(self, state: AlternationState) -> Array:
        return np.asarray(state.sums.images(state.W, self.common))

    def unobserved(self, state: AlternationState) -> Array:
        return np.flatnonzero(~state.sums.shown.any(axis=0))

    def next_centroids(self, state: AlternationState) -> Array:
        """Centroids for the next sweep; none of them stays without samples."""
        images, sums = self.images(state), state.sums
        U = unit(images if self.settings.signed else np.maximum(images, 0))
        if len(state.empty):
            filled = FilledView(self.data, Fill.by(state.W))
            U = refill_empty(filled, U, state.empty, without_outlier_loss(self.data, state))
        return with_length(U, typical_sqlength(images, sums), self.data.dtype)

    def stationarity(self, state: AlternationState) -> float:
        """How far the rays are from their own images: zero at a fixed point."""
        return float(kernels().ray_distance(self.images(state), state.W))


def typical_sqlength(images: Array, totals: MaskedSums) -> Array:
    """||w||^2 of a centroid as long as a typical sample in full: the mean of h^2 is then one."""
    size = np.einsum("km,km->k", images, images)
    return size * totals.mass / divisor(totals.weight)
