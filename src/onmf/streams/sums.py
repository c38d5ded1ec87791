"""The exact alternation on a stream of batches.

Batch by batch, samples go to their nearest rays, and the image of each ray is averaged over time:

    P_k <- (1 - eta_t) P_k + eta_t sum_i d_i a_i x_i  over the samples i of the batch that are in k,
    w_k <- P_k / ||P_k||,                 eta_t = t^(-3/4)  in the t-th batch that has some of k

These are the steps of stochastic approximation (Robbins and Monro 1951: sum eta = inf, sum eta^2 <
inf) on the map whose fixed points are those of `settle`: each ray along the leading right singular
vector of the samples that are nearest to it. On a stream of independent batches the rays converge
to such a point for the distribution of the stream, and on a data set given again and again in
batches to one for the data set, where the assignments settle.

With `loss="kl"` samples go to the centroid under which they are likeliest, and what is averaged, by
the same steps, are the sums of the clusters:

    S_k <- (1 - eta_t) S_k + eta_t sum_i d_i x_i  over the samples i of the batch that are in k,
    p_k = (1 - lambda) S_k / sum(S_k) + lambda S / sum(S)
"""

from typing import NamedTuple, Self

import numpy as np

from onmf.losses.kl_alternation import AssignCounts, CountState, CountSums, as_centroids
from onmf.losses.profiles import CountProfiles, Influence, MeasureTotals
from onmf.losses.ray_alternation import ClusterSums, RayAlternation, RayState, with_length
from onmf.paper.palm import Bounds
from onmf.rows.sweep import Array, Data
from onmf.search.outliers import OutlierLimit
from onmf.search.row_problems import unit

DECAY = 0.75  # between 1/2 and 1


class Stream(NamedTuple):
    """What is remembered of each cluster: how many batches had samples of it, and means of sums."""

    batches: Array  # (k,)
    image: Array  # P_k (k, m)
    explained: Array  # sum_i d_i a_i^2 (k,)
    weight: Array  # sum_i d_i (k,)

    @classmethod
    def begin(cls, cells: ClusterSums) -> Self:
        """The first batch, clustered."""
        some = (cells.weight > 0).astype(np.intp)
        image = np.ascontiguousarray(cells.cross)  # as a file keeps it: sums end in the same bits
        return cls(some, image, cells.explained, cells.weight)

    def after(self, cells: ClusterSums) -> "Stream":
        """With one batch more; a cluster that it has nothing of stays as it is."""
        now = Stream.begin(cells)
        batches = self.batches + now.batches
        eta = now.batches * np.maximum(batches, 1.0) ** -DECAY
        return Stream(
            batches,
            self.image + eta[:, None] * (now.image - self.image),
            self.explained + eta * (now.explained - self.explained),
            self.weight + eta * (now.weight - self.weight),
        )

    def only(self, order: Array) -> "Stream":
        """With these clusters, in this order."""
        return Stream(*(part[order] for part in self))

    def as_mean_of(self, batches: int) -> "Stream":
        """The sums of so many batches at once, as the mean of them."""
        count = np.where(self.batches > 0, batches, 0)
        return Stream(count, self.image / batches, self.explained / batches, self.weight / batches)

    def with_more(self, other: "Stream") -> "Stream":
        """And those of the other."""
        return Stream(*(np.concatenate(pair) for pair in zip(self, other, strict=True)))

    def centroids(self, W: Array, bounds: Bounds) -> Array:
        """Along the images, as long as a typical sample; W where a cluster never had one."""
        U = unit(self.image, otherwise=unit(W.astype(np.float64)))
        U = U if bounds.lower < 0 else np.maximum(U, 0)
        typical = self.explained / np.where(self.weight > 0, self.weight, 1)
        return with_length(U, typical, bounds, W.dtype)


def take_in(
    data: Data, W: Array, stream: Stream, bounds: Bounds, limit: OutlierLimit | None = None
) -> tuple[RayState, Stream, Array]:
    """One sweep over a batch: how it looks with the centroids W, and the centroids after it."""
    state = RayAlternation(data, bounds, tol=0.0, limit=limit).begin(W)
    stream, some = stream.after(state.cells), state.cells.weight > 0
    return state, stream, np.where(some[:, None], stream.centroids(W, bounds), W)


class CountStream(NamedTuple):
    """What is remembered of each cluster: how many batches had samples of it, and means of sums."""

    batches: Array  # (k,)
    sums: Array  # S_k (k, m)
    weight: Array  # sum_i d_i (k,)

    @classmethod
    def begin(cls, groups: CountSums) -> Self:
        """The first batch, clustered."""
        return cls((groups.weight > 0).astype(np.intp), groups.sums, groups.weight)

    def after(self, groups: CountSums) -> "CountStream":
        """With one batch more; a cluster that it has nothing of stays as it is."""
        now = CountStream.begin(groups)
        batches = self.batches + now.batches
        eta = now.batches * np.maximum(batches, 1.0) ** -DECAY
        return CountStream(
            batches,
            self.sums + eta[:, None] * (now.sums - self.sums),
            self.weight + eta * (now.weight - self.weight),
        )

    def centroids(self, W: Array) -> Array:
        """The mean samples; W where a cluster never had one."""
        mean = self.sums.sum(axis=0) / max(self.sums.sum(), np.finfo(float).tiny)
        new = as_centroids(self.sums, self.weight, mean).astype(W.dtype)
        return np.where(self.batches[:, None] > 0, new, W)


class Batch(NamedTuple):
    """A batch as the centroids before it see it."""

    state: CountState
    left: float  # KL(X || HW)
    whole: float  # that of one cluster for all


def look_at(data: Data, W: Array, influence: Influence) -> Batch:
    """The codes of a batch, and how much they leave; reads it twice."""
    _, portrait = data.sweep(MeasureTotals(influence))
    state = CountState(W, *data.sweep(AssignCounts(CountProfiles.of(W, influence))))
    return Batch(state, max(portrait.own - state.cells.inside, 0.0), portrait.whole)
