"""Starts for an alternation: sketch, paths of the growing penalty, swaps, back to the features.

    X  ->  rows of a sketch  ->  paths from several starts, swaps of clusters  ->  centroids W

`find_starts` is the one recipe, for every loss and caller: a loss only chooses the rows that it
shows to it (X, X with missing values filled, square roots of counts). Given centroids are followed
down the path; those of an earlier model move no more than they must. X is read for the sketch only.
"""

from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import NamedTuple, Protocol

import numpy as np

from onmf.palm.palm import NON_NEGATIVE, Bounds
from onmf.palm.penalties import RowPenalty
from onmf.result import Stage, gram_orthogonality
from onmf.rows.sweep import Array, Data, Traffic
from onmf.rows.threads import in_threads
from onmf.search.outlier_rows import Rows, RowsWithOutliers, with_samples
from onmf.search.outliers import OutlierLimit, Outliers
from onmf.search.path import Clustering, Point, drawn, follow, spread
from onmf.search.refit import refit_from
from onmf.search.row_problems import GAIN, unit
from onmf.search.sketch import PLAIN, ROBUST, Sketch, sketch

# Of `path_rows`: PATH_ROWS_PER_CLUSTER k, at most PATH_ROWS + EXTRA_PATH_ROWS k.
MIN_PATH_ROWS, PATH_ROWS_PER_CLUSTER, PATH_ROWS, EXTRA_PATH_ROWS = 1000, 100, 1600, 20
ALL_ROWS_FACTOR = 1.25  # a few rows more are cheaper than swaps on some and then on all
SWAP_ROWS_FACTOR = 6  # times as many rows for the last swaps as for the path
LAST_TAU = 0.5  # rows are one-sparse long before tau = 1
MAX_TAU_RATIO = 1.4  # of two values of tau: a path of few steps starts later
MIN_PATH_STEPS = 8
PATH_COST_SWEEPS = 3  # sweeps that the paths of all starts may cost
# Eight instead of three starts for small data took twice the time where they did not agree and
# gained .02 to .09 % of the error on 5 of 12 small sets, most of them noise, nothing on the others
# (20 seeds).
MAX_STARTS = 3
SPARSE_COST = 4  # of a stored entry of a sparse matrix, in those of a dense one: as measured
CHEAP_PRODUCTS = 1.8e7  # products that cost nothing
# How far two starts agree that have found the same: a third one gained .004 % of the error on one
# of 20 sets of `quality`, nothing on the others and on 12 small ones (5 and 20 seeds).
AGREEMENT = 1e-6
FINAL_ALTERNATIONS = 20  # in the sketch
FINAL_MOVES = 10  # rounds of moves of single rows


@dataclass(frozen=True)
class SearchSettings:
    """tau grows from `start` to LAST_TAU by `growth`, or faster where steps are expensive."""

    start: float = 5e-3
    growth: float = 1.4
    n_starts: int | None = None  # None: by the shape of X
    tol: float = 1e-5
    max_sweeps: int = 40
    bounds: Bounds = NON_NEGATIVE
    n_threads: int = 1
    outliers: Outliers | None = None  # None: every sample has a cluster

    def taus(self, most: float = np.inf) -> Array:
        """All of the path, or `most` steps of it."""
        steps = int(min(2 + int(np.log(LAST_TAU / self.start) / np.log(self.growth)), most))
        if steps == 1:
            return np.ones(1)  # a step of the alternation
        return np.geomspace(
            max(self.start, LAST_TAU / MAX_TAU_RATIO ** (steps - 1)), LAST_TAU, steps
        )

    def rows(self, Y: Array) -> Rows:
        """Rows of a sketch, as a search sees them."""
        if self.outliers is None:
            return Rows.of(Y)
        return RowsWithOutliers.from_columns(self.outliers, Y)


class Descent(NamedTuple):
    """What was found from a start, and the path to it."""

    found: Clustering
    path: list[Point]
    limit: OutlierLimit | None = None  # beyond which samples are outliers
    left: float = 1.0  # share of the rows that is not explained


class GivenCentroids(Protocol):
    """Centroids W to start from; those of an earlier model may be more or fewer than asked for."""

    @property
    def W(self) -> Array: ...  # noqa: N802
    @property
    def is_model(self) -> bool: ...


class FoundStarts(NamedTuple):
    """Centroids, the best first, and how they were found."""

    Ws: list[Array]
    limit: OutlierLimit | None
    path: list[Point]
    small: Sketch
    precise: bool = False  # single precision did not tell the rows apart

    def stages(self, traffic: Traffic) -> list[Stage]:
        """The path as rows of the history."""
        return [path_stage(point, self.small, traffic) for point in self.path]


def find_starts(
    settings: SearchSettings,
    data: Data,
    k: int,
    penalty: RowPenalty,
    rng: np.random.Generator,
    given: GivenCentroids | None = None,
    *,
    tell: Callable[[int], object] = lambda sweeps: None,
    basis: Array | None = None,
) -> FoundStarts:
    """Centroids for k clusters of these rows; a `basis` of the sketch may be known already."""
    effort, sweeps = PLAIN if settings.outliers is None else ROBUST, 0
    while True:

        def count(done: int, before: int = sweeps) -> object:
            return tell(before + done)

        small = sketch(data, k, rng, settings.max_sweeps, count, effort, basis)
        small = small._replace(sweeps=small.sweeps + sweeps)
        ends = descents(settings, data, small, k, penalty, rng, given)
        if effort.precise or small.tells_apart(ends[0].found.U, ends[0].left):
            break
        if basis is None and 2 * small.sweeps >= settings.max_sweeps:
            break  # X may not be read as often
        effort, data, sweeps = effort._replace(precise=True), data.in_double(), small.sweeps
    Ws = [small.lift(end.found.U, settings.bounds, data.dtype) for end in ends]
    limit = ends[0].limit if small.shrunk is None else None
    return FoundStarts(Ws, limit, ends[0].path, small, effort.precise)


def descents(
    settings: SearchSettings,
    data: Data,
    small: Sketch,
    k: int,
    penalty: RowPenalty,
    rng: np.random.Generator,
    given: GivenCentroids | None,
) -> list[Descent]:
    """What is found in the sketch, the best first: by a search, or down from given centroids."""
    Y = small.Y if settings.outliers is None else with_samples(data, small)
    if given is None:
        return explore(settings, data, Y, k, penalty, rng)
    rows, start = settings.rows(Y), unit(small.lower(given.W.astype(np.float64)))
    even, _ = rows.with_limited_length()  # long outliers must not win a ray
    if given.is_model:
        found, end = refit_from(even, start, k, rng)
        return [Descent(found, [end], left=end.error)]
    path = list(follow(even, start, penalty, settings.taus()))
    found = rows.alternate(path[-1].U, FINAL_ALTERNATIONS)
    return [Descent(found, path, rows.limit(found), rows.left(found))]


def explore(
    settings: SearchSettings,
    data: Data,
    Y: Array,
    k: int,
    penalty: RowPenalty,
    rng: np.random.Generator,
) -> list[Descent]:
    """What the search finds from several starts, the best first; only that if no number is set."""
    sqnorms = settings.rows(Y).row_sqnorms
    if not sqnorms.all():  # a sample of mostly empty rows would be a poor one
        Y, sqnorms = Y[sqnorms > 0], sqnorms[sqnorms > 0]
    scale = sqnorms.mean()  # squares in single precision must neither vanish nor overflow
    Y, sqnorms = (Y / np.sqrt(scale)).astype(np.float32, order="C", copy=False), sqnorms / scale
    size = path_rows(len(Y), k)
    n_starts, steps = effort(sweep_work(data), (size, Y.shape[1]), k, len(settings.taus()))
    last, *starts = rng.spawn(1 + (settings.n_starts or n_starts))
    many = drawn(Y, sqnorms, SWAP_ROWS_FACTOR * size, last)
    search = Search(settings.rows, Y, sqnorms, many, size, k, penalty, settings.taus(steps))
    explained = attrgetter("found.explained")
    with closing(in_threads(search.descend, starts, settings.n_threads)) as found:
        chosen = records(found) if settings.n_starts else [max(until_agreed(found), key=explained)]
    ends = [search.finish(one, last) for one in chosen]
    return sorted(ends, key=explained, reverse=True)


def path_rows(n: int, k: int) -> int:
    """Rows that a path works on: all n, or a hundred a cluster, fewer where there are many."""
    size = max(min(PATH_ROWS_PER_CLUSTER * k, PATH_ROWS + EXTRA_PATH_ROWS * k), MIN_PATH_ROWS)
    return n if n <= ALL_ROWS_FACTOR * size else size


@dataclass(frozen=True)
class Search:
    """The rows Y of mean energy one; a start sees `size` of them, the last swaps `many`."""

    rows: Callable[[Array], Rows]
    Y: Array
    row_sqnorms: Array
    many: Array
    size: int
    k: int
    penalty: RowPenalty
    taus: Array

    def descend(self, rng: np.random.Generator) -> Descent:
        """The path from one start, and swaps, on rows of its own."""
        Z = drawn(self.Y, self.row_sqnorms, self.size, rng)
        rows = self.rows(Z)
        even, sqnorms = rows.with_limited_length()
        path = list(follow(even, spread(even, sqnorms, self.k, rng), self.penalty, self.taus))
        found = rows.improve(rows.alternate(path[-1].U, 5), rng)
        if Z is not self.many:
            found = self.rows(self.many).alternate(found.U, 3)
        return Descent(found, path)

    def finish(self, descent: Descent, rng: np.random.Generator) -> Descent:
        """Swaps on many rows, then alternation and moves on all."""
        found, every = descent.found, replace(self.rows(self.Y), row_sqnorms=self.row_sqnorms)
        if len(self.many) > self.size:
            found = self.rows(self.many).improve(found, rng)
        found = every.relocate(every.alternate(found.U, FINAL_ALTERNATIONS), FINAL_MOVES)
        return descent._replace(found=found, left=every.left(found), limit=every.limit(found))


def records(descents: Iterable[Descent]) -> list[Descent]:
    """Those that are better than all before them: more starts can but add to the list.

    So does the best that becomes of them: more starts never give a higher error.
    """
    chosen: list[Descent] = []
    for one in descents:
        if not chosen or one.found.explained > chosen[-1].found.explained * (1 + GAIN):
            chosen.append(one)
    return chosen


def until_agreed(descents: Iterable[Descent]) -> list[Descent]:
    """The first of them, until two have found as much as the best."""
    seen: list[Descent] = []
    for one in descents:
        seen.append(one)
        *_, next_best, best = sorted([0.0, *(descent.found.explained for descent in seen)])
        if next_best >= best * (1 - AGREEMENT):
            break
    return seen


def sweep_work(data: Data) -> float:
    """Products of all rows with one ray, in units of dense ones."""
    stored = float(data.n_stored)
    return stored if stored == np.prod(data.shape, dtype=float) else SPARSE_COST * stored


def effort(work: float, seen: tuple[int, int], k: int, steps: int) -> tuple[int, int]:
    """Starts, and steps of each path: about the products of PATH_COST_SWEEPS sweeps, or little.

    `work` are the products of a sweep with one ray, `seen` rows and columns of a path.
    """
    worth = PATH_COST_SWEEPS * work / np.prod(seen, dtype=float)
    cheap = CHEAP_PRODUCTS / k / np.prod(seen, dtype=float)
    starts = int(np.clip(max(worth, cheap) / steps, 1, MAX_STARTS))
    if k > seen[1]:
        # More rays than dimensions: nearly every row is an expensive mixture of many rays, and
        # a path from there was no better than none, nor several starts than one (7 problems,
        # 4-8 seeds).
        return 1, 1
    return starts, int(np.clip(max(worth, cheap) / starts, min(MIN_PATH_STEPS, steps), steps))


def path_stage(point: Point, small: Sketch, traffic: Traffic) -> Stage:
    """A row of the history: the path, as the rows it works on see it."""
    return Stage(
        rho=point.tau,
        sweeps=small.sweeps,
        relative_error=small.error(point.error),
        penalty=point.overlap,
        orthogonality=gram_orthogonality(point.gram),
        residual=point.moved,
        empty_clusters=int(np.sum(point.gram.diagonal() == 0)),
        sent=traffic.sent,
        received=traffic.received,
    )
