"""Any clusterer, fitted to each half for each K, and its clusters carried to all samples.

A sample goes to the nearest mean, or for rays to the nearest ray: with codes h_i of the samples of
a cluster its centroid by least squares is

    w = sum_i h_i x_i / sum_i h_i^2.

Codes that are all one give a mean; a few power steps from there, h_i <- <w, x_i> / ||w||^2, a ray.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import ClusterMixin, clone

from onmf.ledger import Trial
from onmf.number.halves import Cut, HalfLabels, compare, packed
from onmf.rows.sweep import divisor, row_sqnorm

Array = NDArray[Any]

CENTRE_POWER_STEPS = 3  # from the mean of a cluster to its ray


@dataclass(frozen=True)
class ByFits:
    """One K a trial, by fits of the model to both halves."""

    X: Any
    weight: Array | None
    groups: Array
    model: ClusterMixin
    name: str
    backend = "loky"

    def trial(self, k: int, cut: int) -> Trial:
        return {"cut": cut, "first": k, "last": k}

    def __call__(self, trial: Trial) -> tuple[dict[str, Any], Array]:
        cut = Cut.of(self.groups, self.X.shape[1], trial["cut"])
        k = trial["last"]
        first, second = (self.labels_of_half(cut, side, k) for side in (False, True))
        return packed({k: compare((first, second), cut.samples, k)})

    def labels_of_half(self, cut: Cut, side: bool, k: int) -> HalfLabels:
        """All samples by the clusters that the model finds in one half."""
        rows = cut.rows(side)
        model, X = clone(self.model).set_params(**{self.name: k}), self.X[rows]
        if "random_state" in model.get_params():
            model.set_params(random_state=0)
        weights = {} if self.weight is None else {"sample_weight": self.weight[rows]}
        labels = np.asarray(model.fit_predict(X, **weights), np.intp)
        rays = hasattr(model, "membership_")
        W = centres(X, labels, k, rays)
        seen = by_centres(self.X, W, rays, cut.features)
        if self.weight is not None:
            seen.labels[self.weight == 0] = seen.by_features[:, self.weight == 0] = -1
        return seen


def by_centres(X: Any, W: Array, rays: bool, features: Array | None) -> HalfLabels:
    """All samples by given centroids (k, m): the nearest rays, or the nearest means."""
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
        margins = (first - second) / divisor(norm)
    return HalfLabels(labels, by_features, margins)


def closeness(X: Any, W: Array, rays: bool) -> Array:
    """<x, w> / ||w|| for rays, <x, w> - ||w||^2 / 2 for means: the largest is the nearest."""
    products, size = np.asarray(X @ W.T, np.float64), np.einsum("km,km->k", W, W)
    if rays:
        return products / np.sqrt(divisor(size))
    return products - size / 2


def centres(X: Any, labels: Array, k: int, rays: bool) -> Array:
    """Means (k, m) of the clusters, or their rays by a few power steps from the means."""
    inside = np.flatnonzero(labels >= 0)
    X, where, each = X[inside], labels[inside], np.arange(len(inside))
    codes, W = np.ones(len(inside)), np.zeros((k, X.shape[1]))
    for step in range(1 + CENTRE_POWER_STEPS * rays):
        if step:
            products = np.asarray(X @ W.T, np.float64)[each, where]
            codes = np.maximum(products, 0) / np.maximum(row_sqnorm(W), np.finfo(float).tiny)[where]
        H = sp.csr_array((codes, (where, each)), (k, len(inside)))
        sizes, sums = np.bincount(where, np.square(codes), k), H @ X
        W = np.asarray(sums.toarray() if sp.issparse(sums) else sums, np.float64)
        W /= divisor(sizes)[:, None]
    return W
