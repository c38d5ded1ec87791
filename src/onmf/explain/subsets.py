"""Labels by parts of the features, each with clusters of its own.

    label_p(x) = argmax_k x_S' u_k,     S the features of part p, u_k (k, |S|) its unit rays

The rays of all parts lie side by side, zero outside of their features: one product labels a block.
The clusters of a part are numbered like those of a given clustering with which they share most
samples.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from onmf.losses.missing import MaskedRays
from onmf.rows.assign import Rays
from onmf.rows.sweep import Array, Block, Data


class Part(NamedTuple):
    """Some features, by number, and the unit rays (k, features) of the clusters found from them."""

    features: Array
    rays: Array


def side_by_side(parts: Sequence[Part], m: int, dtype: Any) -> tuple[Array, list[int]]:
    """Rays of all parts as columns (m, sum of k), zero elsewhere, and where each part begins."""
    edges = np.cumsum([0, *(len(part.rays) for part in parts)]).tolist()
    units = np.zeros((m, edges[-1]), dtype)
    for part, i in zip(parts, edges, strict=False):
        units[part.features, i : i + len(part.rays)] = part.rays.T
    return units, edges


@dataclass(frozen=True)
class Labels:
    """The nearest ray of each part (b, parts) for the samples of a block; -1 if there is none."""

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


def part_labels(data: Data, parts: Sequence[Part]) -> Array:
    """Labels (n, parts) by every part; reads X once."""
    units, edges = side_by_side(parts, data.shape[1], data.dtype)
    kind = MaskedRays if data.n_missing else Rays
    rows, _ = data.sweep(Labels(kind(units, np.ones(edges[-1], data.dtype)), edges))
    labels: Array = data.gather(rows)
    return labels


def labels_by_subset(final: Array, data: Data, parts: Sequence[Part], k: int) -> list[Array]:
    """Labels (n,) by every part, each numbered like `final`; reads X once."""
    return [number_like(labels, final, k) for labels in part_labels(data, parts).T]


def number_like(labels: Array, final: Array, k: int) -> Array:
    """`labels` numbered so that as many samples as possible have the same number in `final`."""
    inside = (final >= 0) & (labels >= 0)
    shared = np.zeros((k, k))
    np.add.at(shared, (final[inside], labels[inside]), 1)
    own, theirs = linear_sum_assignment(shared, maximize=True)
    place = np.full(k + 1, -1)
    place[theirs] = own
    return place[labels]
