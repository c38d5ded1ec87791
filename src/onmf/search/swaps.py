"""Leave local optima: one cluster is given up, another is split, and their neighbours adapt.

To split cluster l, two rays are fitted to its rows alone: they explain G_l more. To give up cluster
k, its rows go to their second best rays, or it is merged with another cluster c under the best ray
in the span of the two: that explains L_k less. Pairs (k, l) are tried in the order of G_l - L_k,
each by some alternations of the clusters it concerns, on their rows alone: what that gains is
gained for good, and costs the less the more clusters there are.
"""

import numpy as np

from onmf.rows.sweep import Array
from onmf.search.moves import relocate
from onmf.search.path import Clustering, alternate, every_place, scores, unexplained
from onmf.search.row_problems import GAIN, kernels, unit

ENTRANTS = 4  # tried for each split
LOOKS = 40  # outliers whose directions are compared for a ray through several of them
WITHIN = 3  # alternations of the two halves of a cluster
HEIRS, NEIGHBOURS = 4, 4  # clusters that may adapt: those next to the one given up, to the other
LOCAL = 4  # alternations of a trial
GLOBAL, MOVES = 3, 2  # alternations and moves of all rows after a round
HOPE = 0.1  # a split that gains a smaller share of what the other cluster loses is not tried
TRIALS = 16  # without gain before a round ends
MOST_ROUNDS = 20


def improve(
    Y: Array,
    sqnorms: Array,
    now: Clustering,
    rng: np.random.Generator,
    floor: Array | None = None,
    least: float = GAIN,
) -> Clustering:
    """The clustering after swaps, until a round was in vain.

    A swap must gain the share `least` of what is explained.
    """
    for _ in range(MOST_ROUNDS if len(now.U) > 1 else 0):
        U = swapped(Y, sqnorms, now, rng, floor, least)
        if U is None:
            break
        now = relocate(Y, sqnorms, alternate(Y, U, GLOBAL, floor=floor), MOVES, floor)
    return now


def swapped(
    Y: Array,
    sqnorms: Array,
    now: Clustering,
    rng: np.random.Generator,
    floor: Array | None,
    least: float,
) -> Array | None:
    """Prototypes after the swaps of a round, or None if all were in vain."""
    k, places, U = len(now.U), now.scores.shape[1], now.U.copy()
    order, edges, own = members(now)
    Z, lows = Y[order], None if floor is None else floor[order]
    second, runner = kernels().runners_up(now.scores, now.labels)
    flow = np.zeros((places, places))
    np.add.at(flow, (now.labels, second), np.square(runner))
    heirs = np.argsort(-flow[:, :k], axis=1, kind="stable")[:, :HEIRS]
    gain, halves = splits(Y, sqnorms, now, own, order, edges, rng)
    if floor is not None:
        gain[k], halves[1, k] = entrance(Y, now, float(own[k]), floor, rng)
    drop = (own - flow.sum(axis=1))[:k]
    loss = np.minimum(merge_losses(now, own[:k]).min(axis=1), drop)
    promise = gain[None] - loss[:, None]
    promise[np.eye(k, places, dtype=bool) | (gain < HOPE * loss[:, None])] = -np.inf
    most = min(k * places, 8 * TRIALS * k)
    pairs = np.argpartition(-promise, most - 1, axis=None)[:most]
    pairs = pairs[np.argsort(-promise.ravel()[pairs], kind="stable")]
    touched, left, total = np.zeros(places, bool), max(TRIALS, k // 2), now.explained
    for leaving, split in zip(*np.unravel_index(pairs, promise.shape), strict=True):
        if not left or promise[leaving, split] == -np.inf:
            break
        if touched[leaving] or touched[split]:
            continue
        near = [leaving, split, *heirs[leaving], *heirs[split, :NEIGHBOURS]]
        J = np.array([j for j in dict.fromkeys(near) if not touched[j] and j < k])
        those = [*J, *range(k, places)]
        rows = [slice(edges[j], edges[j + 1]) for j in those]
        start, goal = U[J], own[those].sum() + least * total
        start[J == split], start[0] = halves[0, split], halves[1, split]
        low = None if lows is None else np.concatenate([lows[one] for one in rows])
        trial = alternate(np.concatenate([Z[one] for one in rows]), start, LOCAL, goal, low)
        if trial.explained > goal:
            U[J], touched[J], touched[split] = trial.U, True, True
        else:
            left -= 1
    return U if touched.any() else None


def entrance(
    Y: Array, now: Clustering, own: float, floor: Array, rng: np.random.Generator
) -> tuple[float, Array]:
    """What one more ray explains more of the outliers, and the ray."""
    rows = np.flatnonzero(now.labels == len(now.U))
    best, ray = -np.inf, now.U[0]
    if not len(rows):
        return best, ray
    Z, low = Y[rows], floor[rows]
    some = rng.permutation(len(rows))[:LOOKS]
    alone = np.maximum(scores(Z, unit(Z[some].astype(np.float64))), low[:, None])
    for pick in some[np.argsort(-np.square(alone).sum(axis=0), kind="stable")[:ENTRANTS]]:
        trial = alternate(Z, unit(Z[[pick]].astype(np.float64)), WITHIN, floor=low)
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
    for _ in range(ENTRANTS):
        aim = low + rng.random(k) * (high - low)
        place = np.searchsorted(before, aim, side="right").clip(1, len(Y)) - 1
        row = Y[order[place]].astype(np.float64)
        aside = unit(row - np.einsum("kr,kr->k", row, U)[:, None] * U)
        start = unit(np.stack([U + aside, U - aside]))
        pair, explained = kernels().split_clusters(Y, now.labels, start, WITHIN)
        better = explained - own > gain
        gain[better], halves[:, better] = (explained - own)[better], pair[:, better]
    return gain, halves


def merge_losses(now: Clustering, own: Array) -> Array:
    """(k, k): e_k + e_c less what the best ray in the span of u_k and u_c explains of their rows.

    In the basis u_k, d = (u_c - c u_k) / s with c = u_k'u_c and s^2 = 1 - c^2 that is the larger
    eigenvalue of a 2 x 2 matrix.
    """
    k = len(now.U)
    squares, products = (
        part[:k, :k] for part in kernels().pair_sums(now.scores, now.labels, now.best)
    )
    C = np.clip(now.U @ now.U.T, -1, 1)
    sine = np.sqrt(np.maximum(1 - C * C, 1e-12))
    uu, cc, uc = own[:, None] + squares.T, squares + own, products + products.T
    ud, dd = (uc - C * uu) / sine, (cc - 2 * C * uc + C * C * uu) / sine**2
    loss = own[:, None] + own - (uu + dd) / 2 - np.sqrt(np.square((uu - dd) / 2) + ud**2)
    np.fill_diagonal(loss, np.inf)
    return loss
