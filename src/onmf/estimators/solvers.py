"""Solvers as objects: `Fast` and `PALM` hold how a fit is computed, `ONMF` what is fitted.

Both have `get_params`, so that a grid search can set ``solver__rho``. A parameter that is None has
the default of the solver.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal, TypedDict

from onmf.estimators.bases import DocumentedEstimator
from onmf.estimators.fitting import FastSolver, FitRequest, Solver
from onmf.estimators.paper_solver import PaperSolver
from onmf.estimators.parameters import (
    CenterBounds,
    Init,
    as_bounds,
    check_choice,
    check_number,
    without_none,
)
from onmf.palm.inertia import Inertia
from onmf.palm.palm import PalmSettings, Plain
from onmf.palm.path import Path as PenaltyPath
from onmf.palm.penalties import PENALTIES, Penalty
from onmf.result import Event
from onmf.rows.summary import BottomKSampler
from onmf.search.starts import Settings

MIN_SUMMARY_ROWS, SUMMARY_ROWS_PER_CLUSTER = 20_000, 1_000


class Fast(DocumentedEstimator):
    """The default solver: a search in a sketch of the data, then an exact alternation on the data.

    It reads X a handful of times, leaves no cluster empty, and does not depend on the scale of X.

    Parameters
    ----------
    passes : int, optional
        How often X may be read, including its validation; None: as `max_iter` allows. The first
        pass makes a summary, a weighted sample of 20,000 rows or 1,000 per cluster (fewer if that
        is more than 100 million dense entries), on which the clusters are found. The second labels
        all samples, later ones continue the exact alternation. With 1 there are no `labels_` and
        `membership_`, and `relative_error_` is that of the summary: for labels that stay on Dask
        (`predict`).

    Examples
    --------
    >>> from onmf import ONMF, Fast
    >>> ONMF(2, solver=Fast(passes=2), random_state=0).fit([[3, 0], [2, 0.1], [0, 1]]).labels_
    array([0, 0, 1])
    """

    name = "fast"
    signed = True  # whether X may have negative entries

    def __init__(self, passes: int | None = None) -> None:
        self.passes = passes

    def features(self) -> set[str]:
        """What was asked for, by the names of `losses.support`."""
        return set() if self.passes is None else {"passes"}

    def prepare(self, request: FitRequest) -> Solver:
        """The parameters, checked and resolved."""
        check_solver_parameters(self)
        begin, loss = request.init, request.loss
        settings = Settings(
            **without_none(
                tol=request.tol,
                max_sweeps=request.max_iter and max(request.max_iter, loss.min_sweeps),
                outliers=request.outliers,
            ),
            n_starts=None if begin.n_init == "auto" else int(begin.n_init),
            n_threads=request.n_threads,
        )
        sampler = None
        if self.passes is not None:
            begin = replace(begin, random_state=begin.seeds()[0])  # of summary and search
            size = max(MIN_SUMMARY_ROWS, SUMMARY_ROWS_PER_CLUSTER * begin.n_clusters)
            sampler = BottomKSampler(
                size,
                begin.random_state,
                loss.sampling_weight,
                loss.measure(),
            )
        return FastSolver(begin, loss, settings, self.passes, sampler)


class PALM(DocumentedEstimator):
    """The paper's method: proximal alternating linearised minimisation with a growing penalty.

    It depends on the scale of X as the paper's method does, and minimises squares.

    Parameters
    ----------
    penalty : {"sncp", "nsncp"} or penalty object, default="sncp"
        The penalty that drives the rows of H towards one non-zero entry: smooth, non-smooth, or an
        object like those in `onmf.palm.penalties`, for example ``General(p=1, q=3, v=3)``.
    center_bounds : "auto", "data" or (lower, upper), default="auto"
        Bounds on the entries of the centroids. "auto": non-negative for X >= 0; if X has negative
        entries the centroids are free, and a `SignedDataWarning` says so. "data" is the range of X;
        None in a pair is no bound.
    rho : float, optional
        First weight of the penalty (1e-8).
    growth : float, optional
        Factor between consecutive weights (1.1).
    mu_h, mu_w : float, optional
        Ridge on memberships and centroids (1e-10 and 0).
    inner_tol : float, optional
        Relative change of the factors that ends a stage (3e-3).
    accelerate : bool, default=False
        Adds momentum to PALM; a step that raises the objective is undone. Fewer sweeps, different
        iterates from the paper.

    Examples
    --------
    >>> from onmf import ONMF, PALM
    >>> model = ONMF(2, solver=PALM(accelerate=True), random_state=0)
    >>> model.fit([[3, 0], [2, 0.1], [0, 1]]).labels_
    array([0, 0, 1])
    """

    name = "palm"

    def __init__(
        self,
        penalty: Literal["sncp", "nsncp"] | Penalty = "sncp",
        center_bounds: CenterBounds = "auto",
        rho: float | None = None,
        growth: float | None = None,
        mu_h: float | None = None,
        mu_w: float | None = None,
        inner_tol: float | None = None,
        accelerate: bool = False,
    ) -> None:
        self.penalty = penalty
        self.center_bounds = center_bounds
        self.rho = rho
        self.growth = growth
        self.mu_h = mu_h
        self.mu_w = mu_w
        self.inner_tol = inner_tol
        self.accelerate = accelerate

    @property
    def signed(self) -> bool:
        """Whether X may have negative entries."""
        return as_bounds(self.center_bounds)((-1.0, 1.0)).lower < 0

    def features(self) -> set[str]:
        """What was asked for, by the names of `losses.support`."""
        return set()

    def prepare(self, request: FitRequest) -> Solver:
        """The parameters, checked and resolved."""
        check_solver_parameters(self)
        palm = PalmSettings(
            pace=Inertia() if self.accelerate else Plain(),
            **without_none(mu_h=self.mu_h, mu_w=self.mu_w, tol=self.inner_tol),
        )
        penalty = PENALTIES[self.penalty] if isinstance(self.penalty, str) else self.penalty
        known = without_none(start=self.rho, growth=self.growth, tol=request.tol)
        path = PenaltyPath(max_sweeps=request.max_iter, **{"tol": penalty.tol} | known)
        return PaperSolver(request.init, penalty, palm, path, as_bounds(self.center_bounds))


SOLVERS = {"fast": Fast, "palm": PALM}
SOLVER_NUMBERS: dict[str, dict[str, Any]] = {  # what `check_number` asks of them; None is a default
    "passes": {"low": 1, "whole": True},
    "growth": {"low": 1, "open_": True},
    "rho": {"low": 0, "open_": True},
    "mu_h": {"low": 0},
    "mu_w": {"low": 0},
    "inner_tol": {"low": 0},
}


def check_solver_parameters(solver: Fast | PALM) -> None:
    for name, value in solver.get_params(deep=False).items():
        if name in SOLVER_NUMBERS and value is not None:
            check_number(value, name, **SOLVER_NUMBERS[name])
    if isinstance(solver, Fast):
        return
    if not isinstance(solver.accelerate, bool):
        raise ValueError(f"accelerate must be True or False, not {solver.accelerate!r}.")
    if isinstance(solver.penalty, str) or not hasattr(solver.penalty, "step"):
        check_choice(solver.penalty, "penalty", list(PENALTIES), " or a penalty object")
    as_bounds(solver.center_bounds)


def solver_of(solver: Any) -> Fast | PALM:
    """A solver object, from its name or as it is."""
    if isinstance(solver, str) and solver in SOLVERS:
        return SOLVERS[solver]()
    if isinstance(solver, Fast | PALM):
        return solver
    known = ", ".join(f"{name!r}" for name in SOLVERS)
    raise ValueError(f"solver must be one of {known}, Fast(...) or PALM(...), not {solver!r}.")


class OtherParameters(TypedDict, total=False):
    """Types of the parameters of `ONMF` that a function such as `cluster` hands on."""

    outliers: float | Literal["auto"] | None
    init: Init
    n_init: int | Literal["auto"]
    solver: Literal["fast", "palm"] | Fast | PALM
    tol: float | None
    max_iter: int | None
    verbose: int
    callback: Callable[[Event], bool] | None
