"""Other looks at the same samples: clusters found from one half of the features, and the other.

Features are split in two at random, several times; each half gets K clusters of its own, found by
the search of the default solver from that half alone. So

* what a half says of a sample is no consequence of the entries in the other half: features of
  one can be tested on the clusters of the other;
* how often both halves of a split put a sample into the same cluster says how sure its cluster is.

The clusters of a half are numbered like those of the final clustering with which they share most
samples. Fits see at most `MOST_ENTRIES` entries or some hundred samples a cluster, whichever
is more, drawn at random; then all samples are assigned in a single sweep.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linear_sum_assignment

from onmf.core.assign import Rays
from onmf.core.fast.glance import rays_of_parts
from onmf.core.holes import SeenRays
from onmf.core.rows import Array, Block, Data

SPLITS = 5
OWN = 12  # so that no simulation with the same seed has drawn the same split
SAMPLES_PER_CLUSTER, FEWEST_SAMPLES = 200, 3000  # that a fit of a half looks at
MOST_ENTRIES = 30_000_000  # of a dense X, unless that were fewer than SCARCE samples a cluster
SCARCE = 20


class Half(NamedTuple):
    """Some features, by number, and the unit rays (k, features) of the clusters found from them."""

    features: Array
    rays: Array


def split_fits(data: Data, k: int, splits: int, seed: int) -> list[tuple[Half, Half]]:
    """So many random splits of the features, and the clusters of both halves of each."""
    rng = np.random.default_rng((OWN, seed))
    seen = data.take(some_samples(data, k, rng))
    middle, parts = data.shape[1] // 2, []
    for order in (rng.permutation(data.shape[1]) for _ in range(splits)):
        parts += [np.sort(order[:middle]), np.sort(order[middle:])]
    halves = list(map(Half, parts, rays_of_parts(seen, parts, k, rng)))
    return list(zip(halves[::2], halves[1::2], strict=True))


def some_samples(data: Data, k: int, rng: np.random.Generator) -> Array:
    """Numbers of the samples that the fits look at."""
    n, m = data.shape
    most = max(SAMPLES_PER_CLUSTER * k, FEWEST_SAMPLES)
    if not sp.issparse(data.take(np.arange(1)).X):
        most = min(most, max(MOST_ENTRIES // m, SCARCE * k))
    return np.arange(n) if n <= most else np.sort(rng.choice(n, most, replace=False))


def side_by_side(halves: list[Half], m: int, dtype: Any) -> tuple[Array, list[int]]:
    """Rays of all halves as columns (m, sum of k), zero elsewhere, and where each half begins."""
    edges = np.cumsum([0, *(len(half.rays) for half in halves)]).tolist()
    units = np.zeros((m, edges[-1]), dtype)
    for half, i in zip(halves, edges, strict=False):
        units[half.features, i : i + len(half.rays)] = half.rays.T
    return units, edges


@dataclass(frozen=True)
class Labels:
    """The nearest ray of each half (b, halves) for the samples of a block; -1 if there is none."""

    rays: Rays
    edges: list[int]

    def __call__(self, block: Block, rows: Any) -> tuple[Array, tuple[()]]:
        products = self.rays.products(block.X)
        labels = np.full((len(products), len(self.edges) - 1), -1, np.int32)
        for h, (i, j) in enumerate(zip(self.edges, self.edges[1:], strict=False)):
            if j > i:
                best = products[:, i:j].argmax(axis=1)
                positive = products[np.arange(len(best)), i + best] > 0
                labels[:, h] = np.where(positive, best, -1)
        return labels, ()


def half_labels(data: Data, pairs: list[tuple[Half, Half]]) -> Array:
    """Labels (n, 2 splits) by every half; reads X once."""
    halves = [half for pair in pairs for half in pair]
    units, edges = side_by_side(halves, data.shape[1], data.dtype)
    kind = SeenRays if data.holes else Rays
    rows, _ = data.sweep(Labels(kind(units, np.ones(edges[-1], data.dtype)), edges))
    labels: Array = data.gather(rows)
    return labels


def matched(final: Array, labels: Array, k: int) -> Array:
    """`labels` numbered so that as many samples as possible have the same number in `final`."""
    inside = (final >= 0) & (labels >= 0)
    shared = np.zeros((k, k))
    np.add.at(shared, (final[inside], labels[inside]), 1)
    own, theirs = linear_sum_assignment(shared, maximize=True)
    place = np.full(k + 1, -1)
    place[theirs] = own
    return place[labels]
