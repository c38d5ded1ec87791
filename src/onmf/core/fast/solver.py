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

from onmf.core.fast.moves import relocate
from onmf.core.fast.row_problems import unit
from onmf.core.fast.search import Clustering, Point, alternate, follow, row_energy, spread
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
    gram_orthogonality,
    unwatched,
)
from onmf.core.rows import Array, Data, Traffic

FEWEST_ROWS, ROWS_PER_CLUSTER, BASE_ROWS, MORE_PER_CLUSTER = 1000, 100, 1600, 20
MORE = 6  # times as many rows for the last swaps as for the path
END = 0.5  # of the path: rows are one-sparse long before tau = 1
COARSE = 1.4  # largest ratio of two values of tau: a path of few steps begins later
FEWEST_STEPS, MOST_STEPS = 8, 35
PATH_SWEEPS, MOST_STARTS = 3, 2  # that the paths of all starts may cost, and so many at most
LITTLE, MOST_CHEAP_STARTS = 2e7, 4  # products that are no cost, and starts of small data
ALTERNATIONS = 20  # in the sketch, at the end
MOVES = 10  # rounds of moves of single rows, at the end


@dataclass(frozen=True)
class Fast:
    """Settings: tau grows from `start` to END by `growth`, or faster where steps are dear."""

    start: float = 1e-3
    growth: float = 1.2
    n_starts: int | None = None  # None: by the shape of X
    tol: float = 1e-5
    max_sweeps: int = 40
    bounds: Bounds = NON_NEGATIVE
    n_threads: int = 1

    def taus(self, most: int = MOST_STEPS) -> Array:
        steps = min(2 + int(np.log(END / self.start) / np.log(self.growth)), most)
        return np.geomspace(max(self.start, END / COARSE ** (steps - 1)), END, steps)


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
        U = alternate(small.Y, points[-1].U, ALTERNATIONS).U
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
    energy = row_energy(Y)
    if not energy.all():  # a sample of mostly empty rows would be a poor one
        Y, energy = Y[energy > 0], energy[energy > 0]
    scale = energy.mean()  # squares in single precision must neither vanish nor overflow
    Y, energy = (Y / np.sqrt(scale)).astype(Y.dtype, copy=False), energy / scale
    size = max(min(ROWS_PER_CLUSTER * k, BASE_ROWS + MORE_PER_CLUSTER * k), FEWEST_ROWS)
    n_starts, steps = effort(shape, (min(size, len(Y)), Y.shape[1]), k)
    last, *starts = rng.spawn(1 + (settings.n_starts or n_starts))
    many = drawn(Y, energy, MORE * size, last)

    def descend(own: np.random.Generator) -> tuple[Clustering, list[Point]]:
        Z = drawn(Y, energy, size, own)
        strength = row_energy(Z)
        points = list(follow(Z, spread(Z, strength, k, own), penalty, settings.taus(steps)))
        found = improve(Z, strength, alternate(Z, points[-1].U, 5), own)
        return found if Z is many else alternate(many, found.U, 3), points

    with ThreadPoolExecutor(settings.n_threads) as pool:
        ends = list(pool.map(descend, starts))
    best, points = max(ends, key=lambda end: end[0].energy)
    if len(many) > size:
        best = improve(many, row_energy(many), best, last)
    return relocate(Y, energy, alternate(Y, best.U, ALTERNATIONS), MOVES).U, points


def drawn(Y: Array, energy: Array, size: int, rng: np.random.Generator) -> Array:
    """All rows, or `size` of them, by chance p_i: half uniform, half by energy; y_i / sqrt(p_i)
    keeps every sum of squares unbiased. Rows of more than their share are always there."""
    n = len(Y)
    if n <= size:
        return Y
    chance, sure = 0.5 / n + 0.5 * energy / energy.sum(), np.zeros(n, bool)
    while True:
        p = np.where(sure, 1.0, chance * (size - sure.sum()) / chance[~sure].sum())
        if (p <= 1).all():
            break
        sure |= p >= 1
    picks = np.searchsorted(np.cumsum(p), rng.random() + np.arange(size), side="right")
    picks = picks.clip(max=n - 1)
    return (Y[picks] / np.sqrt(p[picks])[:, None]).astype(Y.dtype, copy=False)


def effort(shape: tuple[int, int], seen: tuple[int, int], k: int) -> tuple[int, int]:
    """Starts, and steps of each path: about the products of PATH_SWEEPS sweeps, or little."""
    worth = PATH_SWEEPS * np.prod(shape, dtype=float) / np.prod(seen, dtype=float)
    cheap = LITTLE / k / np.prod(seen, dtype=float)
    many = min(worth / MOST_STEPS, MOST_STARTS), min(cheap / MOST_STEPS, MOST_CHEAP_STARTS)
    starts = max(1, int(max(many)))
    fewest = FEWEST_STEPS if k <= seen[1] else 2  # more prototypes than dimensions: dear rows
    return starts, int(np.clip(max(worth, cheap) / starts, fewest, MOST_STEPS))


def path_stage(point: Point, small: Sketch, traffic: Traffic) -> Stage:
    """A row of the history: the path, as the rows it works on see it."""
    return Stage(
        rho=point.tau,
        sweeps=small.sweeps,
        relative_error=min(max(1 - small.share * (1 - point.error), 0.0), 1.0),
        penalty=point.overlap,
        orthogonality=gram_orthogonality(point.gram),
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
