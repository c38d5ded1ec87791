"""Many clusterings of the same rows, for any numbers of clusters and any seeds, at one price.

A run, from an `Attempt` (k, seed), is what `search.solver.cluster` does from that seed, but X is
read for all of them at once:

1. one sketch, made for the largest k and turned so that its first columns serve every smaller k;
2. for each run, the search in its columns. No sweep;
3. the exact alternation of all runs side by side: each sweep reads X once.

Since the sketch belongs to no seed, a run does not end at the very bits of its own fit. What holds:
it ends at a fixed point of the exact alternation on X, as its own fit does, and, up to rounding,
where it ends does not depend on the other runs: they may be made in any order and in any groups.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import pairwise
from operator import itemgetter
from typing import NamedTuple, Self

import numpy as np

from onmf.losses.ray_alternation import ClusterSums, RayState, next_centroids, tallies
from onmf.paper.palm import Bounds
from onmf.paper.penalties import RowPenalty
from onmf.rows.assign import Code, Rays, nearest, one_sparse
from onmf.rows.sweep import Array, Block, Data
from onmf.search.sketch import Sketch, sketch, width
from onmf.search.solver import SearchSettings, explore


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
        self, settings: SearchSettings, data: Data, most: int, penalty: RowPenalty, seed: int
    ) -> None:
        # Runs are what goes on in parallel: each has one thread and one start.
        self.settings = replace(settings, n_threads=1, n_starts=settings.n_starts or 1)
        self.n_threads, self.data, self.penalty = settings.n_threads, data, penalty
        rng = np.random.default_rng(seed)
        small = sketch(data, most, rng, settings.max_sweeps, lambda sweeps: None)
        self.small = turned(small)

    def __call__(self, runs: Sequence[Attempt]) -> list[RunEnd]:
        """The ends of the runs, in their order."""
        with ThreadPoolExecutor(self.n_threads) as pool:
            starts = list(pool.map(self._search, runs))
        settings, sweeps = self.settings, self.settings.max_sweeps - self.small.sweeps
        ends = settle_together(self.data, starts, settings.bounds, settings.tol, sweeps)
        return [self._end(state) for state in ends]

    def _search(self, run: Attempt) -> Array:
        """Centroids for one run, by the search in the sketch."""
        small, rng = narrowed(self.small, run.k), np.random.default_rng(run.seed)
        best = explore(self.settings, self.data, small.Y, run.k, self.penalty, rng)[0]
        return small.lift(best.found.U, self.settings.bounds, self.data.dtype)

    def _end(self, state: RayState) -> RunEnd:
        error = 1 - float(state.sums.explained.sum()) / self.data.sqnorm
        scores = self.data.gather(self.data.map_blocks(lambda code: code.scores, state.rows))
        return RunEnd(state.labels(self.data), scores, max(error, 0.0), state.settled)


def turned(small: Sketch) -> Sketch:
    """The same picture with the strongest direction first, then the next, and so on."""
    turn = np.linalg.eigh(small.Y.T @ small.Y)[1][:, ::-1]
    V = turn if small.V is None else (small.V @ turn).astype(small.V.dtype)
    return small._replace(V=V, Y=np.ascontiguousarray(small.Y @ turn))


def narrowed(small: Sketch, k: int) -> Sketch:
    """A turned picture for k clusters: the first columns, as many as a sketch for k has."""
    r = width(k)
    assert small.V is not None  # as `turned` leaves it
    return small._replace(V=small.V[:, :r], Y=np.ascontiguousarray(small.Y[:, :r]))


def settle_together(
    data: Data, starts: Sequence[Array], bounds: Bounds, tol: float, sweeps: int
) -> list[RayState]:
    """`settle` from every start; each sweep reads X once for all that still go on."""
    states: dict[int, RayState] = {}
    going, rows = dict(enumerate(starts)), None  # the centroids of those that go on
    for sweep in range(sweeps):
        move = AssignAll.of(list(going.values()))
        rows, cells = data.sweep(move, rows)
        for place, (run, W) in enumerate(going.items()):
            own, part = data.map_blocks(itemgetter(place), rows), move.part(cells, place)
            states[run] = (
                states[run].after(W, own, part, tol)
                if sweep
                else RayState(W=W, rows=own, sums=part)
            )
        places = [place for place, run in enumerate(going) if not states[run].settled]
        if not places:
            break
        if len(places) < len(going):
            rows = data.map_blocks(lambda codes, places=places: [codes[p] for p in places], rows)
        if sweep < sweeps - 1:
            runs = [list(going)[place] for place in places]
            going = {run: next_centroids(data, states[run], bounds) for run in runs}
    return [states[run] for run in range(len(starts))]


@dataclass(frozen=True)
class AssignAll:
    """`Assign` for clusterings side by side.

    Clustering c has the columns edges[c] to edges[c + 1] of the rays; all share both products.
    """

    units: Array  # (m, sum of all k)
    edges: Sequence[int]

    @classmethod
    def of(cls, centroids: Sequence[Array]) -> Self:
        edges = [0, *np.cumsum([len(W) for W in centroids]).tolist()]
        return cls(np.hstack([Rays.of(W).units for W in centroids]), edges)

    def __call__(self, block: Block, last: list[Code] | None) -> tuple[list[Code], ClusterSums]:
        products, spans, weight = block.X @ self.units, pairwise(self.edges), block.weight[:, 0]
        codes = [nearest(products[:, i:j]) for i, j in spans]
        before, ks = [None] * len(codes) if last is None else last, np.diff(self.edges).tolist()
        H = np.hstack(
            [one_sparse(c.labels, c.scores * weight, k) for c, k in zip(codes, ks, strict=True)]
        )
        facts = [
            tallies(code, old, weight, k) for code, old, k in zip(codes, before, ks, strict=True)
        ]
        cross = np.asarray(H.T @ block.X, np.float64)
        return codes, ClusterSums(cross, *map(np.concatenate, zip(*facts, strict=True)))

    def part(self, cells: ClusterSums, c: int) -> ClusterSums:
        """What the sweep found for clustering c."""
        return ClusterSums(*(fact[self.edges[c] : self.edges[c + 1]] for fact in cells))
