"""The default solver: sketch, follow the growing penalty, swap, settle.

1. `sketch`: three sweeps give a small basis V and the samples Y = XV in it.
2. `search`: from several starts, the paper's growing penalty on rows of Y. No sweep.
3. `swaps`: clusters are given up and others split while the error falls. No sweep.
4. `finish`: the exact alternation on X from the rays found, to a fixed point.

Nothing depends on the scale of X, the number of sweeps has a known limit, no cluster stays empty.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onmf.core.fast.search import Clustering, Point, RowPenalty, alternate, follow, relocate, spread, unit
from onmf.core.fast.settle import Since, State, settle
from onmf.core.fast.sketch import Sketch, sketch
from onmf.core.fast.swaps import improve
from onmf.core.paper.palm import NON_NEGATIVE, Bounds
from onmf.core.result import (
    FORGETFUL,
    Event,
    Factorization,
    Journal,
    Stage,
    Watch,
    orthogonality,
)
from onmf.core.rows import Data, Traffic

Array = NDArray[Any]

ROWS_PER_CLUSTER, FEWEST_ROWS = 100, 1000  # that the path looks at
END = 0.5  # of the path: rows are one-sparse long before tau = 1
MOST_STARTS = 3
MORE = 6  # times as many rows for the swaps
PATH_SWEEPS, LITTLE = 3, 2e8
FEWEST_STEPS, MOST_STEPS = 8, 35
COARSE = 1.4
ALTERNATIONS = 20  # in the sketch, at the end


@dataclass(frozen=True)
class Fast:
    """Settings: tau = start, start growth, start growth^2, ... up to END."""

    start: float = 1e-3
    growth: float = 1.2
    n_starts: int | None = None  # None: by the shape of X
    blurred: bool = True  # every other start has all prototypes near the middle
    tol: float = 1e-5
    max_sweeps: int = 40
    bounds: Bounds = NON_NEGATIVE
    n_threads: int = 1

    def taus(self, most: int) -> Array:
        """The whole path, or as many values of tau between its ends."""
        steps = min(1 + int(np.log(END / self.start) / np.log(self.growth)), most)
        return np.geomspace(max(self.start, END / COARSE ** (steps - 1)), END, steps)


def cluster(
    settings: Fast,
    data: Data,
    k: int,
    penalty: RowPenalty,
    seed: int,
    given: Array | None = None,
    watch: Watch = lambda event: False,
    journal: Journal = FORGETFUL,
) -> tuple[Factorization, State]:
    """K clusters of the rows of `data`, and the state behind them.

    `given` centroids (k, m) are followed down the path and not searched around, so that the ids of
    the clusters stay those of the start. A fit that was broken off goes on from its journal.
    """
    books = Books(data, k, settings.max_sweeps, watch, journal)
    found = journal.recall("finish")
    if found is None:
        W, since = search(settings, data, k, penalty, seed, given, books), None
    else:
        books.history = [Stage(*stage) for stage in found["history"]]
        since = Since.from_facts(found)
        W = since.state.W
        books.before = since.before
    left = settings.max_sweeps - books.history[-1].sweeps
    state = settle(data, W, settings.bounds, settings.tol, left, books.enter, since)
    return books.close(state), state


def search(
    settings: Fast,
    data: Data,
    k: int,
    penalty: RowPenalty,
    seed: int,
    given: Array | None,
    books: "Books",
) -> Array:
    """Centroids to settle from, by the path in a sketch; its stages go into the books."""
    rng = np.random.default_rng(seed)
    small = sketch(data, k, rng, settings.max_sweeps, books.tell, books.journal)
    if given is None:
        U, points = explore(settings, data.shape, small.Y, k, penalty, rng)
    else:
        start = unit(small.lower(given.astype(np.float64)))
        points = list(follow(small.Y, start, penalty, settings.taus(MOST_STEPS)))
        U = alternate(small.Y, points[-1].U, ALTERNATIONS).U
    books.history += [path_stage(point, small, data.traffic) for point in points]
    W = small.lift(U).astype(data.dtype)
    return W if settings.bounds.lower < 0 else np.maximum(W, 0)


def explore(
    settings: Fast,
    shape: tuple[int, int],
    Y: Array,
    k: int,
    penalty: RowPenalty,
    rng: np.random.Generator,
) -> tuple[Array, list[Point]]:
    """The best prototypes found from several starts, and the path of the best start."""
    energy = np.einsum("ij,ij->i", Y, Y)
    if not energy.all():  # a sample of mostly empty rows would be a poor one
        Y, energy = Y[energy > 0], energy[energy > 0]
    size = rows_for(k)
    seen = min(size, len(Y)), Y.shape[1]
    n_starts, steps = effort(shape, seen, k)
    n_starts = settings.n_starts or n_starts
    more, *own = rng.spawn(n_starts + 1)
    many = drawn(Y, energy, MORE * size, more)

    def descend(own: np.random.Generator) -> tuple[Clustering, list[Point]]:
        Z = drawn(Y, energy, size, own)
        strength = np.einsum("ij,ij->i", Z, Z)
        points = list(follow(Z, spread(Z, strength, k, own), penalty, settings.taus(steps)))
        found = improve(Z, strength, alternate(Z, points[-1].U, 5), own)
        return (found if Z is many else alternate(many, found.U, 3)), points

    with ThreadPoolExecutor(settings.n_threads) as pool:
        ends = list(pool.map(descend, own))
    best, points = max(ends, key=lambda end: end[0].energy)
    if len(many) > size:
        best = improve(many, np.einsum("ij,ij->i", many, many), best, more, 1)
    return relocate(Y, energy, alternate(Y, best.U, ALTERNATIONS), 10).U, points


def drawn(Y: Array, energy: Array, size: int, rng: np.random.Generator) -> Array:
    """All rows, or `size` of them, half of the chance by energy, with weights that keep sums."""
    n = len(Y)
    if n <= size:
        return Y
    chance = shares(0.5 / n + 0.5 * energy / energy.sum(), size)
    before = np.cumsum(chance)
    picks = np.searchsorted(before, rng.random() + np.arange(size), side="right").clip(max=n - 1)
    return Y[picks] / np.sqrt(chance[picks])[:, None]


def shares(chance: Array, size: int) -> Array:
    """min(1, c chance) with the c that makes them sum to `size`."""
    sure = np.zeros(len(chance), bool)
    while True:
        c = (size - sure.sum()) / chance[~sure].sum()
        over = ~sure & (c * chance >= 1)
        if not over.any():
            return np.where(sure, 1.0, c * chance)
        sure |= over


def rows_for(k: int) -> int:
    return max(min(ROWS_PER_CLUSTER * k, 1600 + 20 * k), FEWEST_ROWS)


def effort(shape: tuple[int, int], seen: tuple[int, int], k: int) -> tuple[int, int]:
    """Starts and steps of their paths that cost no more than some sweeps, or than little."""
    work = max(PATH_SWEEPS * np.prod(shape, dtype=float), LITTLE / k) / np.prod(seen, dtype=float)
    starts = int(np.clip(work / MOST_STEPS, 1, MOST_STARTS))
    return starts, int(np.clip(work / starts, FEWEST_STEPS, MOST_STEPS))


def path_stage(point: Point, small: Sketch, traffic: Traffic) -> Stage:
    """A row of the history: the path, as the rows it works on see it."""
    return Stage(
        rho=point.tau,
        sweeps=small.sweeps,
        relative_error=min(max(1 - small.share * (1 - point.error), 0.0), 1.0),
        penalty=point.penalty,
        orthogonality=orthogonality(point.gram),
        residual=point.moved,
        empty_clusters=int(np.sum(point.gram.diagonal() == 0)),
        sent=traffic.sent,
        received=traffic.received,
    )


@dataclass
class Books:
    """History, callbacks and the journal."""

    data: Data
    k: int
    max_sweeps: int
    watch: Watch
    journal: Journal = FORGETFUL
    history: list[Stage] = field(default_factory=list)
    before: State | None = None
    stopped: bool = False

    def tell(self, sweeps: int, stage: Stage | None = None, state: State | None = None) -> bool:
        """After every sweep; True once the watcher wants to stop."""
        event = Event(0, sweeps, self.max_sweeps, stage, lambda: self.membership(state))
        self.stopped = self.watch(event) or self.stopped
        return self.stopped

    def enter(self, state: State) -> bool:
        since = Since(self.before, state)
        self.journal.note("finish", lambda: since.facts() | {"history": self.history})
        self.before = state
        error = max(1 - float(state.cells.energy.sum()) / self.data.sqnorm, 0.0)
        sweeps = self.history[-1].sweeps + 1 if self.history else 1
        measures = error, 0.0, 0.0, state.residual, len(state.empty)
        self.history.append(Stage(1.0, sweeps, *measures, *self.data.traffic))
        return self.tell(sweeps, self.history[-1], state)

    def membership(self, state: State | None) -> Any:
        if state is not None:
            return state.membership(self.data)
        nothing = np.zeros((1, self.k), self.data.dtype)
        return self.data.array(
            self.k, lambda energy: nothing.repeat(len(energy), axis=0), self.data.energy
        )

    def close(self, state: State) -> Factorization:
        H, history, last = self.membership(state), self.history, self.history[-1]
        stop = "converged" if state.settled else "callback" if self.stopped else "max_iter"
        return Factorization(
            H, state.W, 1.0, history, last.sweeps, last.sweeps, last.relative_error, stop
        )
