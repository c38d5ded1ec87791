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
more starts never explain less.
"""

from collections.abc import Iterator
from heapq import heapify, heappop, heappush
from itertools import islice
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from onmf.losses.kl_search import Counts, exchange_rows, labels_by_roots
from onmf.losses.profiles import SMOOTHING, explained_information, phi
from onmf.rows.assign import first_largest
from onmf.rows.sweep import Array
from onmf.search.row_problems import unit

MOVES, MOVES_IN_HALVES, LAST_MOVES = 2, 4, 10  # rounds: of all rows, within a split, at the end
NEIGHBOURS = 5  # pieces that one may be merged with, by the cosine of square roots
BETAS = np.geomspace(2, 20, 24)  # below 2 all clusters are alike, at 20 nearly all rows are sure
ANNEALED_ENTRIES = 1 << 18  # non-zero entries of the rows that are annealed, at most
AGREEMENT = 1e-4  # a start that explains as much as the best, up to this share, ends the search
FEWEST_STARTS, MOST_STARTS = 4, 8  # without n_init
AFFORDABLE = 1 << 25  # entries times clusters times starts, unless these are the fewest


class Clustering(NamedTuple):
    """Labels, and what they explain."""

    labels: Array
    explained: float


def find_clusterings(
    counts: Counts, k: int, rng: np.random.Generator, n_starts: int | None = None
) -> list[Array]:
    """Labels of the clusterings that were the best so far; a higher `n_starts` can only add some.

    None takes as many starts as the size of the data allows, and returns only the last.
    """
    affordable = AFFORDABLE // max(counts.X.nnz * k, 1)
    most = n_starts or min(max(affordable, FEWEST_STARTS), MOST_STARTS)
    last, rng = rng.spawn(2)
    found: list[Clustering] = []
    for best in islice(improving(counts, k, rng), most):
        if not found or best.explained > found[-1].explained:
            found.append(best)
    chosen = found if n_starts else found[-1:]
    return [moved(counts, one.labels, k, LAST_MOVES, last).labels for one in chosen]


def improving(counts: Counts, k: int, rng: np.random.Generator) -> Iterator[Clustering]:
    """The best clustering after one start, after two, ...; ends when a start agrees with it."""
    best = improved(counts, labels_by_roots(counts, k, rng), k, rng)
    while True:
        yield best
        new = improved(counts, annealed(counts, k, rng), k, rng)
        if abs(new.explained - best.explained) <= AGREEMENT * best.explained:
            yield max(best, new, key=explained)
            return
        both = improved(counts, combined(counts, best.labels, new.labels, k), k, rng)
        best = max(best, new, both, key=explained)


def explained(clustering: Clustering) -> float:
    return clustering.explained


def moved(
    counts: Counts, labels: Array, k: int, rounds: int, rng: np.random.Generator
) -> Clustering:
    """The clustering after rounds of moves of single rows."""
    labels = exchange_rows(counts, labels, np.zeros(len(labels), np.int64), k, rounds, rng)
    S = counts.sums(labels, k)
    gain = explained_information(S).sum() - explained_information(S.sum(axis=0))
    return Clustering(labels, float(gain))


def improved(counts: Counts, labels: Array, k: int, rng: np.random.Generator) -> Clustering:
    """Moves, then every cluster is split in two and the pieces are merged, then moves again."""
    begin = moved(counts, labels, k, MOVES, rng)
    halves = 2 * begin.labels + rng.integers(0, 2, len(labels))
    halves = exchange_rows(counts, halves, 2 * begin.labels, 2, MOVES_IN_HALVES, rng)
    end = moved(counts, merged(counts, halves, k), k, MOVES, rng)
    return max(begin, end, key=explained)


def combined(counts: Counts, one: Array, other: Array, k: int) -> Array:
    """Every row in the likelier of its two clusters; the 2k pieces, merged to k."""
    better = own_scores(counts, one, k) >= own_scores(counts, other, k)
    return merged(counts, np.where(better, one, k + other), k)


def own_scores(counts: Counts, labels: Array, k: int) -> Array:
    """<x_i, log p_k> of the cluster of each row (n,)."""
    X, S = counts.X, counts.sums(labels, k)
    shares = S / np.maximum(S.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    own = shares[
        labels.repeat(np.diff(X.indptr)), X.indices
    ]  # a row's own cluster has its features
    return np.asarray(np.add.reduceat(X.data * np.log(own), X.indptr[:-1]))


def merged(counts: Counts, pieces: Array, k: int) -> Array:
    """Labels of the rows after their 2k pieces are merged to k."""
    return merge_pieces(counts.sums(pieces, 2 * k), k)[pieces]


def merge_pieces(S: Array, k: int) -> Array:
    """The cluster of each of 2k pieces with sums S, the cheapest pair merged until k are left.

    Only near pieces are merged. Chains of neighbours have six pieces or more, so at most a third
    of k chains: they never run out of pairs.
    """
    sums, near = dict(enumerate(S)), dict(enumerate(neighbours(S)))
    cluster = np.arange(len(S))
    pairs = [(merge_cost(S[a], S[b]), a, b) for a in near for b in near[a] if a < b]
    heapify(pairs)
    for new in range(len(S), 2 * len(S) - k):
        _, a, b = heappop(pairs)
        while a not in sums or b not in sums:
            _, a, b = heappop(pairs)
        cluster[(cluster == a) | (cluster == b)] = new
        both, near[new] = sums.pop(a) + sums.pop(b), (near.pop(a) | near.pop(b)) - {a, b}
        for c in near[new]:
            near[c] = near[c] - {a, b} | {new}
            heappush(pairs, (merge_cost(both, sums[c]), c, new))
        sums[new] = both
    return np.unique(cluster, return_inverse=True)[1]


def neighbours(S: Array) -> list[set[int]]:
    """For each piece those that are among its nearest, and those it is among the nearest of."""
    roots = unit(np.sqrt(S))
    order = np.argsort(2 * np.eye(len(S)) - roots @ roots.T, axis=1, kind="stable")
    near = [set(row) for row in order[:, : min(NEIGHBOURS, len(S) - 1)].tolist()]
    for a, others in enumerate(list(map(list, near))):
        for b in others:
            near[b].add(a)
    return near


def merge_cost(s: Array, t: Array) -> float:
    """g(s) + g(t) - g(s + t); a feature of only one of them costs nothing."""
    shared = np.flatnonzero((s > 0) & (t > 0))
    a, b = s[shared], t[shared]
    totals = phi(s.sum() + t.sum()) - phi(s.sum()) - phi(t.sum())
    return float((phi(a) + phi(b) - phi(a + b)).sum() + totals)


def annealed(counts: Counts, k: int, rng: np.random.Generator) -> Array:
    """Labels by soft clusters that harden, of all rows; the clusters are those of some rows."""
    some = counts
    if counts.X.nnz > ANNEALED_ENTRIES:
        n = len(counts.totals)
        size = max(int(ANNEALED_ENTRIES / counts.X.nnz * n), min(k, n))
        some = counts.take(np.sort(rng.choice(n, size, replace=False)))
    shares, X_T = some.shares(), sp.csr_array(some.X.T.astype(np.float32))
    mean = (counts.X.sum(axis=0) / counts.totals.sum()).astype(np.float32)
    R = rng.random((len(some.totals), k), np.float32)
    for beta in BETAS:
        R /= R.sum(axis=1, keepdims=True)
        R = beta.astype(np.float32) * (shares @ log_profiles(X_T @ R, mean))
        R = np.exp(R - R.max(axis=1, keepdims=True))
    return first_largest(counts.shares() @ log_profiles(X_T @ R, mean))


def log_profiles(S: Array, mean: Array) -> Array:
    """log p_k (m, k) of sums (m, k)."""
    totals = np.maximum(S.sum(axis=0), np.finfo(S.dtype).tiny)
    shares = S * ((1 - SMOOTHING) / totals) + SMOOTHING * mean[:, None]
    return np.log(np.maximum(shares, np.finfo(S.dtype).tiny))  # a feature that no row has
