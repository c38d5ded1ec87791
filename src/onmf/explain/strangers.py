"""Strangers: samples that are unlike all samples of the fit, whatever cluster is nearest.

    q(x) = min_p || a r - sum_i p_i d_i ||^2,      r = x / ||x|| - c u,   c = <x, u> / ||x||

r is what the unit ray u of the cluster leaves of a sample (of the roots of its shares, for counts:
`Loss.view_rows`), so lengths do not matter. A feature that hardly varies within clusters counts
more: (a r)_j = a_j r_j, a_j^2 = 1 / (v_j + mean(v) / 10), v_j being the mean of r_j^2. Clusters are
wide in some directions, and seldom round: d_i are the principal directions of a r, and a sample is
compared with the nearest p, a mean of a few neighbouring samples of the fit in these directions, or
with p = 0, the centroid itself. In all other directions it is compared with its centroid.

Of few counts more is left than of many, by chance alone: q is divided by f + g / t, t being the
total of the sample, with f, g >= 0 that fit the samples best; by 1 for other data.

Where samples of the fit lie close together, less makes a stranger, as in local outlier factors
(Breunig et al. 2000): log q is lowered by LOCAL times the mean of log q, less that of its cluster,
of the NEIGHBOURS samples of the fit that are nearest to the nearest mean p. Not so for counts, of
which the short ones lie apart by chance (with it 4 % fewer of left-out news are found).

A sample is a stranger if this is above the limit of its cluster. The limit is taken from samples
of the fit as they would be had they not been in it: v, d_i and p are those of other samples, and r
is divided by 1 - s, s being the share of the sample in its centroid.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import scipy.sparse as sp
from scipy.optimize import nnls
from scipy.sparse.linalg import LinearOperator, svds
from sklearn.cluster import kmeans_plusplus

from onmf.explain.remainders import Left
from onmf.losses.base import Loss
from onmf.rows.sweep import Array, Matrix, divisor

SHARE_BEYOND = 0.025  # of known samples that may be called strangers: 3 % is the promise
FLOOR = 0.1  # of the mean variance, in that of every feature: of .01, .1, .3 and 1 best on texts,
# cells and tumours (classes left out; 3 % of the others beyond the limit)
MOST_DIRECTIONS = 30  # tumours and digits have as many (10 find fewer left-out classes), texts few
SAMPLES_PER_DIRECTION = 16  # directions of fewer samples are those of chance
LEAST_VARIANCE = 0.005  # of all that is left: directions with less are not worth their storage
SAMPLES_PER_MEAN, MOST_MEANS = 5, 200  # 100, 300 and 1000 differ by up to 3 % (digits: 5 %)
ROUNDS = 10  # of K-means
TOL = 0.3  # of the directions: 1e-15 and .03 find no more classes, and take three times as long
FOLDS = 4  # of the samples, to compare each with what is known without it
MIN_OWN = 10  # samples of a cluster, for a limit of its own
NEIGHBOURS, LOCAL = 20, 0.5  # 10 and 50 are as good; 0 finds fewer tumours, 1 fewer texts
MOST_SHARE = 0.5  # of a sample in its centroid: alone in its cluster it says nothing of others
ROUNDING = 1e-5  # share of a sample that may always be left


def forms(left: Left, weight: Array) -> tuple[Array, Array]:
    """a and the d_i times a (1 + directions, m), and the means p, of samples with these weights."""
    weight = weight / weight.sum()
    v, (n, m) = left.variances(weight), left.X.shape
    a = 1 / np.sqrt(v + FLOOR * v.mean()) if v.any() else np.ones(m)
    most = min(MOST_DIRECTIONS, m // 2, n // SAMPLES_PER_DIRECTION)
    if not most or not v.any():
        return a[None], np.zeros((0, 0))
    root = np.sqrt(weight) * left.scale
    codes = sp.csr_array(left.codes.multiply(np.sqrt(weight)[:, None]))
    rays = left.units * a

    def times(x: Array) -> Array:
        x = x.ravel()
        return np.asarray(root * (left.X @ (a * x)) - codes @ (rays @ x))

    def back(y: Array) -> Array:
        y = y.ravel()
        return np.asarray(a * (left.X.T @ (root * y)) - rays.T @ np.atleast_1d(codes.T @ y))

    operator = LinearOperator((n, m), matvec=times, rmatvec=back, dtype=np.float64)
    _, values, D = svds(operator, most, v0=np.ones(min(n, m)), tol=TOL)
    D = D[np.square(values) > LEAST_VARIANCE * float(v @ np.square(a))] * a
    return np.vstack([a, D]), means_of(left.along(D), weight)


def means_of(P: Array, weight: Array) -> Array:
    """Means of neighbouring rows of P, at least two each: K-means from one start."""
    k = min(MOST_MEANS, len(P) // SAMPLES_PER_MEAN)
    if not k or not P.shape[1]:
        return np.zeros((0, P.shape[1]))
    means, _ = kmeans_plusplus(P, k, sample_weight=weight, random_state=0)
    for _ in range(ROUNDS):
        nearest = _beside(P, means).argmin(axis=1)
        groups = sp.csr_array((weight, (nearest, np.arange(len(P)))), shape=(k, len(P)))
        total = np.asarray(groups.sum(axis=1))
        means = np.where(total[:, None] > 0, (groups @ P) / divisor(total)[:, None], means)
    alone = np.bincount(nearest, minlength=k) < 2  # a mean of two, for no sample gets into a file
    two = _beside(means[alone], P).argpartition(1, axis=1)[:, :2]
    means[alone] = P[two].mean(axis=1)
    return means


def _beside(P: Array, points: Array) -> Array:
    """||y||^2 - 2 <x, y> (rows of P, points): squared distances, less what depends on x alone."""
    beside = np.asarray(P @ (-2 * points.T))
    beside += np.square(points).sum(axis=1)
    return beside


def log_scores(form: Array, means: Array, usual: Array, left: Left) -> Array:
    """log q of each sample, less what is usual at the nearest mean; -inf for a sample of zeros.

    q = ||a r||^2 + min_p ||p||^2 - 2 <p, (<d_i, a r>)_i>. Without means, as in files of older
    versions, the least over all p.
    """
    along = left.along(form[1:])
    if len(means):
        beside = _beside(along, means)
        best = beside.argmin(axis=1)
        nearest, local = np.minimum(beside[np.arange(len(best)), best], 0), usual[best]
    else:
        nearest, local = -np.square(along).sum(axis=1), np.zeros(1)
    q = left.weighted_squares(form[0]) + nearest
    least = ROUNDING * float(np.square(form[0]).mean())
    score = np.log(np.maximum(q, 0) * left.completion + least) - local
    return np.where(left.scale > 0, score, -np.inf)


def usual_around(means: Array, P: Array, score: Array, weight: Array) -> Array:
    """LOCAL times the mean score of the NEIGHBOURS rows of P nearest to each mean, 0 on average."""
    order = _beside(means, P).argsort(axis=1, kind="stable")
    w = weight[order]
    w[w.cumsum(axis=1) - w >= NEIGHBOURS * weight.mean()] = 0
    around = (w * score[order]).sum(axis=1) / w.sum(axis=1)
    return np.asarray(LOCAL * (around - np.average(score, weights=weight)))


@dataclass(frozen=True)
class StrangerRule:
    """By which samples are strangers.

    form : a, and the directions (1 + directions, m).
    limits : of log q, for clusters by id (ids,); NaN for an id that no cluster has.
    chance : f, g, and the least 1 / t that was seen (3,).
    means : p, in the directions (means, directions).
    usual : what log q is lowered by at each mean (means,).
    """

    form: Array
    limits: Array
    chance: Array
    means: Array
    usual: Array

    @classmethod
    def learn(cls, left: Left, weight: Array, share: Array, ids: Array) -> Self:
        """From some samples of a fit, their weights and shares s, and the ids of the clusters."""
        inside = np.flatnonzero((left.labels >= 0) & (weight > 0))
        left, weight = left.take(inside), weight[inside].astype(np.float64)
        outside = -2 * np.log(1 - np.minimum(share[inside], MOST_SHARE))
        limits = np.full(int(max(ids)) + 1, np.nan)
        if len(inside) < 2:
            limits[ids] = np.inf
            form, chance = np.ones((1, left.X.shape[1])), np.array([1.0, 0.0, 0.0])
            return cls(form, limits, chance, np.zeros((0, 0)), np.zeros(0))
        order = np.random.default_rng(len(inside)).permutation(len(inside))
        score = np.empty(len(inside))
        for own in np.array_split(order, min(FOLDS, len(inside))):
            other = np.setdiff1d(order, own)
            form, means = forms(left.take(other), weight[other])
            score[own] = log_scores(form, means, np.zeros(len(means)), left.take(own))
        score += outside
        chance = chance_of(score, left.noise, weight)
        score -= usual_logs(chance, left.noise)
        middle = np.full(len(ids), quantile(score, weight, 0.5))
        for k in range(len(ids)):
            if np.sum(own := left.labels == k) >= MIN_OWN:
                middle[k] = quantile(score[own], weight[own], 0.5)
        score -= middle[left.labels]
        form, means = (part.astype(np.float32) for part in forms(left, weight))  # for small files
        usual = np.zeros(len(means))
        if len(means) and not left.noise.any():
            along = left.along(form[1:])
            usual = usual_around(means, along, score, weight)
            score -= usual[_beside(along, means).argmin(axis=1)]
        limits[ids] = middle + upper_limit(score, weight)
        return cls(form, limits, chance, means, usual)

    @classmethod
    def sound(cls, parts: Sequence[Array], m: int) -> Self:
        """From a file; ValueError if the parts cannot be a rule for m features."""
        shapes = [part.shape for part in parts if part.dtype.kind == "f"]
        match shapes:
            case [(int(rows), columns), (int(),), (3,), (number, along), (usual,)] if (
                columns,
                along,
                usual,
            ) == (m, rows - 1, number) and all(map(len, parts[:3])):
                form, limits, chance, *rest = parts
                finite = all(np.isfinite(part).all() for part in (form, chance, *rest))
                if finite and not np.isnan(limits).all() and chance.min() >= 0 < chance.max():
                    return cls(*parts)
        raise ValueError("its rule for strangers is damaged.")

    def excess(self, left: Left, ids: Array) -> Array:
        """q over its limit: above 1 for strangers; `ids` (k,) are those of the clusters."""
        usual = float(np.nanmedian(self.limits))
        known = np.append(self.limits, usual)
        limits = known[np.minimum(np.append(ids, len(self.limits)), len(self.limits))]
        limits = np.where(np.isnan(limits), usual, limits)[left.labels]
        score = log_scores(self.form, self.means, self.usual, left) - usual_logs(
            self.chance, left.noise
        )
        return np.asarray(np.exp(np.minimum(score - limits, 700)))

    def beyond(self, left: Left, ids: Array) -> Array:
        """Which samples are strangers. With p = 0 alone q is no smaller, and below for most."""
        least = np.array([self.usual.min(initial=0)])
        centroid = replace(self, form=self.form[:1], means=np.zeros((1, 0)), usual=least)
        far = centroid.excess(left, ids) > 1
        some = np.flatnonzero(far)
        far[some] = self.excess(left.take(some), ids) > 1
        return far


@dataclass(frozen=True)
class StrangerJudge:
    """The rule beside the centroids W of a model, by the ids of its clusters."""

    rule: StrangerRule
    W: Array
    ids: Array
    loss: Loss

    def excess(self, X: Matrix, labels: Array, factor: float) -> Array:
        """q over its limit, of samples with the labels of the nearest centroids, times a factor."""
        return self.rule.excess(Left.of(X, labels, self.W, self.loss, factor), self.ids)

    def beyond(self, X: Matrix, labels: Array, factor: float) -> Array:
        """Which of these are strangers."""
        return self.rule.beyond(Left.of(X, labels, self.W, self.loss, factor), self.ids)


def chance_of(score: Array, noise: Array, weight: Array) -> Array:
    """f, g >= 0 with the least sum_i w_i ((f + g / t_i) / q_i - 1)^2, and the least 1 / t."""
    if not noise.any():
        return np.array([1.0, 0.0, 0.0])
    root, inverse = np.sqrt(weight), np.exp(np.median(score) - score)
    unit = float(np.median(noise))
    A = np.column_stack([inverse, inverse * noise / unit]) * root[:, None]
    (f, g), _ = nnls(A, root)
    return np.array([f, g / unit, noise.min()]) if f + g > 0 else np.array([1.0, 0.0, 0.0])


def usual_logs(chance: Array, noise: Array) -> Array:
    """log(f + g / t) of each sample; a longer one than all that were seen is as the longest."""
    f, g, least = chance
    return np.asarray(np.log(f + g * np.maximum(noise, least)))


def quantile(values: Array, weight: Array, share: float) -> float:
    """The lowest value that at least this share of the weight does not exceed."""
    order = np.argsort(values)
    total = np.cumsum(weight[order])
    place = np.searchsorted(total, share * total[-1] * (1 - 1e-12))
    return float(values[order][min(int(place), len(values) - 1)])


def upper_limit(values: Array, weight: Array) -> float:
    """What at most SHARE_BEYOND of new samples exceed, by the rank of a new sample among n + 1.

    Where n is too small for that, as far above the largest as this is above the middle.
    """
    share = (1 - SHARE_BEYOND) * (len(values) + 1) / len(values)
    if share <= 1:
        return quantile(values, weight, share)
    top = float(values.max())
    return 2 * top - quantile(values, weight, 0.5)
