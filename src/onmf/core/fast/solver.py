"""The default solver: sketch, follow the growing penalty, swap, settle.

1. `sketch`: three sweeps give a small basis V and the samples Y = XV in it.
2. `search`: from several starts, the paper's growing penalty on rows of Y. No sweep.
3. `swaps`: clusters are given up and others split while the error falls. No sweep.
4. `finish`: the exact alternation on X from the rays found, to a fixed point.

Nothing depends on the scale of X, the number of sweeps has a known limit, no cluster stays empty.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onmf.core.fast.search import Point, RowPenalty, alternate, blur, follow, spread, unit
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
MOST_STARTS = 4
PLAIN_STARTS = 2  # K-means-like ones besides: seeds for the swaps
MORE = 6  # times as many rows for the swaps
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

    def taus(self) -> Array:
        steps = np.arange(0, 1 + np.log(END / self.start) / np.log(self.growth))
        return self.start * self.growth**steps


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
        points = list(follow(small.Y, start, penalty, settings.taus()))
        U = alternate(small.Y, points[-1].U[None], ALTERNATIONS).U[0]
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
    size = max(ROWS_PER_CLUSTER * k, FEWEST_ROWS)
    few, many = some_of(len(Y), size, rng), some_of(len(Y), MORE * size, rng)
    Z, strength = np.ascontiguousarray(Y[few]), energy[few]

    def descend(kind: Callable[..., Array], own: np.random.Generator) -> list[Point]:
        return list(follow(Z, kind(Z, strength, k, own), penalty, settings.taus()))

    n_starts = settings.n_starts or starts_for(shape, Z.shape)
    kinds = [blur if settings.blurred and s % 2 else spread for s in range(n_starts)]
    plain = [alternate(Z, spread(Z, strength, k, rng)[None], 5).U[0] for _ in range(PLAIN_STARTS)]
    with ThreadPoolExecutor(settings.n_threads) as pool:
        paths = list(pool.map(descend, kinds, rng.spawn(n_starts)))
        stack = alternate(Y[many], np.array([points[-1].U for points in paths] + plain), 3)
        U = improve(Y[many], energy[many], stack, rng, pool.map)
    return alternate(Y, U[None], ALTERNATIONS).U[0], paths[int(stack.energy[:n_starts].argmax())]


def some_of(n: int, size: int, rng: np.random.Generator) -> Any:
    """Which of n rows to look at: all, or a random choice of `size`."""
    return np.sort(rng.choice(n, size, replace=False)) if n > size else slice(None)


def starts_for(shape: tuple[int, int], seen: tuple[int, int]) -> int:
    """As many starts as the data outweigh the rows that each of them works on, 1 to MOST_STARTS."""
    return int(np.clip(np.prod(shape, dtype=float) / np.prod(seen, dtype=float), 1, MOST_STARTS))


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
