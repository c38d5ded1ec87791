"""Samples that no centroid explains wait until enough of them agree on a direction of their own.

    near_i = cosine of x_i with its nearest centroid
    novel: near_i < max(mean - MAX_DEVIATIONS_BELOW sd, MIN_COSINE_SHARE mean) of its cluster
    u_M = sum of the samples in M, each of length 1;   own_i = leave-one-out cosine of x_i with u_M

A cluster is born from the novel samples M if at least MIN_MEMBERS of them are closer to the others
of M than to any centroid, own_i^2 >= near_i^2 / apart, and its cosine with every centroid is at
most `apart`: MAX_COSINE, or the usual cosine between a centroid and the next where centroids are
closer. Leaving the sample out is what makes this evidence: any direction explains the sample it was
made from.
"""

from collections.abc import Iterator
from typing import NamedTuple, Self

import numpy as np
import scipy.sparse as sp

from onmf.rows.sweep import Array, row_sqnorm

MAX_DEVIATIONS_BELOW = 1.5  # standard deviations below the mean of its cluster: a novel sample
MIN_MEMBERS = 8  # of a new cluster
MAX_COSINE = 1 / 3  # between centroids of clusters that have little in common
MIN_COSINE_SHARE = 0.65  # of the usual cosine: below it a sample is novel, and no member of a group
GROUP_SEEDS, GROUP_ROUNDS = 20, 5  # samples tried as the first of a group; rounds until it settles


class CosineSums(NamedTuple):
    """Cosines of the samples of each cluster with its centroid: number, sum and sum of squares."""

    number: Array
    total: Array
    square: Array

    @classmethod
    def of(cls, labels: Array, near: Array, k: int) -> Self:
        """Of samples with these clusters and cosines; those of no cluster do not count."""
        where, cosine = labels[labels >= 0], near[labels >= 0]
        sums = [np.bincount(where, weight, k) for weight in (cosine**0, cosine, cosine**2)]
        return cls(*(total.astype(np.float64) for total in sums))

    def low(self) -> Array:
        """Below which a sample of each cluster is novel; that of all clusters for small ones."""
        own = np.stack(self, axis=1)
        every = own.sum(axis=0)
        n, total, square = np.where(own[:, :1] >= MIN_MEMBERS, own, every).T
        mean = total / np.maximum(n, 1)
        deviation = np.sqrt(np.maximum(square / np.maximum(n, 1) - mean**2, 0))
        return np.maximum(mean - MAX_DEVIATIONS_BELOW * deviation, MIN_COSINE_SHARE * mean)

    @property
    def mean(self) -> float:
        """Of all samples."""
        return float(self.total.sum() / max(self.number.sum(), 1.0))


class NewCluster(NamedTuple):
    """Samples that agree, by number, and the cosine of each with the ray of the others."""

    members: Array
    own: Array


def find_new_clusters(X: sp.csr_array, rays: Array, level: float) -> Iterator[NewCluster]:
    """New clusters of the samples X beside the rays (m, k); `level` as `CosineSums.mean`."""
    size = np.sqrt(row_sqnorm(X))
    X = sp.csr_array(X.multiply(1 / np.where(size > 0, size, 1)[:, None]))
    near = np.maximum(np.asarray(X @ rays).max(axis=1), 0)
    cosines = rays.T @ rays
    np.fill_diagonal(cosines, 0)
    apart = max(MAX_COSINE, float(np.median(cosines.max(axis=1))))
    buffer = NoveltyBuffer((X @ X.T).toarray(), near**2 / apart, MIN_COSINE_SHARE * level, size > 0)
    while (found := buffer.group()) is not None:
        buffer.free[found.members] = False
        ray = np.asarray(X[found.members].sum(axis=0)).ravel()
        if np.max(ray @ rays) <= apart * np.linalg.norm(ray):
            yield found


class NoveltyBuffer(NamedTuple):
    """Who waits: cosines between them, least squared cosine with a ray of their own, least cosine
    at all, and who has no such ray yet."""

    cosines: Array
    goal: Array
    least: float
    free: Array

    def group(self) -> NewCluster | None:
        """The first that settles to enough members, from the samples that have most company."""
        pairs = np.square(self.cosines) >= np.maximum.outer(self.goal, self.goal)
        linked = pairs & (self.cosines >= self.least / 2) & np.outer(self.free, self.free)
        np.fill_diagonal(linked, self.free)
        company = linked.sum(axis=1)
        for seed in np.argsort(-company, kind="stable")[:GROUP_SEEDS]:
            found = self.settle_group(linked[seed])
            if found is not None and len(found.members) >= MIN_MEMBERS:
                return found
        return None

    def settle_group(self, inside: Array) -> NewCluster | None:
        """Samples close to the direction of the others, until these are the ones that make it."""
        for _ in range(GROUP_ROUNDS):
            if inside.sum() < 2:
                return None
            own = self.own(inside)
            close = self.free & (np.square(own) >= self.goal) & (own >= self.least)
            if np.array_equal(close, inside):
                break
            inside = close
        members = np.flatnonzero(inside)
        return NewCluster(members, self.own(inside)[members])

    def own(self, inside: Array) -> Array:
        """Cosine of each with the sum of the samples inside, itself left out."""
        products = self.cosines[:, inside].sum(axis=1)
        sqnorm = products[inside].sum() - inside * (2 * products - 1)
        return (products - inside) / np.sqrt(np.maximum(sqnorm, np.finfo(float).tiny))
