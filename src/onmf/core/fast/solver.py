"""The default solver: sketch, follow the growing penalty, swap, settle.

1. `sketch`: three sweeps give a small basis V and the samples Y = XV in it.
2. `search`: from several starts, the paper's growing penalty on rows of Y. No sweep.
3. `swaps`: clusters are given up and others split while the error falls. No sweep.
4. `settle`: the exact alternation on X from the rays found, to a fixed point.

Nothing depends on the scale of X, the number of sweeps has a known limit, no cluster stays empty.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from onmf.core.fast.search import Point, alternate, follow, spread, unit
from onmf.core.fast.settle import State, settle
from onmf.core.fast.sketch import Sketch, sketch
from onmf.core.fast.swaps import improve
from onmf.core.paper.palm import NON_NEGATIVE, Bounds
from onmf.core.paper.penalties import RowPenalty
from onmf.core.result import (
    FORGETFUL,
    Factorization,
    Journal,
    Recorder,
    Stage,
    Watch,
    orthogonality,
    unwatched,
)
from onmf.core.rows import Array, Data, Traffic

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
    watch: Watch = unwatched,
    journal: Journal = FORGETFUL,
) -> tuple[Factorization, State]:
    """K clusters of the rows of `data`, and the state behind them.

    `given` centroids (k, m) are followed down the path and not searched around, so that the ids of
    the clusters stay those of the start. A fit that was broken off goes on from its journal.
    """
    recorder = Recorder(watch, settings.max_sweeps, journal=journal)
    if noted := recorder.recall("settle"):
        since = State.from_facts(noted)
        return settle_and_record(data, since.W, settings.bounds, settings.tol, recorder, since)

    def nothing() -> Any:  # what the watcher sees of H while there is none
        zeros = np.zeros((1, k), data.dtype)
        return data.array(k, lambda energy: zeros.repeat(len(energy), axis=0), data.energy)

    rng = np.random.default_rng(seed)
    tell = partial(recorder.tell, membership=nothing)
    small = sketch(data, k, rng, settings.max_sweeps, tell, journal)
    if given is None:
        U, points = explore(settings, data.shape, small.Y, k, penalty, rng)
    else:
        start = unit(small.lower(given.astype(np.float64)))
        points = list(follow(small.Y, start, penalty, settings.taus()))
        U = alternate(small.Y, points[-1].U[None], ALTERNATIONS).U[0]
    recorder.history += [path_stage(point, small, data.traffic) for point in points]
    W = small.lift(U, settings.bounds, data.dtype)
    return settle_and_record(data, W, settings.bounds, settings.tol, recorder)


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
    few, many = _some_of(len(Y), size, rng), _some_of(len(Y), MORE * size, rng)
    Z, strength = np.ascontiguousarray(Y[few]), energy[few]

    def descend(own: np.random.Generator) -> list[Point]:
        return list(follow(Z, spread(Z, strength, k, own), penalty, settings.taus()))

    # As many starts as the data outweigh the rows that each of them works on.
    ratio = np.prod(shape, dtype=float) / np.prod(Z.shape, dtype=float)
    n_starts = settings.n_starts or int(np.clip(ratio, 1, MOST_STARTS))
    plain = [alternate(Z, spread(Z, strength, k, rng)[None], 5).U[0] for _ in range(PLAIN_STARTS)]
    with ThreadPoolExecutor(settings.n_threads) as pool:
        paths = list(pool.map(descend, rng.spawn(n_starts)))
        stack = alternate(Y[many], np.array([points[-1].U for points in paths] + plain), 3)
        U = improve(Y[many], energy[many], stack, rng, pool.map)
    return alternate(Y, U[None], ALTERNATIONS).U[0], paths[int(stack.energy[:n_starts].argmax())]


def _some_of(n: int, size: int, rng: np.random.Generator) -> Any:
    """Which of n rows to look at: all, or a random choice of `size`."""
    return np.sort(rng.choice(n, size, replace=False)) if n > size else slice(None)


def path_stage(point: Point, small: Sketch, traffic: Traffic) -> Stage:
    """A row of the history: the path, as the rows it works on see it."""
    return Stage(
        rho=point.tau,
        sweeps=small.sweeps,
        relative_error=min(max(1 - small.share * (1 - point.error), 0.0), 1.0),
        penalty=point.overlap,
        orthogonality=orthogonality(point.gram),
        residual=point.moved,
        empty_clusters=int(np.sum(point.gram.diagonal() == 0)),
        sent=traffic.sent,
        received=traffic.received,
    )


def settle_and_record(
    data: Data,
    W: Array,
    bounds: Bounds,
    tol: float,
    recorder: Recorder,
    since: State | None = None,
) -> tuple[Factorization, State]:
    """The exact alternation from W, each sweep of it a stage."""

    def enter(state: State) -> bool:
        recorder.note("settle", state.facts)
        error = max(1 - float(state.cells.energy.sum()) / data.sqnorm, 0.0)
        measures = error, 0.0, 0.0, state.residual, len(state.empty)
        stage = Stage(1.0, recorder.sweeps + 1, *measures, *data.traffic)
        return recorder.record(stage, lambda: state.membership(data))

    left = recorder.max_sweeps - recorder.sweeps
    state = settle(data, W, bounds, tol, left, enter, since)
    stop = "converged" if state.settled else "callback" if recorder.stopped else "max_iter"
    return recorder.result(state.membership(data), state.W, 1.0, stop), state
