r"""Do the clusters come back from other samples?

The samples are cut in two halves, each half is clustered by itself, and its centroids label all
samples, by the assignment of the loss. For clusters P_k of one half and Q_l of the other

    J   mean over the clusters of the largest Jaccard overlap with one of the other half,
    M   share of the samples that keep their cluster, P_k and Q_l matched one to one,
    N   how many clusters have an overlap of at least 3/4, which is how many are found again.

`rule` chooses K by the first two, and a scale for rare groups by N. Three more say whether the
clusters are separate, each over the samples of the other half, which had no part in the centroids:

    A   overlap of a cluster as one half of the features and the other tell it,
    B   share of its samples within 0.4 of the mean margin of its border,
    V   density of the samples at borders over that inside, by the margin: the valley.

The margin of a sample is by how much its own centroid is nearer than the next. All of it is about
one K: it does not depend on which other K were asked for, nor on the seed of the user, for the cuts
have seeds of their own. Samples that are the same always share a half.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from onmf.explain.halves import joint_sizes, overlaps
from onmf.rows.scale import rescale_to_safe_range
from onmf.rows.sweep import divisor
from onmf.search.numpy_kernels import kernels

Array = NDArray[Any]

FEWEST_FEATURES = 8  # with fewer, all features are on both sides
FOUND = 0.75  # overlap of a cluster that is found again: "valid and stable" in Hennig (2007)
NEAR = 0.4  # of the mean margin: the border
AT_THE_BORDER, TYPICAL = 0.2, (0.7, 1.3)  # margins whose densities tell a valley from a slope


class Cut(NamedTuple):
    """Which half each sample is in, and each feature: True or False; samples by their groups."""

    samples: Array
    features: Array | None
    order: Array

    @classmethod
    def of(cls, groups: Array, n_features: int, number: int) -> "Cut":
        """Cut `number` of samples in these groups: it depends on the shape of the data alone."""
        rng = np.random.default_rng([number, n_features, len(groups)])
        place = rng.permutation(int(groups.max()) + 1) % 2 == 0
        features = None
        if n_features >= FEWEST_FEATURES:
            features = rng.permutation(n_features) % 2 == 0
        return cls(place[groups], features, np.argsort(groups, kind="stable"))

    def rows(self, side: bool) -> Array:
        """The samples of one half, the same ones in the same order however X is sorted."""
        return self.order[self.samples[self.order] == side]


def groups_of(X: Any) -> Array:
    """A number for each sample, the same for samples that are the same up to rounding.

    It depends on the sample alone and not on its place, so that cuts of the same samples in another
    order are the same cuts.
    """
    probe = np.random.default_rng(0).standard_normal(X.shape[1])
    value = np.asarray(rescale_to_safe_range(X)[0] @ probe, np.float64)
    scale = max(float(np.abs(value).max(initial=0)), np.finfo(float).tiny)
    return np.unique(np.rint(value / scale * 1e12), return_inverse=True)[1]


class HalfLabels(NamedTuple):
    """Labels of all samples by the clusters of one half (-1: none), and how they came about."""

    labels: Array  # (n,)
    by_features: Array  # (2, n): by either half of the features
    margins: Array  # (n,)

    @classmethod
    def by_scores(cls, scores: Array, parts: list[Array], length: Array) -> "HalfLabels":
        """The largest of the scores (n, k), by all features and by parts of them.

        The margin is a share of the length of the sample; one of length zero has no cluster.
        """
        labels, best = kernels().nearest(scores)
        told = np.array([kernels().nearest(part)[0] for part in parts or [scores, scores]])
        margins, empty = np.zeros(len(labels), np.float32), length <= 0
        if scores.shape[1] > 1:
            _, second = kernels().runners_up(scores, labels)
            margins[:] = (best - second) / np.where(empty, 1, length)
        labels[empty], told[:, empty] = -1, -1
        return cls(labels.astype(np.int16), told.astype(np.int16), margins)


class Comparison(NamedTuple):
    """J, M, A and B of one cut; V as two densities, at borders and inside; N; labels (2, n)."""

    found: float
    kept: float
    alike: float
    border: float
    valley: Array
    n_found: float
    labels: Array


def compare(seen: tuple[HalfLabels, HalfLabels], samples: Array, k: int) -> Comparison:
    """How the clusters of two halves compare; `samples` says which half each sample is in."""
    labels = np.array([side.labels for side in seen])
    J = overlaps(labels[0], labels[1], k)
    best = np.array([J.max(axis=1), J.max(axis=0)])
    alike, border, valley = np.zeros(2), np.zeros(2), np.zeros(2)
    for s, side in enumerate(seen):
        others = np.flatnonzero(samples != bool(s))
        one, other = side.by_features[:, others]
        own = overlaps(one, other, k)
        alike[s] = (own.max(axis=1).mean() + own.max(axis=0).mean()) / 2
        border[s], densities = borders(side.labels[others], side.margins[others], k)
        valley += densities
    return Comparison(
        float(best.mean()),
        kept_share(labels[0], labels[1], k),
        float(alike.mean()),
        float(border.mean()),
        valley,
        float(np.sum(best >= FOUND) / 2),
        labels,
    )


def kept_share(a: Array, b: Array, k: int) -> float:
    """Share of the samples in the same cluster of `a` and `b`, clusters matched one to one."""
    T = joint_sizes(a, b, k)
    return float(T[linear_sum_assignment(T, maximize=True)].sum() / max(T.sum(), 1))


def borders(labels: Array, margins: Array, k: int) -> tuple[float, Array]:
    """Mean share of a cluster near its border, and the densities at borders and inside."""
    if k == 1:
        return 0.0, np.zeros(2)
    inside = labels >= 0
    labels, margins = labels[inside], margins[inside]
    size = np.maximum(np.bincount(labels, minlength=k), 1)
    mean = np.bincount(labels, margins, k) / size
    relative = margins / divisor(mean)[labels]
    near = np.bincount(labels[relative < NEAR], minlength=k) / size
    low, high = TYPICAL
    at_border = np.sum(relative < AT_THE_BORDER) / AT_THE_BORDER
    typical = np.sum((relative >= low) & (relative < high)) / (high - low)
    return float(near.mean()), np.array([at_border, typical])


def majority(labels_runs: Array, k: int) -> Array:
    """The labels that most runs (n, runs) with k clusters give, the largest cluster first.

    The clusters of every run are matched with those of the run that is most like the others.
    """
    n_runs, size = labels_runs.shape[1], k + 1
    runs = np.where(labels_runs < 0, k, labels_runs).astype(np.intp)  # the last is no cluster
    shared = np.empty((n_runs, n_runs, size, size))
    for r in range(n_runs):
        for s in range(n_runs):
            counts = np.bincount(runs[:, r] * size + runs[:, s], minlength=size * size)
            shared[r, s] = counts.reshape(size, size)
    typical = int(np.einsum("rsab,rsab->r", shared, shared).argmax())
    votes, everyone = np.zeros((len(runs), size), np.float32), np.arange(len(runs))
    for s in range(n_runs):
        own, theirs = linear_sum_assignment(shared[typical, s, :k, :k], maximize=True)
        place = np.full(size, k)
        place[theirs] = own
        votes[everyone, place[runs[:, s]]] += 1
    votes[everyone, runs[:, typical]] += 0.5  # ties go to the typical run
    winner = votes.argmax(axis=1)
    order = np.argsort(-np.bincount(winner, minlength=size)[:k], kind="stable")
    return np.append(np.argsort(order), -1)[winner].astype(np.intp)
