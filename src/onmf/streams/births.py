"""Clusters that are born and removed while a stream continues.

    born      from waiting samples (`novelty`); a sample waits for WAIT_BATCHES batches
    removed   after MAX_SILENCE times its mean interval without samples: were its samples still
              coming at random as before, the probability of that would be exp(-MAX_SILENCE)

The first WARMUP_SAMPLES per cluster are kept, and the clusters are fitted to all of them again now
and then: a single batch is too little to start from. Where no cluster may be born, and the warm-up
delays no birth, it is WARMUP_WITHOUT_BIRTHS. Samples are compared by cosines in the view of
the loss.
"""

from dataclasses import replace
from functools import reduce
from itertools import islice
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp

from onmf.losses import Loss
from onmf.losses.batches import BatchSums
from onmf.rows.assign import Rays
from onmf.rows.memory import InMemory
from onmf.rows.sweep import Array, Data, Matrix, count_missing, divisor, row_sqnorm, zero_missing
from onmf.search.starts import Settings
from onmf.streams.evidence import CosineSums
from onmf.streams.lineage import Lineage
from onmf.streams.novelty import NewCluster, filled_in, find_new_clusters

WAIT_BATCHES, MAX_WAITING = 2, 500  # batches that a sample waits; samples that wait
MAX_SILENCE = 10
WARMUP_SAMPLES = 70  # per cluster
WARMUP_WITHOUT_BIRTHS = 280  # with 70, TDT2 ends .6 % above a fit to all, with 280 .3 to .4
MAX_ROWS_AT_ONCE = 100_000  # samples of a batch


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
    def signed(self) -> bool:
        return self.settings.signed

    def view(self, X: Matrix, rays: Array) -> sp.csr_array:
        """Rows for cosines with these rays; what is missing is as the nearest ray has it."""
        return sp.csr_array(self.loss.view_rows(filled_in(sp.csr_array(X), rays)))

    def rays(self, W: Array, sums: BatchSums) -> Array:
        """Unit directions (m, k) of the clusters, for cosines."""
        directions = self.loss.view_rows(sums.directions(W, self.signed))
        return Rays.of(directions).units.astype(np.float64)

    def batch(self, data: Data, state: Any, sums: BatchSums) -> BatchRows:
        """The rows of a place, with the clusters of a state, beside the directions of these."""
        X, weight = data.take(np.arange(data.shape[0]))
        labels, rays = state.labels(data), self.rays(state.W, sums)
        seen = self.view(X, rays)
        products = np.asarray(seen @ rays)[np.arange(len(labels)), labels]
        size = np.sqrt(row_sqnorm(seen))
        cosine = np.maximum(products, 0) / divisor(size)
        return BatchRows(sp.csr_array(X), weight[:, 0], labels, np.where(labels < 0, 0, cosine))

    def rows(self, data: Data, W: Array, sums: BatchSums) -> BatchRows:
        """The same with the clusters of the centroids W."""
        return self.batch(data, self.loss.alternation(data, self.settings).begin(W), sums)

    def take_in(
        self, data: Data, W: Array, sums: BatchSums, limit: Any = None
    ) -> tuple[Any, BatchSums, Array]:
        """One batch: its state with the centroids W, and the sums and centroids after it."""
        alternation = self.loss.alternation(data, self.settings)
        state = replace(alternation, limit=limit).begin(W)
        sums, some = sums.after(self.loss.batch(state)), state.sums.weight > 0
        return state, sums, np.where(some[:, None], sums.centroids(W, self.signed), W)

    def first_sums(self, X: sp.csr_array, weight: Array) -> BatchSums:
        """Of a new cluster with these samples."""
        known = zero_missing(X) if count_missing(X) else X
        size = np.sqrt(row_sqnorm(known))
        ray = np.asarray(known.T @ (1 / divisor(size)))[None].astype(X.dtype)
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
    def begin(cls, batch: BatchRows, weight: Array, k: int, births: bool = True) -> Self:
        """After the first batch, clustered, with its weights as they were given."""
        none, facts = np.zeros(k, np.int64), (batch.labels, batch.cosine_to_own, k)
        low = np.append(CosineSums.of(*facts).low(), 0)
        levels = CosineSums.of(*facts, batch.cosine_to_own < low[batch.labels])
        nobody = batch.X[:0], np.empty(0), np.empty(0, np.int64)
        return cls(1, none, none, levels, *nobody, *unless_enough(batch.X, weight, k, births))

    def is_novel(self, batch: BatchRows) -> Array:
        """Which samples no centroid explains; not those of zeros."""
        low = np.append(self.levels.low(), np.inf)
        return np.asarray(batch.cosine_to_own < low[batch.labels]) & (row_sqnorm(batch.X) > 0)

    def leaving(self) -> Array:
        """Which samples have waited long enough: they go to their nearest centroids."""
        return np.asarray(self.since <= self.batch - WAIT_BATCHES)

    def after(self, novel: BatchRows, counted: BatchRows) -> Self:
        """With one more batch, of which the novel samples wait and the others counted.

        The last of these are those who leave.
        """
        k, stay = len(self.last), ~self.leaving()
        waited = np.arange(len(counted.labels), 0, -1) <= np.sum(~stay)
        own = CosineSums.of(counted.labels, counted.cosine_to_own, k, waited)
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

    def split(self, order: Array, shares: Array) -> Self:
        """The clusters in this order, with these shares of their samples."""
        only = self.only(order)
        return only._replace(levels=CosineSums(*(part * shares for part in only.levels)))

    def with_new_clusters(self, born: list[NewCluster]) -> Self:
        """They have come, and wait no more."""
        now = np.full(len(born), self.batch)
        before = np.vstack([np.stack(self.levels, axis=1), np.zeros(4)])  # the last: of a new one
        own = [(len(one.own), one.own.sum(), np.square(one.own).sum(), 0) for one in born]
        facts = np.reshape(own, (-1, 4)) + before[[one.turned for one in born]]
        levels = CosineSums(*map(np.append, self.levels, facts.T))
        return self._replace(
            first=np.append(self.first, now), last=np.append(self.last, now), levels=levels
        )

    def without(self, gone: Array) -> Self:
        """Some wait no more."""
        stay = np.setdiff1d(np.arange(len(self.since)), gone)
        return self._replace(
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
    n_novel: int = 0  # samples of the last batch that no centroid explains

    def after(self, data: Data, comparison: Comparison, most: int) -> Self:
        """With one more batch; there are at most so many clusters.

        A long batch is taken in part after part, and need not fit in memory.
        """
        now, n = self, data.shape[0]
        for rows in np.array_split(np.arange(n), max(1, -(-n // MAX_ROWS_AT_ONCE))):
            X, weight = data.take(rows)
            part = InMemory(X, weight[:, 0], n_missing=count_missing(X))
            now = now.with_part(part, comparison, most)
        came = now.history.last >= self.history.batch  # in any part
        history = now.history._replace(last=np.where(came, now.history.batch - 1, now.history.last))
        stays = np.flatnonzero(~history.is_inactive(now.sums.batches))
        sums, history, W = now.sums.only(stays), history.only(stays), now.W[stays]
        old, new = comparison.rays(self.W, self.sums).T, comparison.rays(W, sums).T
        lineage, order = Lineage.between(old, self.lineage, new)
        ordered = sums.only(order), history.only(order), W[order]
        return type(self)(*ordered, lineage, now.n_novel)

    def with_part(self, data: Data, comparison: Comparison, most: int) -> Self:
        """With some samples of a batch; no cluster is closed, and none has its id yet."""
        grown, rest = self.with_births(comparison.rows(data, self.W, self.sums), comparison, most)
        novel, leaving = grown.history.is_novel(rest), grown.history.leaving()
        usual, strange = rest.some(~novel), grown.history.waiting[leaving]
        X = sp.vstack([usual.X, strange], format="csr")
        own = no_more_than(usual, strange, grown.history.waiting_weight[leaving])
        weight = np.append(usual.weight, own)
        sums, W, counted = grown.sums, grown.W, rest.some(np.empty(0, np.intp))
        if len(weight):
            data = InMemory(X, weight, n_missing=count_missing(X))
            before, (state, sums, W) = sums, comparison.take_in(data, W, sums)
            counted = comparison.batch(data, state, before)
        history = grown.history.after(rest.some(novel), counted)
        return type(self)(sums, history, W, self.lineage, self.n_novel + int(novel.sum()))

    def with_births(
        self, batch: BatchRows, comparison: Comparison, most: int
    ) -> tuple[Self, BatchRows]:
        """With the clusters that are born of those who wait and a batch; the rest of the batch.

        A cluster that has turned starts again with the samples that it has now.
        """
        history, n, k = self.history, len(self.history.since), len(self.W)
        X = sp.vstack([history.waiting, batch.X], format="csr")
        weight = np.append(history.waiting_weight, batch.weight)
        novel = np.append(np.full(n, True), history.is_novel(batch))
        rays = comparison.rays(self.W, self.sums)
        seen, batches = comparison.view(X, rays), 1 + len(np.unique(history.since))
        silent = history.batch - history.last
        found = find_new_clusters(seen, novel, rays, history.levels, batches, n, silent)
        born = list(islice(found, max(most - k, 0)))
        if not born:
            return self, batch
        first = (comparison.first_sums(X[one.members], weight[one.members]) for one in born)
        young = reduce(lambda a, b: a.with_more(b), first)
        new = young.centroids(np.ones((len(born), X.shape[1]), self.W.dtype), comparison.signed)
        members, order = np.concatenate([one.members for one in born]), places(born, k)
        grown = self._replace(
            W=np.vstack([self.W, new])[order],
            sums=self.sums.with_more(young).only(order),
            history=history.with_new_clusters(born).only(order).without(members[members < n]),
        )
        rest = batch.some(np.setdiff1d(np.arange(len(batch.labels)), members - n))
        if len(rest.labels):
            data = InMemory(rest.X, rest.weight, n_missing=count_missing(rest.X))
            rest = comparison.rows(data, grown.W, grown.sums)
        return grown, rest


def places(born: list[NewCluster], k: int) -> Array:
    """The order in which those of k clusters that have turned are in their old places."""
    turned = np.array([one.turned for one in born])
    order, new = np.arange(k), k + np.arange(len(born))
    order[turned[turned >= 0]] = new[turned >= 0]
    return np.append(order, new[turned < 0])


def no_more_than(usual: BatchRows, X: sp.csr_array, weight: Array) -> Array:
    """Weights with which no sample that was a stranger counts more than any usual one.

        d_i min(1, max_j d_j ||x_j||^2 / (d_i ||x_i||^2))

    A sample a hundred times as long as all others would else be its cluster.
    """
    most, size = np.max(usual.weight * row_sqnorm(usual.X), initial=0.0), weight * row_sqnorm(X)
    large = (size > most) & (most > 0)
    return np.asarray(np.where(large, weight * most / np.where(large, size, 1), weight))


def unless_enough(
    X: sp.csr_array, weight: Array, k: int, births: bool
) -> tuple[sp.csr_array, Array]:
    """The samples to keep for the warm-up: none, once there are enough."""
    enough = WARMUP_SAMPLES if births else WARMUP_WITHOUT_BIRTHS
    return (X, weight) if X.shape[0] < enough * k else (X[:0], weight[:0])
