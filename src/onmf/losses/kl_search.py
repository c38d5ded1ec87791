"""Search under the Kullback-Leibler divergence, among rows in memory.

With S_k = sum of the rows of cluster k and g(s) = sum_j s_j log s_j - (sum_j s_j) log (sum_j s_j),

    sum_i KL(x_i || its best multiple of S_k(i))  =  sum_i g(x_i) - sum_k g(S_k),

so that what a clustering explains is sum_k g(S_k). The alternation hardly moves a row, whose own
counts speak for the cluster they are in. Here a row is taken out of its cluster and put where

    g(S_k + x) - g(S_k)

is largest, one after the other (Hartigan's moves; Slonim, Friedman and Tishby 2002): no log of
zero, nothing to smooth, no cluster stays empty, and every move gains. Such moves go on from the
default solver's search in square roots, for KL is near four times their squared distance. Then
clusters are swapped: two are merged, which costs g(S_k) + g(S_l) - g(S_k + S_l), exactly and from
the sums alone, and another one is split in two by moves of its own rows, while that gains.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp

from onmf.losses.profiles import Influence, explained_information, phi, row_sums
from onmf.paper.penalties import SNCP
from onmf.rows.assign import first_largest
from onmf.rows.memory import InMemory
from onmf.rows.sweep import Array, Block
from onmf.search.row_problems import is_compiled, unit
from onmf.search.solver import GivenCentroids, SearchSettings, find_starts

LEAST = 1e-9  # of the total of all counts: a gain below it is rounding
FIRST, WITHIN, AFTER, LAST = 3, 4, 2, 10  # rounds of moves: at first, of halves, after swaps, last
FEW = 0.005  # of the rows: a round that moves no more of them is the last
CALM, REST = 0.1, 2  # a row that is surer than so, in nats a count, is left alone for some rounds
SWAPS = 4  # rounds of swaps
NEAR = 5  # other clusters that one may be merged with
WORTH = 1e-5  # of what there is to explain: a swap that gains less is not made
ROOTS, ROOTS_PER_CLUSTER = 5000, 100  # rows whose roots are searched
SKETCH_SWEEPS = 5


class Counts(NamedTuple):
    """Rows of counts as CSR, their weights included, and the total of each."""

    X: Any
    totals: Array

    @classmethod
    def of(cls, block: Block, influence: Influence) -> Self:
        X = sp.csr_array(block.X).astype(np.float64)
        weight = influence(block.weight[:, 0].astype(np.float64), row_sums(X))
        X.data *= weight.repeat(np.diff(X.indptr))
        return cls(X, row_sums(X))

    def take(self, rows: Array) -> "Counts":
        return Counts(self.X[rows], self.totals[rows])

    def with_limited_totals(self) -> "Counts":
        """No total above the median: otherwise outliers with many counts would be the clusters."""
        most = np.median(self.totals)
        totals = np.minimum(self.totals, most)
        shrink = (totals / np.where(self.totals > 0, self.totals, 1)).repeat(np.diff(self.X.indptr))
        X = sp.csr_array((self.X.data * shrink, self.X.indices, self.X.indptr), self.X.shape)
        return Counts(X, totals)

    def sums(self, labels: Array, k: int) -> Array:
        """S (k, m)."""
        n = len(labels)
        H = sp.csr_array((np.ones(n), labels, np.arange(n + 1)), shape=(n, k))
        return np.asarray((H.T @ self.X).toarray(order="C"))


def search(counts: Counts, k: int, rng: np.random.Generator) -> Array:
    """Labels of the rows: the default search in roots, moves, and swaps of clusters."""
    everywhere = np.zeros(len(counts.totals), np.int64)
    labels = exchange_rows(counts, labels_by_roots(counts, k, rng), everywhere, k, FIRST, rng)
    worth = WORTH * to_explain(counts)
    for _ in range(SWAPS if k > 2 else 0):
        swapped = swap(counts, labels, k, worth, rng)
        if swapped is None:
            break
        labels = exchange_rows(counts, swapped, everywhere, k, AFTER, rng)
    return exchange_rows(counts, labels, everywhere, k, LAST, rng)


def to_explain(counts: Counts) -> float:
    """What there is to explain: sum_i g(x_i) - g(sum_i x_i)."""
    own = row_sums(counts.X, phi) - phi(counts.totals)
    return float(own.sum() - explained_information(np.asarray(counts.X.sum(axis=0)).ravel()))


def labels_by_roots(
    counts: Counts, k: int, rng: np.random.Generator, given: GivenCentroids | None = None
) -> Array:
    """The nearest of the rays that the default search finds for the square roots of some rows."""
    roots, most = np.sqrt(counts.X), max(ROOTS, ROOTS_PER_CLUSTER * k)
    some = np.arange(roots.shape[0])
    if len(some) > most:
        some = np.sort(rng.choice(some, most, replace=False))
    settings = SearchSettings(n_starts=1, max_sweeps=SKETCH_SWEEPS)
    found = find_starts(settings, InMemory(roots[some]), k, SNCP(), rng, given)
    return first_largest(np.asarray(roots @ unit(found.Ws[0]).T))


def exchange_rows(
    counts: Counts, labels: Array, first: Array, width: int, rounds: int, rng: np.random.Generator
) -> Array:
    """Labels after rounds of moves of single rows: row i within first_i, ..., first_i + width - 1.

    The rows come in an order of chance; a round that moves few is the last.
    """
    places = counts.X.indptr.astype(np.int64), counts.X.indices.astype(np.int64)
    rows = *places, counts.X.data, counts.totals
    S = np.ascontiguousarray(counts.sums(labels, int(first.max()) + width).T)
    limits = rounds, int(FEW * len(labels)), LEAST * float(counts.totals.sum())
    order, labels = rng.permutation(len(labels)), labels.astype(np.int64)
    return np.asarray(compiled_moves()(rows, labels, first, width, S, order, limits))


def swap(
    counts: Counts, labels: Array, k: int, worth: float, rng: np.random.Generator
) -> Array | None:
    """Labels after all swaps that gain more than they are worth, or None; each cluster once."""
    S = counts.sums(labels, k)
    now = explained_information(S)
    halves = exchange_rows(
        counts, 2 * labels + rng.integers(0, 2, len(labels)), 2 * labels, 2, WITHIN, rng
    )
    gains = explained_information(counts.sums(halves, 2 * k)).reshape(k, 2).sum(axis=1) - now
    new, free, merges = labels.copy(), np.ones(k, bool), merge_costs(S, now)
    for split in np.argsort(-gains, kind="stable"):
        fits = (pair for pair in merges if free[[*pair[1:], split]].all() and split not in pair[1:])
        cost, kept, gone = next(fits, (np.inf, 0, 0))
        if gains[split] - cost <= worth:
            break
        new[labels == gone] = kept
        new[halves == 2 * split + 1] = gone
        free[[kept, gone, split]] = False
    return None if free.all() else new


def merge_costs(S: Array, now: Array) -> list[tuple[float, int, int]]:
    """g(S_k) + g(S_l) - g(S_k + S_l) of pairs (k, l) that are near each other, from the lowest."""
    roots = unit(np.sqrt(S))
    order = np.argsort(-(roots @ roots.T - 2 * np.eye(len(S))), axis=1, kind="stable")
    near = order[:, : min(NEAR, len(S) - 1)]
    pairs = sorted({(min(k, c), max(k, c)) for k, row in enumerate(near.tolist()) for c in row})
    return sorted(
        (float(now[k] + now[c] - explained_information(S[k] + S[c])), k, c) for k, c in pairs
    )


def move_rows(
    rows: tuple[Array, Array, Array, Array],
    labels: Array,
    first: Array,
    width: int,
    S: Array,
    order: Array,
    limits: tuple[int, int, float],
) -> Array:
    """The moves, which use up S (m, k); in C they are `kernels.move_rows`."""
    indptr, indices, values, totals = rows
    rounds, few, least = limits
    T, wake = S.sum(axis=0), np.zeros(len(labels))
    for turn in range(rounds):
        moves = 0
        for i in order[wake[order] <= turn]:
            part, own = slice(indptr[i], indptr[i + 1]), labels[i]
            j, x, t, here = indices[part], values[part], totals[i], own - first[i]
            gain = move_gains(j, x, t, own, slice(first[i], first[i] + width), S, T)
            stay, gain[here] = gain[here], -np.inf
            if stay >= gain.max() - least:
                wake[i] = turn + 1 + REST if stay - gain.max() > CALM * t else 0
                continue
            best = first[i] + int((gain >= gain.max() - least).argmax())  # the first of equals
            S[j, own], S[j, best] = less(S[j, own], x), S[j, best] + x
            T[own], T[best] = less(T[own], t), T[best] + t
            labels[i], moves = best, moves + 1
        if moves <= few:
            break
    return labels


def move_gains(j: Array, x: Array, t: float, own: int, among: slice, S: Array, T: Array) -> Array:
    """g(S_k + x) - g(S_k) of the clusters k among which a row can be, without it: (width,)."""
    A, B = S[j, among], T[among]
    gain = (phi(A + x[:, None]) - phi(A)).sum(axis=0) - phi(B + t) + phi(B)
    stay = (phi(S[j, own]) - phi(less(S[j, own], x))).sum() - phi(T[own]) + phi(less(T[own], t))
    gain[own - among.start] = stay
    return np.asarray(gain)


def less(s: Any, x: Any) -> Any:
    """s - x, zero where only rounding is left."""
    rest = s - x
    return np.where(rest > LEAST * x, rest, 0.0)


def compiled_moves() -> Callable[..., Array]:
    """`move_rows` in C if it was built, or this one."""
    if not is_compiled():
        return move_rows
    from onmf.losses.kl_kernel import shift_rows

    return shift_rows
