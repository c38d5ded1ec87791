"""Many clusterings of the same rows, for any numbers of clusters and any seeds, at one price.

A run, from an `Attempt` (k, seed), is what `fast.cluster` does from that seed, but X is read for
all of them at once:

1. one sketch, made for the largest k and turned so that its first columns serve every smaller k;
2. for each run, the search in its columns. No sweep;
3. the exact alternation of all runs side by side: each sweep reads X once.

Since the sketch belongs to no seed, a run does not end at the very bits of its own fit. What holds:
it ends at a fixed point of the exact alternation on X, as its own fit does, and, up to rounding,
where it ends does not depend on the other runs: they may be made in any order and in any groups.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onmf.core.fast.search import RowPenalty
from onmf.core.fast.settle import State, alternating, together
from onmf.core.fast.sketch import sketch
from onmf.core.fast.solver import Fast, explore
from onmf.core.rows import Data

Array = NDArray[Any]


class Attempt(NamedTuple):
    """How many clusters, from which seed."""

    k: int
    seed: int


class RunEnd(NamedTuple):
    """The end of a run: labels and scores <w, x> / ||w|| of all samples, and how good they are."""

    labels: Array
    scores: Array
    relative_error: float
    converged: bool


class Many:
    """Runs on `data` with at most `most` clusters each; every run is a single start by default."""

    def __init__(
        self, settings: Fast, data: Data, most: int, penalty: RowPenalty, seed: int
    ) -> None:
        # Runs are what goes on in parallel: each has one thread and one start.
        self.settings = replace(settings, n_threads=1, n_starts=settings.n_starts or 1)
        self.n_threads, self.data, self.penalty = settings.n_threads, data, penalty
        rng = np.random.default_rng(seed)
        small = sketch(data, most, rng, settings.max_sweeps, lambda sweeps: None)
        self.small = small.turned()

    def __call__(self, runs: Sequence[Attempt]) -> list[RunEnd]:
        """The ends of the runs, in their order."""
        with ThreadPoolExecutor(self.n_threads) as pool:
            starts = list(pool.map(self._search, runs))
        settings, sweeps = self.settings, self.settings.max_sweeps - self.small.sweeps
        ends = together(
            self.data,
            [alternating(self.data, W, settings.bounds, settings.tol, sweeps) for W in starts],
        )
        return [self._end(state) for state in ends]

    def _search(self, run: Attempt) -> Array:
        """Centroids for one run, by the search in the sketch."""
        small, rng = self.small.narrow(run.k), np.random.default_rng(run.seed)
        U, _ = explore(self.settings, self.data.shape, small.Y, run.k, self.penalty, rng)
        W = small.lift(U).astype(self.data.dtype)
        return W if self.settings.bounds.lower < 0 else np.maximum(W, 0)

    def _end(self, state: State) -> RunEnd:
        error = 1 - float(state.cells.energy.sum()) / self.data.sqnorm
        return RunEnd(*state.codes(self.data), max(error, 0.0), state.settled)
