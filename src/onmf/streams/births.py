"""Clusters that are born and removed while a stream continues.

    born      from waiting samples (`novelty`); a sample waits for WAIT_BATCHES batches
    removed   after MAX_SILENCE times its mean interval without samples: were its samples still
              coming at random as before, the probability of that would be exp(-MAX_SILENCE)

The first WARMUP_SAMPLES per cluster are kept, and the clusters are fitted to all of them again now
and then: a single batch is too little to start from. Samples are compared by cosines in the view of
the loss.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import reduce
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp

from onmf.losses import Loss
from onmf.losses.alternation import Settings
from onmf.losses.batches import BatchSums
from onmf.paper.palm import Bounds
from onmf.rows.assign import Rays
from onmf.rows.memory import InMemory
from onmf.rows.sweep import Array, Data, Matrix, count_missing, row_sqnorm, zero_missing
from onmf.streams.lineage import Lineage
from onmf.streams.novelty import CosineSums, NewCluster, find_new_clusters

WAIT_BATCHES, MAX_WAITING = 2, 500  # batches that a sample waits; samples that wait
MAX_SILENCE = 10
WARMUP_SAMPLES = 70  # per cluster


class BatchRows(NamedTuple):
    """Samples with their weights, clusters, and cosines with their centroids."""

    X: sp.csr_array
    weight: Array
    labels: Array
    cosine_to_own: Array

    def some(self, chosen: Array) -> Self:
        return type(self)(*(part[chosen] for part in self))


class Comparison(NamedTuple):
    """How samples of a stream are compared with centroids: as the loss does."""

    loss: Loss
    settings: Settings

    @property
    def bounds(self) -> Bounds:
        return self.settings.search.bounds

    def view(self, X: Matrix) -> sp.csr_array:
        """Rows for cosines. Missing values are zero, which lowers all cosines alike."""
        return sp.csr_array(self.loss.view_rows(zero_missing(X) if count_missing(X) else X))

    def rays(self, W: Array) -> Array:
        """Unit centroids (m, k) for cosines."""
        return Rays.of(self.loss.view_rows(W)).units.astype(np.float64)

    def batch(self, data: Data, state: Any) -> BatchRows:
        """The rows of a place, with the clusters of a state."""
        X, weight = data.take(np.arange(data.shape[0]))
        labels, seen = state.labels(data), self.view(X)
        products = np.asarray(seen @ self.rays(state.W))[np.arange(len(labels)), labels]
        size = np.sqrt(row_sqnorm(seen))
        cosine = np.maximum(products, 0) / np.where(size > 0, size, 1)
        return BatchRows(sp.csr_array(X), weight[:, 0], labels, np.where(labels < 0, 0, cosine))

    def take_in(
        self, data: Data, W: Array, sums: BatchSums, limit: Any = None
    ) -> tuple[Any, BatchSums, Array]:
        """One batch: its state with the centroids W, and the sums and centroids after it."""
        alternation = self.loss.alternation(data, self.settings)
        state = replace(alternation, limit=limit).begin(W)
        sums, some = sums.after(self.loss.batch(state)), state.sums.weight > 0
        return state, sums, np.where(some[:, None], sums.centroids(W, self.bounds), W)

    def first_sums(self, X: sp.csr_array, weight: Array) -> BatchSums:
        """Of a new cluster with these samples."""
        known = zero_missing(X) if count_missing(X) else X
        size = np.sqrt(row_sqnorm(known))
        ray = np.asarray(known.T @ (1 / np.where(size > 0, size, 1)))[None].astype(X.dtype)
        data = InMemory(X, weight, n_missing=count_missing(X))
        return self.loss.batch(self.loss.alternation(data, self.settings).begin(ray))


class StreamHistory(NamedTuple):
    """What is remembered besides the sums of the clusters.

    batch : number of batches so far.
    first, last : batch in which each cluster came, and in which it last had samples.
    levels : how close samples are to their centroids.
    waiting, waiting_weight, since : samples that wait, and since which batch.
    warmup, warmup_weight : the samples that the stream started with, until they are enough.
    """

    batch: int
    first: Array
    last: Array
    levels: CosineSums
    waiting: sp.csr_array
    waiting_weight: Array
    since: Array
    warmup: sp.csr_array
    warmup_weight: Array

    @classmethod
    def begin(cls, batch: BatchRows, weight: Array, k: int) -> Self:
        """After the first batch, clustered, with its weights as they were given."""
        none, levels = np.zeros(k, np.int64), CosineSums.of(batch.labels, batch.cosine_to_own, k)
        nobody = batch.X[:0], np.empty(0), np.empty(0, np.int64)
        return cls(1, none, none, levels, *nobody, *unless_enough(batch.X, weight, k))

    def is_novel(self, batch: BatchRows) -> Array:
        """Which samples no centroid explains."""
        low = np.append(self.levels.low(), np.inf)
        return np.asarray(batch.cosine_to_own < low[batch.labels])

    def leaving(self) -> Array:
        """Which samples have waited long enough: they go to their nearest centroids."""
        return np.asarray(self.since <= self.batch - WAIT_BATCHES)

    def after(self, novel: BatchRows, counted: BatchRows) -> Self:
        """With one more batch, of which the novel samples wait and the others counted."""
        k, stay = len(self.last), ~self.leaving()
        own = CosineSums.of(counted.labels, counted.cosine_to_own, k)
        since = np.append(self.since[stay], np.full(len(novel.labels), self.batch))
        weight = np.append(self.waiting_weight[stay], novel.weight)
        return self._replace(
            batch=self.batch + 1,
            last=np.where(own.number > 0, self.batch, self.last),
            levels=CosineSums(*map(np.add, self.levels, own)),
            waiting=sp.vstack([self.waiting[stay], novel.X], format="csr")[-MAX_WAITING:],
            waiting_weight=weight[-MAX_WAITING:],
            since=since[-MAX_WAITING:],
        )

    def is_inactive(self, batches: Array) -> Array:
        """Which clusters are to be removed; `batches` had samples of each."""
        gap = (self.last - self.first + 1) / np.maximum(batches, 1)
        closed = self.batch - 1 - self.last > MAX_SILENCE * np.maximum(gap, 1)
        return closed if not closed.all() else np.zeros_like(closed)

    def only(self, order: Array) -> Self:
        """With these clusters, in this order."""
        levels = CosineSums(*(part[order] for part in self.levels))
        return self._replace(first=self.first[order], last=self.last[order], levels=levels)

    def births(self, comparison: Comparison, W: Array, most: int) -> list[NewCluster]:
        """At most so many new clusters."""
        if most <= 0 or not self.waiting.shape[0]:
            return []
        seen, rays = comparison.view(self.waiting), comparison.rays(W)
        found = find_new_clusters(seen, rays, self.levels.mean)
        return [one for _, one in zip(range(most), found, strict=False)]

    def first_sums(self, comparison: Comparison, born: NewCluster) -> Any:
        """Of a new cluster."""
        return comparison.first_sums(self.waiting[born.members], self.waiting_weight[born.members])

    def with_new_clusters(self, born: list[NewCluster]) -> Self:
        """They have come, and wait no more."""
        now = np.full(len(born), self.batch - 1)
        facts = [(len(one.own), one.own.sum(), np.square(one.own).sum()) for one in born]
        levels = CosineSums(*map(np.append, self.levels, np.array(facts).reshape(-1, 3).T))
        stay = np.setdiff1d(np.arange(len(self.since)), [i for one in born for i in one.members])
        return self._replace(
            first=np.append(self.first, now),
            last=np.append(self.last, now),
            levels=levels,
            waiting=self.waiting[stay],
            waiting_weight=self.waiting_weight[stay],
            since=self.since[stay],
        )


class StreamState(NamedTuple):
    """A stream with all that it remembers, and the ids of its clusters."""

    sums: BatchSums
    history: StreamHistory
    W: Array
    lineage: Lineage

    def after(self, batch: BatchRows, comparison: Comparison, most: int) -> Self:
        """With one more batch; there are at most so many clusters."""
        novel, leaving = self.history.is_novel(batch), self.history.leaving()
        X = sp.vstack([batch.X[~novel], self.history.waiting[leaving]], format="csr")
        weight = np.append(batch.weight[~novel], self.history.waiting_weight[leaving])
        sums, W, counted = self.sums, self.W, batch.some(np.empty(0, np.intp))
        if len(weight):
            data = InMemory(X, weight, n_missing=count_missing(X))
            state, sums, W = comparison.take_in(data, W, sums)
            counted = comparison.batch(data, state)
        history = self.history.after(batch.some(novel), counted)
        stays = np.flatnonzero(~history.is_inactive(sums.batches))
        sums, history, W = sums.only(stays), history.only(stays), W[stays]
        if born := history.births(comparison, W, most - len(W)):
            first = (
                comparison.first_sums(
                    history.waiting[one.members], history.waiting_weight[one.members]
                )
                for one in born
            )
            young = reduce(lambda a, b: a.with_more(b), first)
            new = young.centroids(np.ones((len(born), W.shape[1]), W.dtype), comparison.bounds)
            W, sums = np.vstack([W, new]), sums.with_more(young)
            history = history.with_new_clusters(born)
        view: Callable[[Array], Array] = comparison.loss.view_rows
        lineage, order = Lineage.between(view(self.W), self.lineage, view(W))
        return type(self)(sums.only(order), history.only(order), W[order], lineage)


def unless_enough(X: sp.csr_array, weight: Array, k: int) -> tuple[sp.csr_array, Array]:
    """The samples to keep for the warm-up: none, once there are enough."""
    return (X, weight) if X.shape[0] < WARMUP_SAMPLES * k else (X[:0], weight[:0])
