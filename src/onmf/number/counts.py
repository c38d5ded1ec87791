"""One half of the samples under the Kullback-Leibler divergence: its clusters for every K.

A line begins with an annealed start, or one by square roots where that falls into too few clusters.
Clusters are merged at the exact cost of `losses.kl_starts`,
and rows move after each merger. All samples are then labelled by the assignment of the loss,

    argmax_k <x, log p_k>,      p_k = (1 - lambda) S_k / sum(S_k) + lambda S / sum(S).

Where rows are so long that few of them could be searched, as reads of cells are, features that
tell least are counted as one.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from onmf.losses.kl_search import Counts, exchange_rows, labels_by_roots
from onmf.losses.kl_starts import MOVES, annealed, merge_pieces
from onmf.losses.profiles import SMOOTHING, CountProfiles, row_sums
from onmf.number.halves import Cut, HalfLabels
from onmf.number.path import beginning, line
from onmf.rows.sweep import Block
from onmf.search.numpy_kernels import unit

Array = NDArray[Any]

MOST_ENTRIES = 1 << 17  # non-zero ones of the rows that are searched: one log per entry, K and move
FEWEST_ROWS = 250  # however long they are
# Beyond so many, features are summed; with a quarter of it, three lines of cells were cut into six.
MOST_OF_LONG_ROWS = 1 << 19
SAME = 1e-12  # below it, two clusters have the same shares up to rounding


class CountHalf:
    """The sums of the clusters of this half, and the profiles of all samples."""

    def __init__(self, X: Any, weight: Array, cut: Cut, side: bool) -> None:
        self.rng, features = np.random.default_rng(int(side)), cut.features
        self.totals = np.where(weight > 0, row_sums(X), 0)
        rows = cut.rows(side)
        rows = rows[self.totals[rows] > 0]
        entries = max(sp.csr_array(X[rows]).nnz, 1)
        size = max(len(rows) * MOST_ENTRIES // entries, FEWEST_ROWS)
        if size < len(rows):
            rows = rows[np.sort(self.rng.choice(len(rows), size, replace=False))]
        if sp.csr_array(X[rows]).nnz > MOST_OF_LONG_ROWS:
            X, features = with_features_summed(X, rows, features)
        self.X = X
        block = Block(X[rows], weight[rows, None])
        self.counts = Counts.of(block).with_limited_totals()
        known = np.asarray(self.counts.X.sum(axis=0)).ravel() > 0
        self.halves: tuple[Array, ...] = () if features is None else (features, ~features)
        self.part = X[:, self.halves[0]] if self.halves else None
        self.known = [np.asarray(X @ (inside & known).astype(float)) for inside in self.halves]

    def labels_by_k(self, first: int, last: int) -> dict[int, HalfLabels]:
        """All samples by the clusters of this half, for the K from first to last."""
        n = len(self.counts.totals)
        if not n:
            return {}
        k = beginning(last, n)
        labels = without_empty(annealed(self.counts, k, self.rng))
        if labels.max() < min(last, k) - 1:  # profiles so alike that soft clusters stay the same
            labels = without_empty(labels_by_roots(self.counts, k, self.rng))
        start = CountClusters(self.counts, labels, int(labels.max()) + 1, self.rng)
        return {k: self.label_all(one.sums) for k, one in line(start, first, last).items()}

    def label_all(self, sums: Array) -> HalfLabels:
        """All samples by clusters with these sums: nats a count more than the next are the margin.

        By some of the features, the shares of a cluster are those among these features.
        """
        totals = np.maximum(sums.sum(axis=1, keepdims=True), np.finfo(float).tiny)
        W = (1 - SMOOTHING) * sums / totals + SMOOTHING * sums.sum(axis=0) / totals.sum()
        logs = CountProfiles.of(W).logs  # 0 for a feature that no cluster has
        scores, parts = np.asarray(self.X @ logs, np.float64), []
        if self.part is not None:
            one = np.asarray(self.part @ logs[self.halves[0]], np.float64)
            told = zip((one, scores - one), self.halves, self.known, strict=True)
            for part, inside, known in told:
                shares = np.maximum(W[:, inside].sum(axis=1), np.finfo(float).tiny)
                parts.append(self.positive(part - np.outer(known, np.log(shares))))
        return HalfLabels.by_scores(self.positive(scores), parts, self.totals)

    def positive(self, scores: Array) -> Array:
        """The same differences, above zero."""
        return scores - scores.min(axis=1, keepdims=True) + self.totals[:, None]


def with_features_summed(X: Any, rows: Array, features: Array | None) -> tuple[Any, Array | None]:
    """X with its most telling features and the sums of all others, one for each half of them.

    Feature j tells sum_i x_ij log(x_ij / e_ij), e_ij = (sum of row i) (sum of column j) / total.
    """
    few = sp.coo_array(sp.csr_array(X[rows], dtype=np.float64))
    few.eliminate_zeros()
    (i, j), m = few.coords, X.shape[1]
    sums, totals = np.bincount(j, few.data, m), np.bincount(i, few.data)
    told = np.bincount(j, few.data * np.log(few.data * sums.sum() / (totals[i] * sums[j])), m)
    order = np.argsort(-told, kind="stable")
    kept = np.zeros(m, bool)
    kept[order[np.cumsum(np.bincount(j, minlength=m)[order]) <= MOST_OF_LONG_ROWS]] = True
    sides = np.ones((1, m), bool) if features is None else np.array([features, ~features])
    rest = np.column_stack([X @ (side & ~kept).astype(float) for side in sides])
    parts = [sp.csr_array(X[:, kept], dtype=np.float64), sp.csr_array(rest)]
    halves = None if features is None else np.append(features[kept], [True, False])
    return sp.csr_array(sp.hstack(parts)), halves


def without_empty(labels: Array) -> Array:
    """The labels without numbers that no row has."""
    return np.unique(labels, return_inverse=True)[1]


class CountClusters:
    """Clusters of rows of counts, after some moves."""

    def __init__(self, counts: Counts, labels: Array, k: int, rng: np.random.Generator) -> None:
        none = np.zeros(len(labels), np.int64)
        self.counts, self.k, self.rng = counts, k, rng
        self.now = exchange_rows(counts, labels, none, k, MOVES, rng)

    @property
    def sums(self) -> Array:
        """S (k, m)."""
        return self.now.S.T

    @property
    def distinct(self) -> bool:
        roots = unit(np.sqrt(self.sums))
        cosines = roots @ roots.T - np.eye(self.k)
        return bool(cosines.max() < 1 - SAME) and bool(self.sums.any(axis=1).all())

    def merged(self, count: int) -> "CountClusters":
        labels = merge_pieces(self.now.S, self.now.P, self.k - count)[self.now.labels]
        return CountClusters(self.counts, labels, self.k - count, self.rng)
