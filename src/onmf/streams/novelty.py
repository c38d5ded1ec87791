"""Samples that no ray explains wait until enough of them agree on a ray of their own.

    near_i = cosine of x_i with its nearest ray
    strange: near_i < max(mean - SPREAD sd, TIGHT mean) of its cluster
    u_M = sum of the samples in M, each of length 1;   own_i = cosine of x_i with u_M less x_i

A ray is born of the strangers M if at least FEWEST of them are told better by the others of M than
by any ray that is there, own_i^2 >= near_i^2 / apart, and its cosine with every ray is at most
`apart`: APART, or what is usual between a ray and the next where rays are nearer. A sample
is left out of the ray it is compared with, which is what makes this evidence: any direction
explains the sample that it was taken from.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from onmf.rows.sweep import row_sqnorm

Array = NDArray[Any]

SPREAD = 1.5  # standard deviations below the mean of its cluster at which a sample is strange
FEWEST = 8  # samples that agree
APART = 1 / 3  # cosine between rays of clusters that have little to do with each other
TIGHT = 0.65  # of the usual cosine with a ray: what is less is strange, and no member of a group
SEEDS, ROUNDS = 20, 5  # samples tried as the first of a group, and rounds in which it settles


class Levels(NamedTuple):
    """How near the samples of each cluster are to its ray: number, sum and squares of cosines."""

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
        """Below which a sample of each cluster is strange; that of all together for small ones."""
        own = np.stack(self, axis=1)
        every = own.sum(axis=0)
        n, total, square = np.where(own[:, :1] >= FEWEST, own, every).T
        mean = total / np.maximum(n, 1)
        deviation = np.sqrt(np.maximum(square / np.maximum(n, 1) - mean**2, 0))
        return np.maximum(mean - SPREAD * deviation, TIGHT * mean)

    @property
    def mean(self) -> float:
        """Of all samples."""
        return float(self.total.sum() / max(self.number.sum(), 1.0))


class NewCluster(NamedTuple):
    """Samples that agree, by number, and the cosine of each with the ray of the others."""

    members: Array
    own: Array


def find_new_clusters(X: sp.csr_array, rays: Array, level: float) -> Iterator[NewCluster]:
    """The rays (m, k) that the samples X ask for, one after the other; `level` as `Levels.mean`."""
    size = np.sqrt(row_sqnorm(X))
    X = sp.csr_array(X.multiply(1 / np.where(size > 0, size, 1)[:, None]))
    near = np.maximum(np.asarray(X @ rays).max(axis=1), 0)
    cosines = rays.T @ rays
    np.fill_diagonal(cosines, 0)
    apart = max(APART, float(np.median(cosines.max(axis=1))))
    room = NoveltyBuffer((X @ X.T).toarray(), near**2 / apart, TIGHT * level, size > 0)
    while (found := room.group()) is not None:
        room.free[found.members] = False
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
        for seed in np.argsort(-company, kind="stable")[:SEEDS]:
            found = self.settle_group(linked[seed])
            if found is not None and len(found.members) >= FEWEST:
                return found
        return None

    def settle_group(self, inside: Array) -> NewCluster | None:
        """Who is told by the ray of the others, until that is who makes the ray."""
        for _ in range(ROUNDS):
            if inside.sum() < 2:
                return None
            own = self.own(inside)
            told = self.free & (np.square(own) >= self.goal) & (own >= self.least)
            if np.array_equal(told, inside):
                break
            inside = told
        members = np.flatnonzero(inside)
        return NewCluster(members, self.own(inside)[members])

    def own(self, inside: Array) -> Array:
        """Cosine of each with the sum of the samples inside, itself left out."""
        products = self.cosines[:, inside].sum(axis=1)
        sqnorm = products[inside].sum() - inside * (2 * products - 1)
        return (products - inside) / np.sqrt(np.maximum(sqnorm, np.finfo(float).tiny))
