"""The alternation of `loss="kl"` on a stream of batches.

Batch by batch, samples go to the centroid under which they are likeliest, and the sums of the
clusters are averaged over time, by the steps of `stream`:

    S_k <- (1 - eta_t) S_k + eta_t sum_i d_i x_i  over the samples i of the batch that are in k,
    p_k = (1 - lambda) S_k / sum(S_k) + lambda S / sum(S),     eta_t = t^(-3/4)
"""

from typing import NamedTuple, Self

import numpy as np

from onmf.core.divergence import Shares, Survey, Voice
from onmf.core.fast.divergence import Gather, Groups, KullbackState, as_centroids
from onmf.core.rows import Array, Data
from onmf.estimators.stream import DECAY


class CountStream(NamedTuple):
    """What is remembered of each cluster: how many batches had samples of it, and means of sums."""

    batches: Array  # (k,)
    sums: Array  # S_k (k, m)
    weight: Array  # sum_i d_i (k,)

    @classmethod
    def begin(cls, groups: Groups) -> Self:
        """The first batch, clustered."""
        return cls((groups.weight > 0).astype(np.intp), groups.sums, groups.weight)

    def after(self, groups: Groups) -> "CountStream":
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

    state: KullbackState
    left: float  # KL(X || HW)
    whole: float  # that of one cluster for all


def look_at(data: Data, W: Array, voice: Voice) -> Batch:
    """The codes of a batch, and how much they leave; reads it twice."""
    _, portrait = data.sweep(Survey(voice))
    state = KullbackState(W, *data.sweep(Gather(Shares.of(W, voice))))
    return Batch(state, max(portrait.own - state.cells.inside, 0.0), portrait.whole)
