"""What every estimator of the package shares: samples in, clusters and their attributes out."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray

from onmf.core.assign import labels_of
from onmf.core.memory import useful
from onmf.core.paper.start import STARTS
from onmf.core.result import FORGETFUL
from onmf.core.threads import blas_threads, single_threaded_blas
from onmf.data import Placement
from onmf.data.validation import moderate, too_few
from onmf.estimators.beginning import Beginning
from onmf.estimators.callbacks import FRAMES, CallbackSupportMixin, Tasks, with_callbacks
from onmf.estimators.checkpoint import Checkpoint
from onmf.estimators.divergence import CountSolver
from onmf.estimators.few_passes import FewPasses
from onmf.estimators.ordering import arrange, canonical_order
from onmf.estimators.parameters import CenterBounds, allows_signs, check_choice, check_number
from onmf.estimators.presenter import Presenter
from onmf.estimators.rival_solver import RivalSolver
from onmf.estimators.sentences import LIMITS, check_digits, why_unobserved
from onmf.estimators.solvers import FastSolver, PaperSolver, Solution
from onmf.exceptions import (
    ConvergenceWarning,
    EmptyClusterWarning,
    UnassignedSampleWarning,
    UnobservedWarning,
)
from onmf.io.table import listing

Array = NDArray[Any]

# What belonged to an earlier fit.
BEFORE = (
    "preprocessing_",
    "certainty_curve_",
    "_stream",
    "_evolution",
    "outlier_score_",
    "outlier_fence_",
)

# A method with its settings: `scale` says what X is multiplied by before `solve`, `most_sweeps` how
# many there can be, over all starts, if that is known.
Solver = FastSolver | PaperSolver | RivalSolver | CountSolver | FewPasses


class Clusterer(CallbackSupportMixin, Presenter):
    """Fit and warn; a subclass brings parameters and, in `_solver`, what is done with them."""

    init: Any
    tol: float | None
    max_iter: int | None
    n_jobs: int | None
    callback: Any
    center_bounds: CenterBounds = (0, None)
    checkpoint: str | Path | None = None
    warm_start: bool = False
    _unit = "iterations"  # what max_iter counts

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Cluster the samples of X.

        Parameters
        ----------
        X : array, sparse matrix, DataFrame, path or Dask collection (n_samples, n_features)
            Non-negative data; a sparse matrix is never made dense. NaN is an entry that was not
            observed, for `ONMF` by its default solver: the error counts what is observed. In a
            sparse matrix such an entry is a stored NaN, for what is not stored is zero. `ONMF`
            reads a path (.npy, .npz, .h5, .h5ad, .zarr, .parquet), a memory map or an open data
            set of h5py or zarr block by block, and leaves a Dask array or DataFrame on its workers;
            `Baseline` needs X in memory. An ``onmf.io.Table`` is a matrix whose features have
            names.
        y : ignored
        sample_weight : array of shape (n_samples,), optional
            A sample of weight 2 counts as if it were there twice.

        Returns
        -------
        self

        Warns
        -----
        UnassignedSampleWarning, UnobservedWarning, EmptyClusterWarning, ConvergenceWarning
            and CheckpointWarning, of ``onmf.exceptions``, which says when.

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
        anew = self._start()[1]
        solver = self._solver(n_threads)
        weights = None if sample_weight is None else {"sample_weight": sample_weight}
        tasks = Tasks.begin(self, solver.most_sweeps, X=X, y=y, metadata=weights)
        if tasks is not None:
            solver = replace(solver, watch=tasks.watching(solver.watch))
        with self._all_or_nothing():
            rows = self._place(
                X,
                sample_weight,
                solver.scale,
                reset=anew,
                n_threads=n_threads,
                equal_votes=self.equal_votes,
                **(solver.summary if isinstance(solver, FewPasses) else {}),
            )
            with single_threaded_blas():
                known = rows.summary
                if known is None:
                    n_useful = rows.data.total(useful, rows.data.energy)
                else:
                    n_useful = known.count
                if n_useful < (k := solver.begin.n_clusters):
                    raise too_few(n_useful, rows.data.shape[0], k)
                solver = self._rooted(solver)
                notes = None
                if self.checkpoint is not None:
                    parameters = self.get_params(deep=False) | {"init": solver.begin.init}
                    notes = Checkpoint.of(
                        self.checkpoint, type(self).__name__, parameters, rows.data
                    )
                solution = solver.solve(rows, notes or FORGETFUL)
                size = rows.data.sqnorm, rows.data.holes
            self._keep(self._numbered(solution, rows, solver.begin), rows, *size)
        if notes is not None:
            notes.close(solution.result.stop)
        if tasks is not None:
            tasks.end()
        self._warn(solution)
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = not allows_signs(self.center_bounds)
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _check_parameters(self) -> None:
        self._check_count()
        self._check_init()
        if self.max_iter is not None:
            check_number(self.max_iter, "max_iter", 1, whole=True)
        if self.tol is not None:
            check_number(self.tol, "tol", 0)
        if self.callback is not None and not callable(self.callback):
            raise ValueError(f"callback must be callable, not {self.callback!r}.")

    def _check_count(self) -> None:
        check_number(self.n_clusters, "n_clusters", 1, whole=True)

    def _check_init(self) -> None:
        if isinstance(self.init, str):
            check_choice(
                self.init, "init", list(STARTS), ", centroids, a pair (H, W) or a callable"
            )

    def _start(self) -> tuple[Any, bool]:
        """Where the fit begins, and whether anew: or at the centroids of the fit before."""
        if not self.warm_start or not hasattr(self, "cluster_centers_"):
            return self.init, True
        if self.n_clusters not in (None, len(self.cluster_centers_)):
            raise ValueError(
                f"warm_start goes on from {len(self.cluster_centers_)} clusters, not from "
                f"n_clusters={self.n_clusters}: fit a clone, or leave n_clusters as it was."
            )
        return self.cluster_centers_, False

    def _rooted(self, solver: Solver) -> Solver:
        """The solver, now that the features of X are known."""
        return solver

    def _numbered(self, solution: Solution, rows: Placement, begin: Beginning) -> Solution:
        """The solution with its clusters in the order of their numbers."""
        if not isinstance(begin.init, str) or not len(solution.labels):
            return solution
        return arrange(solution, canonical_order(solution.labels, rows.weight, begin.n_clusters))

    def _solver(self, n_threads: int) -> Solver:
        """The parameters, resolved: all that is below sees nothing else of the estimator."""
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

    def _keep(self, solution: Solution, rows: Placement, sqnorm: float, holes: int) -> None:
        for name in BEFORE:
            self.__dict__.pop(name, None)
        best, labels = solution.result, solution.labels
        self.membership_, self.labels_ = best.H, labels
        if solution.fence is not None and solution.excess is not None:
            self.outlier_score_ = solution.excess
            self.outlier_fence_ = solution.fence.scaled(1 / rows.scale)
        scale = best.W.dtype.type(rows.scale)
        self.cluster_centers_ = check_digits(best.W / scale)
        if not np.array_equal(self.cluster_centers_ * scale, best.W):  # subnormal numbers
            self._relabel(rows)
        self.relative_error_, self.n_iter_ = best.relative_error, best.iterations
        unit = 1 if self.equal_votes else rows.scale  # shares have none
        error = float(best.relative_error * sqnorm) / unit / unit
        error = error if solution.inertia is None else solution.inertia
        with np.errstate(over="ignore", under="ignore"):
            self.inertia_ = float(np.ldexp(error, rows.weight_exponent))
        self.history_, self.converged_ = best.history, best.stop == "converged"
        self.stationarity_, self.n_missing_ = solution.stationarity, holes
        self.bound_, self.gap_ = solution.proof or (None, None)
        self.n_disagreements_ = int(np.sum(labels != solution.nearest))
        if not len(labels):  # X was read once
            del self.labels_, self.membership_

    def _why_empty(self, empty: int) -> str:
        """What to say of so many empty clusters."""
        return (
            f"{empty} of {len(self.cluster_centers_)} clusters are empty: ask for fewer, or try "
            "another init or random_state."
        )

    def _relabel(self, rows: Placement) -> None:
        """Labels and memberships by the centroids as they are kept, their lost digits included."""
        centers, size = moderate(self.cluster_centers_)
        rule = self._rule(rows.data, centers, centers.dtype.type(size / rows.scale))
        rule = self._with_fence(rows.data, rule, rows.scale)
        with single_threaded_blas():
            codes, _ = rows.data.sweep(rule)
        self.labels_ = rows.data.gather(rows.data.each(labels_of, codes))
        self.membership_ = rows.data.array(len(centers), rule.memberships, codes)

    def _warn(self, solution: Solution) -> None:
        labels = getattr(self, "labels_", np.arange(len(self.cluster_centers_)))
        near = getattr(self, "outlier_score_", np.zeros(1)) <= 1  # an outlier was asked for
        missing = np.flatnonzero((labels < 0) & near)
        best, unseen = solution.result, solution.unseen
        if unseen is not None and len(missing) + len(unseen):
            warnings.warn(why_unobserved(missing, unseen), UnobservedWarning, 3 + FRAMES)
        elif len(missing):
            warnings.warn(
                f"{len(missing)} sample(s) are all zero or share no feature with any cluster and "
                f"have label -1: {listing(missing)}.",
                UnassignedSampleWarning,
                stacklevel=3 + FRAMES,
            )
        empty = len(self.cluster_centers_) - len(np.unique(labels[labels >= 0]))
        if empty:
            warnings.warn(self._why_empty(empty), EmptyClusterWarning, stacklevel=3 + FRAMES)
        # An empty cluster alone keeps the paper's orthogonality too large.
        if best.stop in ("max_iter", "summary") or (best.stop == "max_stages" and not empty):
            reason = LIMITS[best.stop].format(
                iterations=best.iterations, unit=self._unit, stages=len(best.history)
            )
            warnings.warn(
                f"{type(self).__name__} did not converge {reason} (orthogonality "
                f"{best.history[-1].orthogonality:.2g}, residual {best.history[-1].residual:.2g}).",
                ConvergenceWarning,
                stacklevel=3 + FRAMES,
            )
