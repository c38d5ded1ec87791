"""Starts under the Kullback-Leibler divergence: annealed, improved and combined.

A clustering with sums S_k explains  sum_k g(S_k) - g(sum_k S_k),  where

    g(s) = sum_j s_j log s_j - (sum_j s_j) log(sum_j s_j)

Merging clusters a and b costs  g(S_a) + g(S_b) - g(S_a + S_b):  exact, and known from the sums.
Two steps use this. Both make 2k pieces and merge the cheapest pair until k are left:

improve  every cluster is split in two by moves of its own rows
combine  of its clusters in two clusterings, a row takes the one in which it is more likely

Rows then move one by one (`kl_search.exchange_rows`). The first start comes from the default
solver's search in square roots. Every further start is annealed: soft labels

    r_ik ~ exp(beta <x_i / t_i, log p_k>),   t_i = sum_j x_ij,   beta rising

Each start is improved, combined with the best clustering so far, and the best of all is kept. So
more starts never explain less. Without a number of starts they end when one agrees with the best,
or when several in a row gained little.
"""

from collections.abc import Iterator, Sequence
from heapq import heapify, heappop, heappush
from itertools import islice
from typing import NamedTuple, Self

import numpy as np
import scipy.sparse as sp

from onmf.losses.kl_search import Counts, exchange_rows, kernels, labels_by_roots
from onmf.losses.profiles import SMOOTHING, phi
from onmf.rows.assign import first_largest
from onmf.rows.sweep import Array
from onmf.search.row_problems import unit

MOVES, MOVES_IN_HALVES, LAST_MOVES = 2, 4, 10  # rounds: of all rows, within a split, at the end
NEIGHBOURS = 5  # pieces that one may be merged with, by the cosine of square roots
BETAS = np.geomspace(2, 20, 24)  # below 2 all clusters are alike, at 20 nearly all rows are sure
# Non-zero entries of the rows that are annealed, at most. Four times as many took longer and
# explained no more on nine sets of texts (four seeds; half as many: .02 % less).
ANNEALED_ENTRIES = 1 << 16
AGREEMENT = 1e-4  # a start that explains as much as the best, up to this share, ends the search
LITTLE, VAIN_STARTS = 1e-3, 3  # so do some starts that each gained less than this share
FEWEST_STARTS, MOST_STARTS = 3, 8  # without n_init
AFFORDABLE = 1 << 25  # entries times clusters times starts, unless these are the fewest


class Clustering(NamedTuple):
    """Labels, and what they explain."""

    labels: Array
    explained: float


def find_clusterings(
    counts: Counts, k: int, rng: np.random.Generator, n_starts: int | None = None
) -> list[Array]:
    """Labels of the clusterings that were the best so far; a higher `n_starts` can only add some.

    None takes as many starts as the size of the data allows, ends when they agree or no longer
    gain, and returns only the last.
    """
    last, rng = rng.spawn(2)
    bests = improving(counts, k, rng)
    if n_starts is None:
        affordable = AFFORDABLE // max(counts.X.nnz * k, 1)
        most = min(max(affordable, FEWEST_STARTS), MOST_STARTS)
        chosen = [list(until_vain(islice(bests, most)))[-1]]
    else:
        chosen = records(islice(bests, n_starts))
    return [moved(counts, one.best.labels, k, LAST_MOVES, last).labels for one in chosen]


class Progress(NamedTuple):
    """The best clustering after a start, and whether the start explains as much as it."""

    best: Clustering
    agrees: bool


def improving(counts: Counts, k: int, rng: np.random.Generator) -> Iterator[Progress]:
    """The best clustering after one start, after two, ..."""
    best = improved(counts, labels_by_roots(counts, k, rng), k, rng)
    yield Progress(best, False)
    while True:
        new = improved(counts, annealed(counts, k, rng), k, rng)
        agrees = abs(new.explained - best.explained) <= AGREEMENT * best.explained
        if not agrees:  # else there is nothing to combine
            both = combined(counts, best.labels, new.labels, k)
            best = max(best, improved(counts, both, k, rng), key=explained)
        best = max(best, new, key=explained)
        yield Progress(best, agrees)


def until_vain(bests: Iterator[Progress]) -> Iterator[Progress]:
    """Up to a start that agrees with the best, or to the last of some that gained little."""
    goal, vain = 0.0, 0
    for now in bests:
        yield now
        top = now.best.explained
        goal, vain = (top * (1 + LITTLE), 0) if top >= goal else (goal, vain + 1)
        if now.agrees or vain == VAIN_STARTS:
            return


def records(bests: Iterator[Progress]) -> list[Progress]:
    """Those that are better than all before them."""
    found = [next(bests)]
    for now in bests:
        if now.best.explained > found[-1].best.explained:
            found.append(now)
    return found


def explained(clustering: Clustering) -> float:
    return clustering.explained


def moved(
    counts: Counts, labels: Array, k: int, rounds: int, rng: np.random.Generator
) -> Clustering:
    """The clustering after rounds of moves of single rows."""
    end = exchange_rows(counts, labels, np.zeros(len(labels), np.int64), k, rounds, rng)
    return Clustering(end.labels, end.explained())


def improved(counts: Counts, labels: Array, k: int, rng: np.random.Generator) -> Clustering:
    """Moves, then every cluster is split in two and the pieces are merged, then moves again."""
    begin = moved(counts, labels, k, MOVES, rng)
    first = 2 * begin.labels
    halves = first + rng.integers(0, 2, len(labels))
    pieces, S, P = exchange_rows(counts, halves, first, 2, MOVES_IN_HALVES, rng)
    end = moved(counts, merge_pieces(S, P, k)[pieces], k, MOVES, rng)
    return max(begin, end, key=explained)


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
