"""Rays for K = 1, 2, 3, ... clusters, each found from those before.

    U_{K+1} = the best of { U_K with one candidate more, then alternated },

where candidates are rows that fit badly and, for every cluster, the two halves into which its
residuals fall apart; a contest of a few alternations picks the best. So rays for all K cost little
more than a fit with the largest, and those for K are the same whatever other K are asked for.

Rows of more than `HEAVY` times the median energy count as if they had that much, lest a few long
samples take all clusters for themselves.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onmf.rows.sweep import row_sqnorm
from onmf.search.path import Clustering, alternate, draw
from onmf.search.row_problems import kernels, unit

Array = NDArray[Any]

HEAVY = 2.0
TRIED = 4  # candidates tried side by side
FROM_ONE = 2  # of them in the same cluster
ROUNDS = ((2, 0), (1, 3))  # how many stay in the contest after how many alternations more
ROWS, ROWS_PER_CLUSTER = 40, 8  # badly fitting rows among the candidates
MOST_ROWS = 5000
POWER_STEPS = 4
NOTHING = 1e-10  # share of the energy: all rows lie on the rays found,
ROUNDING = 30  # or so many times the precision of the numbers
ALONG_ONE = 1e-3  # share of the energy beside one ray, below which single precision is too coarse


def precision(Y: Array) -> type:
    """Single, unless rows are so near one ray that its rounding hides what tells them apart."""
    sqnorms = row_sqnorm(Y)
    ray = unit(Y.sum(axis=0, keepdims=True, dtype=np.float64))[0]
    left = sqnorms.sum() - np.square(Y @ ray).sum()
    return np.float32 if left > ALONG_ONE * sqnorms.sum() else np.float64


def paths(Y: Array, weight: Array, seed: int) -> Iterator[Array]:
    """Prototypes (K, r) in unit length for K = 1, 2, ... of the rows Y, while any row is left."""
    rng = np.random.default_rng(seed)
    if len(Y) > MOST_ROWS:
        some = np.sort(rng.choice(len(Y), MOST_ROWS, replace=False))
        Y, weight = Y[some], weight[some]
    Y = damped(Y, weight)
    if not len(Y):
        return
    sqnorms, nothing = row_sqnorm(Y), max(NOTHING, ROUNDING * float(np.finfo(Y.dtype).eps))
    U = unit(Y.sum(axis=0, keepdims=True))
    while True:
        found = alternate(Y, U, 20)
        yield found.U
        left = sqnorms - np.square(found.best)
        if left.sum() <= nothing * sqnorms.sum():
            return
        U = contest(Y, grown(Y, np.maximum(left, 0), found, rng))


def contest(Y: Array, trials: list[Array]) -> Array:
    """The best of the trials: a few alternations for all of them, more for those ahead."""
    for most, passes in ROUNDS:
        ends = [alternate(Y, U, passes) for U in trials]
        order = np.argsort([-end.explained for end in ends], kind="stable")[:most]
        trials = [ends[i].U for i in order]
    return trials[0]


def damped(Y: Array, weight: Array) -> Array:
    """The rows that are not zero, the heavy ones shortened, times the roots of their weights."""
    sqnorms = row_sqnorm(Y)
    inside = (sqnorms > 0) & (weight > 0)
    Y, sqnorms = Y[inside], sqnorms[inside]
    most = HEAVY * np.median(sqnorms) if len(sqnorms) else 0.0
    scale = np.sqrt(np.minimum(1, most / sqnorms) * weight[inside])
    return np.ascontiguousarray(Y * scale[:, None].astype(Y.dtype))


def grown(Y: Array, left: Array, now: Clustering, rng: np.random.Generator) -> list[Array]:
    """The prototypes (K + 1, r) with one of the most promising candidates each, alternated once."""
    U = now.U
    picked = np.unique(draw(left, ROWS_PER_CLUSTER * len(U) + ROWS, rng))
    Z = unit(np.vstack([Y[picked], halves_of(Y, now, rng)]))
    gain = gains(Y @ Z.T, now.best)
    nearest, taken = (U @ Z.T).argmax(axis=0), np.zeros(len(U), int)
    chosen: list[Array] = []
    for j in np.argsort(-gain, kind="stable"):
        if taken[nearest[j]] < FROM_ONE and len(chosen) < TRIED:
            taken[nearest[j]] += 1
            rays = np.vstack([U, Z[j]])
            *_, P = kernels().images(np.column_stack([now.scores, Y @ Z[j]]), Y, rays)
            chosen.append(unit(P, otherwise=rays))
    return chosen


def gains(scores: Array, best: Array) -> Array:
    """sum_i max(0, [a_ij]_+^2 - s_i^2) of each candidate j; `scores` is overwritten."""
    np.maximum(scores, 0, out=scores)
    np.square(scores, out=scores)
    scores -= np.square(best).astype(scores.dtype)[:, None]
    np.maximum(scores, 0, out=scores)
    return np.asarray(scores.sum(axis=0))


def halves_of(Y: Array, now: Clustering, rng: np.random.Generator) -> Array:
    """Two sums for each cluster: its rows on either side of the direction they vary along most."""
    order = np.argsort(now.labels, kind="stable")
    there, first = np.unique(now.labels[order], return_index=True)
    Y, own = Y[order], now.labels[order]
    left = Y - now.best[order, None].astype(Y.dtype) * now.U.astype(Y.dtype)[own]
    starts = rng.standard_normal((len(there), Y.shape[1])).astype(Y.dtype)
    found = []
    for v, begin, end in zip(starts, first, [*first[1:], len(Y)], strict=True):
        rows = left[begin:end]
        for _ in range(POWER_STEPS):
            v = (rows @ v) @ rows
            v = v / max(np.sqrt(v @ v), np.finfo(Y.dtype).tiny)
        side = (rows @ v > 0).astype(Y.dtype)
        found += [side @ Y[begin:end], (1 - side) @ Y[begin:end]]
    return np.array(found)
