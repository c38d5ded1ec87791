"""Starts for an alternation: sketch, rays from several seeds, swaps of clusters, moves of rows.

    X  ->  rows of a sketch  ->  the best of several searches  ->  centroids W

`find_starts` is the one recipe, for every loss and caller: a loss only chooses the rows that it
shows to it (X, X with missing values filled, square roots of counts). X is read for the sketch
only. Given centroids take the place of the seeds.
"""

from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass
from operator import attrgetter

import numpy as np

from onmf.rows.sweep import Array, Data
from onmf.rows.threads import in_threads
from onmf.search.numpy_kernels import GAIN, kernels, unit
from onmf.search.outliers import SAMPLE_COLUMNS, Outliers, cap, energy, even, with_samples
from onmf.search.rays import Clustering, alternate, drawn, relocate, spread
from onmf.search.sketch import Sketch, sketch
from onmf.search.swaps import improve, members, splits

# `make ablate` has what three starts, more rows for the best one and moves are worth. The rows of a
# start (`start_rows`): START_ROWS_PER_CLUSTER k, at most START_ROWS + EXTRA_START_ROWS k.
MIN_START_ROWS, START_ROWS_PER_CLUSTER, START_ROWS, EXTRA_START_ROWS = 1000, 100, 1600, 20
ALL_ROWS_FACTOR = 1.25  # a few rows more are cheaper than swaps on some and then on all
SWAP_ROWS_FACTOR = 6  # times as many rows for the last swaps as for a start
# Three starts, or as many as see so many rows in all: of 80 samples without clusters, weighted or
# repeated, three found errors .2 and .7 % higher than ten, in the same few milliseconds.
STARTS, MOST_STARTS = 3, 10
START_ALTERNATIONS = 5  # from the seeds to the swaps
FINAL_ALTERNATIONS = 20  # of all rows of the sketch
FINAL_MOVES = 10  # rounds of moves of single rows
LIMIT_UPDATES = 4  # of the outlier limit in the swaps of some rows, at most
# What a swap must gain from given centroids, as a share of what is unexplained: with 10 times as
# much the error from rows drawn by chance was up to 1 % higher than from those of the search.
MIN_GIVEN_GAIN = 3e-3
MIN_REFIT_GAIN = 0.3  # and from a model, as a share of what a cluster explains on average
RESIZE_ALTERNATIONS = 5  # after a cluster more or fewer


@dataclass(frozen=True)
class Settings:
    """What the search and the alternation after it need to know."""

    n_starts: int | None = None  # None: STARTS or more; only the best is followed to the end
    tol: float = 3e-6  # with 1e-5 weights and repeated samples were 4e-7 apart
    max_sweeps: int = 40
    signed: bool = False  # whether centroids may be negative
    n_threads: int = 1
    outliers: Outliers | None = None  # None: every sample has a cluster
    refit: bool = False  # given centroids are those of a model, and move no more than they must


def find_starts(
    settings: Settings,
    data: Data,
    k: int,
    rng: np.random.Generator,
    given: Array | None = None,
    *,
    tell: Callable[[int], object] = lambda sweeps: None,
    basis: Array | None = None,
) -> tuple[list[Array], Sketch]:
    """Centroids for k clusters of these rows, the best first, or one start near `given` ones.

    A `basis` of the sketch may be known already.
    """
    outliers, sweeps, precise = settings.outliers, 0, False
    while True:

        def count(done: int, before: int = sweeps) -> object:
            return tell(before + done)

        small = sketch(
            data, k, rng, settings.max_sweeps, count,
            robust=outliers is not None, precise=precise, basis=basis,
        )  # fmt: skip
        small = small._replace(sweeps=small.sweeps + sweeps)
        rows = small.Y if outliers is None else with_samples(data, small)
        if given is None:
            found = explore(rows, k, rng, settings)
        else:
            start = unit(small.lower(given.astype(np.float64)))
            found = [near_given(rows, start, k, outliers, refit=settings.refit)]
        if precise or small.tells_apart(found[0].U):
            break
        if basis is None and 2 * small.sweeps >= settings.max_sweeps:
            break  # X may not be read as often
        precise, data, sweeps = True, data.in_double(), small.sweeps
    return [small.lift(one.U, settings.signed, data.dtype) for one in found], small


def explore(rows: Array, k: int, rng: np.random.Generator, settings: Settings) -> list[Clustering]:
    """What the search finds from several starts, the best first; only that if no number is set.

    Each start has rows of its own; the best goes on with more of them, and ends with all.
    """
    outliers, sqnorms = settings.outliers, energy(rows, settings.outliers)
    if not sqnorms.all():  # a sample of mostly empty rows would be a poor one
        rows, sqnorms = rows[sqnorms > 0], sqnorms[sqnorms > 0]
    scale = sqnorms.mean()  # squares in single precision must neither vanish nor overflow
    rows = (rows / np.sqrt(scale)).astype(np.float32, order="C", copy=False)
    sqnorms, size = sqnorms / scale, start_rows(len(rows), k)
    cheap = min(STARTS * MIN_START_ROWS // len(rows), MOST_STARTS)
    last, *rngs = rng.spawn(1 + (settings.n_starts or max(STARTS, cheap)))
    many = drawn(rows, sqnorms, SWAP_ROWS_FACTOR * size, last)

    def descend(rng: np.random.Generator) -> Clustering:
        some = drawn(rows, sqnorms, size, rng)
        Y, length = even(some, outliers)
        found = swapped(some, spread(Y, length, k, rng), outliers, rng)
        if some is many:
            return found
        Y, _, floor = cap(many, outliers, found.U)
        return alternate(Y, found.U, 3, floor=floor)

    def finish(found: Clustering) -> Clustering:
        if len(many) > size:
            found = swapped(many, found.U, outliers, last)
        Y, own, floor = cap(rows, outliers, found.U)
        found = alternate(Y, found.U, FINAL_ALTERNATIONS, floor=floor)
        if outliers is None:
            return relocate(Y, own, found, FINAL_MOVES)
        inside = np.flatnonzero(found.labels < k)  # these at their full length
        Y = np.ascontiguousarray(rows[inside, :-SAMPLE_COLUMNS])
        moved = alternate(Y, found.U, START_ALTERNATIONS)
        return found._replace(U=relocate(Y, sqnorms[inside], moved, FINAL_MOVES).U)

    explained = attrgetter("explained")
    with closing(in_threads(descend, rngs, settings.n_threads)) as found:
        chosen = records(found) if settings.n_starts else [max(found, key=explained)]
    return sorted(map(finish, chosen), key=explained, reverse=True)


def start_rows(n: int, k: int) -> int:
    """Rows of a start: all n, or a hundred a cluster, fewer where there are many."""
    size = max(min(START_ROWS_PER_CLUSTER * k, START_ROWS + EXTRA_START_ROWS * k), MIN_START_ROWS)
    return n if n <= ALL_ROWS_FACTOR * size else size


def swapped(
    rows: Array, U: Array, outliers: Outliers | None, rng: np.random.Generator
) -> Clustering:
    """Alternation and swaps; where there may be outliers, until the next limit has the same."""
    labels = None
    for _ in range(1 if outliers is None else LIMIT_UPDATES):
        Y, sqnorms, floor = cap(rows, outliers, U)
        now = alternate(Y, U, START_ALTERNATIONS, floor=floor)
        if labels is not None and np.array_equal(now.labels, labels):
            break
        now = improve(Y, sqnorms, now, rng, floor)
        U, labels = now.U, now.labels
    return now


def records(found: Iterable[Clustering]) -> list[Clustering]:
    """Those that are better than all before them: more starts can but add to the list.

    So does the best that becomes of them: more starts never give a higher error.
    """
    chosen: list[Clustering] = []
    for one in found:
        if not chosen or one.explained > chosen[-1].explained * (1 + GAIN):
            chosen.append(one)
    return chosen


def near_given(
    rows: Array, U: Array, k: int, outliers: Outliers | None = None, *, refit: bool = False
) -> Clustering:
    """Rays for these rows from given ones, which may be more or fewer than k, for any seed.

    A cluster is split where that gains most, removed where it loses least. Swaps that gain little
    are not made: a `refit` of a model should not rename clusters for that.
    """
    rng = np.random.default_rng(0)
    Y, sqnorms = even(rows, outliers)  # long outliers must not win a ray
    Y, sqnorms = Y[sqnorms > 0], sqnorms[sqnorms > 0]
    order = np.argsort(Y @ U.sum(axis=0) / np.sqrt(sqnorms), kind="stable")  # whatever it was
    Y, sqnorms = Y[order], sqnorms[order]
    scale = sqnorms.mean()  # squares in single precision must neither vanish nor overflow
    Y, sqnorms = (Y / np.sqrt(scale)).astype(Y.dtype, copy=False), sqnorms / scale
    U = U[U.any(axis=1)]  # a ray whose features are all gone is no ray
    now = alternate(Y, U if len(U) else unit(Y[[sqnorms.argmax()]]), FINAL_ALTERNATIONS)
    while len(now.U) > k:
        now = alternate(Y, np.delete(now.U, least_loss(now), axis=0), RESIZE_ALTERNATIONS)
    while len(now.U) < k:
        now = alternate(Y, with_split(Y, sqnorms, now, rng), RESIZE_ALTERNATIONS)
    left = max(float(sqnorms.sum()) - now.explained, 0.0) / now.explained
    least = MIN_REFIT_GAIN / k if refit else MIN_GIVEN_GAIN * left
    now = improve(Y, sqnorms, now, rng, least=least, moves=0)  # a weight is as many equal rows
    Y, _, floor = cap(rows, outliers, now.U)
    return alternate(Y, now.U, FINAL_ALTERNATIONS, floor=floor)


def least_loss(now: Clustering) -> int:
    """The cluster whose rows explain least less with their second best rays."""
    _, runner = kernels().runners_up(now.scores, now.labels)
    loss = np.square(now.best) - np.square(np.maximum(runner, 0))
    return int(np.bincount(now.labels, loss, len(now.U)).argmin())


def with_split(Y: Array, sqnorms: Array, now: Clustering, rng: np.random.Generator) -> Array:
    """One ray more: the best of two halves for a cluster; the one nearer to it keeps its place."""
    order, edges, own = members(now)
    gain, halves = splits(Y, sqnorms, now, own, order, edges, rng)
    split = int(gain.argmax())
    pair = halves[:, split]
    heir = int((pair @ now.U[split]).argmax())
    U = now.U.copy()
    U[split] = pair[heir]
    return np.vstack([U, pair[1 - heir]])
