"""The search for starts: several paths of the growing penalty in a sketch, then swaps.

    starts  ->  paths on rows of the sketch  ->  swaps of clusters  ->  the best, on all rows

Starts are drawn at random, or given. The samples themselves are not read.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from onmf.paper.palm import NON_NEGATIVE, Bounds
from onmf.paper.penalties import RowPenalty
from onmf.rows.sweep import Array
from onmf.search.outlier_rows import Rows, RowsWithOutliers
from onmf.search.outliers import OutlierLimit, Outliers
from onmf.search.path import Clustering, Point, drawn, follow, spread
from onmf.search.row_problems import GAIN, unit
from onmf.search.sketch import Sketch

FEWEST_ROWS, ROWS_PER_CLUSTER, BASE_ROWS, MORE_PER_CLUSTER = 1000, 100, 1600, 20
MORE = 6  # times as many rows for the last swaps as for the path
END = 0.5  # of the path: rows are one-sparse long before tau = 1
COARSE = 1.4  # largest ratio of two values of tau: a path of few steps begins later
FEWEST_STEPS = 8
PATH_SWEEPS, MOST_STARTS = 3, 3  # that the paths of all starts may cost, and so many at most
LITTLE, MOST_CHEAP_STARTS = 1.8e7, 8  # products that are no cost, and starts of small data
ALTERNATIONS = 20  # in the sketch, at the end
MOVES = 10  # rounds of moves of single rows, at the end


@dataclass(frozen=True)
class Fast:
    """Settings: tau grows from `start` to END by `growth`, or faster where steps are dear."""

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
        steps = int(min(2 + int(np.log(END / self.start) / np.log(self.growth)), most))
        return np.geomspace(max(self.start, END / COARSE ** (steps - 1)), END, steps)

    def rows(self, Y: Array) -> Rows:
        """Rows of a sketch, as a search sees them."""
        return (
            Rows.of(Y) if self.outliers is None else RowsWithOutliers.from_columns(self.outliers, Y)
        )


class Descent(NamedTuple):
    """What was found from a start, and the path to it."""

    found: Clustering
    path: list[Point]
    limit: OutlierLimit | None = None  # beyond which samples are outliers


def descents(
    settings: Fast,
    shape: tuple[int, int],
    small: Sketch,
    k: int,
    penalty: RowPenalty,
    rng: np.random.Generator,
    given: Array | None,
) -> list[Descent]:
    """What is found in the picture, the best first: by a search, or down from given centroids."""
    if given is None:
        return explore(settings, shape, small.Y, k, penalty, rng)
    rows, start = settings.rows(small.Y), unit(small.lower(given.astype(np.float64)))
    path = list(follow(rows.with_limited_length()[0], start, penalty, settings.taus()))
    found = rows.alternate(path[-1].U, ALTERNATIONS)
    return [Descent(found, path, rows.limit(found))]


def explore(
    settings: Fast,
    shape: tuple[int, int],
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
    size = max(min(ROWS_PER_CLUSTER * k, BASE_ROWS + MORE_PER_CLUSTER * k), FEWEST_ROWS)
    n_starts, steps = effort(shape, (min(size, len(Y)), Y.shape[1]), k, len(settings.taus()))
    last, *starts = rng.spawn(1 + (settings.n_starts or n_starts))
    many = drawn(Y, sqnorms, MORE * size, last)
    search = Search(settings.rows, Y, sqnorms, many, size, k, penalty, settings.taus(steps))
    explained = attrgetter("found.explained")
    found = in_threads(search.descend, starts, settings.n_threads)
    chosen = records(found) if settings.n_starts else [max(found, key=explained)]
    ends = [search.finish(one, last) for one in chosen]
    return sorted(ends, key=explained, reverse=True)


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
        found = every.relocate(every.alternate(found.U, ALTERNATIONS), MOVES)
        return descent._replace(found=found, limit=every.limit(found))


def records(descents: Sequence[Descent]) -> list[Descent]:
    """Those that are better than all before them: more starts can but add to the list.

    So does the best that becomes of them: more starts never give a higher error.
    """
    chosen = [descents[0]]
    for one in descents:
        if one.found.explained > chosen[-1].found.explained * (1 + GAIN):
            chosen.append(one)
    return chosen


def in_threads(task: Callable[[Any], Any], items: Sequence[Any], n_threads: int) -> list[Any]:
    """What the task makes of each item; a single thread is the caller's own."""
    if n_threads == 1:
        return list(map(task, items))
    with ThreadPoolExecutor(n_threads) as pool:
        return list(pool.map(task, items))


def effort(shape: tuple[int, int], seen: tuple[int, int], k: int, steps: int) -> tuple[int, int]:
    """Starts, and steps of each path: about the products of PATH_SWEEPS sweeps, or little."""
    worth = PATH_SWEEPS * np.prod(shape, dtype=float) / np.prod(seen, dtype=float)
    cheap = LITTLE / k / np.prod(seen, dtype=float)
    starts = max(
        1, int(max(min(worth / steps, MOST_STARTS), min(cheap / steps, MOST_CHEAP_STARTS)))
    )
    fewest = FEWEST_STEPS if k <= seen[1] else 2  # more prototypes than dimensions: dear rows
    return starts, int(np.clip(max(worth, cheap) / starts, min(fewest, steps), steps))
