"""The functions of `row_problems` in machine code, by the same rules."""

import numpy as np

from onmf.rows.assign import PRODUCT_ROUNDING
from onmf.rows.sweep import Array
from onmf.search.machine import compiled
from onmf.search.ray_kernels import pulled as pulled
from onmf.search.ray_kernels import ray_distance as ray_distance
from onmf.search.ray_kernels import ray_steps as ray_steps
from onmf.search.ray_kernels import redirect
from onmf.search.row_problems import (
    FULL_EXCHANGES,
    GAIN,
    MOST_EXCHANGES,
    PATIENCE,
    RIDGE,
    SLACK,
)


@compiled
def _solve_on(Q: Array, c: Array, place: Array, size: int, L: Array, h: Array) -> None:
    """Q_SS h_S = c_S by Cholesky, for the support S = place[:size]; h has `size` entries."""
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
            value -= entry * h[t]
        L[p, p] = 1 / np.sqrt(max(diagonal, RIDGE))
        h[p] = value * L[p, p]
    for p in range(size - 1, -1, -1):
        value = h[p]
        for z in range(p + 1, size):
            value -= L[z, p] * h[z]
        h[p] = value * L[p, p]


@compiled
def _solve_row(
    Q: Array, c: Array, inside: Array, slope: Array, place: Array, L: Array, h: Array
) -> int:
    """One row by principal pivoting: the size of its support, into `place` and h.

    The slopes c - Qh need the columns of the support alone.
    """
    k = len(c)
    scale = max(c.max(), 0.0)
    fewest, grace, size = k + 1, FULL_EXCHANGES, 0
    for _ in range(MOST_EXCHANGES):
        size = 0
        for j in range(k):
            if inside[j]:
                place[size] = j
                size += 1
        _solve_on(Q, c, place, size, L, h)
        slope[:] = c
        for p in range(size):
            row, value = Q[place[p]], h[p]
            for j in range(k):
                slope[j] -= value * row[j]
        for p in range(size):
            slope[place[p]] = -1.0 if h[p] >= 0 else np.inf
        bad, last, most = 0, -1, SLACK * scale
        for j in range(k):
            if slope[j] > most:
                bad += 1
                last = j
        if bad == 0:
            return size
        grace = FULL_EXCHANGES if bad < fewest else grace - 1
        fewest = min(fewest, bad)
        if grace < 0:
            inside[last] = not inside[last]
        else:
            for j in range(k):
                if slope[j] > most:
                    inside[j] = not inside[j]
    for p in range(size):
        h[p] = max(h[p], 0.0)
    return size


@compiled
def solve_rows(Q: Array, C: Array, support: Array, Y: Array) -> tuple[Array, Array, Array]:
    """H (n, k) for the rows of C (n, k), from a guess of the supports (n, k, boolean); H'H, H'Y."""
    n, k = C.shape
    width = Y.shape[1]
    H, gram, cross = np.zeros((n, k)), np.zeros((k, k)), np.zeros((k, width))
    inside, slope = np.empty(k, np.bool_), np.empty(k)
    place, L, h = np.empty(k, np.int64), np.empty((k, k)), np.empty(k)
    for i in range(n):
        inside[:] = support[i]
        size = _solve_row(Q, C[i], inside, slope, place, L, h)
        for p in range(size):
            value = h[p]
            if value > 0:
                j = place[p]
                H[i, j] = value
                for q in range(size):
                    gram[j, place[q]] += value * h[q]
                for z in range(width):
                    cross[j, z] += value * Y[i, z]
    return H, gram, cross


@compiled
def _first_top(row: Array) -> int:
    """Where the row is largest; the first of those that are equal."""
    top, equal = row[0], PRODUCT_ROUNDING * np.finfo(row.dtype).eps
    for j in range(1, len(row)):
        top = max(top, row[j])
    b = 0
    while row[b] < top - equal * abs(top):
        b += 1
    return b


@compiled
def nearest(products: Array) -> tuple[Array, Array]:
    """The ray with the largest product, for each row, and the product; none if lost in rounding."""
    n, info = len(products), np.finfo(products.dtype)
    labels, scores = np.empty(n, np.int64), np.empty(n, products.dtype)
    for i in range(n):
        b = _first_top(products[i])
        there = products[i, b] >= info.tiny / info.eps
        labels[i], scores[i] = (b, products[i, b]) if there else (-1, 0)
    return labels, scores


@compiled
def images(A: Array, Y: Array, U: Array) -> tuple[Array, Array, Array]:
    """b_i = argmax_k a_ik, s_i = [a_ib]_+, and the sum of s_i y_i over the rows of each cluster.

    Of scores <y_i, u_b> the digits beyond single precision count: one row may outweigh all others.
    """
    n, width = Y.shape
    labels, best, P = np.empty(n, np.int64), np.empty(n), np.zeros((A.shape[1], width))
    for i in range(n):
        b = _first_top(A[i])
        score = 0.0 if b < len(U) else float(A[i, b])
        for z in range(width if b < len(U) else 0):
            score += Y[i, z] * U[b, z]
        score = max(score, 0.0)
        labels[i], best[i] = b, score
        for z in range(width):
            P[b, z] += score * Y[i, z]
    return labels, best, P


@compiled
def alternations(
    Y: Array, U: Array, floor: Array, passes: int, goal: float
) -> tuple[Array, Array, Array, Array, float]:
    """U after passes of `search.alternate`, the scores of the rows, where each is best, that score,
    and the energy; a floor of no entries stands for none."""
    (n, k), before = (len(Y), len(U)), -1.0
    U, rays, A = U.copy(), np.empty(U.shape, Y.dtype), np.empty((n, k + (len(floor) > 0)), Y.dtype)
    left = passes
    while True:
        rays[:] = U
        if len(floor):
            A[:, :k], A[:, k] = np.dot(Y, rays.T), floor
        else:
            np.dot(Y, rays.T, A)
        labels, best, P = images(A, Y, U)
        energy = (best * best).sum()
        gain, before = energy - before, energy
        if not left or gain <= GAIN * (energy - gain) or energy + PATIENCE * left * gain < goal:
            return U, A, labels, best, energy
        redirect(U, P[:k])
        left -= 1


@compiled
def sums(labels: Array, factors: Array, Y: Array, k: int) -> Array:
    """The sum of f_i y_i over the rows of each of k clusters."""
    P = np.zeros((k, Y.shape[1]))
    for i in range(len(Y)):
        row, factor = P[labels[i]], np.float64(factors[i])
        for z in range(Y.shape[1]):
            row[z] += factor * Y[i, z]
    return P


@compiled
def fit_rays(Y: Array, labels: Array, U: Array, steps: int) -> Array:
    """U after power steps of each ray on the rows of its cluster alone."""
    n, width = Y.shape
    U, score = U.copy(), np.empty(n)
    for _ in range(steps):
        for i in range(n):
            value = 0.0
            for z in range(width):
                value += Y[i, z] * U[labels[i], z]
            score[i] = value
        redirect(U, sums(labels, score, Y, len(U)))
    return U


@compiled
def runners_up(A: Array, labels: Array) -> tuple[Array, Array]:
    """The second best ray of each row and its score, not below zero."""
    n, row = len(A), np.empty(A.shape[1], A.dtype)
    second, score = np.empty(n, np.int64), np.empty(n)
    for i in range(n):
        row[:] = A[i]
        row[labels[i]] = -np.inf
        b = _first_top(row)
        second[i], score[i] = b, max(row[b], 0.0)
    return second, score


@compiled
def split_clusters(Y: Array, labels: Array, pair: Array, passes: int) -> tuple[Array, Array]:
    """Two rays (2, k, r) for the rows of each cluster after alternations, and their energy (k,)."""
    n, width = Y.shape
    k = pair.shape[1]
    pair, P, energy = pair.copy(), np.empty((2, k, width)), np.zeros(k)
    for turn in range(passes + 1):
        P[:] = 0
        energy[:] = 0
        for i in range(n):
            b = labels[i]
            first, second = 0.0, 0.0
            for z in range(width):
                first += Y[i, z] * pair[0, b, z]
            for z in range(width):
                second += Y[i, z] * pair[1, b, z]
            side = 1 if second > max(first, 0.0) else 0
            score = max(first, second, 0.0)
            energy[b] += score * score
            if turn < passes:
                for z in range(width):
                    P[side, b, z] += score * Y[i, z]
        if turn < passes:
            for side in range(2):
                redirect(pair[side], P[side])
    return pair, energy


@compiled
def pair_sums(A: Array, labels: Array, best: Array) -> tuple[Array, Array]:
    """Sums of a_ic^2 and of s_i a_ic over the rows i of each cluster, for every c (k, k)."""
    n, k = A.shape
    squares, products = np.zeros((k, k)), np.zeros((k, k))
    for i in range(n):
        b, score = labels[i], best[i]
        for c in range(k):
            squares[b, c] += A[i, c] * A[i, c]
            products[b, c] += score * A[i, c]
    return squares, products


@compiled
def transfers(A: Array, labels: Array, energy: Array, own: Array) -> tuple[Array, Array]:
    """The best other cluster of each row, and what its move there gains at least."""
    n, k = A.shape
    target, gain = np.empty(n, np.int64), np.empty(n)
    for i in range(n):
        b = labels[i]
        a = np.float64(max(A[i, b], 0.0)) ** 2
        rest = max(own[b] - a, 0.0)
        stay = own[b] - (rest + np.sqrt(rest * rest + 4 * a * max(energy[i] - a, 0.0))) / 2
        top, where = -np.inf, 0
        for c in range(k):
            if c != b and A[i, c] > 0:
                a = np.float64(A[i, c]) ** 2
                off = max(energy[i] - a, 0.0)
                both = own[c] + a - off
                join = (off - own[c] + a + np.sqrt(both * both + 4 * a * off)) / 2
                if join > top:
                    top, where = join, c
        target[i], gain[i] = where, top - stay
    return target, gain
