"""What every estimator of the package shares: samples in, clusters and their attributes out."""

import warnings
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
)
from sklearn.utils.validation import check_is_fitted

from onmf import validation as door
from onmf.core.assign import Fit, nearest_ray, one_sparse
from onmf.core.blocks import InMemory, blas_threads, single_threaded_blas
from onmf.core.result import Factorization
from onmf.core.start import STARTS
from onmf.exceptions import ConvergenceWarning, EmptyClusterWarning, UnassignedSampleWarning
from onmf.solvers import Solution

Array = NDArray[Any]

LIMITS = {
    "max_iter": "within max_iter={iterations} {unit}: raise max_iter, or loosen tol",
    "max_stages": "in {stages} stages of the growing penalty: raise growth or tol",
}


class Clusterer(ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin, BaseEstimator):
    """Fit, predict, transform, score and warn; a subclass brings parameters and `_solve`."""

    n_clusters: int
    init: Any
    tol: float | None
    max_iter: int | None
    n_jobs: int | None
    callback: Any
    _unit = "iterations"  # what max_iter counts
    _remedy = ""  # for empty clusters, besides another start

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Cluster the samples of X.

        Parameters
        ----------
        X : array, sparse matrix or DataFrame of shape (n_samples, n_features)
            Non-negative data; a sparse matrix is never made dense.
        y : ignored
        sample_weight : array of shape (n_samples,), optional
            A sample of weight 2 counts as if it were there twice.

        Returns
        -------
        self
        """
        self._check_parameters()
        X = door.as_samples(self, X, reset=True, signed=self._signed)
        weight = door.as_weights(sample_weight, X)
        door.check_samples(len(weight), self.n_clusters)
        X, scale = self._scaled(X)
        n_threads = blas_threads() if self.n_jobs is None else effective_n_jobs(self.n_jobs)
        with single_threaded_blas():
            data = InMemory(X, weight, n_threads)
            door.check_useful((data.gather(data.energy) > 0) & (weight > 0), self.n_clusters)
            solution = self._solve(data, X, n_threads)
        self._keep(solution, weight, scale)
        self._warn(solution.result)
        return self

    def predict(self, X: Any) -> NDArray[np.intp]:
        """Cluster of each sample: the nearest ray; -1 if none is nearer than 90 degrees."""
        return self._assign(X)[0]

    def transform(self, X: Any) -> Array:
        """Memberships (n_samples, n_clusters): the best non-negative multiple of one centroid."""
        labels, codes, _ = self._assign(X)
        return one_sparse(labels, codes, len(self.cluster_centers_))

    def score(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> float:
        """Share of ||X||^2 that the clusters explain: 1 - relative error of `transform`."""
        _, _, fit = self._assign(X, sample_weight)
        return fit.explained / fit.sqnorm if fit.sqnorm > 0 else 1.0

    def top_features(self, n: int = 10) -> list[list[tuple[str, float]]]:
        """The n heaviest features of each centroid with their weights (unit centroids)."""
        check_is_fitted(self)
        door.check_number(n, "n", 1, whole=True)
        names = getattr(self, "feature_names_in_", None)
        if names is None:
            names = np.array([f"x{j}" for j in range(self.n_features_in_)], dtype=object)
        sizes = np.linalg.norm(self.cluster_centers_, axis=1, keepdims=True)
        rays = self.cluster_centers_ / np.where(sizes > 0, sizes, 1)
        order = np.argsort(-rays, axis=1, kind="stable")[:, :n]
        return [
            [(str(names[j]), float(ray[j])) for j in top]
            for ray, top in zip(rays, order, strict=True)
        ]

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)

    @property
    def _signed(self) -> bool:
        """Whether the data may be negative."""
        return False

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = not self._signed
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _check_parameters(self) -> None:
        door.check_number(self.n_clusters, "n_clusters", 1, whole=True)
        if isinstance(self.init, str):
            door.check_choice(self.init, "init", list(STARTS), ", a pair (H, W) or a callable")
        if self.max_iter is not None:
            door.check_number(self.max_iter, "max_iter", 1, whole=True)
        if self.tol is not None:
            door.check_number(self.tol, "tol", 0)
        if self.callback is not None and not callable(self.callback):
            raise ValueError(f"callback must be callable, not {self.callback!r}.")

    def _scaled(self, X: Any) -> tuple[Any, float]:
        """X in units in which it can be squared, and these."""
        return door.scaled(X)

    def _solve(self, data: InMemory, X: Any, n_threads: int) -> Solution:
        raise NotImplementedError

    def _keep(self, solution: Solution, weight: Array, scale: float) -> None:
        """Set all attributes at once, so that an interrupted fit changes none."""
        best, nearest = solution.result, solution.nearest
        H, W = best.H, best.W / best.W.dtype.type(scale)
        labels = np.where(H.any(axis=1), H.argmax(axis=1), nearest)
        if isinstance(self.init, str):
            order = canonical_order(labels, weight, self.n_clusters)
            place = np.append(np.argsort(order), -1)  # label -1 stays
            H, W, labels, nearest = H[:, order], W[order], place[labels], place[nearest]
        self.membership_, self.cluster_centers_, self.labels_ = H, W, labels
        self.relative_error_, self.n_iter_ = best.relative_error, best.iterations
        self.history_, self.converged_ = best.history, best.stop == "converged"
        self.stationarity_ = solution.stationarity
        self.n_disagreements_ = int(np.sum(labels != nearest))

    def _warn(self, best: Factorization) -> None:
        missing = np.flatnonzero(self.labels_ < 0)
        if len(missing):
            warnings.warn(
                f"{len(missing)} sample(s) are all zero or share no feature with any cluster and "
                f"have label -1: {door.listing(missing, len(missing))}.",
                UnassignedSampleWarning,
                stacklevel=3,
            )
        empty = self.n_clusters - len(np.unique(self.labels_[self.labels_ >= 0]))
        if empty:
            warnings.warn(
                f"{empty} of {self.n_clusters} clusters are empty: ask for fewer, {self._remedy}"
                "or try another init or random_state.",
                EmptyClusterWarning,
                stacklevel=3,
            )
        # An empty cluster alone keeps the paper's orthogonality too large.
        if best.stop == "max_iter" or (best.stop == "max_stages" and not empty):
            reason = LIMITS[best.stop].format(
                iterations=best.iterations, unit=self._unit, stages=len(best.history)
            )
            warnings.warn(
                f"{type(self).__name__} did not converge {reason} (orthogonality "
                f"{best.history[-1].orthogonality:.2g}, residual {best.history[-1].residual:.2g}).",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _assign(self, X: Any, sample_weight: ArrayLike | None = None) -> tuple[Array, Array, Fit]:
        data, centers, unit = self._beside_centers(X, sample_weight)
        with single_threaded_blas():
            return self._nearest(data, centers, unit)

    def _beside_centers(
        self, X: Any, sample_weight: ArrayLike | None = None
    ) -> tuple[InMemory, Array, Any]:
        """Samples and centroids, both of moderate size, and the unit that their codes are in."""
        check_is_fitted(self)
        X = door.as_samples(self, X, reset=False, signed=self._signed)
        weight = door.as_weights(sample_weight, X)
        X, scale = door.scaled(X)
        centers, size = door.scaled(self.cluster_centers_.astype(X.dtype, copy=False))
        return InMemory(X, weight), centers, X.dtype.type(size / scale)

    def _nearest(self, data: InMemory, centers: Array, unit: Any) -> tuple[Array, Array, Fit]:
        labels, codes, fit = nearest_ray(data, centers)
        return labels, codes * unit, fit


def canonical_order(labels: Array, weight: Array, k: int) -> Array:
    """Clusters from the largest to the smallest; among equals, the one seen first comes first."""
    sizes = np.bincount(labels[labels >= 0], weight[labels >= 0], minlength=k)
    first = np.full(k, len(labels))
    found, where = np.unique(labels, return_index=True)
    first[found[found >= 0]] = where[found >= 0]
    return np.lexsort((first, -sizes))
