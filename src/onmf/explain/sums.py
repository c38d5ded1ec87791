"""Sums of powers over the samples of each cluster, from one read of X.

    S_p(k, j) = sum_{i in k} d_i x_ij^p   for p = 1, 2,   S_0(k, j) = sum_{i in k} d_i [x_ij != 0]

Means, variances and the share of samples that have a feature follow from them, for a cluster and,
by subtraction from the total, for all other samples. A missing entry adds to no sum, and its weight
d_i is subtracted from that of the cluster.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from onmf.losses.missing import mask_missing
from onmf.rows.assign import one_sparse
from onmf.rows.sweep import Array, Block, Data

NO_WEIGHT = 1e-12  # a weight, difference or variance below this share of the whole is rounding


class GroupSums(NamedTuple):
    """Sums over the samples of each group.

    first, second, present : S_1, S_2 and S_0 (k, m).
    total, square : sums of d and d^2 over the observed entries (k, m), or (k, 1) if all are.
    samples : how many have a weight (k, 1).
    """

    first: Array
    second: Array
    present: Array
    total: Array
    square: Array
    samples: Array

    def of_features(self, features: Array) -> "GroupSums":
        """The sums of some features."""
        return GroupSums(*(part if part.shape[1] == 1 else part[:, features] for part in self))

    def renumbered(self, numbers: Array) -> "GroupSums":
        """With the number `numbers[k]` for group k: a permutation."""
        return self.of_clusters(np.argsort(numbers))

    def of_clusters(self, numbers: Array) -> "GroupSums":
        """The sums of these clusters, one after the other."""
        return GroupSums(*(part[numbers] for part in self))

    def joined(self, group: Array) -> "GroupSums":
        """For each cluster the sums over all clusters of the same group, by its number."""
        same = (group[:, None] == group).astype(float)
        return GroupSums(*(same @ part for part in self))

    def others(self, inside: "GroupSums | None" = None) -> "GroupSums":
        """For each group the sums over all samples outside, by default of other groups."""
        pairs = zip(self, self if inside is None else inside, strict=True)
        return GroupSums(*(np.maximum(part.sum(axis=0) - own, 0) for part, own in pairs))


class PowerSums(NamedTuple):
    """S_1, S_2, S_0, and sums of d and d^2 over missing entries, each (clusterings, k, m).

    Those of two blocks can be added. The last two are empty if nothing is missing.
    """

    first: Array
    second: Array
    present: Array
    missing: Array
    missing_square: Array

    def of(self, clusterings: slice) -> "PowerSums":
        """The sums of some clusterings."""
        return PowerSums(*(part[clusterings] for part in self))

    def of_groups(self, labels: Array, weight: Array) -> list[GroupSums]:
        """The groups of every clustering; labels (n, clusterings)."""
        groups, k = [], self.first.shape[1]
        for c, own in enumerate(labels.T):
            where, d = own, weight.astype(np.float64)
            inside = (own >= 0) & (weight > 0)
            if not inside.all():
                where, d = own[inside], d[inside]
            total, square, samples = (own[:, None] for own in _weights_by_group(where, d, k))
            if self.missing.size:
                seen, seen_square = total - self.missing[c], square - self.missing_square[c]
                some = seen > NO_WEIGHT * total
                total, square = np.where(some, seen, 0), np.where(some, seen_square, 0)
            powers = self.first[c], self.second[c], self.present[c]
            groups.append(GroupSums(*powers, total, square, samples))
        return groups


@dataclass(frozen=True)
class SumPowers:
    """The sums of a block for the labels (b, clusterings) of its samples; -1 counts nowhere."""

    k: int
    n_missing: int = 0

    def __call__(self, block: Block, labels: Array) -> tuple[Array, PowerSums]:
        weight = block.weight[:, 0].astype(np.float64)
        masked = mask_missing(block.X) if self.n_missing else None
        X = block.X if masked is None else masked.X
        sums = _sparse_sums if sp.issparse(X) else _dense_sums
        shape = (labels.shape[1], self.k, X.shape[1]) if self.n_missing else (0,)
        missing = np.zeros((2, *shape))
        if masked is not None:
            for c, p in np.ndindex(labels.shape[1], 2):
                marks = one_sparse(labels[:, c], weight ** (p + 1), self.k)
                missing[p, c] = marks.T @ masked.missing
        return labels, PowerSums(*sums(X, labels, weight, self.k), *missing)


def _weights_by_group(labels: Array, weight: Array, k: int) -> tuple[Array, Array, Array]:
    """Sums of d and d^2, and the number of samples, of each group."""
    samples = np.bincount(labels, minlength=k)
    if len(weight) and (weight == weight[0]).all():  # a product is quicker than two more sums
        return samples * weight[0], samples * weight[0] ** 2, samples
    return np.bincount(labels, weight, k), np.bincount(labels, weight**2, k), samples


def _dense_sums(X: Array, labels: Array, weight: Array, k: int) -> Array:
    """S_1, S_2, S_0 (3, clusterings, k, m), cluster by cluster."""
    sums = np.zeros((3, labels.shape[1], k, X.shape[1]))
    for c, own in enumerate(labels.T):
        order = np.argsort(own.astype(np.int32), kind="stable")
        ends = np.searchsorted(own[order], np.arange(k + 1))
        for cluster in np.flatnonzero(np.diff(ends)):
            inside = order[ends[cluster] : ends[cluster + 1]]
            rows, d = np.asarray(X[inside], np.float64), weight[inside]
            sums[0, c, cluster] = d @ rows
            sums[2, c, cluster] = d.sum() if rows.all() else d @ (rows != 0).astype(np.float64)
            sums[1, c, cluster] = d @ np.square(rows, out=rows)
    return sums


def _sparse_sums(X: Any, labels: Array, weight: Array, k: int) -> Array:
    """The same, by counting the stored entries of each cluster and feature."""
    m, each = X.shape[1], np.diff(X.indptr)
    d, values = np.repeat(weight, each), X.data.astype(np.float64, copy=False)
    powers = d * values, d * values * values, d * (values != 0)
    sums = np.zeros((3, labels.shape[1], k, m))
    for c, own in enumerate(labels.T):
        cells = np.repeat(np.where(own < 0, k, own) * m, each) + X.indices
        for p, power in enumerate(powers):
            sums[p, c] = np.bincount(cells, power, (k + 1) * m)[: k * m].reshape(k, m)
    return sums


def sum_by_cluster(data: Data, labels: Array, k: int) -> GroupSums:
    """The sums of the clusters with these labels (n,); reads X once."""
    data, labels = data.with_larger_blocks(), labels.astype(np.intp)[:, None]
    _, sums = data.sweep(SumPowers(k, data.n_missing), data.scatter(labels))
    return sums.of_groups(labels, data.weight)[0]
