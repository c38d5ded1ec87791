"""Swaps leave local optima: remove one cluster, split another, and let their neighbours adapt.

To split cluster l, two rays are fitted to its rows alone: they explain G_l more. To remove cluster
k, its rows go to their second best rays: that explains L_k less. Pairs (k, l) are tried in the
order of G_l - L_k, each by a few alternations of the clusters involved, on their rows alone. So the
cost of a trial falls with the number of clusters.
"""

from collections.abc import Iterator
from heapq import heappop, heappush

import numpy as np

from onmf.rows.sweep import Array
from onmf.search.numpy_kernels import GAIN, kernels, unit
from onmf.search.rays import Clustering, alternate, every_place, relocate, unexplained

# `make ablate` has what several trials, neighbours, and moves after a round are worth.
SPLIT_TRIALS = 4  # tried for each split
OUTLIER_DIRECTIONS = 40  # outliers whose directions are compared for a ray through several of them
SPLIT_ALTERNATIONS = 3  # alternations of the two halves of a cluster
MAX_NEIGHBOURS = 4  # next to the cluster that is removed, and next to the other, that may adapt
TRIAL_ALTERNATIONS = 4  # alternations of a trial
ROUND_ALTERNATIONS, ROUND_MOVES = 1, 2  # alternations and moves of all rows after a round
MIN_GAIN_SHARE = 0.4  # of the loss of the removed cluster: below it 1 of 100 trials gained
MAX_VAIN_TRIALS = 16  # without gain before a round ends
PAIRS_PER_CLUSTER = 128  # for each cluster, that are looked at in a round
# Share of what is unexplained that a round must gain for another one. The rounds after it, up to
# half of the time with many clusters, gained at most .06 % of the error on seven problems with 80
# to 800 clusters (at 2e-4 and at 5e-4), and .09 % with 1,000.
MIN_ROUND_GAIN = 3e-4
MAX_SWAP_ROUNDS = 20


def improve(
    Y: Array,
    sqnorms: Array,
    now: Clustering,
    rng: np.random.Generator,
    floor: Array | None = None,
    least: float = GAIN,
    moves: int | None = None,
) -> Clustering:
    """The clustering after swaps. Stop after a round of little gain.

    A swap must gain the share `least` of what is explained.
    """
    total = float(sqnorms.sum())
    for _ in range(MAX_SWAP_ROUNDS if len(now.U) > 1 else 0):
        U = swapped(Y, sqnorms, now, rng, floor, least)
        if U is None:
            break
        before, now = now, alternate(Y, U, ROUND_ALTERNATIONS, floor=floor, known=now)
        now = relocate(Y, sqnorms, now, ROUND_MOVES if moves is None else moves, floor)
        if now.explained - before.explained < MIN_ROUND_GAIN * (total - before.explained):
            break
    return now


def swapped(
    Y: Array,
    sqnorms: Array,
    now: Clustering,
    rng: np.random.Generator,
    floor: Array | None,
    least: float,
) -> Array | None:
    """Prototypes after the swaps of a round; None if none improved the clustering."""
    k, places, U = len(now.U), now.scores.shape[1], now.U.copy()
    order, edges, own = members(now)
    Z = Y[order]
    lows = np.empty(0, Y.dtype) if floor is None else floor[order].astype(Y.dtype, copy=False)
    second, runner = kernels().runners_up(now.scores, now.labels)
    flow = np.square(runner)
    neighbours = nearest_clusters(now.labels, second, flow, places, k)
    gain, halves = splits(Y, sqnorms, now, own, order, edges, rng)
    if floor is not None:
        gain[k], halves[1, k] = entrance(Y, now, float(own[k]), floor, rng)
    loss = own[:k] - np.bincount(now.labels, flow, places)[:k]
    touched, left, total = [False] * places, max(MAX_VAIN_TRIALS, k // 2), now.explained
    energy, outside = own.tolist(), list(range(k, places))
    for leaving, split in promising(gain, loss, touched):
        near = [leaving, split, *neighbours[leaving], *neighbours[split]]
        J = [j for j in dict.fromkeys(near) if j < k and not touched[j]]
        start, goal = U[J], sum([energy[j] for j in J + outside]) + least * total
        if split < k:
            start[1] = halves[0, split]
        start[0] = halves[1, split]
        found, explained = kernels().alternate_few(
            Z, edges, np.array(J + outside), start, lows, TRIAL_ALTERNATIONS, goal
        )
        if explained > goal:
            U[J] = found
            for j in [split, *J]:
                touched[j] = True
        else:
            left -= 1
        if not left:
            break
    return U if any(touched) else None


def promising(gain: Array, loss: Array, touched: list[bool]) -> Iterator[tuple[int, int]]:
    """Pairs (k, l) from the largest gain_l - loss_k on, of clusters that are not touched yet.

    For each k in the order of the losses, the next l in the order of the gains waits in a heap.
    """
    leaving = np.argsort(loss, kind="stable").tolist()
    splits = np.argsort(-gain, kind="stable").tolist()
    losses, gains = loss[leaving].tolist(), gain[splits].tolist()
    heap, begun = [(0.0, 0, 0)], 1  # alone, so it comes first whatever it gains
    for _ in range(PAIRS_PER_CLUSTER * len(loss)):
        if not heap:
            return
        _, p, q = heappop(heap)
        if q == 0 and begun < len(losses):  # the next k has its first turn after this one
            heappush(heap, (losses[begun] - gains[0], begun, 0))
            begun += 1
        if touched[leaving[p]] or gains[q] < MIN_GAIN_SHARE * losses[p]:
            continue  # and so it is with all other l
        if q + 1 < len(gains):
            heappush(heap, (losses[p] - gains[q + 1], p, q + 1))
        if leaving[p] != splits[q] and not touched[splits[q]]:
            yield leaving[p], splits[q]


def nearest_clusters(
    labels: Array, second: Array, flow: Array, places: int, k: int
) -> list[list[int]]:
    """For each place the clusters, at most MAX_NEIGHBOURS, that would get most of its rows."""
    pairs, where = np.unique((labels * places + second)[flow > 0], return_inverse=True)
    total = np.bincount(where, flow[flow > 0], len(pairs))
    order = np.lexsort((-total, pairs // places))
    neighbours: list[list[int]] = [[] for _ in range(places)]
    for pair in pairs[order].tolist():
        place, neighbour = divmod(pair, places)
        if neighbour < k and len(neighbours[place]) < MAX_NEIGHBOURS:
            neighbours[place].append(neighbour)
    return neighbours


def entrance(
    Y: Array, now: Clustering, own: float, floor: Array, rng: np.random.Generator
) -> tuple[float, Array]:
    """What one more ray explains more of the outliers, and the ray."""
    rows = np.flatnonzero(now.labels == len(now.U))
    best, ray = -np.inf, now.U[0]
    if not len(rows):
        return best, ray
    Z, low = Y[rows], floor[rows]
    some = rng.permutation(len(rows))[:OUTLIER_DIRECTIONS]
    alone = np.maximum(Z @ unit(Z[some].astype(np.float64)).T.astype(Z.dtype), low[:, None])
    for pick in some[np.argsort(-np.square(alone).sum(axis=0), kind="stable")[:SPLIT_TRIALS]]:
        trial = alternate(Z, unit(Z[[pick]].astype(np.float64)), SPLIT_ALTERNATIONS, floor=low)
        if trial.explained - own > best:
            best, ray = trial.explained - own, trial.U[0]
    return best, ray


def members(now: Clustering) -> tuple[Array, Array, Array]:
    """Rows place by place, where each place begins, and the energy that each explains.

    The places are the clusters and, if there are outliers, one more for them.
    """
    places, order = now.scores.shape[1], np.argsort(now.labels, kind="stable")
    edges = np.searchsorted(now.labels[order], np.arange(places + 1))
    return order, edges, np.bincount(now.labels, np.square(now.best), places)


def splits(
    Y: Array,
    sqnorms: Array,
    now: Clustering,
    own: Array,
    order: Array,
    edges: Array,
    rng: np.random.Generator,
) -> tuple[Array, Array]:
    """What two rays instead of one explain more in each cluster, and the two (2, k, r)."""
    U = every_place(now)
    k = len(U)
    left = unexplained(sqnorms, np.square(now.best))[order]
    before = np.append(0, np.cumsum(left))
    low, high = before[edges[:-1]], before[edges[1:]]
    gain, halves = np.full(k, -np.inf), np.stack([U, U])
    for _ in range(SPLIT_TRIALS):
        aim = low + rng.random(k) * (high - low)
        place = np.searchsorted(before, aim, side="right").clip(1, len(Y)) - 1
        row = Y[order[place]].astype(np.float64)
        aside = unit(row - np.einsum("kr,kr->k", row, U)[:, None] * U)
        start = unit(np.stack([U + aside, U - aside]))
        pair, explained = kernels().split_clusters(Y, now.labels, start, SPLIT_ALTERNATIONS)
        better = explained - own > gain
        gain[better], halves[:, better] = (explained - own)[better], pair[:, better]
    return gain, halves
