"""Leave local optima: one cluster is given up, another is split, and the rest adapts.

From the best of several clusterings of the rows Y, prototype k leaves and a candidate enters, in
the cluster l it is nearest to. Candidates are the prototypes of all clusterings and badly fitted
rows. The change of explained energy before the others adapt,

    V[k, j] = sum_i max( max_{c != k} [a_ic]_+^2, [y_i'z_j]_+^2 ) - sum_i max_c [a_ic]_+^2,

is exact and cheap; the most promising (k, l) are tried side by side, and the best is kept if it
explains more once the others have adapted.
"""

from typing import Any

import numpy as np

from onmf.core.fast.row_problems import kernels
from onmf.core.fast.search import GAIN, Stack, alternate, draw, unexplained, unit
from onmf.core.rows import Array

TRIALS = 16  # swaps tried side by side
CHUNKS = 8  # of them, for threads and caches
ROUNDS = ((4, 2), (1, 5))  # how many stay in the contest after how many alternations
FAILURES = 2  # rounds without gain before giving up
MOST_ROUNDS = 10
CANDIDATES_PER_CLUSTER = 10  # badly fitted rows among the candidates


def improve(
    Y: Array, energy: Array, stack: Stack, rng: np.random.Generator, pool_map: Any = map
) -> Array:
    """Prototypes (k, r) after swaps from the best clustering of the stack."""
    R, k, r = stack.U.shape
    ahead = stack.energy.argmax()
    U, best = stack.U[ahead], stack.energy[ahead]
    A = np.ascontiguousarray(stack.scores[:, ahead])  # one layout, compiled once
    pool, known = stack.U.reshape(R * k, r), [stack.scores.reshape(len(Y), R * k)]
    tried, failures = np.eye(k, dtype=bool), 0
    for _ in range(MOST_ROUNDS):
        left = unexplained(energy, np.square(np.maximum(A.max(axis=1), 0)))
        rows = unit(Y[np.unique(draw(left, CANDIDATES_PER_CLUSTER * k, rng))])
        Z = np.vstack([pool, rows])
        gains = np.hstack([kernels().swap_gains(A, scores) for scores in (*known, Y @ rows.T)])
        leaving, entering, tried = promising(gains, (U @ Z.T).argmax(axis=0), tried)
        if not len(leaving):
            break
        trials = np.repeat(U[None], len(leaving), axis=0)
        trials[np.arange(len(leaving)), leaving] = Z[entering]
        winner = contest(Y, trials, pool_map)
        if winner.energy[0] > best * (1 + GAIN):
            U, best, A = winner.U[0], winner.energy[0], winner.scores[:, 0].copy()
            pool, known = np.vstack([pool, U]), [*known, A]
            tried, failures = np.eye(k, dtype=bool), 0
        else:
            failures += 1
            if failures == FAILURES:
                break
    return U


def contest(Y: Array, trials: Array, pool_map: Any) -> Stack:
    """The best of the trials: a few alternations for all of them, more for those ahead."""
    for kept, passes in ROUNDS:
        parts = [part for part in np.array_split(trials, CHUNKS) if len(part)]
        ends = list(pool_map(lambda part, p=passes: alternate(Y, part, p)[:2], parts))
        order = np.argsort(-np.concatenate([energy for _, energy in ends]), kind="stable")[:kept]
        trials = np.concatenate([U for U, _ in ends])[order]
    return alternate(Y, trials, 10)


def promising(gains: Array, nearest: Array, tried: Array) -> tuple[Array, Array, Array]:
    """The best untried (leaving, split) pairs with their best candidates, and what is now tried."""
    k = len(gains)
    top, entrant = np.full((k, k), -np.inf), np.zeros((k, k), np.intp)
    for split in np.unique(nearest):
        those = np.flatnonzero(nearest == split)
        entrant[:, split] = those[gains[:, those].argmax(axis=1)]
        top[:, split] = gains[np.arange(k), entrant[:, split]]
    top[tried] = -np.inf
    order = np.argsort(-top, axis=None, kind="stable")[:TRIALS]
    leaving, split = np.unravel_index(order[np.isfinite(top.ravel()[order])], (k, k))
    tried = tried.copy()
    tried[leaving, split] = True
    return leaving, entrant[leaving, split], tried
