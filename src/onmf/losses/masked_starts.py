"""The default solver on samples with holes: fill, search, settle on what is observed.

1. `lie_of`: the one ray of all samples, and a basis V of them with their holes filled by it.
2. The search of `solver`, in a picture of the samples whose holes are filled from V: each is what
   the projection onto V of the filled sample has there, twice.
3. `observed`: the exact alternation on the observed entries alone, to a fixed point.

Nothing that is filled in lasts: what is filled only shows the search where to look. Holes filled by
the rays of a first fit would tell the next search what the first one found.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from onmf.losses.alternation import finish, nothing_yet
from onmf.losses.masked_alternation import MaskedAlternation, MaskedState
from onmf.losses.missing import Fill, FilledView, fill_entries, mask_missing
from onmf.losses.squares import path_stage
from onmf.paper.palm import NON_NEGATIVE
from onmf.paper.penalties import RowPenalty
from onmf.paper.start import Power
from onmf.result import (
    NO_CHECKPOINT,
    CheckpointStore,
    Factorization,
    Recorder,
    Watch,
    unwatched,
)
from onmf.rows.memory import InMemory
from onmf.rows.sweep import Array, Data, Matrix, count_missing, same_pattern
from onmf.search.row_problems import unit
from onmf.search.sketch import damping, orthonormal, sketch, width
from onmf.search.solver import Fast, descents

GROUND_SWEEPS, BASIS_SWEEPS = 2, 2
TYPICAL = 10  # clusters, where their number is not known yet
PASSES = 2  # of projections onto the basis, for each block


@dataclass(frozen=True)
class FillByProjection:
    """Holes as the ground has them, then as the projection onto V (m, r) of what is there does."""

    ground: Fill
    V: Array

    def __call__(self, X: Matrix) -> Matrix:
        opened = mask_missing(X)
        if opened is None:
            return X
        full = self.ground.within(X, opened)
        for _ in range(PASSES):
            full = fill_entries(opened, np.asarray(full @ self.V), self.V)
        return full


class LowRankFill(NamedTuple):
    """The one ray of all samples (m,), a basis of them (m, r), and the sweeps they took."""

    ground: Array
    V: Array | None
    sweeps: int

    def fill(self, data: Data) -> FilledView:
        """The samples without holes."""
        ground = Fill.by(self.ground[None].astype(data.dtype))
        return FilledView(data, ground if self.V is None else FillByProjection(ground, self.V))


def estimate_fill(
    data: Data,
    k: int,
    rng: np.random.Generator,
    most: int,
    checkpoints: CheckpointStore = NO_CHECKPOINT,
) -> LowRankFill:
    """How the samples lie, as far as is seen, in at most so many sweeps."""
    (n, m), first = data.shape, min(GROUND_SWEEPS, most)
    # Fewer columns than half of the samples or features: else nothing is smoothed.
    r = min(width(k), (n + 1) // 2, (m + 1) // 2)
    V = rng.standard_normal((m, r)).astype(data.dtype)
    if noted := checkpoints.recall("lie"):
        return LowRankFill(noted["ground"], noted["V"], noted["sweeps"])
    ground = ground_ray(data, first)
    view = FilledView(data, Fill.by(ground[None])).wide()
    damp, later = damping(view), min(BASIS_SWEEPS, most - first)
    for _ in range(later):
        V = orthonormal(view.sweep(Power(V), damp)[1].cross).astype(data.dtype)
    lie = LowRankFill(ground, V if later else None, first + later)
    checkpoints.note("lie", lie._asdict)
    return lie


def ground_ray(data: Data, sweeps: int = GROUND_SWEEPS) -> Array:
    """The one ray of all samples (m,), from equal entries; zero where no sample shows a feature."""
    m = data.shape[1]
    W, rule = np.ones((1, m), data.dtype), MaskedAlternation(data, np.zeros(m), NON_NEGATIVE, 0.0)
    for _ in range(sweeps):
        state = rule.begin(W)
        W = unit(state.images()).astype(data.dtype)
    return W[0]


def fill_along_ground(data: Data) -> FilledView:
    """The samples with their holes along the one ray of all."""
    return FilledView(data, Fill.by(ground_ray(data)[None]))


def above(X: Matrix, low: float) -> Matrix:
    """X with no stored entry below `low`."""
    return same_pattern(X, np.maximum(X.data, low)) if sp.issparse(X) else np.maximum(X, low)


def full_copy(X: Matrix) -> Matrix:
    """A full copy, for those who look at X in many ways; where X is not negative, neither is it."""
    data = InMemory(X, n_missing=count_missing(X))
    view = estimate_fill(
        data, TYPICAL, np.random.default_rng(0), GROUND_SWEEPS + BASIS_SWEEPS
    ).fill(data)
    low = 0.0 if data.extremes[0] >= 0 else -np.inf
    parts, _ = view.sweep(lambda block, rows: (above(block.X, low), ()))
    return sp.vstack(parts, "csr") if sp.issparse(X) else np.concatenate(parts)


class BasisJournal(CheckpointStore):
    """A journal in which the basis of a sketch is noted already."""

    def __init__(self, V: Array | None) -> None:
        self.V = V

    def recall(self, name: str) -> dict[str, Any] | None:
        return None if self.V is None else {"V": self.V, "sweeps": BASIS_SWEEPS}


def cluster_masked(
    settings: Fast,
    data: Data,
    k: int,
    penalty: RowPenalty,
    seed: int,
    given: Array | None = None,
    watch: Watch = unwatched,
    checkpoints: CheckpointStore = NO_CHECKPOINT,
) -> tuple[Factorization, MaskedState]:
    """K clusters of rows with holes, and the state behind them: `solver.cluster` for such rows."""
    recorder = Recorder(watch, settings.max_sweeps, checkpoints=checkpoints)
    if noted := recorder.recall("settle"):
        Ws, since = [noted["W"], *noted["rivals"]], MaskedState.from_facts(noted)
        rule = MaskedAlternation(data, since.ground, settings.bounds, settings.tol)
        return finish(rule, Ws, recorder, since)
    nothing = nothing_yet(data, k, data.row_sqnorms)
    rng = np.random.default_rng(seed)
    lie = estimate_fill(data, k, rng, settings.max_sweeps - 2, checkpoints)
    recorder.tell(lie.sweeps, nothing)
    small = sketch(lie.fill(data), k, rng, 2, lambda sweeps: None, BasisJournal(lie.V))
    small = small._replace(sweeps=lie.sweeps + 1)
    recorder.tell(small.sweeps, nothing)
    ends = descents(settings, data.shape, small, k, penalty, rng, given)
    recorder.history += [path_stage(point, small, data.traffic) for point in ends[0].path]
    Ws = [small.lift(end.found.U, settings.bounds, data.dtype) for end in ends]
    ground = lie.ground.astype(np.float64)
    return finish(MaskedAlternation(data, ground, settings.bounds, settings.tol), Ws, recorder)
