"""The functions of `row_problems` in machine code: the only module that imports numba.

Same rules as there. Serial and without the interpreter's lock: blocks and starts are what runs in
parallel, for numba's own threads beside those of BLAS cost a factor.
"""

import numpy as np
from numba import njit

from onmf.core.assign import ROUNDING
from onmf.core.fast.row_problems import FULL_EXCHANGES, MOST_EXCHANGES, RIDGE, SLACK
from onmf.core.rows import Array

EQUAL = ROUNDING * np.finfo(np.float64).eps


@njit(cache=True, nogil=True)
def _solve_on(Q: Array, c: Array, inside: Array, place: Array, L: Array, h: Array) -> None:
    """Q_SS h_S = c_S on the support by Cholesky, in place; zero elsewhere."""
    size = 0
    for k in range(len(c)):
        h[k] = 0.0
        if inside[k]:
            place[size] = k
            size += 1
    for p in range(size):
        row = Q[place[p]]
        value = c[place[p]]
        diagonal = row[place[p]] + RIDGE
        for t in range(p):
            entry = row[place[t]]
            for z in range(t):
                entry -= L[p, z] * L[t, z]
            entry *= L[t, t]
            L[p, t] = entry
            diagonal -= entry * entry
            value -= entry * h[place[t]]
        L[p, p] = 1 / np.sqrt(max(diagonal, RIDGE))
        h[place[p]] = value * L[p, p]
    for p in range(size - 1, -1, -1):
        value = h[place[p]]
        for z in range(p + 1, size):
            value -= L[z, p] * h[place[z]]
        h[place[p]] = value * L[p, p]


@njit(cache=True, nogil=True)
def _solve_row(
    Q: Array, c: Array, inside: Array, wrong: Array, place: Array, L: Array, h: Array
) -> None:
    """One row by principal pivoting, into h."""
    k = len(c)
    scale = max(c.max(), 0.0)
    fewest, grace = k + 1, FULL_EXCHANGES
    for _ in range(MOST_EXCHANGES):
        _solve_on(Q, c, inside, place, L, h)
        bad, last = 0, -1
        for j in range(k):
            wrong[j] = inside[j] and h[j] < 0
            if not inside[j]:
                slope = c[j]
                for p in range(k):
                    slope -= Q[j, p] * h[p]
                wrong[j] = slope > SLACK * scale
            if wrong[j]:
                bad += 1
                last = j
        if bad == 0:
            return
        grace = FULL_EXCHANGES if bad < fewest else grace - 1
        fewest = min(fewest, bad)
        for j in range(k):
            if wrong[j] and (grace >= 0 or j == last):
                inside[j] = not inside[j]
    for j in range(k):
        h[j] = max(h[j], 0.0)


@njit(cache=True, nogil=True)
def solve_rows(Q: Array, C: Array, support: Array) -> Array:
    """H (n, k) for the rows of C (n, k), from a guess of the supports (n, k, boolean)."""
    n, k = C.shape
    H = np.empty_like(C)
    inside, wrong = np.empty(k, np.bool_), np.empty(k, np.bool_)
    place, L = np.empty(k, np.int64), np.empty((k, k))
    for i in range(n):
        inside[:] = support[i]
        _solve_row(Q, C[i], inside, wrong, place, L, H[i])
    return H


@njit(cache=True, nogil=True)
def images(A: Array, Y: Array) -> tuple[Array, Array]:
    """sum_i a_ib y_i at b = argmax_k a_ik, and sum_i a_ib^2, for scores A (n, R, k)."""
    n, R, k = A.shape
    width = Y.shape[1]
    P, energy = np.zeros((R, k, width)), np.zeros(R)
    for i in range(n):
        for r in range(R):
            top = A[i, r, 0]
            for j in range(1, k):
                top = max(top, A[i, r, j])
            if top > 0:
                b = 0
                while A[i, r, b] < top - EQUAL * top:  # the first of those that are equal
                    b += 1
                score = A[i, r, b]
                energy[r] += score * score
                for z in range(width):
                    P[r, b, z] += score * Y[i, z]
    return P, energy


@njit(cache=True, nogil=True)
def swap_gains(A: Array, scores: Array) -> Array:
    """V (k, candidates): change of sum_i max_k [a_ik]_+^2 when one leaves and another enters."""
    n, k = A.shape
    count = scores.shape[1]
    enter, leave, V = np.zeros(count), np.zeros(k), np.zeros((k, count))
    for i in range(n):
        first, second, b = 0.0, 0.0, 0
        for j in range(k):
            if A[i, j] > first:
                first, second, b = A[i, j], first, j
            elif A[i, j] > second:
                second = A[i, j]
        first, second = first * first, second * second
        leave[b] += second - first
        for j in range(count):
            offer = max(scores[i, j], 0.0) ** 2
            if offer > first:
                enter[j] += offer - first
                V[b, j] += first - second
            elif offer > second:
                V[b, j] += offer - second
    for b in range(k):
        for j in range(count):
            V[b, j] += enter[j] + leave[b]
    return V
