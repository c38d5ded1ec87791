"""The moves of `exchange` in machine code, by the same rules."""

import numpy as np

from onmf.losses.kl_search import CALM, LEAST, REST
from onmf.rows.sweep import Array
from onmf.search.machine import compiled


@compiled
def _phi(s: float) -> float:
    return s * np.log(s) if s > 0 else 0.0


@compiled
def _less(s: float, x: float) -> float:
    rest = s - x
    return rest if rest > LEAST * x else 0.0


@compiled
def _gains(
    j: Array, x: Array, t: float, own: int, low: int, S: Array, P: Array, T: Array, gain: Array
) -> None:
    """g(S_k + x) - g(S_k) for the clusters k from `low` on, without the row; P has s log s."""
    here = 0.0
    gain[:] = 0
    for q in range(len(j)):
        s, p, alone = S[j[q]], P[j[q]], _phi(x[q])
        for c in range(len(gain)):
            if s[low + c] > 0:
                both = s[low + c] + x[q]
                gain[c] += both * np.log(both) - p[low + c]
            else:
                gain[c] += alone
        here += p[own] - _phi(_less(s[own], x[q]))
    for c in range(len(gain)):
        gain[c] -= _phi(T[low + c] + t) - _phi(T[low + c])
    gain[own - low] = here - _phi(T[own]) + _phi(_less(T[own], t))


@compiled
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
    indptr, indices, values, totals = rows
    P, T, gain = _phis(S), S.sum(axis=0), np.empty(width)
    wake = np.zeros(len(labels), np.int64)
    for turn in range(limits[0]):
        moves = 0
        for i in order:
            if wake[i] > turn:
                continue
            j, x = indices[indptr[i] : indptr[i + 1]], values[indptr[i] : indptr[i + 1]]
            low, own, t = first[i], labels[i], totals[i]
            _gains(j, x, t, own, low, S, P, T, gain)
            stay = gain[own - low]
            gain[own - low] = -np.inf
            top = gain.max()
            if stay >= top - limits[2]:
                wake[i] = turn + 1 + REST if stay - top > CALM * t else 0
                continue
            best = low
            while gain[best - low] < top - limits[2]:
                best += 1
            for q in range(len(j)):
                S[j[q], own], S[j[q], best] = _less(S[j[q], own], x[q]), S[j[q], best] + x[q]
                P[j[q], own], P[j[q], best] = _phi(S[j[q], own]), _phi(S[j[q], best])
            T[own], T[best] = _less(T[own], t), T[best] + t
            labels[i] = best
            moves += 1
        if moves <= limits[1]:
            break
    return labels


@compiled
def _phis(S: Array) -> Array:
    """s log s of the entries."""
    P = np.empty_like(S)
    for j in range(len(S)):
        for c in range(S.shape[1]):
            P[j, c] = _phi(S[j, c])
    return P
