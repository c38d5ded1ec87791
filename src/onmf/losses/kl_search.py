"""Moves of single rows under the Kullback-Leibler divergence, among rows in memory.

With S_k = sum of the rows of cluster k and g(s) = sum_j s_j log s_j - (sum_j s_j) log (sum_j s_j),

    sum_i KL(x_i || its best multiple of S_k(i))  =  sum_i g(x_i) - sum_k g(S_k),

so that what a clustering explains is sum_k g(S_k). The alternation hardly moves a row, whose own
counts speak for the cluster they are in. Here a row is taken out of its cluster and put where

    g(S_k + x) - g(S_k)

is largest, one after the other (Hartigan's moves; Slonim, Friedman and Tishby 2002): no log of
zero, no smoothing, no cluster becomes empty, and every move gains. `kl_starts` uses these moves.
"""

import sys
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp

from onmf.losses.profiles import explained_information, phi, row_sums
from onmf.rows.assign import first_largest
from onmf.rows.memory import InMemory
from onmf.rows.sweep import Array, Block, divisor
from onmf.search.numpy_kernels import is_compiled, unit
from onmf.search.starts import Settings, find_starts

LEAST = 1e-9  # of the total of all counts: a gain below it is rounding
FEW = 0.005  # of the rows: a round that moves no more of them is the last
CALM, REST = 0.1, 2  # a row that is surer than so, in nats a count, is left alone for some rounds
ROOTS, ROOTS_PER_CLUSTER = 5000, 100  # rows whose roots are searched
SKETCH_SWEEPS = 5


class Counts(NamedTuple):
    """Rows of counts as CSR, their weights included, and the total of each."""

    X: Any
    totals: Array

    @classmethod
    def of(cls, block: Block) -> Self:
        X = sp.csr_array(block.X).astype(np.float64)
        X.eliminate_zeros()
        weight = block.weight[:, 0].astype(np.float64)
        X.data *= weight.repeat(np.diff(X.indptr))
        return cls(X, row_sums(X))

    def take(self, rows: Array) -> "Counts":
        return Counts(self.X[rows], self.totals[rows])

    def with_limited_totals(self) -> "Counts":
        """No total above the median: otherwise outliers with many counts would be the clusters."""
        most = np.median(self.totals)
        totals = np.minimum(self.totals, most)
        shrink = (totals / divisor(self.totals)).repeat(np.diff(self.X.indptr))
        X = sp.csr_array((self.X.data * shrink, self.X.indices, self.X.indptr), self.X.shape)
        return Counts(X, totals)

    def sums(self, labels: Array, k: int) -> Array:
        """S (k, m)."""
        m = self.X.shape[1]
        places = labels.repeat(np.diff(self.X.indptr)) * m + self.X.indices
        return np.bincount(places, self.X.data, k * m).reshape(k, m)

    def shares(self) -> Any:
        """x_i / t_i, in single precision."""
        shares = self.X.data / self.totals.repeat(np.diff(self.X.indptr))
        parts = shares.astype(np.float32), self.X.indices, self.X.indptr
        return sp.csr_array(parts, shape=self.X.shape)


def labels_by_roots(
    counts: Counts, k: int, rng: np.random.Generator, given: Array | None = None
) -> Array:
    """The nearest of the rays that the default search finds for the square roots of some rows."""
    roots, most = np.sqrt(counts.X), max(ROOTS, ROOTS_PER_CLUSTER * k)
    some = np.arange(roots.shape[0])
    if len(some) > most:
        some = np.sort(rng.choice(some, most, replace=False))
    settings = Settings(n_starts=1, max_sweeps=SKETCH_SWEEPS, refit=given is not None)
    Ws, _ = find_starts(settings, InMemory(roots[some]), k, rng, given)
    return first_largest(np.asarray(roots @ unit(Ws[0]).T))


class Exchanged(NamedTuple):
    """Labels after moves, the sums S (m, clusters) of their rows, and s log s of these."""

    labels: Array
    S: Array
    P: Array

    def explained(self) -> float:
        """sum_k g(S_k) - g(sum_k S_k)."""
        whole = self.S.sum(axis=1)
        return float(self.P.sum() - phi(self.S.sum(axis=0)).sum() - explained_information(whole))


def exchange_rows(
    counts: Counts, labels: Array, first: Array, width: int, rounds: int, rng: np.random.Generator
) -> Exchanged:
    """Rounds of moves of single rows: row i within first_i, ..., first_i + width - 1.

    The rows come in an order of chance; a round that moves few is the last.
    """
    places = counts.X.indptr.astype(np.int64), counts.X.indices.astype(np.int64)
    rows = *places, counts.X.data, counts.totals
    shape = counts.X.shape[1], int(first.max()) + width
    limits = rounds, int(FEW * len(labels)), LEAST * float(counts.totals.sum())
    order, labels = rng.permutation(len(labels)), labels.astype(np.int64)
    return Exchanged(*kernels().move_rows(rows, labels, first, width, shape, order, limits))


def move_rows(
    rows: tuple[Array, Array, Array, Array],
    labels: Array,
    first: Array,
    width: int,
    shape: tuple[int, int],
    order: Array,
    limits: tuple[int, int, float],
) -> tuple[Array, Array, Array]:
    """Labels after the moves, S (m, clusters) and s log s of it."""
    indptr, indices, values, totals = rows
    rounds, few, least = limits
    places = indices * shape[1] + labels.repeat(np.diff(indptr))
    S = np.bincount(places, values, shape[0] * shape[1]).reshape(shape)
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
    return labels, S, phi(S)


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


def pair_costs(S: Array, P: Array, first: Array, second: Array) -> Array:
    """sum_j phi(s_aj) + phi(s_bj) - phi(s_aj + s_bj) of pairs (a, b) of rows of S; P is phi(S)."""
    pairs = zip(first, second, strict=True)
    return np.array([(P[a] + P[b] - phi(S[a] + S[b])).sum() for a, b in pairs])


def kernels() -> Any:
    """The module to take `move_rows` and `pair_costs` from: in C if it was built, or this one."""
    if not is_compiled():
        return sys.modules[__name__]
    from onmf.losses import kl_kernel

    return kl_kernel
