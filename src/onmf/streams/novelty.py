"""Samples that no centroid explains wait until enough of them agree on a direction of their own.

    near_i = cosine of x_i with its nearest centroid
    novel: near_i < max(mean - MAX_DEVIATIONS_BELOW sd, MIN_COSINE_SHARE mean) of its cluster
    own_i = cosine of x_i with the sum of the samples in M, each of length 1, itself left out
    M = {i: own_i > near_i}, where repeating this settles
    gain_i = own_i - near_i
    gap = (mean gain of M - mean gain of the other samples of the same centroids) / (sd + sd)
    core = #{i: h/2 < gain_i <= 3h/2},   edge = #{i: -h/2 < gain_i <= h/2},   h = median gain of M

A cluster is born from M if it has MIN_MEMBERS samples, most of them novel, and if one of two kinds
of evidence is there.

Form: M is apart from the other samples by a gap of MIN_GAP, and there is a valley before it: were a
sample as likely on the edge as in the core, that many in the core would have a probability of
MAX_CHANCE. A tail of any form has more samples where it begins. Of the batches before only novel
samples wait, so another sample counts on the edge for each of them. Where M leaves fewer than
MIN_MEMBERS samples to its centroid, its ray must be novel itself: a centroid that has turned is no
new kind. Leaving the sample out is what makes this evidence: any direction explains the sample it
was made from. The tail of a normal distribution, cut off at 2 standard deviations, has a gap of
1.9, at 3 of 2.6.

Time: wide kinds, as topics of texts, have no such gap, but the batch has more novel samples than
batches had before. Were they as frequent as before, that many in M would have a probability of
SURPLUS_CHANCE. Then a third of the gap is enough for N_ALIKE samples, if the centroids explain
less than MIN_COSINE_SHARE of what M explains itself. It is also enough for a ray that has little in
common with every centroid, a cosine of MAX_COSINE, as long as the batch has that many outside the
groups found: of several small kinds at once none is many. A tail, or a part of a wide kind, is
there at all times.

A group that has most samples of a cluster, and is within its reach, is that cluster, turned:
centroids move by ever smaller steps, so that one that drifts falls behind its samples.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from scipy.special import pdtr

from onmf.rows.assign import first_largest
from onmf.rows.sweep import Array, divisor, row_sqnorm, same_pattern, zero_missing
from onmf.streams.evidence import MIN_COSINE_SHARE, MIN_MEMBERS, CosineSums, Gains, Surplus
from onmf.streams.lineage import degrees, reach_of

MIN_GAP = 3.0  # standard deviations; sparse counts have false births at half of it
MAX_CHANCE = 1 / 64  # of a valley in a tail: six samples in the core and nobody on the edge
N_ALIKE = 8  # samples that a group begins with, and of a wide kind; 6: twice the births in topics
SURPLUS_CHANCE = 0.003  # with .01, 21 of 41 births in searchsnippets are in a known class
RARE = 0.05  # probability; with .01, a drifting kind of 2 % of the samples was born again
MAX_COSINE = 1 / 4  # between rays that have little in common; 1/3: four times the false births
MAX_COMPARED = 500  # samples whose products with each other are computed
GROUP_SEEDS, GROUP_ROUNDS = 20, 5  # samples tried as the first of a group; rounds until it settles


class NewCluster(NamedTuple):
    """Samples that agree, by number, and the cosine of each with the ray of the others.

    turned : the cluster that they are, if its samples have turned; -1 for a new one.
    """

    members: Array
    own: Array
    turned: int = -1


def find_new_clusters(
    X: sp.csr_array,
    novel: Array,
    rays: Array,
    levels: CosineSums,
    batches: int = 1,
    n_waiting: int = 0,
    silent: Array | int = 1,
) -> Iterator[NewCluster]:
    """New clusters of the samples X beside the rays (m, k) of clusters with these levels.

    batches : from which the novel samples are; the others are from one of them.
    n_waiting : so many samples waited, and come first.
    silent : for how many batches, with this one, each cluster had none but novel samples.
    """
    least, low = MIN_COSINE_SHARE * levels.mean, levels.low()
    size = np.sqrt(row_sqnorm(X))
    X = sp.csr_array(X.multiply(1 / divisor(size)[:, None]))
    free = novel & (size > 0)
    stands_for = np.where(novel, 1, batches)
    surplus = Surplus(
        levels, n_waiting, free, levels.number * silent
    )  # which sees what leaves `free`
    while (
        found := Pool.of(X, rays, novel, least, low, stands_for, surplus).group(free)
    ) is not None:
        yield found
        free[found.members] = False
        ray = np.asarray(X[found.members].sum(axis=0)).ravel()
        ray /= np.linalg.norm(ray)
        if found.turned < 0:
            rays, low = np.column_stack([rays, ray]), np.append(low, least)
        else:
            rays = np.where(np.arange(len(low)) == found.turned, ray[:, None], rays)


def filled_in(X: sp.csr_array, rays: Array) -> sp.csr_array:
    """Rows whose missing entries are on the nearest ray: they are no evidence for another one.

    With r the ray and O what is observed of x, the multiple is <x, r>_O / <r, r>_O.
    """
    holes = np.isnan(X.data)
    if not holes.any():
        return X
    missing = same_pattern(X, holes.astype(np.float64))
    products = np.asarray(zero_missing(X) @ rays)
    shown = np.maximum(1 - np.asarray(missing @ rays**2), np.finfo(float).eps)
    each, nearest = np.arange(X.shape[0]), first_largest(products / np.sqrt(shown))
    multiple = np.maximum(products[each, nearest], 0) / shown[each, nearest]
    rows = np.repeat(each, np.diff(X.indptr))[holes]
    values = X.data.copy()
    values[holes] = multiple[rows] * rays[X.indices[holes], nearest[rows]]
    return same_pattern(X, values)


class Pool(NamedTuple):
    """Unit samples, who of them is novel, their cosines (n, k) with the rays and the nearest.

    stands_for : how many samples of all batches each is one of (n,).
    """

    X: sp.csr_array
    novel: Array
    rays: Array
    cosines: Array
    nearest: Array
    near: Array
    least: float
    low: Array
    stands_for: Array
    surplus: Surplus

    @classmethod
    def of(cls, X: sp.csr_array, rays: Array, novel: Array, *facts: Any) -> Self:
        """With the other facts as they are."""
        cosines = np.asarray(X @ rays)
        nearest = first_largest(cosines)
        near = np.maximum(cosines[np.arange(len(nearest)), nearest], 0)
        return cls(X, novel, rays, cosines, nearest, near, *facts)

    def group(self, free: Array) -> NewCluster | None:
        """The first that is a kind of its own, from the samples with the nearest company."""
        who = np.flatnonzero(free)
        if len(who) < MIN_MEMBERS:
            return None
        who = who[np.unique(np.linspace(0, len(who) - 1, MAX_COMPARED).astype(int))]
        alike = self.alike(who)
        np.fill_diagonal(alike, np.inf)  # a seed is in its own group
        order = np.argsort(-alike, axis=1, kind="stable")[:, :N_ALIKE]
        company = np.take_along_axis(alike, order[:, [MIN_MEMBERS - 1]], axis=1)[:, 0]
        tried = np.zeros(len(self.near), bool)
        for seed in np.argsort(-company, kind="stable")[:GROUP_SEEDS]:
            if tried[who[seed]]:
                continue
            tried[who[order[seed]]] = True
            found = self.settle(who[order[seed]])
            if found is not None and self.is_kind(found):
                return self.with_turned(found)
            if found is not None:
                tried[found.members] = True
        return None

    def alike(self, who: Array) -> Array:
        """Products of what the nearest rays leave of some samples."""
        X, near, own = self.X[who], self.near[who], self.nearest[who]
        cross = near[:, None] * self.cosines[np.ix_(who, own)].T
        angles = (self.rays.T @ self.rays)[np.ix_(own, own)]
        return (X @ X.T).toarray() - cross - cross.T + np.outer(near, near) * angles

    def settle(self, members: Array) -> NewCluster | None:
        """Samples closer to the ray of the others than to any centroid, until they make it."""
        inside = np.isin(np.arange(len(self.near)), members)
        for _ in range(GROUP_ROUNDS):
            own = self.own(inside)
            closer = (own > self.near) & (own >= self.least)
            if closer.sum() < MIN_MEMBERS:
                return None
            if np.array_equal(closer, inside):
                break
            inside = closer
        own = self.own(inside)
        members = np.flatnonzero(own > self.near)
        return NewCluster(members, own[members])

    def own(self, inside: Array) -> Array:
        """Cosine of each with the sum of the samples inside, itself left out."""
        total = np.asarray(self.X[inside].sum(axis=0)).ravel()
        products = self.X @ total
        sqnorm = total @ total - inside * (2 * products - 1)
        return (products - inside) / np.sqrt(np.maximum(sqnorm, np.finfo(float).tiny))

    def is_kind(self, found: NewCluster) -> bool:
        """Whether most of a group is novel, and it is apart from the samples of the centroids."""
        if 2 * self.novel[found.members].sum() <= len(found.members):
            return False
        gains = self.gains(found.members)
        if 3 * gains.gap() < MIN_GAP:
            return False
        ray = np.asarray(self.X[found.members].sum(axis=0)).ravel()
        cosines = ray @ self.rays / np.linalg.norm(ray)
        if self.is_surplus(found, cosines):
            return True
        apart = gains.gap() >= MIN_GAP and gains.chance_of_valley() <= MAX_CHANCE
        return apart and self.is_aside(found, cosines)

    def is_surplus(self, found: NewCluster, cosines: Array) -> bool:
        """Whether a group far from the centroids is too many, or one of too many."""
        if len(found.members) < N_ALIKE:
            return False
        every, near = np.ones(len(self.near), bool), self.near[found.members]
        inside = np.isin(np.arange(len(every)), found.members)
        far = near.mean() < MIN_COSINE_SHARE * found.own.mean()
        alone = far and self.surplus.chance(inside) <= SURPLUS_CHANCE
        return bool(
            alone or (cosines.max() <= MAX_COSINE and self.surplus.chance(every) <= SURPLUS_CHANCE)
        )

    def is_aside(self, found: NewCluster, cosines: Array) -> bool:
        """Whether a group leaves enough samples to its centroid, or its ray is novel itself.

        A centroid follows its longest samples. Where all others are a little aside of it, it is the
        centroid that has turned.
        """
        main = np.bincount(self.nearest[found.members]).argmax()
        left = np.sum(self.nearest == main) - np.sum(self.nearest[found.members] == main)
        return bool(left >= MIN_MEMBERS or cosines[main] < self.low[main])

    def with_turned(self, found: NewCluster) -> NewCluster:
        """A group as it is, or as the cluster that has turned, with all its novel samples.

        A cluster has turned if the group has most of its samples: the others are less than half of
        those that it usually has, and so few would have a probability of RARE. And the ray of the
        group must be where that of the cluster may be after a refit (`lineage`).
        """
        main = int(np.bincount(self.nearest[found.members]).argmax())
        if main >= len(self.surplus.usual):  # found a moment ago
            return found
        others = (self.nearest == main) & ~self.novel
        others[found.members] = False
        share = self.surplus.usual[main] / max(self.surplus.levels.number.sum(), 1)
        n, usual = others.sum(), share * self.surplus.n_now
        ray = np.asarray(self.X[found.members].sum(axis=0)).ravel()
        turn = degrees(ray @ self.rays[:, main] / np.linalg.norm(ray))
        within = turn <= reach_of(self.rays)[main]
        if not within or 2 * n >= usual or pdtr(n, usual) > RARE:
            return found
        others = self.novel & (self.nearest == main)
        others[found.members] = True
        return NewCluster(np.flatnonzero(others), self.own(others)[others], main)

    def gains(self, members: Array) -> Gains:
        """Of a group, and of the samples of the same centroids beside it."""
        inside = np.isin(np.arange(len(self.near)), members)
        some = inside | (np.isin(self.nearest, self.nearest[members]) & (self.near > 0))
        gain = self.own(inside) - self.near
        return Gains(gain[some], inside[some], self.stands_for[some])
