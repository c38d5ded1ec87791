"""Leave local optima: one cluster is given up, another is split, and the rest adapts.

From the best of several clusterings of the rows Y, prototype k leaves and a candidate enters, in
the cluster l it is nearest to. Candidates are the prototypes of all clusterings and badly fitted
rows. The change of explained energy before the others adapt,

    V[k, j] = sum_i max( max_{c != k} [a_ic]_+^2, [y_i'z_j]_+^2 ) - sum_i max_c [a_ic]_+^2,

is exact and cheap; the most promising (k, l) are tried by a few alternations side by side, and the
best is kept if it explains more.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from onmf.core.search import GAIN, Stack, alternate, draw, unit

Array = NDArray[Any]

TRIALS = 8  # swaps tried side by side
CHUNKS = 4  # of them, for threads and caches
ADAPT = 3  # alternations each is given
FAILURES = 2  # rounds without gain before giving up
MOST_ROUNDS = 10
ROWS_PER_CLUSTER = 10  # badly fitted rows among the candidates


def improve(
    Y: Array, energy: Array, stack: Stack, rng: np.random.Generator, pool_map: Any = map
) -> Array:
    """Prototypes (k, r) after swaps from the best clustering of the stack."""
    R, k, r = stack.U.shape
    U, best, A = stack.U[stack.best], stack.energy[stack.best], stack.scores[:, stack.best]
    pool, pool_scores = stack.U.reshape(R * k, r), stack.scores.reshape(len(Y), R * k)
    tried, failures = np.eye(k, dtype=bool), 0
    for _ in range(MOST_ROUNDS):
        left = energy - np.square(np.maximum(A.max(axis=1), 0))
        rows = unit(Y[np.unique(draw(left, ROWS_PER_CLUSTER * k, rng))])
        Z, scores = np.vstack([pool, rows]), np.hstack([pool_scores, Y @ rows.T])
        leaving, entering, tried = promising(swap_gains(A, scores), (U @ Z.T).argmax(axis=0), tried)
        if not len(leaving):
            break
        trials = np.repeat(U[None], len(leaving), axis=0)
        trials[np.arange(len(leaving)), leaving] = Z[entering]
        parts = [part for part in np.array_split(trials, CHUNKS) if len(part)]
        ends = list(pool_map(lambda part: alternate(Y, part, ADAPT), parts))
        after = max(ends, key=lambda end: end.energy[end.best])
        if after.energy[after.best] > best * (1 + GAIN):
            settled = alternate(Y, after.U[[after.best]], 10)
            U, best, A = settled.U[0], settled.energy[0], settled.scores[:, 0]
            pool, pool_scores = np.vstack([pool, U]), np.hstack([pool_scores, A])
            tried, failures = np.eye(k, dtype=bool), 0
        else:
            failures += 1
            if failures == FAILURES:
                break
    return U


def swap_gains(A: Array, scores: Array) -> Array:
    """V (k, candidates): change of energy when a prototype leaves and a candidate enters."""
    n, k = A.shape
    two = -np.sort(-np.maximum(A, 0), axis=1)[:, :2] if k > 1 else np.maximum(A, 0)
    first, second = np.square(two[:, 0]), np.square(two[:, -1]) if k > 1 else np.zeros(n)
    offer = np.square(np.maximum(scores, 0))
    with_all = np.maximum(offer, first[:, None])
    member = np.zeros((n, k))
    member[np.arange(n), A.argmax(axis=1)] = 1
    loss = member.T @ (np.maximum(offer, second[:, None]) - with_all)
    return with_all.sum(axis=0) - first.sum() + loss


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
