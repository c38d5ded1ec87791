"""The moves of `kl_search` in C, by the same rules."""

import numpy as np

from onmf.losses.kl_search import CALM, LEAST, REST
from onmf.rows.sweep import Array
from onmf.search import _kernels
from onmf.search.kernels import MOMENT, doubles, whole


def shift_rows(
    rows: tuple[Array, Array, Array, Array],
    labels: Array,
    first: Array,
    width: int,
    S: Array,
    order: Array,
    limits: tuple[int, int, float],
) -> Array:
    """Labels after rounds of moves, which use up S (m, k)."""
    (indptr, indices, values, totals), (rounds, few, least) = rows, limits
    known = *map(whole, (indptr, indices)), *doubles(values, totals)
    P, T, wake = np.empty_like(S), S.sum(axis=0), np.zeros(len(labels), np.int64)
    _kernels.phis(S.ravel(), P.ravel())
    state = labels, whole(first), wake, S, P, T
    step = max(1, MOMENT // (1 + len(values) // len(labels) * width))
    parts = [order[i : i + step] for i in range(0, len(order), step)]
    gain = np.empty(width)
    for turn in range(rounds):
        numbers = turn, REST, least, CALM, LEAST
        moves = sum(_kernels.move_rows(*known, *state, part, gain, *numbers) for part in parts)
        if moves <= few:
            break
    return labels
