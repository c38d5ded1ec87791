"""Clusters that are born and closed while a stream goes on.

    born     of samples that wait, as `waiting` has it: they stay for PATIENCE batches
    closed   after a silence of more than QUIET times the usual gap between batches that had some of
             it: if its samples came at random as before, the chance of that would be exp(-QUIET)

The first EARLY samples for each cluster are kept until they are all there, and the clusters fitted
to all of them again now and then: a single batch is too little to begin with.
"""

from functools import reduce
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from onmf.losses.ray_alternation import RayState
from onmf.paper.palm import Bounds
from onmf.rows.assign import Rays, scores_of
from onmf.rows.memory import InMemory
from onmf.rows.sweep import Data, row_sqnorm
from onmf.streams.lineage import Lineage
from onmf.streams.novelty import Levels, NewCluster, find_new_clusters
from onmf.streams.sums import Stream, take_in

Array = NDArray[Any]

PATIENCE, MOST = 2, 500  # batches that a sample waits, and samples that may
QUIET = 10
EARLY = 70  # samples for each cluster that a stream begins with


class BatchRows(NamedTuple):
    """Samples with their weights, clusters and cosines with their rays."""

    X: sp.csr_array
    weight: Array
    labels: Array
    near: Array

    @classmethod
    def of(cls, data: Data, state: RayState) -> Self:
        """The rows of a place, as they look with the centroids of a state."""
        X, weight = data.take(np.arange(data.shape[0]))
        scores = data.gather(data.map_blocks(scores_of, state.rows))
        sqnorms = data.gather(data.row_sqnorms)
        size = np.sqrt(np.where(sqnorms > 0, sqnorms, 1))
        return cls(sp.csr_array(X), weight[:, 0], state.labels(data), scores / size)

    def some(self, chosen: Array) -> Self:
        return type(self)(*(part[chosen] for part in self))


class StreamHistory(NamedTuple):
    """What is remembered besides the rays.

    batch : number of batches so far.
    first, last : batch in which each cluster came, and in which it last had samples.
    levels : how near samples are to their rays.
    room, room_weight, since : samples that wait, and since which batch.
    early, early_weight : the samples that the stream began with, until they are enough.
    """

    batch: int
    first: Array
    last: Array
    levels: Levels
    room: sp.csr_array
    room_weight: Array
    since: Array
    early: sp.csr_array
    early_weight: Array

    @classmethod
    def begin(cls, batch: BatchRows, weight: Array, k: int) -> Self:
        """After the first batch, clustered, with its weights as they were given."""
        none, levels = np.zeros(k, np.int64), Levels.of(batch.labels, batch.near, k)
        nobody = batch.X[:0], np.empty(0), np.empty(0, np.int64)
        return cls(1, none, none, levels, *nobody, *enough(batch.X, weight, k))

    def strange(self, batch: BatchRows) -> Array:
        """Which samples no ray explains."""
        return np.asarray(batch.near < np.append(self.levels.low(), np.inf)[batch.labels])

    def leaving(self) -> Array:
        """Which samples have waited in vain: they go to their nearest rays after all."""
        return np.asarray(self.since <= self.batch - PATIENCE)

    def after(self, strangers: BatchRows, counted: BatchRows) -> Self:
        """With one batch more, of which the strangers wait and the others counted."""
        k, stay = len(self.last), ~self.leaving()
        own = Levels.of(counted.labels, counted.near, k)
        room = sp.vstack([self.room[stay], strangers.X], format="csr")[-MOST:]
        since = np.append(self.since[stay], np.full(len(strangers.labels), self.batch))
        return self._replace(
            batch=self.batch + 1,
            last=np.where(own.number > 0, self.batch, self.last),
            levels=Levels(*map(np.add, self.levels, own)),
            room=room,
            room_weight=np.append(self.room_weight[stay], strangers.weight)[-MOST:],
            since=since[-MOST:],
        )

    def silent(self, batches: Array) -> Array:
        """Which clusters are to be closed; `batches` had samples of each."""
        gap = (self.last - self.first + 1) / np.maximum(batches, 1)
        closed = self.batch - 1 - self.last > QUIET * np.maximum(gap, 1)
        return closed if not closed.all() else np.zeros_like(closed)

    def only(self, order: Array) -> Self:
        """With these clusters, in this order."""
        levels = Levels(*(part[order] for part in self.levels))
        return self._replace(first=self.first[order], last=self.last[order], levels=levels)

    def births(self, W: Array, most: int) -> list[NewCluster]:
        """At most so many newborn clusters."""
        if most <= 0 or not self.room.shape[0]:
            return []
        found = find_new_clusters(self.room, Rays.of(W).units.astype(np.float64), self.levels.mean)
        return [one for _, one in zip(range(most), found, strict=False)]

    def with_new_clusters(self, born: list[NewCluster]) -> Self:
        """They have come, and wait no more."""
        now = np.full(len(born), self.batch - 1)
        facts = [(len(one.own), one.own.sum(), np.square(one.own).sum()) for one in born]
        levels = Levels(*map(np.append, self.levels, np.array(facts).reshape(-1, 3).T))
        stay = np.setdiff1d(np.arange(len(self.since)), [i for one in born for i in one.members])
        return self._replace(
            first=np.append(self.first, now),
            last=np.append(self.last, now),
            levels=levels,
            room=self.room[stay],
            room_weight=self.room_weight[stay],
            since=self.since[stay],
        )


class StreamState(NamedTuple):
    """A stream with all that it remembers, and who its clusters are."""

    stream: Stream
    history: StreamHistory
    W: Array
    lineage: Lineage

    def after(self, batch: BatchRows, bounds: Bounds, most: int) -> Self:
        """With one batch more; there are at most so many clusters."""
        strange, leaving = self.history.strange(batch), self.history.leaving()
        X = sp.vstack([batch.X[~strange], self.history.room[leaving]], format="csr")
        weight = np.append(batch.weight[~strange], self.history.room_weight[leaving])
        stream, W, counted = self.stream, self.W, batch.some(np.empty(0, np.intp))
        if len(weight):
            data = InMemory(X, weight)
            state, stream, W = take_in(data, W, stream, bounds)
            counted = BatchRows.of(data, state)
        history = self.history.after(batch.some(strange), counted)
        stays = np.flatnonzero(~history.silent(stream.batches))
        stream, history, W = stream.only(stays), history.only(stays), W[stays]
        if born := history.births(W, most - len(W)):
            young = reduce(Stream.with_more, [first_sums(history, one) for one in born])
            W = np.vstack([W, young.centroids(young.image.astype(W.dtype), bounds)])
            stream, history = stream.with_more(young), history.with_new_clusters(born)
        lineage, order = Lineage.between(self.W, self.lineage, W)
        return type(self)(stream.only(order), history.only(order), W[order], lineage)


def first_sums(history: StreamHistory, born: NewCluster) -> Stream:
    """What a newborn cluster says of its ray."""
    X, weight = history.room[born.members], history.room_weight[born.members]
    size = np.sqrt(row_sqnorm(X))
    ray = np.asarray(X.T @ (1 / size))
    a = np.asarray(X @ ray) / np.linalg.norm(ray)
    image = np.asarray(X.T @ (weight * a), np.float64)[None]
    facts = weight @ np.square(a), weight.sum()
    return Stream(np.ones(1, np.intp), image, *(np.array([fact], np.float64) for fact in facts))


def enough(X: sp.csr_array, weight: Array, k: int) -> tuple[sp.csr_array, Array]:
    """What is to be kept of the early samples: nothing, once there are enough."""
    return (X, weight) if X.shape[0] < EARLY * k else (X[:0], weight[:0])
