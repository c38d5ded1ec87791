"""Starts under the Kullback-Leibler divergence: annealed, moved and combined.

A clustering with sums S_k explains  sum_k g(S_k) - g(sum_k S_k),  where

    g(s) = sum_j s_j log s_j - (sum_j s_j) log(sum_j s_j)

Every start is annealed: soft labels that harden,

    r_ik ~ exp(beta <x_i / t_i, log p_k>),   t_i = sum_j x_ij,   beta rising

and then moves of single rows (`kl_search.exchange_rows`). It is combined with the best clustering
so far: of its clusters in the two, a row takes the one in which it is more likely, and of the 2k
pieces the cheapest pair is merged until k are left. Merging clusters a and b costs

    g(S_a) + g(S_b) - g(S_a + S_b),

exact, and known from the sums. The best of all is kept, so more starts never explain less. Without
a number of starts they end when one agrees with the best, or when several in a row gained little.
"""

from collections.abc import Sequence
from heapq import heapify, heappop, heappush
from operator import attrgetter
from typing import NamedTuple, Self

import numpy as np
import scipy.sparse as sp

from onmf.losses.kl_search import Counts, exchange_rows, kernels, labels_by_roots
from onmf.losses.profiles import SMOOTHING, phi
from onmf.rows.assign import first_largest
from onmf.rows.sweep import Array
from onmf.search.numpy_kernels import unit

# `make ablate` has a row for each of these.
MOVES = 6  # rounds of moves of all rows, at most
NEIGHBOURS = 5  # pieces that one may be merged with, by the cosine of square roots
BETAS = np.geomspace(2, 20, 24)  # below 2 all clusters are alike, at 20 nearly all rows are sure
# Non-zero entries of the rows that are annealed, at most. Four times as many took longer and
# explained no more on nine sets of texts (four seeds; half as many: .02 % less).
ANNEALED_ENTRIES = 1 << 16
# Without n_init: starts, and when they end. 20 starts and 8 in vain gained .02 % for half as much
# time again, fewer than these lost .01 to .04 % with many clusters.
FEWEST_STARTS, MOST_STARTS = 5, 12
AFFORDABLE = 1 << 26  # entries times clusters times starts, unless these are the fewest
AGREEMENT = 1e-4  # a start that explains as much as the best, up to this share, ends the search
LITTLE, VAIN_STARTS = 1e-3, 5  # so do some starts that each gained less than this share


class Clustering(NamedTuple):
    """Labels, and what they explain."""

    labels: Array
    explained: float


def find_clusterings(
    counts: Counts, k: int, rng: np.random.Generator, n_starts: int | None = None
) -> list[Array]:
    """Labels of the clusterings that were the best so far; a higher `n_starts` can only add some.

    None takes as many starts as the size of the data allows, ends when they agree or no longer
    gain, and returns only the last. The first start comes from the square roots: without it 56
    topics of news had .1 % more error, and ARI fell by .8 points on nine sets.
    """
    last, rng = rng.spawn(2)
    most = min(max(AFFORDABLE // max(counts.X.nnz * k, 1), FEWEST_STARTS), MOST_STARTS)
    best = moved(counts, labels_by_roots(counts, k, rng), k, MOVES, rng)
    bests, goal, vain = [best], best.explained * (1 + LITTLE), 0
    for _ in range((n_starts or most) - 1):
        new = moved(counts, annealed(counts, k, rng), k, MOVES, rng)
        agrees = abs(new.explained - best.explained) <= AGREEMENT * best.explained
        found = [best, new]
        if not agrees:  # else there is nothing to combine
            both = combined(counts, best.labels, new.labels, k)
            found.append(moved(counts, both, k, MOVES, rng))
        best = max(found, key=attrgetter("explained"))
        if best.explained > bests[-1].explained:
            bests.append(best)
        gains = best.explained >= goal
        goal, vain = (best.explained * (1 + LITTLE), 0) if gains else (goal, vain + 1)
        if n_starts is None and (agrees or vain == VAIN_STARTS):
            break
    chosen = bests[-1:] if n_starts is None else bests
    return [moved(counts, one.labels, k, MOVES, last).labels for one in chosen]


def moved(
    counts: Counts, labels: Array, k: int, rounds: int, rng: np.random.Generator
) -> Clustering:
    """The clustering after rounds of moves of single rows."""
    end = exchange_rows(counts, labels, np.zeros(len(labels), np.int64), k, rounds, rng)
    return Clustering(end.labels, end.explained())


def combined(counts: Counts, one: Array, other: Array, k: int) -> Array:
    """Every row in the likelier of its two clusters; the 2k pieces, merged to k."""
    better = own_scores(counts, one, k) >= own_scores(counts, other, k)
    pieces = np.where(better, one, k + other)
    S = counts.sums(pieces, 2 * k).T
    return merge_pieces(S, phi(S), k)[pieces]


def own_scores(counts: Counts, labels: Array, k: int) -> Array:
    """<x_i, log p_k> of the cluster of each row (n,)."""
    X, S = counts.X, counts.sums(labels, k)
    shares = S / np.maximum(S.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    own = shares[
        labels.repeat(np.diff(X.indptr)), X.indices
    ]  # a row's own cluster has its features
    return np.asarray(np.add.reduceat(X.data * np.log(own), X.indptr[:-1]))


def merge_pieces(S: Array, P: Array, k: int) -> Array:
    """The cluster of each piece with sums S (m, pieces), the cheapest pair merged until k are left.

    P is s log s of S. Only near pieces are merged. Chains of neighbours have six pieces or more,
    so there are never more than k of them, and they never run out of pairs.
    """
    pieces = Pieces.of(S, P)
    near = dict(enumerate(neighbours(pieces.S)))
    cluster, row = np.arange(len(pieces.S)), list(range(len(pieces.S)))
    pairs = [(a, b) for a in near for b in near[a] if a < b]
    waiting = [(cost, *pair) for cost, pair in zip(pieces.costs(pairs), pairs, strict=True)]
    heapify(waiting)
    for new in range(len(row), 2 * len(row) - k):
        _, a, b = heappop(waiting)
        while a not in near or b not in near:
            _, a, b = heappop(waiting)
        cluster[(cluster == a) | (cluster == b)] = new
        pieces.merge(row[a], row[b])
        row.append(row[a])
        near[new] = (near.pop(a) | near.pop(b)) - {a, b}
        others = sorted(near[new])
        costs = pieces.costs([(row[c], row[new]) for c in others])
        for c, cost in zip(others, costs, strict=True):
            near[c] = near[c] - {a, b} | {new}
            heappush(waiting, (cost, c, new))
    return np.unique(cluster, return_inverse=True)[1]


class Pieces(NamedTuple):
    """Sums of pieces as rows (pieces, m), s log s of these, and their totals."""

    S: Array
    P: Array
    totals: Array

    @classmethod
    def of(cls, S: Array, P: Array) -> Self:
        """Of columns."""
        return cls(np.ascontiguousarray(S.T), np.ascontiguousarray(P.T), S.sum(axis=0))

    def costs(self, pairs: Sequence[tuple[int, int]]) -> list[float]:
        """g(s) + g(t) - g(s + t), what a merge of each pair loses."""
        first, second = np.array(pairs, np.int64).reshape(-1, 2).T
        s, t = self.totals[first], self.totals[second]
        costs = kernels().pair_costs(self.S, self.P, first, second)
        return list((costs - phi(s) - phi(t) + phi(s + t)).tolist())

    def merge(self, a: int, b: int) -> None:
        """Piece a becomes both."""
        self.S[a] += self.S[b]
        self.P[a] = phi(self.S[a])
        self.totals[a] += self.totals[b]


def neighbours(S: Array) -> list[set[int]]:
    """For each piece those that are among its nearest, and those it is among the nearest of."""
    roots = unit(np.sqrt(S))
    order = np.argsort(2 * np.eye(len(S)) - roots @ roots.T, axis=1, kind="stable")
    near = [set(row) for row in order[:, : min(NEIGHBOURS, len(S) - 1)].tolist()]
    for a, others in enumerate(list(map(list, near))):
        for b in others:
            near[b].add(a)
    return near


def annealed(counts: Counts, k: int, rng: np.random.Generator) -> Array:
    """Labels by soft clusters that harden, of all rows; the clusters are those of some rows."""
    some = counts
    if counts.X.nnz > ANNEALED_ENTRIES:
        n = len(counts.totals)
        size = max(int(ANNEALED_ENTRIES / counts.X.nnz * n), min(k, n))
        some = counts.take(np.sort(rng.choice(n, size, replace=False)))
    shares, X_T = some.shares(), sp.csr_array(some.X.T.astype(np.float32))
    mean = (counts.X.sum(axis=0) / counts.totals.sum()).astype(np.float32)
    R, ones = rng.random((len(some.totals), k), np.float32), np.ones((k, 1), np.float32)
    for beta in BETAS:
        R /= R @ ones
        R = beta.astype(np.float32) * (shares @ log_profiles(X_T @ R, mean))
        top = R.T.copy().max(axis=0)  # NumPy is many times slower along a short axis
        R = np.exp(R - top[:, None])
    return first_largest(counts.shares() @ log_profiles(X_T @ R, mean))


def log_profiles(S: Array, mean: Array) -> Array:
    """log p_k (m, k) of sums (m, k)."""
    totals = np.maximum(S.sum(axis=0), np.finfo(S.dtype).tiny)
    shares = S * ((1 - SMOOTHING) / totals) + SMOOTHING * mean[:, None]
    return np.log(np.maximum(shares, np.finfo(S.dtype).tiny))  # a feature that no row has
