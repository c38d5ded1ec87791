"""Strangers: samples that are unlike all samples of the fit, whatever cluster is nearest.

    q(x) = sum_j a_j^2 r_j^2 - sum_i <d_i, r>^2,      r = x / ||x|| - c u,   c = <x, u> / ||x||

r is what the unit ray u of the cluster leaves of a sample (of the roots of its shares, for counts:
`Loss.view_rows`), so lengths do not matter. A feature that hardly varies within clusters counts
more: a_j^2 = 1 / (v_j + mean(v) / 10), v_j being the mean of r_j^2. A few directions d_i in which
the samples of a cluster vary together, such as the quality of a measurement, count less: for the
i-th principal direction of a_j r_j, with variance l_i, it is what makes it count as much as the
mean of all others.

Of few counts more is left than of many, by chance alone: q is divided by f + g / t, t being the
total of the sample, with f, g >= 0 that fit the samples best; by 1 for other data.

A sample is a stranger if log q is above the limit of its cluster. The limit is taken from samples
of the fit as they would be had they not been in it: v and d_i are those of other samples, and r is
divided by 1 - p, p being the share of the sample in its centroid.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from scipy.optimize import nnls
from scipy.sparse.linalg import LinearOperator, svds

from onmf.losses.base import Loss
from onmf.losses.missing import Fill, mask_missing
from onmf.losses.profiles import row_sums
from onmf.rows.assign import Rays
from onmf.rows.sweep import Array, Matrix, row_sqnorm

SHARE_BEYOND = 0.025  # of known samples that may be called strangers: 3 % is the promise
FLOOR = 0.1  # of the mean variance, in that of every feature: of .01, .1, .3 and 1 best on texts,
# cells and tumours (classes left out; 3 % of the others beyond the limit)
MOST_DIRECTIONS = 10  # 10, 20 and 30 differ little on tumours; texts and cells need none
LEAST_VARIANCE = 0.005  # of all that is left: directions with less are not worth their storage
FOLDS = 4  # of the samples, to compare each with what is known without it
MIN_OWN = 10  # samples of a cluster, for a limit of its own
MOST_SHARE = 0.5  # of a sample in its centroid: alone in its cluster it says nothing of others
ROUNDING = 1e-5  # share of a sample that may always be left


class Left(NamedTuple):
    """Samples and what their rays leave of them: r_i = s_i x_i - c_i u_i, never written out.

    X : samples as the loss compares them (n, m); zeros explained by the ray where one is missing.
    scale : s (n,), 0 for a sample of zeros.
    labels, cosines : the nearest ray, -1 for none, and c (n,).
    units : the rays (k, m).
    completion : features per observed entry (n,).
    noise : 1 / t for counts, 0 for other data (n,).
    """

    X: Matrix
    scale: Array
    labels: Array
    cosines: Array
    units: Array
    completion: Array
    noise: Array

    @classmethod
    def of(cls, X: Matrix, labels: Array, W: Array, loss: Loss, factor: float = 1.0) -> Self:
        """Of samples with these labels, multiplied by a factor, beside the centroids W."""
        totals = row_sums(X) / factor if loss.takes_counts else np.zeros(len(labels))
        noise = np.divide(1, totals, out=np.zeros_like(totals), where=totals > 0)
        masked = mask_missing(X)
        completion = np.ones(len(labels))
        if masked is not None:
            X, completion = Fill.by(W).within(X, masked), masked.completion
        X, units = loss.view_rows(X), Rays.of(loss.view_rows(W.astype(np.float64))).units.T
        size = np.sqrt(row_sqnorm(X))
        scale = np.divide(1, size, out=np.zeros_like(size), where=size > 0)
        if not sp.issparse(X):
            X = X.astype(np.float64, copy=False)  # once, and not in each product
        own = np.asarray(X @ units.T)[np.arange(len(labels)), labels] * scale
        cosines = np.where(labels >= 0, np.clip(own, 0, 1), 0)
        return cls(X, scale, labels, cosines, units, completion, noise)

    def take(self, some: Array) -> Self:
        """Some of them."""
        numbers = self.scale[some], self.labels[some], self.cosines[some]
        return type(self)(
            self.X[some], *numbers, self.units, self.completion[some], self.noise[some]
        )

    @property
    def codes(self) -> Any:
        """c at the label (n, k), sparse."""
        inside, shape = np.flatnonzero(self.labels >= 0), (len(self.labels), len(self.units))
        cells = inside, self.labels[inside]
        return sp.coo_array((self.cosines[inside], cells), shape).tocsr()

    def variances(self, weight: Array) -> Array:
        """sum_i w_i r_ij^2 (m,)."""
        X, C, w = self.X, self.codes, weight
        squares = (w * self.scale**2) @ (X.multiply(X) if sp.issparse(X) else np.square(X))
        across = (C * (w * self.scale)[:, None]).T @ X
        across = across.toarray() if sp.issparse(across) else across
        own = np.asarray((C.multiply(C) * w[:, None]).sum(axis=0)).ravel()
        v = np.asarray(squares).ravel() - 2 * np.einsum("km,km->m", across, self.units)
        return np.maximum(v + own @ np.square(self.units), 0)

    def along(self, D: Array) -> Array:
        """<d, r> (n, directions)."""
        of_rays = self.cosines[:, None] * (self.units @ D.T)[self.labels]
        return np.asarray(self.X @ D.T) * self.scale[:, None] - of_rays

    def weighted_squares(self, a: Array) -> Array:
        """sum_j a_j^2 r_ij^2 (n,)."""
        square = np.square(a)
        X = self.X.multiply(self.X) if sp.issparse(self.X) else np.square(self.X)
        beside = np.asarray(self.X @ (self.units * square).T)[
            np.arange(len(self.labels)), self.labels
        ]
        rays = (np.square(self.units) @ square)[self.labels]
        q = np.asarray(X @ square).ravel() * self.scale**2
        return np.maximum(q + self.cosines * (self.cosines * rays - 2 * self.scale * beside), 0)


def forms(left: Left, weight: Array) -> Array:
    """a (m,), and below it the directions d (directions, m), of samples with these weights."""
    weight = weight / weight.sum()
    v, m = left.variances(weight), left.X.shape[1]
    a = 1 / np.sqrt(v + FLOOR * v.mean()) if v.any() else np.ones(m)
    most = min(MOST_DIRECTIONS, m // 4, len(weight) // 4)
    if not most or not v.any():
        return a[None]
    root = np.sqrt(weight) * left.scale
    codes = sp.csr_array(left.codes.multiply(np.sqrt(weight)[:, None]))
    rays = left.units * a

    def times(x: Array) -> Array:
        x = x.ravel()
        return np.asarray(root * (left.X @ (a * x)) - codes @ (rays @ x))

    def back(y: Array) -> Array:
        y = y.ravel()
        return np.asarray(a * (left.X.T @ (root * y)) - rays.T @ np.atleast_1d(codes.T @ y))

    shape = left.X.shape
    operator = LinearOperator(shape, matvec=times, rmatvec=back, dtype=np.float64)
    _, values, D = svds(operator, most, v0=np.ones(min(shape)))
    total, variance = float(v @ np.square(a)), np.square(values)
    others = max(total - variance.sum(), 0) / (min(shape) - most)
    much = (variance > LEAST_VARIANCE * total) & (variance > others)
    less = np.sqrt(1 - others / variance[much])
    return np.vstack([a, D[much] * less[:, None] * a])


def log_scores(form: Array, left: Left) -> Array:
    """log q of each sample, by forms (1 + directions, m); -inf for a sample of zeros."""
    q = left.weighted_squares(form[0]) - np.square(left.along(form[1:])).sum(axis=1)
    least = ROUNDING * float(np.square(form[0]).mean())
    score = np.log(np.maximum(q, 0) * left.completion + least)
    return np.where(left.scale > 0, score, -np.inf)


@dataclass(frozen=True)
class StrangerRule:
    """By which samples are strangers.

    form : a, and the directions (1 + directions, m).
    limits : of log q, for clusters by id (ids,); NaN for an id that no cluster has.
    chance : f, g, and the least 1 / t that was seen (3,).
    """

    form: Array
    limits: Array
    chance: Array

    @classmethod
    def learn(cls, left: Left, weight: Array, share: Array, ids: Array) -> Self:
        """From some samples of a fit, their weights and shares p, and the ids of the clusters."""
        inside = np.flatnonzero((left.labels >= 0) & (weight > 0))
        left, weight = left.take(inside), weight[inside].astype(np.float64)
        outside = -2 * np.log(1 - np.minimum(share[inside], MOST_SHARE))
        limits = np.full(int(max(ids)) + 1, np.nan)
        if len(inside) < 2:
            limits[ids] = np.inf
            return cls(np.ones((1, left.X.shape[1])), limits, np.array([1.0, 0.0, 0.0]))
        order = np.random.default_rng(len(inside)).permutation(len(inside))
        score = np.empty(len(inside))
        for own in np.array_split(order, min(FOLDS, len(inside))):
            other = np.setdiff1d(order, own)
            form = forms(left.take(other), weight[other])
            score[own] = log_scores(form, left.take(own)) + outside[own]
        chance = chance_of(score, left.noise, weight)
        score -= usual_logs(chance, left.noise)
        middle = np.full(len(ids), quantile(score, weight, 0.5))
        for k in range(len(ids)):
            if np.sum(own := left.labels == k) >= MIN_OWN:
                middle[k] = quantile(score[own], weight[own], 0.5)
        limits[ids] = middle + upper_limit(score - middle[left.labels], weight)
        return cls(forms(left, weight), limits, chance)

    @classmethod
    def sound(cls, parts: Sequence[Array], m: int) -> Self:
        """From a file; ValueError if the parts cannot be a rule for m features."""
        shapes = [part.shape for part in parts if part.dtype.kind == "f"]
        match shapes:
            case [(int(), columns), (int(),), (3,)] if columns == m and all(map(len, parts)):
                form, limits, chance = parts
                sound = np.isfinite(form).all() and np.isfinite(chance).all()
                if sound and not np.isnan(limits).all() and chance.min() >= 0 < chance.max():
                    return cls(form, limits, chance)
        raise ValueError("its rule for strangers is damaged.")

    def excess(self, left: Left, ids: Array) -> Array:
        """q over its limit: above 1 for strangers; `ids` (k,) are those of the clusters."""
        usual = float(np.nanmedian(self.limits))
        known = np.append(self.limits, usual)
        limits = known[np.minimum(np.append(ids, len(self.limits)), len(self.limits))]
        limits = np.where(np.isnan(limits), usual, limits)[left.labels]
        score = log_scores(self.form, left) - usual_logs(self.chance, left.noise) - limits
        return np.asarray(np.exp(np.minimum(score, 700)))


@dataclass(frozen=True)
class StrangerJudge:
    """The rule beside the centroids W of a model, by the ids of its clusters."""

    rule: StrangerRule
    W: Array
    ids: Array
    loss: Loss

    def __call__(self, X: Matrix, labels: Array, factor: float) -> Array:
        """q over its limit, of samples with the labels of the nearest centroids, times a factor."""
        return self.rule.excess(Left.of(X, labels, self.W, self.loss, factor), self.ids)


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
