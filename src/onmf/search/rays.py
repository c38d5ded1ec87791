"""Rays among some short rows: the part of the search that needs no X.

The rows Y (n, r) are the samples in a small basis (see `sketch`), weights already in their length.
Rays are unit vectors u_k, the rows of U (k, r). With scores a = Uy, the quality of a clustering is
the energy it explains,

    sum_i max_k [a_ik]_+^2          (relative error = 1 - that / ||Y||^2).

Rays are seeded (`spread`), and improved by alternation and by moves of single rows (`relocate`;
Hartigan's moves): the alternation compares scores with the rays as they are, a move also counts how
both rays turn. A cluster that explains e explains, for a row with score a on its ray and b^2 =
||y||^2 - a^2 off it,

    (e + a^2 + b^2 + sqrt((e + a^2 - b^2)^2 + 4 a^2 b^2)) / 2   or more once y has come,
    (e - a^2 + sqrt((e - a^2)^2 + 4 a^2 b^2)) / 2               or more once y has left,

by the best ray in the span of its own and y.
"""

from typing import Any, NamedTuple

import numpy as np

from onmf.rows.sweep import Array
from onmf.search.numpy_kernels import GAIN, kernels, unit

UNEXPLAINED_ROUNDING = 1e-12  # share of a row's energy below which what is left of it is rounding
MOVE_POWER_STEPS = 3  # for the rays of clusters that rows came to or left
MOVE_ALTERNATIONS = 2  # after every round of moves
# Share of what is unexplained that a round must gain for another one: for its time no less than a
# round of swaps must (`swaps.MIN_ROUND_GAIN`), which takes four times as long. The rounds after it
# took a quarter of a fit of 200 clusters and gained .02 % of the error.
MIN_MOVE_GAIN = 5e-5
# Times all energy: no row that comes or leaves turns what the outliers have for a ray.
OUTLIER_INERTIA = 1e3


class Clustering(NamedTuple):
    """Rays (k, r), scores (n, k), where each row scores best, that score, and the energy.

    Where rows may be outliers there is one score more, and label k is that of no cluster.
    """

    U: Array
    scores: Array
    labels: Array
    best: Array
    explained: float


def spread(Y: Array, sqnorms: Array, k: int, rng: np.random.Generator) -> Array:
    """k-means++ on the energy left unexplained; rays are the means of the cells.

    The best of several picks for each seed, as in greedy k-means++, explained no more after swaps.
    """
    best, cells = np.zeros(len(Y), Y.dtype), np.zeros(len(Y), np.intp)
    for c in range(k):
        pick = draw(unexplained(sqnorms, best), 1, rng)
        explained = np.square(np.maximum(Y @ unit(Y[pick])[0], 0))
        closer = explained > best + UNEXPLAINED_ROUNDING * sqnorms
        cells[closer], best[closer] = c, explained[closer]
    U = kernels().sums(cells, np.ones(len(Y)), Y, k)
    return unit(U, otherwise=unit(Y[draw(sqnorms, k, rng)]))


def unexplained(sqnorms: Array, explained: Array) -> Array:
    """What is left of the energy of each row; zero where that is rounding."""
    left = sqnorms - explained
    return np.where(left > UNEXPLAINED_ROUNDING * sqnorms, left, 0)


def draw(weight: Array, size: int, rng: np.random.Generator) -> Array:
    """Row numbers with probability proportional to `weight` >= 0; all alike if there is none."""
    total = np.cumsum(weight)
    if total[-1] <= 0:
        return rng.integers(0, len(weight), size)
    return np.searchsorted(total, rng.random(size) * total[-1], side="right").clip(
        max=len(total) - 1
    )


def drawn(Y: Array, sqnorms: Array, size: int, rng: np.random.Generator) -> Array:
    """All rows, or `size` of them, by chance p_i: half uniform, half by energy; y_i / sqrt(p_i)
    keeps every sum of squares unbiased. Rows of more than their share are always there."""
    n = len(Y)
    if n <= size:
        return Y
    chance, sure = 0.5 / n + 0.5 * sqnorms / sqnorms.sum(), np.zeros(n, bool)
    while True:
        p = np.where(sure, 1.0, chance * (size - sure.sum()) / chance[~sure].sum())
        if (p <= 1).all():
            break
        sure |= p >= 1
    picks = np.searchsorted(np.cumsum(p), rng.random() + np.arange(size), side="right")
    picks = picks.clip(max=n - 1)
    return (Y[picks] / np.sqrt(p[picks])[:, None]).astype(Y.dtype, copy=False)


def alternate(
    Y: Array,
    U: Array,
    passes: int,
    goal: float = 0.0,
    floor: Array | None = None,
    known: Clustering | None = None,
) -> Clustering:
    """Exact alternation: nearest ray, then the sum of its rows by weight.

    Its gains fall as a rule: it ends where more of them, somewhat larger than the last, would not
    reach the goal. A row that scores below its `floor` on every ray is an outlier and pulls none.
    Only rays that move are scored again: a ray stays where less than its share of GAIN is to be
    gained, and those of a `known` clustering of the same rows have scores already.
    """
    floor = np.empty(0, Y.dtype) if floor is None else floor.astype(Y.dtype, copy=False)
    U, rows = U.astype(np.float64, copy=False), np.ascontiguousarray(Y)
    scored = None if known is None else (known.U, known.scores)
    return Clustering(*kernels().alternations(rows, U, floor, passes, goal, scored))


def every_place(now: Clustering) -> Array:
    """A ray for each label: zero for that of the outliers."""
    return np.vstack([now.U, np.zeros((now.scores.shape[1] - len(now.U), now.U.shape[1]))])


def relocate(
    Y: Array, sqnorms: Array, now: Clustering, rounds: int, floor: Array | None = None
) -> Clustering:
    """The clustering after moves of rows that explain more, all at once or the best of them."""
    k, places, total = len(now.U), now.scores.shape[1], float(sqnorms.sum())
    for _ in range(rounds if k > 1 else 0):
        own = np.bincount(now.labels, np.square(now.best), places)
        own[k:] = OUTLIER_INERTIA * now.explained
        target, gain = kernels().transfers(now.scores, now.labels, sqnorms, own)
        going = np.flatnonzero(gain > GAIN * now.explained / len(Y))
        going, U = going[np.argsort(-gain[going], kind="stable")], None
        while len(going) and U is None:
            U = refitted(Y, now, going, target[going], floor)
            going = going[: len(going) // 2]
        if U is None:
            break
        before, now = now, alternate(Y, U, MOVE_ALTERNATIONS, floor=floor, known=now)
        if now.explained - before.explained < MIN_MOVE_GAIN * (total - before.explained):
            break
    return now


def refitted(
    Y: Array, now: Clustering, going: Array, target: Array, floor: Array | None
) -> Array | None:
    """The rays after these rows have moved; None if that explains no more."""
    labels, k, U = now.labels.copy(), len(now.U), every_place(now)
    labels[going] = target
    touched = np.zeros(len(U), bool)
    touched[now.labels[going]] = touched[target] = True
    # No other rows are explained in another way. A copy of all takes as long as a step.
    rows: Any = slice(None) if touched.all() else np.flatnonzero(touched[labels])
    U, explained = kernels().fit_rays(Y[rows], labels[rows], U, MOVE_POWER_STEPS)
    if floor is not None:
        explained += np.square(floor[rows][labels[rows] == k], dtype=np.float64).sum()
    gain = explained - np.square(now.best[rows]).sum()
    return U[:k] if gain > GAIN * now.explained else None
