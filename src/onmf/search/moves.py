"""Move single rows between clusters: what the alternation stops short of (Hartigan's moves).

A row y with score a on a ray and b^2 = ||y||^2 - a^2 off it. A cluster that explains e explains

    (e + a^2 + b^2 + sqrt((e + a^2 - b^2)^2 + 4 a^2 b^2)) / 2   or more once y has come,
    (e - a^2 + sqrt((e - a^2)^2 + 4 a^2 b^2)) / 2               or more once y has left,

by the best ray in the span of its own and y. The alternation compares a^2 alone, with both rays as
they are.
"""

from typing import Any

import numpy as np

from onmf.rows.sweep import Array
from onmf.search.path import Clustering, alternate, every_place
from onmf.search.row_problems import GAIN, kernels

MOVE_POWER_STEPS = 3  # for the rays of clusters that rows came to or left
MOVE_ALTERNATIONS = 2  # after every round of moves
# Share of what is unexplained that a round must gain for another one: for its time no less than a
# round of swaps must (`swaps.MIN_ROUND_GAIN`), which takes four times as long. The rounds after it
# took a quarter of a fit of 200 clusters and gained .02 % of the error.
MIN_MOVE_GAIN = 5e-5
OUTLIER_INERTIA = (
    1e3  # times all energy: no row that comes or leaves turns what the outliers have for a ray
)


def relocate(
    Y: Array,
    sqnorms: Array,
    now: Clustering,
    rounds: int,
    floor: Array | None = None,
    memory: list[Array] | None = None,
) -> Clustering:
    """The clustering after moves of rows that explain more, all at once or the best of them."""
    k, places, given, total = len(now.U), now.scores.shape[1], now, float(sqnorms.sum())
    memory = [] if memory is None else memory  # see `alternate`
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
        new = alternate(Y, U, MOVE_ALTERNATIONS, floor=floor, known=now, memory=memory)
        if now is not given:
            memory.append(now.scores)
        gain, now = new.explained - now.explained, new
        if gain < MIN_MOVE_GAIN * (total - now.explained):
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
