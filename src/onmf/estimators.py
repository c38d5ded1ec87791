"""The scikit-learn face of the package: parameters in, attributes out. No mathematics here."""

import warnings
from collections.abc import Callable
from pathlib import Path
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
from onmf.core.assign import Certainty, certainty, nearest_ray, one_sparse
from onmf.core.blocks import InMemory, blas_threads, single_threaded_blas
from onmf.core.penalties import PENALTIES, Penalty
from onmf.core.result import Event, Factorization
from onmf.core.start import STARTS
from onmf.exceptions import ConvergenceWarning, EmptyClusterWarning, UnassignedSampleWarning
from onmf.solvers import SCALES, SOLVERS, Solution

Array = NDArray[Any]

LIMITS = {
    "max_iter": "within max_iter={sweeps} sweeps: raise max_iter, or loosen tol",
    "max_stages": "in {stages} stages of the growing penalty: raise growth or tol",
}


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

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each sample, the largest cluster being 0; -1 for a sample that is all zero.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        The centroids W.
    membership_ : ndarray of shape (n_samples, n_clusters)
        H; one non-zero entry a row after a converged fit.
    relative_error_ : float
        ||X - HW||^2 / ||X||^2.
    n_iter_ : int
        Sweeps: how often X was read (of the start that was kept). Checking X and, for "palm",
        measuring the result are not counted.
    history_ : list of Stage
        One row a stage; ``pandas.DataFrame(model.history_)`` is a table of it.
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
        X = door.as_samples(self, X, reset=True, signed=door.allows_signs(self.center_bounds))
        weight = door.as_weights(sample_weight, X)
        door.check_samples(len(weight), self.n_clusters)
        X, scale = SCALES[self.solver](X)
        n_threads = blas_threads() if self.n_jobs is None else effective_n_jobs(self.n_jobs)
        with single_threaded_blas():
            data = InMemory(X, weight, n_threads)
            door.check_useful((data.gather(data.energy) > 0) & (weight > 0), self.n_clusters)
            solution = SOLVERS[self.solver](self, data, X, n_threads)
        self._keep(solution, weight, scale)
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

    def confidence(self, X: Any) -> NDArray[np.float64]:
        """How clear the label of each sample is: 1 - (c2 / c1)^2, between 0 and 1.

        c1 and c2 are its cosines with the nearest and the second nearest centroid, a negative one
        counting as zero: the share of what the first explains that the second cannot. 1 with a
        single cluster, 0 for label -1.
        """
        return self._certainty(X).confidence

    def distance(self, X: Any) -> NDArray[np.float64]:
        """Sine of the angle between each sample and its centroid: sqrt(1 - c1^2); 1 for label -1.

        Its square is the share of the sample that the cluster leaves unexplained.
        """
        return self._certainty(X).distance

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

    def report(self, path: str | Path, X: Any, labels: Any = None, **panels: Any) -> None:
        """Write a page about the fit: one HTML file that needs no network, to look at in a browser.

        Parameters
        ----------
        path : str or Path
            The file, replaced if it exists.
        X : array, sparse matrix or DataFrame of shape (n_samples, n_features)
            What the model was fitted to.
        labels : array of shape (n_samples,), optional
            Known classes: adds the confusion table and the scores.
        **panels
            `samples`, `features`, `run`, `choice`, `consensus`: see `onmf.report.html`.
        """
        from onmf.files import replace_files
        from onmf.report import html

        check_is_fitted(self)
        path = Path(path)
        replace_files(path.parent, {path.name: html(self, X, truth=labels, **panels)})

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
        H, W = best.H, best.W / best.W.dtype.type(scale)
        labels = np.where(H.any(axis=1), H.argmax(axis=1), nearest)
        if isinstance(self.init, str):
            order = canonical_order(labels, weight, self.n_clusters)
            place = np.append(np.argsort(order), -1)  # label -1 stays
            H, W, labels, nearest = H[:, order], W[order], place[labels], place[nearest]
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

    def _assign(self, X: Any, sample_weight: ArrayLike | None = None) -> tuple[Array, Array, Any]:
        data, centers, unit = self._beside_centers(X, sample_weight)
        with single_threaded_blas():
            labels, codes, fit = nearest_ray(data, centers)
        return labels, codes * data.dtype.type(unit), fit

    def _certainty(self, X: Any) -> Certainty:
        data, centers, _ = self._beside_centers(X)
        with single_threaded_blas():
            return certainty(data, centers)

    def _beside_centers(
        self, X: Any, sample_weight: ArrayLike | None = None
    ) -> tuple[InMemory, Array, float]:
        """Samples and centroids, both of moderate size, and the unit that their codes are in."""
        check_is_fitted(self)
        X = door.as_samples(self, X, reset=False, signed=door.allows_signs(self.center_bounds))
        weight = door.as_weights(sample_weight, X)
        X, scale = door.scaled(X)
        centers, size = door.scaled(self.cluster_centers_.astype(X.dtype, copy=False))
        return InMemory(X, weight), centers, size / scale


def canonical_order(labels: Array, weight: Array, k: int) -> Array:
    """Clusters from the largest to the smallest; among equals, the one seen first comes first."""
    sizes = np.bincount(labels[labels >= 0], weight[labels >= 0], minlength=k)
    first = np.full(k, len(labels))
    found, where = np.unique(labels, return_index=True)
    first[found[found >= 0]] = where[found >= 0]
    return np.lexsort((first, -sizes))
