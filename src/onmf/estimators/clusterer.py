"""What every estimator of the package shares: samples in, clusters and their attributes out."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import ClassifierTags

from onmf.estimators.bases import CallbackSupportMixin, with_callbacks
from onmf.estimators.fit_warnings import warn_of
from onmf.estimators.fitting import Solution, Solver
from onmf.estimators.kept import LEARNT, KeptSamples
from onmf.estimators.lineage import Lineage
from onmf.estimators.naming import ATTRIBUTES as NAME_ATTRIBUTES
from onmf.estimators.naming import as_pairs
from onmf.estimators.ordering import number_clusters
from onmf.estimators.progress import Tasks, watcher
from onmf.estimators.reporting import ReportMixin
from onmf.rows import Placement
from onmf.rows.assign import labels_of
from onmf.rows.memory import count_nonzero_samples, count_present
from onmf.rows.sweep import Array
from onmf.rows.table import listing
from onmf.rows.threads import blas_threads, single_threaded_blas
from onmf.rows.validation import too_few

STALE_ATTRIBUTES = (  # of an earlier fit
    "labels_",
    "membership_",
    "preprocessing_",
    *LEARNT,
    "reason_",
    "tree_",
    "_stream",
    "_rays",
    "outlier_limit_",
    *NAME_ATTRIBUTES,
)


class Clusterer(CallbackSupportMixin, ReportMixin):
    """Fit and warn; a subclass brings parameters and, in `_solver`, what is done with them."""

    init: Any
    tol: float | None
    max_iter: int | None
    n_jobs: int | None
    callback: Any
    verbose: int
    lineage_: Lineage | None
    _unit = "iterations"  # what max_iter counts
    _has_ids = False  # whether clusters have ids that outlive a fit

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Cluster the samples of X.

        Parameters
        ----------
        X : array, sparse matrix, DataFrame, path or Dask collection (n_samples, n_features)
            A sparse matrix is never made dense. NaN is a missing value, for `ONMF` with its
            default solver and squares: the error counts the observed entries. In a sparse matrix
            a missing value is a stored NaN; an entry that is not stored is zero. `ONMF` reads a
            path (.npy, .npz, .h5ad, .parquet), a memory map or an open data set of
            h5py block by block, and leaves a Dask array or DataFrame on its workers.
            An ``onmf.rows.Table`` is a matrix with named features.
        y : ignored
            Known classes are a start: ``ONMF(init=onmf.class_means(y))``.
        sample_weight : array of shape (n_samples,), optional
            A sample of weight 2 counts as if it were there twice.

        Returns
        -------
        self

        Warns
        -----
        UnassignedSampleWarning, UnobservedWarning, EmptyClusterWarning, ConvergenceWarning
            of ``onmf.exceptions``, which says when.

        Notes
        -----
        A fit that is interrupted (Ctrl-C) or fails, at whatever stage, leaves the estimator as it
        was before: unfitted, or as the fit before left it. Its threads and temporary files are
        removed. A fit that a callback ends is fitted to the last finished sweep.

        Examples
        --------
        >>> from onmf import ONMF
        >>> ONMF(n_clusters=2, random_state=0).fit([[3, 0], [2, 0.1], [0, 1]]).labels_
        array([0, 0, 1])
        """
        n_threads = blas_threads() if self.n_jobs is None else effective_n_jobs(self.n_jobs)
        solver = self._solver(n_threads)
        weights = None if sample_weight is None else {"sample_weight": sample_weight}
        tasks = Tasks.begin(self, solver, X=X, y=y, metadata=weights)
        watch = watcher(self.verbose, self.callback, tasks)
        with self._all_or_nothing():
            rows = self._place(
                X,
                sample_weight,
                solver.scale,
                reset=True,
                n_threads=n_threads,
                **solver.sampling,
            )
            with single_threaded_blas():
                data, some, k = rows.data, rows.summary, solver.begin.n_clusters
                n_useful = (
                    data.reduce_blocks(count_nonzero_samples, data.row_sqnorms)
                    if some is None
                    else some.count
                )
                if n_useful < k:
                    present = data.sweep(count_present)[1].samples
                    raise too_few(n_useful, data.shape[0], k, vanished=present > n_useful)
                solver = replace(solver, begin=solver.begin.with_features(self._features))
                solution = solver.solve(rows, watch)
                n_missing = data.n_missing
            solution = number_clusters(solution, rows.weight, solver.begin, self._loss)
            self._set_attributes(solution, rows, n_missing)
            if (before := solver.begin.previous) is not None and before.cluster_names:
                self.names_given_ = before.cluster_names
            if names := getattr(self.init, "names", ()):  # of known classes
                self.names_given_ = as_pairs(dict(enumerate(names)))
        if tasks is not None:
            tasks.end()
        self._warn(solution, rows)
        return self

    def fit_predict(self, X: Any, y: Any = None, **options: Any) -> NDArray[np.intp]:
        """Cluster the samples of X, and return the cluster of each.

        With ``Fast(passes=1)``, which leaves no `labels_`, X is read once more, by `predict`.

        Parameters
        ----------
        X, y, **options : as for `fit`

        Returns
        -------
        ndarray of shape (n_samples,)

        Examples
        --------
        >>> from onmf import ONMF, Fast
        >>> model = ONMF(n_clusters=2, random_state=0, solver=Fast(passes=1))
        >>> model.fit_predict([[3, 0], [2, 0.1], [0, 1]])
        array([0, 0, 1])
        """
        self.fit(X, y, **options)
        return self.labels_ if hasattr(self, "labels_") else self.predict(X)

    def __sklearn_tags__(self) -> Any:
        tags, check = super().__sklearn_tags__(), self._check
        tags.input_tags.positive_only = not check.signed
        tags.input_tags.allow_nan = check.allow_missing
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        # For scikit-learn's checks of `predict_proba`: two clusters are two columns.
        tags.classifier_tags = ClassifierTags(multi_class=self.n_clusters != 2)
        return tags

    def _solver(self, n_threads: int) -> Solver:
        """The parameters, checked and resolved: all that is below sees nothing of the estimator."""
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

    def _set_attributes(self, solution: Solution, rows: Placement, n_missing: int) -> None:
        """What the fit has found, as attributes, in the units of the user."""
        for name in STALE_ATTRIBUTES:
            self.__dict__.pop(name, None)
        best, labels, degree = solution.result, solution.labels, self._loss.degree
        if solution.limit is not None:
            self.outlier_limit_ = solution.limit.scaled(1 / rows.scale, degree)
        scale = best.W.dtype.type(rows.scale)
        self.cluster_centers_ = check_digits(best.W / scale)
        if len(labels):  # otherwise X was read once
            self.labels_, self.membership_ = labels, best.H
            if not np.array_equal(self.cluster_centers_ * scale, best.W):  # subnormal numbers
                self._relabel(rows)
        self.relative_error_, self.n_iter_ = best.relative_error, best.iterations
        error = float(best.relative_error * solution.whole)
        for _ in range(degree):
            error /= rows.scale
        with np.errstate(over="ignore", under="ignore"):
            self.inertia_ = float(np.ldexp(error, rows.weight_exponent))
        self.history_, self.converged_ = best.history, best.stop == "converged"
        self.stationarity_, self.n_missing_ = solution.stationarity, n_missing
        if self._has_ids:
            self.lineage_ = solution.lineage
        self.n_disagreements_ = int(np.sum(labels != solution.nearest))
        self._kept = KeptSamples.of(rows, len(best.W))

    def _why_empty(self, empty: int) -> str:
        """What to say of so many empty clusters."""
        return (
            f"{empty} of {len(self.cluster_centers_)} clusters are empty: ask for fewer, or try "
            "another init or random_state."
        )

    def _relabel(self, rows: Placement) -> None:
        """Labels and memberships by the centroids as they are kept, their lost digits included."""
        assignment = self._limited(self._assignment(rows.data, rows.scale), rows.scale)
        with single_threaded_blas():
            codes, _ = rows.data.sweep(assignment)
        self.labels_ = rows.data.gather(rows.data.map_blocks(labels_of, codes))
        self.membership_ = rows.data.dense(
            len(self.cluster_centers_), assignment.memberships, codes
        )

    def _warn(self, solution: Solution, rows: Placement) -> None:
        warn_of(self, solution, rows)


def check_digits(W: Array) -> Array:
    """The same, if finite and not so small that digits are lost."""
    top = np.abs(W).max(axis=1)
    if not np.isfinite(top).all():
        raise ValueError(
            "the entries of X are too small or too large, or too far apart: divide each sample by "
            "its largest entry."
        )
    lost = np.flatnonzero((top > 0) & (top < np.finfo(W.dtype).tiny))
    if len(lost):
        raise ValueError(
            f"the samples of cluster(s) {listing(lost)} are too small or too large for {W.dtype} "
            f"(largest entry {top[lost[0]]:.3g}): multiply X by a number."
        )
    return W
