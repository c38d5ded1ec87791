"""What every estimator of the package shares: samples in, clusters and their attributes out."""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
    clone,
)
from sklearn.utils.validation import check_is_fitted

from onmf.baselines import Means
from onmf.core.assign import Fit, Rays, labels_of
from onmf.core.paper.start import STARTS
from onmf.core.result import FORGETFUL, Factorization, Journal
from onmf.core.rows import Data
from onmf.data import Placed, is_dask, rows_of
from onmf.data import validation as door
from onmf.data.threads import blas_threads, single_threaded_blas
from onmf.estimators.certainty import Certainty, certainty
from onmf.estimators.solvers import Solution
from onmf.estimators.storage import write_model
from onmf.exceptions import ConvergenceWarning, EmptyClusterWarning, UnassignedSampleWarning
from onmf.io import replace_files

Array = NDArray[Any]

SLAB = 1 << 16  # rows of a file that are changed at a time

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
    cluster_centers_: Array
    _unit = "iterations"  # what max_iter counts
    _remedy = ""  # for empty clusters, besides another start

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Cluster the samples of X.

        Parameters
        ----------
        X : array, sparse matrix, DataFrame, path or Dask collection (n_samples, n_features)
            Non-negative data; a sparse matrix is never made dense. `ONMF` reads a path (.npy, .npz,
            .h5, .h5ad, .zarr, .parquet), a memory map or an open data set of h5py or zarr block by
            block, and leaves a Dask array or DataFrame on its workers; `Baseline` needs X in
            memory.
        y : ignored
        sample_weight : array of shape (n_samples,), optional
            A sample of weight 2 counts as if it were there twice.

        Returns
        -------
        self

        Warns
        -----
        UnassignedSampleWarning, EmptyClusterWarning, ConvergenceWarning, CheckpointWarning
            Of ``onmf.exceptions``, which says when.

        Notes
        -----
        A fit that is interrupted (Ctrl-C) or fails, at whatever stage, leaves the estimator as it
        was before: unfitted, or as the fit before left it; its threads end, its temporary files
        go, and with `checkpoint` the same call goes on where it was. One that a callback ends is
        fitted to the last finished sweep.

        Examples
        --------
        >>> from onmf import ONMF
        >>> ONMF(n_clusters=2, random_state=0).fit([[3, 0], [2, 0.1], [0, 1]]).labels_
        array([0, 0, 1])
        """
        self._check_parameters()
        n_threads = blas_threads() if self.n_jobs is None else effective_n_jobs(self.n_jobs)
        with single_threaded_blas(), self._all_or_nothing():
            rows = self._place(X, sample_weight, self._scale, reset=True, n_threads=n_threads)
            n, data = rows.data.shape[0], rows.data
            door.check_samples(n, self.n_clusters)
            door.check_useful(data.total(useful, data.energy), n, self.n_clusters)
            journal = self._journal(data)
            solution = self._solve(rows, n_threads, journal)
            self._keep(solution, rows.weight, rows.scale)
        journal.close(solution.result.stop)
        self._warn(solution.result)
        return self

    def predict(self, X: Any) -> NDArray[np.intp]:
        """Cluster of each sample: the nearest ray; -1 if none is nearer than 90 degrees.

        Parameters
        ----------
        X : as for `fit`
            New samples, with the same features.

        Returns
        -------
        ndarray of shape (n_samples,)
            For a Dask collection a Dask array that is not computed yet.

        Examples
        --------
        >>> from onmf import ONMF
        >>> model = ONMF(n_clusters=2, random_state=0).fit([[3, 0], [2, 0.1], [0, 1]])
        >>> model.predict([[0.2, 5.0], [1.0, 0.0]])
        array([1, 0])
        """
        if is_dask(X):
            return self._lazily("predict", X, np.intp)
        found = self._assign(X)
        return found.data.gather(found.data.each(labels_of, found.rows))

    def transform(self, X: Any) -> Array:
        """Memberships of each sample: the best non-negative multiple of one centroid.

        Parameters
        ----------
        X : as for `fit`
            New samples, with the same features.

        Returns
        -------
        ndarray of shape (n_samples, n_clusters)
            At most one non-zero entry a row. For rows on disk a memory map, if large; for a Dask
            collection a Dask array that is not computed yet.

        Examples
        --------
        >>> from onmf import ONMF
        >>> model = ONMF(n_clusters=2, random_state=0).fit([[3, 0], [2, 0.1], [0, 1]])
        >>> model.transform([[0.2, 5.0], [1.0, 0.0]]) > 0
        array([[False, True], [ True, False]])
        """
        check_is_fitted(self)
        k, dtype = self._n_features_out, self.cluster_centers_.dtype
        if is_dask(X):
            return self._lazily("transform", X, dtype, k)
        data, rule, rows, _ = self._assign(X)
        return data.array(k, rule.memberships, rows)

    def score(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> float:
        """Share of ``||X||^2`` that the clusters explain: 1 - relative error of `transform`.

        Parameters
        ----------
        X : as for `fit`
        y : ignored
        sample_weight : array of shape (n_samples,), optional

        Returns
        -------
        float
            At most 1, for samples that lie on the rays.

        Examples
        --------
        >>> from onmf import ONMF
        >>> model = ONMF(n_clusters=2, random_state=0).fit([[3, 0], [2, 0.1], [0, 1]])
        >>> model.score([[0.0, 5.0], [0.0, 7.0]])
        1.0
        """
        fit = self._assign(X, sample_weight).fit
        return fit.explained / fit.sqnorm if fit.sqnorm > 0 else 1.0

    def confidence(self, X: Any) -> NDArray[np.float64]:
        """How clear the label of each sample is: 1 - (c2 / c1)^2, between 0 and 1.

        c1 and c2 are its cosines with the nearest and the second nearest centroid, a negative one
        counting as zero: the share of what the first explains that the second cannot. 1 with a
        single cluster, 0 for label -1.

        Parameters
        ----------
        X : as for `fit`

        Returns
        -------
        ndarray of shape (n_samples,)

        Examples
        --------
        >>> from onmf import ONMF
        >>> model = ONMF(n_clusters=2, random_state=0).fit([[3, 0], [2, 0.1], [0, 1]])
        >>> model.confidence([[0.0, 5.0], [1.0, 1.0]]).round(2)
        array([1.  , 0.03])
        """
        if is_dask(X):
            return self._lazily("confidence", X, np.float64)
        return self.certainty(X).confidence

    def distance(self, X: Any) -> NDArray[np.float64]:
        """Sine of the angle between each sample and its centroid: sqrt(1 - c1^2); 1 for label -1.

        Its square is the share of the sample that the cluster leaves unexplained.

        Parameters
        ----------
        X : as for `fit`

        Returns
        -------
        ndarray of shape (n_samples,)

        Examples
        --------
        >>> from onmf import ONMF
        >>> model = ONMF(n_clusters=2, random_state=0).fit([[3, 0], [2, 0.1], [0, 1]])
        >>> model.distance([[0.0, 5.0], [1.0, 1.0]]).round(2)
        array([0. , 0.7])
        """
        if is_dask(X):
            return self._lazily("distance", X, np.float64)
        return self.certainty(X).distance

    def certainty(self, X: Any) -> Certainty:
        """`confidence` and `distance` at once: X is read a single time.

        Parameters
        ----------
        X : as for `fit`

        Returns
        -------
        (confidence, distance)
            Named tuple of two arrays of shape (n_samples,).

        Examples
        --------
        >>> from onmf import ONMF
        >>> model = ONMF(n_clusters=2, random_state=0).fit([[3, 0], [2, 0.1], [0, 1]])
        >>> model.certainty([[0.0, 5.0]]).distance
        array([0.])
        """
        if is_dask(X):
            return Certainty(self.confidence(X), self.distance(X))
        with single_threaded_blas():
            data, centers, _ = self._beside_centers(X)
            return certainty(data, centers)

    def top_features(self, n: int = 10) -> list[list[tuple[str, float]]]:
        """The n heaviest features of each centroid with their weights (unit centroids).

        Parameters
        ----------
        n : int, default=10

        Returns
        -------
        list of list of (str, float)
            One list a cluster; the names are those of a DataFrame's columns, or x0, x1, ...

        Examples
        --------
        >>> from onmf import ONMF
        >>> model = ONMF(n_clusters=2, random_state=0).fit([[3, 0], [2, 0], [0, 1]])
        >>> model.top_features(1)
        [[('x0', 1.0)], [('x1', 1.0)]]
        """
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

    def report(self, path: str | Path, X: Any, labels: Any = None, **panels: Any) -> None:
        """Write a page about the fit: one HTML file that needs no network, to look at in a browser.

        Parameters
        ----------
        path : str or Path
            The file, replaced if it exists.
        X : array, sparse matrix, DataFrame or path of rows on disk (n_samples, n_features)
            What the model was fitted to.
        labels : array of shape (n_samples,), optional
            Known classes: adds the confusion table and the scores.
        **panels
            `samples`, `features`, `run`, `choice`, `consensus`: see `onmf.report.html`.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> from onmf import ONMF
        >>> from onmf.datasets import make_rays
        >>> X, y = make_rays(60, 8, 3, random_state=0)
        >>> path = pathlib.Path(tempfile.mkdtemp(), "report.html")
        >>> ONMF(n_clusters=3, random_state=0).fit(X).report(path, X, labels=y)
        >>> path.exists()
        True
        """
        from onmf.report import html

        check_is_fitted(self)
        path = Path(path)
        replace_files(path.parent, {path.name: html(self, X, truth=labels, **panels)})

    def save(self, path: str | Path) -> None:
        """Put the fitted model into a file, without pickle; `onmf.load` reads it.

        The format is described in `onmf.io.container`. Parameters that only Python could store
        (a callable, a RandomState, arrays given as `init`) are left out with a warning.

        Parameters
        ----------
        path : str or Path
            The file, replaced if it exists.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> import onmf
        >>> path = pathlib.Path(tempfile.mkdtemp(), "model.onmf")
        >>> onmf.ONMF(n_clusters=2, random_state=0).fit([[3, 0], [2, 0.1], [0, 1]]).save(path)
        >>> onmf.load(path).labels_
        array([0, 0, 1])
        """
        check_is_fitted(self)
        write_model(self, path)

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

    @property
    def _scale(self) -> Callable[..., float]:
        """The power of two that `fit` multiplies X by, from its extremes, dtype and shape."""
        return door.check_scale

    def _place(self, X: Any, sample_weight: Any, scale: Any, **options: Any) -> Placed:
        """Checked samples, where they are."""
        return rows_of(self, X, sample_weight, scale, signed=self._signed, **options)

    def _journal(self, data: Data) -> Journal:
        """Where the fit notes how far it is."""
        return FORGETFUL

    def _solve(self, rows: Placed, n_threads: int, journal: Journal) -> Solution:
        raise NotImplementedError

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """Leave the estimator as it was if what is done inside does not come to its end."""
        before = dict(vars(self))
        try:
            yield
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    def _keep(self, solution: Solution, weight: Array | None, scale: float) -> None:
        best, nearest = solution.result, solution.nearest
        H, W, labels = best.H, best.W / best.W.dtype.type(scale), solution.labels
        if isinstance(self.init, str):
            order = canonical_order(labels, weight, self.n_clusters)
            place = np.append(np.argsort(order), -1)  # label -1 stays
            H, W, labels, nearest = columns(H, order), W[order], place[labels], place[nearest]
        for name in ("preprocessing_", "_stream"):  # they belonged to an earlier fit
            self.__dict__.pop(name, None)
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

    def _assign(self, X: Any, sample_weight: ArrayLike | None = None) -> "Assigned":
        """The cluster of every sample; reads X once."""
        with single_threaded_blas():
            data, centers, unit = self._beside_centers(X, sample_weight)
            rule = self._rule(centers, unit)
            return Assigned(data, rule, *data.sweep(rule))

    def _beside_centers(
        self, X: Any, sample_weight: ArrayLike | None = None
    ) -> tuple[Data, Array, Any]:
        """Samples and centroids, both of moderate size, and the unit that their codes are in."""
        check_is_fitted(self)
        rows = self._place(X, sample_weight, door.power_of_two, reset=False)
        W = self.cluster_centers_.astype(rows.data.dtype, copy=False)
        centers, size = door.scaled(W, door.power_of_two)
        return rows.data, centers, W.dtype.type(size / rows.scale)

    def _rule(self, centers: Array, unit: Any) -> Rays | Means:
        """What gives a sample to a cluster."""
        rays = Rays.of(centers)
        return replace(rays, lengths=rays.lengths / unit)

    def _lazily(self, method: str, X: Any, dtype: Any, columns: int | None = None) -> Any:
        """A Dask array of what `method` says of each chunk of X."""
        check_is_fitted(self)
        from onmf.data.dask import lazily

        light = clone(self).set_params(callback=None)
        light.cluster_centers_, light.n_features_in_ = self.cluster_centers_, self.n_features_in_
        return lazily(light, method, X, dtype, columns)


class Assigned(NamedTuple):
    """Codes of samples, where the samples are, by which rule, and how much they explain."""

    data: Data
    rule: Rays | Means
    rows: Any
    fit: Fit


def useful(weight: Array, energy: Array) -> int:
    """How many samples of a block are not all zero and have weight."""
    return int(np.sum((energy > 0) & (weight[:, 0] > 0)))


def columns(H: Any, order: Array) -> Any:
    """H with its columns in another order; one in a file stays there."""
    if not isinstance(H, np.memmap):
        return H[:, order]
    for i in range(0, len(H), SLAB):
        H[i : i + SLAB] = H[i : i + SLAB, order]
    return H


def canonical_order(labels: Array, weight: Array | None, k: int) -> Array:
    """Clusters from the largest to the smallest; among equals, the one seen first comes first."""
    inside = labels >= 0
    sizes = np.bincount(labels[inside], None if weight is None else weight[inside], minlength=k)
    first = np.full(k, len(labels))
    found, where = np.unique(labels, return_index=True)
    first[found[found >= 0]] = where[found >= 0]
    return np.lexsort((first, -sizes))
