"""The exact alternation on samples with missing values, to a fixed point.

    label_i, h_i  by the observed entries of the sample (`missing`),
    w_kj = sum_i d_i h_i x_ij / sum_i d_i h_i^2 m_ij  over the samples i of cluster k

Both steps are exact, so the error over the observed entries never rises. A feature that no sample
of a cluster shows gets the entry of the one ray of all samples.
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from onmf.losses.alternation import AlternationState, Given, Starts, is_still, no_membership
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
from onmf.search.outliers import OutlierLimit
from onmf.search.row_problems import kernels, unit
from onmf.search.solver import find_starts


@dataclass(frozen=True, eq=False, kw_only=True)
class MaskedState(AlternationState):
    """The clustering after a sweep with the centroids W."""

    common: Array | None = None  # the one ray of all samples (m,)

    @property
    def unobserved(self) -> Array:
        """The features that no sample of any cluster shows."""
        return np.flatnonzero(~self.sums.shown.any(axis=0))

    def images(self) -> Array:
        return self.sums.images(self.W, self.common)


@dataclass(frozen=True)
class MaskedAlternation(SquaresAlternation):
    """Squares over the observed entries; `common` is the one ray of all samples."""

    common: Array | None = None

    kind_of_state: ClassVar[Any] = MaskedState

    def assignment(self, W: Array, limit: OutlierLimit | None = None) -> MaskedRays:
        return replace(MaskedRays.of(W), limit=limit)

    def resumed(self, state: MaskedState) -> Self:
        return replace(super().resumed(state), common=state.common)

    def starts(
        self, k: int, rng: np.random.Generator, recorder: Recorder, given: Given | None = None
    ) -> Starts:
        """The search, in rows whose missing values are filled; the filled values are not kept."""
        data, search = self.data, self.settings.search
        nothing = no_membership(data, k, data.row_sqnorms)
        fill = estimate_fill(data, k, rng, search.max_sweeps - 2)
        recorder.tell(fill.sweeps, nothing)
        found = find_starts(
            replace(search, max_sweeps=2),  # the sketch takes one sweep: its basis is known
            fill.view(data),
            k,
            self.settings.penalty,
            rng,
            given,
            basis=fill.V,
        )
        sweeps = fill.sweeps + found.small.sweeps
        found = found._replace(small=found.small._replace(sweeps=sweeps))
        recorder.tell(found.small.sweeps, nothing)
        if found.precise and data.dtype != np.float64:  # as must be what is filled in
            return replace(self, data=data.in_double()).starts(k, rng, recorder, given)
        common = fill.common.astype(np.float64)
        alternation: MaskedAlternation = replace(self, common=common)
        alternation = alternation.with_first_limit(found.Ws[0])
        return Starts(found.Ws, alternation, found.stages(data.traffic))

    def move(self, W: Array, limit: OutlierLimit | None) -> AssignMasked:
        return AssignMasked(self.assignment(W, limit))

    def begin(self, W: Array) -> MaskedState:
        return replace(super().begin(W), common=self.common)

    def after(self, state: MaskedState) -> MaskedState:
        W, limit = self.next_centroids(state), state.next_limit
        rows, totals = self.sweep(W, limit, state.rows)
        residual = float(kernels().ray_distance(W, state.W))
        still = is_still(residual, self.settings.search.tol, W.dtype)
        new = replace(
            state,
            W=W,
            rows=rows,
            sums=totals,
            residual=residual,
            settled=bool(still and not totals.moves.any() and totals.samples.all()),
            limit=limit,
            turn=state.turn + 1,
        )
        return self.with_next_limit(new)

    def next_centroids(self, state: MaskedState) -> Array:
        """Centroids for the next sweep; none of them stays without samples."""
        images, totals = state.images(), state.sums
        U = unit(images if self.bounds.lower < 0 else np.maximum(images, 0))
        if len(state.empty):
            filled = FilledView(self.data, Fill.by(state.W))
            U = refill_empty(filled, U, state.empty, without_outlier_loss(self.data, state))
        return with_length(U, typical_sqlength(images, totals), self.bounds, self.data.dtype)

    def stationarity(self, state: MaskedState) -> float:
        """How far the rays are from their own images: zero at a fixed point."""
        return float(kernels().ray_distance(state.images(), state.W))


def typical_sqlength(images: Array, totals: MaskedSums) -> Array:
    """||w||^2 of a centroid as long as a typical sample in full: the mean of h^2 is then one."""
    size = np.einsum("km,km->k", images, images)
    return size * totals.mass / divisor(totals.weight)
