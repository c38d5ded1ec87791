"""Moves and costs of `kl_search` in C, by the same rules."""

import numpy as np

from onmf.losses.kl_search import CALM, LEAST, REST
from onmf.rows.sweep import Array
from onmf.search import _kernels
from onmf.search.kernels import MOMENT, doubles, whole


def move_rows(
    rows: tuple[Array, Array, Array, Array],
    labels: Array,
    first: Array,
    width: int,
    shape: tuple[int, int],
    order: Array,
    limits: tuple[int, int, float],
) -> tuple[Array, Array, Array]:
    """Labels after the moves, S (m, clusters) and s log s of it."""
    (indptr, indices, values, totals), (rounds, few, least) = rows, limits
    indptr, indices, (values, totals) = whole(indptr), whole(indices), doubles(values, totals)
    S, P, wake = np.zeros(shape), np.empty(shape), np.zeros(len(labels), np.int64)
    _kernels.count_sums(indptr, indices, values, labels, S)
    _kernels.phis(S.ravel(), P.ravel())
    state = labels, whole(first), wake, S, P, S.sum(axis=0)
    step = max(1, MOMENT // (1 + len(values) // len(labels) * width))
    parts = [order[i : i + step] for i in range(0, len(order), step)]
    known, gain = (indptr, indices, values, totals), np.empty(width)
    for turn in range(rounds):
        numbers = turn, REST, least, CALM, LEAST
        moves = sum(_kernels.move_rows(*known, *state, part, gain, *numbers) for part in parts)
        if moves <= few:
            break
    return labels, S, P


def pair_costs(S: Array, P: Array, first: Array, second: Array) -> Array:
    """sum_j phi(s_aj) + phi(s_bj) - phi(s_aj + s_bj) of pairs (a, b) of rows of S; P is phi(S)."""
    costs = np.empty(len(first))
    _kernels.pair_costs(*doubles(S, P), whole(first), whole(second), costs)
    return costs
