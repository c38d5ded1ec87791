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

from onmf.core.fast.row_problems import unit
from onmf.core.fast.search import alternate, draw

Array = NDArray[Any]

HEAVY = 2.0
TRIED = 5  # candidates tried side by side
FROM_ONE = 2  # of them in the same cluster
ROUNDS = ((4, 2), (1, 5))  # how many stay in the contest after how many alternations
ROWS, ROWS_PER_CLUSTER = 50, 10  # badly fitting rows among the candidates
MOST_ROWS = 5000
POWER_STEPS = 4
NOTHING = 1e-10  # share of the energy: all rows lie on the rays found


def paths(Y: Array, weight: Array, seed: int) -> Iterator[Array]:
    """Prototypes (K, r) in unit length for K = 1, 2, ... of the rows Y, while any row is left."""
    rng = np.random.default_rng(seed)
    if len(Y) > MOST_ROWS:
        some = np.sort(rng.choice(len(Y), MOST_ROWS, replace=False))
        Y, weight = Y[some], weight[some]
    Y = damped(Y.astype(np.float64), weight)
    if not len(Y):
        return
    energy = np.einsum("ij,ij->i", Y, Y)
    U = unit(Y.sum(axis=0, keepdims=True))
    while True:
        found = alternate(Y, U, 20)
        U, A = found.U, found.scores
        yield U
        left = energy - np.square(np.maximum(A.max(axis=1), 0))
        if left.sum() <= NOTHING * energy.sum():
            return
        U = contest(Y, grown(Y, energy, U, A, rng))


def contest(Y: Array, trials: list[Array]) -> Array:
    """The best of the trials: a few alternations for all of them, more for those ahead."""
    for most, passes in ROUNDS:
        ends = [alternate(Y, U, passes) for U in trials]
        order = np.argsort([-end.energy for end in ends], kind="stable")[:most]
        trials = [ends[i].U for i in order]
    return alternate(Y, trials[0], 10).U


def damped(Y: Array, weight: Array) -> Array:
    """The rows that are not zero, the heavy ones shortened, times the roots of their weights."""
    energy = np.einsum("ij,ij->i", Y, Y)
    inside = (energy > 0) & (weight > 0)
    Y, energy = Y[inside], energy[inside]
    most = HEAVY * np.median(energy) if len(energy) else 0.0
    scale = np.sqrt(np.minimum(1, most / energy) * weight[inside])
    return np.ascontiguousarray(Y * scale[:, None])


def grown(Y: Array, energy: Array, U: Array, A: Array, rng: np.random.Generator) -> list[Array]:
    """The prototypes (K + 1, r) with one of the most promising candidates each."""
    best, cells = np.square(np.maximum(A.max(axis=1), 0)), A.argmax(axis=1)
    picked = np.unique(draw(energy - best, ROWS_PER_CLUSTER * len(U) + ROWS, rng))
    Z = np.vstack([unit(Y[picked]), *halves_of(Y, U, A, cells, rng)])
    explained = np.square(np.maximum(Y @ Z.T, 0))
    gain = np.maximum(explained - best[:, None], 0).sum(axis=0)
    nearest, taken = (U @ Z.T).argmax(axis=0), np.zeros(len(U), int)
    chosen: list[Array] = []
    for j in np.argsort(-gain, kind="stable"):
        if taken[nearest[j]] < FROM_ONE and len(chosen) < TRIED:
            taken[nearest[j]] += 1
            chosen.append(np.vstack([U, Z[j]]))
    return chosen


def halves_of(
    Y: Array, U: Array, A: Array, cells: Array, rng: np.random.Generator
) -> Iterator[Array]:
    """Two rays for each cluster: its rows on either side of the direction they vary along most."""
    for c in range(len(U)):
        rows = Y[cells == c]
        if len(rows) < 2:
            continue
        left = rows - np.maximum(A[cells == c, c], 0)[:, None] * U[c]
        v = rng.standard_normal(Y.shape[1])
        for _ in range(POWER_STEPS):
            v = unit(((left @ v) @ left)[None])[0]
        side = left @ v > 0
        yield unit(np.array([rows[side].sum(axis=0), rows[~side].sum(axis=0)]), otherwise=U[c])
