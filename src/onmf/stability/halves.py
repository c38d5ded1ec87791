r"""Are the clusters found again? By other samples, by other features, and away from the border.

The samples are cut in two halves, each half is clustered by itself, and its rays label all samples.
For cluster k of one half

    J_k   the largest Jaccard overlap with a cluster of the other half, over all samples,
    A_k   the overlap of itself, as seen by one half of the features and by the other,
    B_k   the share of its samples within 0.4 of the mean margin of its border,
    S_k   whether it is astray: small, and most of its samples are outliers,

A, B and S over the samples of the other half, which had no part in its rays. The margin of a sample
is by how much its own ray is nearer than the next. A sample is an outlier if it is farther from its
ray than samples are, ||x - h w||^2 > 4 times the median, or has less in common with it, a share
1 - ||x - h w||^2 / ||x||^2 below half the median. And of all clusters together

    M     the share of the samples that keep their cluster from one half to the other.

All of it is about one K: it does not depend on which other K were asked for, nor on the seed of the
user, for the cuts have seeds of their own. Samples that are the same always share a half.

J alone would find pieces of a continuum again and again, the better the more samples there are; A
and B do not depend on their number. `rule` makes one figure of them.
"""

from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from onmf.rows.sweep import row_sqnorm
from onmf.search.row_problems import kernels
from onmf.search.sketch import orthonormal
from onmf.stability.path import paths, precision

Array = NDArray[Any]

FEWEST_FEATURES = 8  # with fewer, all features are on both sides
NEAR = 0.4  # of the mean margin: the border
AT_THE_BORDER, TYPICAL = 0.2, (0.7, 1.3)  # margins whose densities tell a valley from a slope
FAR, UNLIKE = 4.0, 0.5  # an outlier: times the median distance, of the median share explained
MOST_ASTRAY = 0.15  # of the samples: outliers are few
WIDTH, EXTRA = 3, 20  # columns of a sketch for up to k clusters: WIDTH k + EXTRA
SUBSPACE_STEPS = 2


class Cut(NamedTuple):
    """Which half each sample is in, and each feature: True or False."""

    samples: Array
    features: Array | None

    @classmethod
    def of(cls, groups: Array, n_features: int, number: int) -> "Cut":
        """Cut `number` of samples in these groups: it depends on the shape of the data alone."""
        rng = np.random.default_rng([number, n_features, len(groups)])
        place = rng.permutation(int(groups.max()) + 1) % 2 == 0
        features = None
        if n_features >= FEWEST_FEATURES:
            features = rng.permutation(n_features) % 2 == 0
        return cls(place[groups], features)


def groups_of(X: Any) -> Array:
    """A number for each sample, the same for samples that are the same up to rounding."""
    probe = np.random.default_rng(0).standard_normal(X.shape[1])
    value = np.asarray(X @ probe, np.float64)
    scale = max(float(np.abs(value).max(initial=0)), np.finfo(float).tiny)
    return np.unique(np.rint(value / scale * 1e12), return_inverse=True)[1]


class Seen(NamedTuple):
    """Labels of all samples by the clusters of one half (-1: none), and how they came about."""

    labels: Array  # (n,)
    by_features: Array  # (2, n): by either half of the features
    margins: Array  # (n,)
    outliers: Array  # (n,): whether it is one


class Clusters(NamedTuple):
    """What is known of the clusters of both halves for one K: (2, K) each, and the labels (2, n).

    `valley` has how many samples lie at a border and at a typical distance from it, for equal steps
    of the margin; `kept` is the share of samples that keep their cluster.
    """

    found: Array
    alike: Array
    border: Array
    astray: Array
    valley: Array
    kept: Array
    labels: Array


def clusters_of(seen: tuple[Seen, Seen], samples: Array, k: int) -> Clusters:
    """The figures of one K; `samples` says which half each sample is in."""
    labels = np.array([side.labels for side in seen])
    J, kept = overlaps(labels[0], labels[1], k), kept_share(labels[0], labels[1], k)
    alike, border, valley = np.ones((2, k)), np.zeros((2, k)), np.zeros(2)
    astray = np.zeros((2, k), bool)
    for s, side in enumerate(seen):
        others = np.flatnonzero(samples != bool(s))
        first, second = side.by_features[:, others]
        own = overlaps(first, second, k)
        alike[s] = (own.max(axis=1) + own.max(axis=0)) / 2
        border[s], near = borders(side.labels[others], side.margins[others], k)
        astray[s] = strays(side.labels[others], side.outliers[others], k)
        valley += near
    found = np.array([J.max(axis=1), J.max(axis=0)])
    return Clusters(found, alike, border, astray, valley, kept, labels)


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


def kept_share(a: Array, b: Array, k: int) -> Array:
    """Share of the samples in the same cluster of `a` and `b`, clusters matched one to one."""
    T = joint_sizes(a, b, k)
    return np.asarray(T[linear_sum_assignment(T, maximize=True)].sum() / max(T.sum(), 1))


def strays(labels: Array, outliers: Array, k: int) -> Array:
    """Which clusters are astray: few samples, and more than half of them outliers."""
    inside = labels >= 0
    size = np.bincount(labels[inside], minlength=k)
    lost = np.bincount(labels[inside & outliers], minlength=k)
    return np.asarray((2 * lost > size) & (size <= MOST_ASTRAY * size.sum()))


def outlier_marks(left: Array, sqnorms: Array) -> Array:
    """Which samples are outliers, by what is left of their energy beside their ray."""
    inside = sqnorms > 0
    if not inside.any():
        return inside
    share = 1 - left / np.where(inside, sqnorms, 1)
    far = left > FAR * np.median(left[inside])
    return np.asarray(inside & (far | (share < UNLIKE * np.median(share[inside]))))


def borders(labels: Array, margins: Array, k: int) -> tuple[Array, Array]:
    """Share of each cluster near its border, and the densities at borders and inside."""
    if k == 1:
        return np.zeros(1), np.zeros(2)
    inside = labels >= 0
    labels, margins = labels[inside], margins[inside]
    size = np.maximum(np.bincount(labels, minlength=k), 1)
    mean = np.bincount(labels, margins, k) / size
    relative = margins / np.where(mean > 0, mean, 1)[labels]
    near = np.bincount(labels[relative < NEAR], minlength=k) / size
    low, high = TYPICAL
    at_border = np.sum(relative < AT_THE_BORDER) / AT_THE_BORDER
    typical = np.sum((relative >= low) & (relative < high)) / (high - low)
    return near, np.array([at_border, typical])


def along_the_path(
    X: Any, weight: Array, cut: Cut, most: int, scale: Array | None = None
) -> Iterator[Clusters]:
    """K = 1, 2, ..., most: both halves by `path`, in sketches of their own.

    `scale` multiplies the samples, so that all may have the same say. It ends early where a half
    has no more directions.
    """
    size = typical_inverse(X) * (np.ones(X.shape[0]) if scale is None else scale)
    size = size.astype(X.dtype)
    first = list(islice(Side(X, weight, cut, False, most, size).seen(), most))
    second = islice(Side(X, weight, cut, True, most, size).seen(), len(first))
    for k, seen in enumerate(zip(first, second, strict=False), 1):
        yield clusters_of(seen, cut.samples, k)


def typical_inverse(X: Any) -> float:
    """The power of two next to 1 / ||x|| of a typical sample, lest squares leave the numbers."""
    sqnorms = row_sqnorm(X)
    return (
        float(np.ldexp(1.0, -int(np.frexp(np.sqrt(sqnorms.mean()))[1]))) if sqnorms.any() else 1.0
    )


class Side:
    """One half of the samples: its sketch, in which all samples are looked at, and its path."""

    def __init__(
        self, X: Any, weight: Array, cut: Cut, side: bool, most: int, scale: Array
    ) -> None:
        rows, size = np.flatnonzero(cut.samples == side), scale[:, None]
        mass = weight[rows] * np.square(scale[rows], dtype=np.float64)
        V = basis(X[rows], mass, WIDTH * most + EXTRA, seed=int(side)).astype(X.dtype)
        Y: Array = np.asarray(X @ V) * size
        number = precision(Y)
        self.Y: Array = Y.astype(number, copy=False)
        self.gram = V.T @ V
        self.part: tuple[Array, Array] | None = None  # the same by one half of the features
        if cut.features is not None:
            inside = np.where(cut.features[:, None], V, 0)
            self.part = (np.asarray(X @ inside) * size).astype(number), inside.T @ inside
        norm = np.sqrt(row_sqnorm(Y))
        self.norm = np.where(weight > 0, norm, 0)  # samples without weight have no label
        sqnorms = row_sqnorm(X) * np.square(scale, dtype=np.float64)
        self.row_sqnorms = np.where(self.norm > 0, sqnorms, 0)
        self.paths = paths(self.Y[rows], weight[rows], seed=int(side))

    def seen(self) -> Iterator[Seen]:
        """All samples by the clusters of this half, for K = 1, 2, ..."""
        return map(self.look, self.paths)

    def look(self, U: Array) -> Seen:
        """All samples by these prototypes."""
        U = U.astype(self.Y.dtype)
        scores, empty = self.Y @ U.T, self.norm <= 0
        labels, best = kernels().nearest(scores)
        told = np.array([labels, labels])
        if self.part is not None:
            Y, gram = self.part
            one = Y @ U.T
            told = np.array(
                [labels_by_part(one, U, gram), labels_by_part(scores - one, U, self.gram - gram)]
            )
        margins = np.zeros(len(labels), np.float32)
        if len(U) > 1:
            _, second = kernels().runners_up(scores, labels)
            margins[:] = (best - second) / np.where(empty, 1, self.norm)
        labels[empty], told[:, empty] = -1, -1
        left = self.row_sqnorms - np.square(np.maximum(best, 0), dtype=np.float64)
        outliers = outlier_marks(np.maximum(left, 0), self.row_sqnorms)
        return Seen(labels.astype(np.int16), told.astype(np.int16), margins, outliers)


def labels_by_part(scores: Array, U: Array, gram: Array) -> Array:
    """Labels from products with rays by some of the features: `gram` has those of the basis."""
    size = np.sqrt(np.maximum(np.einsum("kr,kr->k", U @ gram, U), 0))
    inverse = np.divide(1, size, out=np.zeros_like(size), where=size > 0)
    return np.asarray(kernels().nearest(scores * inverse.astype(scores.dtype))[0])


def basis(X: Any, weight: Array, r: int, seed: int) -> Array:
    """Orthonormal columns near the leading right singular vectors of some rows."""
    n, m = X.shape
    if min(r, n) >= m:
        return np.eye(m)
    V = np.random.default_rng(seed).standard_normal((m, min(r, n)))
    for _ in range(SUBSPACE_STEPS):
        V = orthonormal(np.asarray(X.T @ ((X @ V) * weight[:, None]), np.float64))
    return V


def by_centres(X: Any, W: Array, rays: bool, features: Array | None) -> Seen:
    """All samples by given centroids (k, m): the nearest rays, or the nearest means.

    None is called an outlier: clusters of another model may well differ in width.
    """
    parts = [W, W] if features is None else [W * features, W * ~features]
    scores, *told = (closeness(X, part, rays) for part in (W, *parts))
    empty = np.asarray(abs(X).sum(axis=1)).ravel() == 0 if rays else np.zeros(X.shape[0], bool)
    labels, by_features = scores.argmax(axis=1), np.array([part.argmax(axis=1) for part in told])
    labels[empty], by_features[:, empty] = -1, -1
    margins = np.zeros(len(labels))
    if len(W) > 1:
        order = np.argsort(scores, axis=1, kind="stable")[:, -2:]
        second, first = np.take_along_axis(scores, order, axis=1).T
        apart = W[order[:, 0]] - W[order[:, 1]]
        norm = np.sqrt(row_sqnorm(X)) if rays else np.linalg.norm(apart, axis=1)
        margins = (first - second) / np.where(norm > 0, norm, 1)
    return Seen(labels, by_features, margins, np.zeros(len(labels), bool))


def closeness(X: Any, W: Array, rays: bool) -> Array:
    """<x, w> / ||w|| for rays, <x, w> - ||w||^2 / 2 for means: the largest is the nearest."""
    products, size = np.asarray(X @ W.T, np.float64), np.einsum("km,km->k", W, W)
    if rays:
        return products / np.sqrt(np.where(size > 0, size, 1))
    return products - size / 2
