"""Sums of powers over the samples of each cluster, all of them from one reading of X.

    S_p(k, j) = sum_{i in k} d_i x_ij^p   for p = 1, 2,   S_0(k, j) = sum_{i in k} d_i [x_ij != 0]

Means, variances and shares of samples that have a feature at all follow from them, for a cluster
and, by subtraction from the total, for all other samples.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from onmf.losses.missing import mask_missing
from onmf.rows.assign import one_sparse
from onmf.rows.sweep import Array, Block, Data, zero_missing
from onmf.rows.view import View

ROUNDING = 1e-12  # a weight, difference or variance below this share of the whole is none


class Weights(NamedTuple):
    """What the samples of each cluster weigh: sums of d and of d^2, and how many weigh at all.

    The sums are (k,), or (k, m) where samples have holes: over those in which a feature is seen.
    """

    total: Array
    square: Array
    samples: Array

    def of_features(self, features: Array) -> "Weights":
        """Those that belong to some features."""
        if self.total.ndim == 1:
            return self
        return self._replace(total=self.total[:, features], square=self.square[:, features])

    def less(self, hidden: "MissingWeights") -> "Weights":
        """Without what lies in holes (k, m)."""
        total, square = self.total[:, None] - hidden.weight, self.square[:, None] - hidden.square
        seen = total > ROUNDING * self.total[:, None]
        return self._replace(total=np.where(seen, total, 0), square=np.where(seen, square, 0))

    @classmethod
    def of(cls, labels: Array, weight: Array, k: int) -> "Weights":
        inside = (labels >= 0) & (weight > 0)
        where, d = labels[inside], weight[inside].astype(np.float64)
        return cls(
            np.bincount(where, d, k), np.bincount(where, d * d, k), np.bincount(where, minlength=k)
        )


class PowerSums(NamedTuple):
    """S_1, S_2 and S_0 (clusterings, k, m). Those of two sets of samples may be added."""

    first: Array
    second: Array
    present: Array


class GroupSums(NamedTuple):
    """Sums and weights of the k clusters of one clustering."""

    sums: PowerSums
    weights: Weights

    def of_features(self, features: Array) -> "GroupSums":
        """Those of some features."""
        part = PowerSums(*(total[:, features] for total in self.sums))
        return GroupSums(part, self.weights.of_features(features))


@dataclass(frozen=True)
class SumPowers:
    """The sums of a block for the labels (b, clusterings) of its samples; -1 counts nowhere."""

    k: int

    def __call__(self, block: Block, labels: Array) -> tuple[Array, PowerSums]:
        weight = block.weight[:, 0].astype(np.float64)
        sums = _sparse_sums if sp.issparse(block.X) else _dense_sums
        return labels, sums(block.X, labels, weight, self.k)


def _dense_sums(X: Array, labels: Array, weight: Array, k: int) -> PowerSums:
    """Cluster by cluster: a sample is added to the sums of one cluster only."""
    count, m = labels.shape[1], X.shape[1]
    sums = np.zeros((3, count, k, m))
    for c in range(count):
        for cluster in np.unique(labels[:, c]):
            if cluster >= 0:
                inside = labels[:, c] == cluster
                sums[:, c, cluster] = _power_sums(np.asarray(X[inside], np.float64), weight[inside])
    return PowerSums(*sums)


def _power_sums(X: Array, weight: Array) -> tuple[Array, Array, Array]:
    """S_1, S_2 and S_0 (m,) of all rows of X, which is used up."""
    first, present = weight @ X, np.full(X.shape[1], weight.sum())
    if not X.all():
        present = weight @ (X != 0).astype(np.float64)
    return first, weight @ np.square(X, out=X), present


def _sparse_sums(X: Any, labels: Array, weight: Array, k: int) -> PowerSums:
    """By counting the stored entries, each in the cell of its cluster and feature."""
    m, count, each = X.shape[1], labels.shape[1], np.diff(X.indptr)
    d, values = np.repeat(weight, each), X.data.astype(np.float64, copy=False)
    powers = d * values, d * values * values, d * (values != 0)
    sums = np.zeros((3, count, k, m))
    for c in range(count):
        cells = np.repeat(np.where(labels[:, c] < 0, k, labels[:, c]) * m, each) + X.indices
        for p, power in enumerate(powers):
            sums[p, c] = np.bincount(cells, power, (k + 1) * m)[: k * m].reshape(k, m)
    return PowerSums(*sums)


class MissingWeights(NamedTuple):
    """Sums of d and of d^2 over the samples in which a feature is a hole (clusterings, k, m)."""

    weight: Array
    square: Array


@dataclass(frozen=True)
class SumMissing:
    """What the holes of a block weigh, for the labels (b, clusterings) of its samples."""

    k: int

    def __call__(self, block: Block, labels: Array) -> tuple[Array, MissingWeights]:
        opened, weight = mask_missing(block.X), block.weight[:, 0].astype(np.float64)
        sums = np.zeros((2, labels.shape[1], self.k, block.X.shape[1]))
        if opened is not None:
            for c, p in np.ndindex(labels.shape[1], 2):
                marks = one_sparse(labels[:, c], weight ** (p + 1), self.k)
                sums[p, c] = marks.T @ opened.missing
        return labels, MissingWeights(*sums)


def sum_by_cluster(data: Data, clusterings: Sequence[Array], k: int) -> list[GroupSums]:
    """PowerSums (k, m) and weights of the k clusters of each clustering; reads X once.

    Twice if samples have holes, which add to no sum.
    """
    data, labels = data.with_larger_blocks(), np.stack(clusterings, axis=1).astype(np.intp)
    full = View(data, zero_missing) if data.n_missing else data
    _, sums = full.sweep(SumPowers(k), data.scatter(labels))
    weights = [Weights.of(column, data.weight, k) for column in labels.T]
    if data.n_missing:
        _, hidden = data.sweep(SumMissing(k), data.scatter(labels))
        weights = [
            own.less(MissingWeights(*(s[c] for s in hidden))) for c, own in enumerate(weights)
        ]
    return [GroupSums(PowerSums(*(s[c] for s in sums)), own) for c, own in enumerate(weights)]
