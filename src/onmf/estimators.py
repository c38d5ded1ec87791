"""The scikit-learn face of the package: parameters in, attributes out. No mathematics here."""

import warnings
from collections.abc import Callable
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
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from onmf import validation as door
from onmf.checkpoint import Checkpoint
from onmf.core.assign import Fit, Rays, labels_of
from onmf.core.blocks import Data, blas_threads, single_threaded_blas
from onmf.core.finish import visit
from onmf.core.palm import Bounds
from onmf.core.penalties import PENALTIES, Penalty
from onmf.core.result import FORGETFUL, Event, Factorization
from onmf.core.start import STARTS
from onmf.core.stream import Stream, take_in
from onmf.exceptions import ConvergenceWarning, EmptyClusterWarning, UnassignedSampleWarning
from onmf.places import is_dask, rows_of
from onmf.solvers import SCALES, SOLVERS, Solution

Array = NDArray[Any]

SLAB = 1 << 16  # rows of a file that are changed at a time

LIMITS = {
    "max_iter": "within max_iter={sweeps} sweeps: raise max_iter, or loosen tol",
    "max_stages": "in {stages} stages of the growing penalty: raise growth or tol",
}


def streams(model: Any) -> bool:
    """Whether a model has `partial_fit`."""
    return bool(model.solver == "fast")


class ONMF(ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin, BaseEstimator):
    r"""Cluster non-negative data by orthogonal NMF with a non-convex penalty.

    .. math::

        \min_{W, H \ge 0} \frac{\|X - HW\|_F^2}{\|X\|_F^2}
        \quad\text{such that each row of } H \text{ has one non-zero entry.}

    Every sample is a multiple of one centroid: clusters are rays, so the length of a sample does
    not matter, only its direction. A penalty drives the rows of H towards a single non-zero entry,
    gently, while it grows.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    penalty : {"sncp", "nsncp"} or penalty object, default="sncp"
        The smooth penalty, the non-smooth one, or any object like those in `onmf.core.penalties`,
        for example ``General(p=1, q=3, v=3)``.
    solver : {"fast", "palm"}, default="fast"
        "fast" follows the growing penalty in a small picture of the data and finishes on the data
        itself: a handful of sweeps, no empty cluster, no dependence on the scale of X. "palm" is
        the paper's method to the letter and depends on that scale as the paper's does.
    init : {"random", "k-means++", "nndsvd"}, (H, W) or callable, default="random"
        "random" with an integer `random_state` is the paper's shared start of that seed. A pair
        gives memberships (n_samples, n_clusters), or None, and centroids (n_clusters, n_features);
        cluster ids then keep the order given. A callable receives ``(X, n_clusters,
        random_state)`` and returns such a pair.
    n_init : "auto" or int, default="auto"
        Number of starts; the result with the lowest error is kept. "auto" is 1 for "palm" and
        1 to 4, by the shape of X, for "fast", whose starts share every sweep.
    rho : float, optional
        First weight of the penalty ("fast": 1e-3, relative; "palm": 1e-8).
    growth : float, optional
        Factor between consecutive weights ("fast": 1.2; "palm": 1.1).
    mu_h, mu_w : float, optional
        Ridge on memberships and centroids ("palm" only: 1e-10 and 0).
    center_bounds : (lower, upper) or "data", default=(0, None)
        Bounds on the entries of the centroids, None for no bound; "data" is the range of X. With a
        lower bound below zero the data may be signed.
    tol : float, optional
        "fast": stop when no label changes and the rays move by less than it (1e-5). "palm": stop
        when orthogonality and normalised residual are below it (1e-5 with "sncp", 1e-3 with
        "nsncp").
    inner_tol : float, optional
        Relative change of the factors that ends a stage ("palm" only: 3e-3).
    max_iter : int, optional
        Most sweeps over the data ("fast": 40, and at least 2; "palm": 500,000, for each start).
    random_state : int, RandomState instance or None, default=None
        Seed of the starts.
    n_jobs : int, optional
        Threads; None uses as many as the linear algebra library may use. The answer is the same
        for any number.
    verbose : int, default=0
        1 writes a line a stage to the log ``onmf``: to stderr, unless logging is set up otherwise.
    callback : callable, optional
        Called with an `onmf.core.result.Event` after every sweep; returning True ends the fit with
        what it has.
    checkpoint : str or Path, optional
        Folder in which the fit notes how far it is, after every sweep ("palm": every stage). A fit
        with the same data and parameters that finds such notes goes on from there and ends as if
        it had not been broken off; one that ends removes them.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each sample, the largest cluster being 0; -1 for a sample that is all zero.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        The centroids W.
    membership_ : ndarray of shape (n_samples, n_clusters)
        H; one non-zero entry a row after a converged fit. For rows on disk a memory map of a
        temporary file, if large; for rows on Dask a Dask array.
    relative_error_ : float
        ||X - HW||^2 / ||X||^2.
    n_iter_ : int
        Sweeps: how often X was read (of the start that was kept). Checking X and, for "palm",
        measuring the result are not counted.
    history_ : list of Stage
        One row a stage; ``pandas.DataFrame(model.history_)`` is a table of it. `sent` and
        `received` are the bytes that went to and came from other processes so far.
    stationarity_ : float
        Relative change that one more gradient step on both factors would make.
    converged_ : bool
        Whether the stopping rule was met (not a limit or a callback).
    n_disagreements_ : int
        Training samples for which `predict` differs from `labels_` ("palm" keeps the paper's
        argmax of H).
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if X had them.

    References
    ----------
    S. Wang, T.-H. Chang, Y. Cui and J.-S. Pang, "Clustering by Orthogonal NMF Model and Non-Convex
    Penalty Optimization", IEEE Transactions on Signal Processing 69, 2021.

    Examples
    --------
    >>> import numpy as np
    >>> from onmf import ONMF
    >>> X = np.array([[1, 0], [2, 0.1], [0, 1], [0.1, 3], [0, 2]])
    >>> ONMF(n_clusters=2, random_state=0).fit_predict(X)
    array([1, 1, 0, 0, 0])
    """

    cluster_centers_: Array

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        penalty: str | Penalty = "sncp",
        solver: str = "fast",
        init: Any = "random",
        n_init: int | str = "auto",
        rho: float | None = None,
        growth: float | None = None,
        mu_h: float | None = None,
        mu_w: float | None = None,
        center_bounds: Any = (0, None),
        tol: float | None = None,
        inner_tol: float | None = None,
        max_iter: int | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Callable[[Event], bool] | None = None,
        checkpoint: str | Path | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.penalty = penalty
        self.solver = solver
        self.init = init
        self.n_init = n_init
        self.rho = rho
        self.growth = growth
        self.mu_h = mu_h
        self.mu_w = mu_w
        self.center_bounds = center_bounds
        self.tol = tol
        self.inner_tol = inner_tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback
        self.checkpoint = checkpoint

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Cluster the samples of X.

        Parameters
        ----------
        X : array, sparse matrix, DataFrame, path or Dask collection (n_samples, n_features)
            Non-negative data; a sparse matrix is never made dense. A path (.npy, .npz, .h5, .h5ad,
            .zarr, .parquet), a memory map or an open data set of h5py or zarr is read block by
            block; a Dask array or DataFrame stays on its workers.
        y : ignored
        sample_weight : array of shape (n_samples,), optional
            A sample of weight 2 counts as if it were there twice.

        Returns
        -------
        self
        """
        self._check_parameters()
        n_threads = blas_threads() if self.n_jobs is None else effective_n_jobs(self.n_jobs)
        with single_threaded_blas():
            rows = rows_of(
                self, X, sample_weight, SCALES[self.solver], reset=True, n_threads=n_threads
            )
            n, data = rows.data.shape[0], rows.data
            door.check_samples(n, self.n_clusters)
            door.check_useful(data.total(useful, data.energy), n, self.n_clusters)
            journal = FORGETFUL if self.checkpoint is None else Checkpoint.of(self, data)
            solution = SOLVERS[self.solver](self, data, rows.X, n_threads, journal)
        self._keep(solution, rows.weight, rows.scale)
        journal.close(solution.result.stop)
        if hasattr(self, "_stream"):
            del self._stream
        return self

    def _begin_stream(self, X: Any, sample_weight: ArrayLike | None) -> Self:
        """Cluster the first batch, and remember what it says of the rays."""
        self.fit(X, sample_weight=sample_weight)
        with single_threaded_blas():
            data = rows_of(self, X, sample_weight, door.as_it_is, reset=False).data
            state = visit(data, self.cluster_centers_, None, 0.0)
        self._stream = Stream.begin(state.cells)
        return self

    @available_if(streams)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Take in one batch of a stream; the first batch is clustered as `fit` does.

        Each later batch is read once: its samples go to their nearest rays, and every ray moves
        towards the mean, over all batches, of what its samples say, by steps that shrink as
        t^(-3/4). The rays converge to a fixed point of the exact alternation that ends `fit`, for
        the distribution the batches are drawn from, or for the data set if its batches are given
        again and again: every sample with its nearest ray, every ray the leading singular vector
        of its samples. A distribution that changes is followed ever more slowly.

        Clusters keep their ids. `labels_` and `membership_` are those of the last batch, found with
        the centroids before it, `relative_error_` as well. Only for ``solver="fast"``.

        Parameters
        ----------
        X : array, sparse matrix or DataFrame of shape (n_samples, n_features)
            The first batch should have many samples of every cluster.
        y : ignored
        sample_weight : array of shape (n_samples,), optional

        Returns
        -------
        self

        Examples
        --------
        >>> from onmf import ONMF
        >>> from onmf.datasets import make_rays
        >>> X, _ = make_rays(600, 30, 4, random_state=0)
        >>> model = ONMF(n_clusters=4, random_state=0)
        >>> for start in range(0, 600, 200):
        ...     model = model.partial_fit(X[start : start + 200])
        >>> model.predict(X).shape
        (600,)
        """
        if not hasattr(self, "_stream"):
            return self._begin_stream(X, sample_weight)
        with single_threaded_blas():
            rows = rows_of(self, X, sample_weight, door.as_it_is, reset=False)
            W = self.cluster_centers_.astype(rows.data.dtype, copy=False)
            bounds = Bounds(*door.as_bounds(self.center_bounds, rows.data))
            state, stream, W = take_in(rows.data, W, self._stream, bounds)
            self.labels_, self.membership_ = state.labels(rows.data), state.membership(rows.data)
        explained, sqnorm = float(state.cells.energy.sum()), rows.data.sqnorm
        self.relative_error_ = max(1 - explained / sqnorm, 0.0) if sqnorm > 0 else 0.0
        self._stream, self.cluster_centers_ = stream, W
        return self

    def predict(self, X: Any) -> NDArray[np.intp]:
        """Cluster of each sample: the nearest ray; -1 if none is nearer than 90 degrees."""
        if is_dask(X):
            return self._lazily("predict", X)
        found = self._assign(X)
        return found.data.gather(found.data.each(labels_of, found.rows))

    def transform(self, X: Any) -> Array:
        """Memberships (n_samples, n_clusters): the best non-negative multiple of one centroid."""
        if is_dask(X):
            return self._lazily("transform", X, len(self.cluster_centers_))
        data, rays, rows, _ = self._assign(X)
        return data.array(len(rays.lengths), rays.memberships, rows)

    def score(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> float:
        """Share of ||X||^2 that the clusters explain: 1 - relative error of `transform`."""
        fit = self._assign(X, sample_weight).fit
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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = not door.allows_signs(self.center_bounds)
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _check_parameters(self) -> None:
        door.check_number(self.n_clusters, "n_clusters", 1, whole=True)
        door.check_choice(self.solver, "solver", list(SOLVERS))
        if isinstance(self.penalty, str) or not hasattr(self.penalty, "step"):
            door.check_choice(self.penalty, "penalty", list(PENALTIES), " or a penalty object")
        if isinstance(self.init, str):
            door.check_choice(self.init, "init", list(STARTS), ", a pair (H, W) or a callable")
        if self.n_init != "auto":
            door.check_number(self.n_init, "n_init", 1, whole=True)
        door.check_bounds(self.center_bounds)
        if self.growth is not None:
            door.check_number(self.growth, "growth", 1, open_=True)
        if self.max_iter is not None:
            door.check_number(self.max_iter, "max_iter", 1, whole=True)
        for name in ("rho", "mu_h", "mu_w", "tol", "inner_tol"):
            if (value := getattr(self, name)) is not None:
                door.check_number(value, name, 0, open_=name == "rho")
        if self.callback is not None and not callable(self.callback):
            raise ValueError(f"callback must be callable, not {self.callback!r}.")

    def _keep(self, solution: Solution, weight: Array, scale: float) -> None:
        """Set all attributes at once, so that an interrupted fit changes none, then warn."""
        best, nearest = solution.result, solution.nearest
        H, W, labels = best.H, best.W / best.W.dtype.type(scale), solution.labels
        if isinstance(self.init, str):
            order = canonical_order(labels, weight, self.n_clusters)
            place = np.append(np.argsort(order), -1)  # label -1 stays
            H, W, labels, nearest = columns(H, order), W[order], place[labels], place[nearest]
        self.membership_, self.cluster_centers_, self.labels_ = H, W, labels
        self.relative_error_, self.n_iter_ = best.relative_error, best.sweeps
        self.history_, self.converged_ = best.history, best.stop == "converged"
        self.stationarity_ = solution.stationarity
        self.n_disagreements_ = int(np.sum(labels != nearest))
        self._warn(best)

    def _warn(self, best: Factorization) -> None:
        missing = np.flatnonzero(self.labels_ < 0)
        if len(missing):
            warnings.warn(
                f"{len(missing)} sample(s) are all zero or share no feature with any cluster and "
                f"have label -1: {door.listing(missing, len(missing))}.",
                UnassignedSampleWarning,
                stacklevel=4,
            )
        empty = self.n_clusters - len(np.unique(self.labels_[self.labels_ >= 0]))
        if empty:
            warnings.warn(
                f"{empty} of {self.n_clusters} clusters are empty: ask for fewer, use "
                "solver='fast', or try another init or random_state.",
                EmptyClusterWarning,
                stacklevel=4,
            )
        # An empty cluster alone keeps the paper's orthogonality too large.
        if best.stop == "max_iter" or (best.stop == "max_stages" and not empty):
            reason = LIMITS[best.stop].format(sweeps=best.sweeps, stages=len(best.history))
            warnings.warn(
                f"ONMF did not converge {reason} (orthogonality "
                f"{best.history[-1].orthogonality:.2g}, residual {best.history[-1].residual:.2g}).",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _assign(self, X: Any, sample_weight: ArrayLike | None = None) -> "Assigned":
        """The nearest ray of every sample; reads X once."""
        check_is_fitted(self)
        with single_threaded_blas():
            rows = rows_of(self, X, sample_weight, door.power_of_two, reset=False)
            W = self.cluster_centers_.astype(rows.data.dtype, copy=False)
            size = door.power_of_two(*door.extremes(W), W.dtype, W.shape)
            rays = Rays.of(W * W.dtype.type(size))
            codes, fit = rows.data.sweep(rays)
        unit = W.dtype.type(rows.scale / size)  # of codes in terms of the centroids as they are
        return Assigned(rows.data, replace(rays, lengths=rays.lengths * unit), codes, fit)

    def _lazily(self, method: str, X: Any, columns: int | None = None) -> Any:
        """A Dask array of what `method` says of each chunk of X."""
        check_is_fitted(self)
        from onmf.distributed import lazily

        light = clone(self).set_params(callback=None)
        light.cluster_centers_, light.n_features_in_ = self.cluster_centers_, self.n_features_in_
        dtype = np.intp if columns is None else self.cluster_centers_.dtype
        return lazily(light, method, X, dtype, columns)


class Assigned(NamedTuple):
    """Codes of samples, where the samples are, and how much they explain."""

    data: Data
    rays: Rays
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
