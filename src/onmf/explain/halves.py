"""Labels by halves of the features, to see which clusters and features can be trusted.

    label_p(x) = argmax_k <x_S, u_k>,     S the features of half p, u_k (k, |S|) its unit rays

The features are split in two at random, several times. Each half gets K clusters of its own, found
from that half alone by the search of the default solver. So

* the features of one half can be tested on the clusters of the other;
* how often both halves of a split put a sample into the same cluster says how certain it is.

The fits use a random choice of samples (`some_samples`). Then all samples are labelled in one read
of X: the rays of all halves stand side by side, with zeros outside their features. Clusters of a
half get the number of the cluster of the whole fit with which they share most samples.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linear_sum_assignment

from onmf.losses.base import Loss
from onmf.losses.missing import MaskedRays
from onmf.rows.assign import Rays
from onmf.rows.sweep import Array, Block, Data

SPLITS = 2  # five gave no better calibrated certainties: errors of .042 and .041 on six sets
EXPLAIN_STREAM = 12  # of random numbers: no simulation with the same seed draws the same splits
HALF_SAMPLES_PER_CLUSTER, MIN_HALF_SAMPLES = 100, 1500  # that the fit of a half uses
MAX_HALF_ENTRIES = 30_000_000  # of a dense X, unless that leaves too few samples per cluster
MIN_HALF_SAMPLES_PER_CLUSTER = 20


class Half(NamedTuple):
    """Some features, by number, and the unit rays (k, features) of the clusters found from them."""

    features: Array
    rays: Array


def split_fits(loss: Loss, data: Data, k: int, splits: int, seed: int) -> list[Half]:
    """The halves of so many random splits, one after the other, with their clusters."""
    rng = np.random.default_rng((EXPLAIN_STREAM, seed))
    seen = data.take(some_samples(data, k, rng))
    middle, halves = data.shape[1] // 2, []
    for _ in range(splits):
        order = rng.permutation(data.shape[1])
        halves += [np.sort(order[:middle]), np.sort(order[middle:])]
    own = zip(halves, rng.spawn(len(halves)), strict=True)
    return [Half(h, loss.quick_look(Block(seen.X[:, h], seen.weight), k, r).rays) for h, r in own]


def some_samples(data: Data, k: int, rng: np.random.Generator, times: int = 1) -> Array:
    """Numbers of the samples that the fits use, or so many times as many."""
    n, m = data.shape
    most = times * max(HALF_SAMPLES_PER_CLUSTER * k, MIN_HALF_SAMPLES)
    if not sp.issparse(data.take(np.arange(1)).X):
        most = min(most, max(MAX_HALF_ENTRIES // m, MIN_HALF_SAMPLES_PER_CLUSTER * k))
    return np.arange(n) if n <= most else np.sort(rng.choice(n, most, replace=False))


@dataclass(frozen=True)
class HalfLabels:
    """The nearest ray of each half (b, halves) for the samples of a block; -1 if there is none."""

    rays: Rays
    edges: list[int]  # where the rays of each half begin

    @classmethod
    def of(cls, halves: Sequence[Half], data: Data) -> Self:
        """For the rows of `data`."""
        edges = np.cumsum([0, *(len(half.rays) for half in halves)]).tolist()
        units = np.zeros((data.shape[1], edges[-1]), data.dtype)
        for half, i in zip(halves, edges, strict=False):
            units[half.features, i : i + len(half.rays)] = half.rays.T
        kind = MaskedRays if data.n_missing else Rays
        return cls(kind(units, np.ones(edges[-1], data.dtype)), edges)

    def __call__(self, block: Block, rows: Any) -> tuple[Array, tuple[()]]:
        products = self.rays.products(block.X)
        labels = np.full((len(products), len(self.edges) - 1), -1, np.int32)
        for h, (i, j) in enumerate(zip(self.edges, self.edges[1:], strict=False)):
            if j > i:
                best = products[:, i:j].argmax(axis=1)
                positive = products[np.arange(len(best)), i + best] > 0
                labels[:, h] = np.where(positive, best, -1)
        return labels, ()


def matching_numbers(labels: Array, final: Array, k: int) -> Array:
    """For each label 0 ... k - 1 the number in `final` such that most samples agree; last, -1."""
    own, theirs = linear_sum_assignment(joint_sizes(final, labels, k), maximize=True)
    numbers = np.full(k + 1, -1)
    numbers[theirs] = own
    return numbers


def joint_sizes(a: Array, b: Array, k: int) -> Array:
    """How many samples each cluster of `a` has in common with each one of `b`."""
    inside = (a >= 0) & (b >= 0)
    T = np.bincount(a[inside].astype(np.intp) * k + b[inside], minlength=k * k)
    return T.reshape(k, k)


def overlaps(a: Array, b: Array, k: int) -> Array:
    """Jaccard overlap of every cluster of `a` with every one of `b`."""
    T = joint_sizes(a, b, k)
    union = T.sum(axis=1)[:, None] + T.sum(axis=0) - T
    return np.asarray(T / np.maximum(union, 1))
