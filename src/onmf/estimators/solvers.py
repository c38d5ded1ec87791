"""From parameters to a solver with frozen settings, one class a solver; none sees an estimator.

A parameter that is None takes the solver's own default: the paper's for "palm" and the rivals, the
best we have for "fast".
"""

from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from onmf.baselines import Means
from onmf.bounds.spectral import cheap_proof
from onmf.estimators.initialization import Initialization
from onmf.estimators.parameters import (
    CenterBounds,
    as_bounds,
    as_outliers,
    check_number,
    without_none,
)
from onmf.losses.masked_starts import cluster_masked, fill_along_ground
from onmf.losses.missing import check_no_missing, rays_beside
from onmf.losses.ray_alternation import TooFewDirectionsError
from onmf.losses.squares import cluster
from onmf.paper.inertia import Inertia
from onmf.paper.palm import PALM, Bounds, Plain
from onmf.paper.path import Path, tighten
from onmf.paper.penalties import PENALTIES, Penalty, RowPenalty
from onmf.paper.start import from_centroids
from onmf.result import CheckpointStore, Factorization, Stage, Watch
from onmf.rows import Placement
from onmf.rows.assign import Code, Rays, labels_of
from onmf.rows.sweep import Data
from onmf.rows.validation import Scale, check_scale, safe_scale
from onmf.search.outliers import LimitedRays, OutlierLimit
from onmf.search.row_problems import unit
from onmf.search.solver import Fast
from onmf.streams.lineage import Lineage

Array = NDArray[Any]


class Solution(NamedTuple):
    """The factors, the label of each sample of X, and the one that `predict` gives to it."""

    result: Factorization
    labels: Array
    nearest: Array
    stationarity: float
    proof: tuple[float, float] | None = None  # bound of the error and gap to it, if known
    limit: OutlierLimit | None = None  # beyond which samples are outliers
    excess: Array | None = None  # by how much each sample is: above 1 beyond it
    unseen: Array | None = None  # features that no sample shows, where X has holes
    inertia: float | None = None  # what is left of X, if it is not squares that are minimised
    lineage: Lineage | None = None  # what became of the clusters that the fit went on from


@dataclass(frozen=True)
class Solver:
    """A method with its settings: the parameters of an estimator, resolved."""

    begin: Initialization
    # What the first look at the rows must bring, as `data.Terms` has it.
    summary: dict[str, Any] = field(default_factory=dict, kw_only=True)

    scale: ClassVar[Scale] = staticmethod(safe_scale)  # what X is multiplied by

    @property
    def most_sweeps(self) -> int | None:
        """How many there can be, over all starts, if that is known."""
        raise NotImplementedError

    def solve(self, rows: Placement, watch: Watch, checkpoints: CheckpointStore) -> Solution:
        """The clusters of these rows."""
        raise NotImplementedError


@dataclass(frozen=True)
class FastSolver(Solver):
    """The default solver: all starts at once."""

    penalty: RowPenalty
    settings: Fast
    bounds: Bounds | None  # on the centroids; None: the range of the data

    @classmethod
    def of(
        cls,
        begin: Initialization,
        n_threads: int,
        *,
        penalty: str | Penalty,
        rho: float | None,
        growth: float | None,
        tol: float | None,
        max_iter: int | None,
        center_bounds: CenterBounds,
        outliers: Any = None,
        **palms: Any,
    ) -> Self:
        if unused := list(without_none(**palms)):
            raise ValueError(f"{', '.join(unused)} belong to solver='palm': leave them out.")
        rows = PENALTIES[penalty] if isinstance(penalty, str) else penalty
        if not isinstance(rows, RowPenalty):
            raise ValueError(
                f"solver='fast' needs a penalty with the methods row_problem and pull, which "
                f"{penalty!r} has not: use solver='palm'."
            )
        if max_iter is not None:
            check_number(max_iter, "max_iter", 2, whole=True)
        settings = Fast(
            **without_none(start=rho, growth=growth, tol=tol, max_sweeps=max_iter),
            n_starts=None if begin.n_init == "auto" else int(begin.n_init),
            n_threads=n_threads,
            outliers=None if outliers is None else as_outliers(outliers),
        )
        return cls(begin, rows, settings, as_bounds(center_bounds))

    @property
    def most_sweeps(self) -> int | None:
        return self.settings.max_sweeps

    def settings_for(self, data: Data) -> Fast:
        """With bounds on the centroids that may be those of the data, and a share of outliers."""
        outliers = self.settings.outliers
        if outliers is not None:
            outliers = outliers.among(data.shape[0], self.begin.n_clusters)
        bounds = self.bounds or Bounds(*data.extremes)
        return replace(self.settings, bounds=bounds, outliers=outliers)

    def solve(self, rows: Placement, watch: Watch, checkpoints: CheckpointStore) -> Solution:
        data, begin, k = rows.data, self.begin, self.begin.n_clusters
        given, settings = not begin.is_search, self.settings_for(data)
        if settings.outliers is not None:
            check_no_missing(data)
        W, old, ancestor = None, {}, begin.ancestor
        seed = begin.seeds(checkpoints)[0]
        if ancestor is not None and settings.outliers is None and not data.n_missing:
            old = {"old": ancestor.centers}
        elif given:
            full = fill_along_ground(data) if data.n_missing else data
            W = begin.factors(full, rows.X, seed)[1]
        search: Any = cluster_masked if data.n_missing else cluster
        find = partial(search, settings, data, penalty=self.penalty, seed=seed, watch=watch)
        try:
            result, state = find(k=k, given=W, checkpoints=checkpoints, **old)
        except TooFewDirectionsError as few:
            result, state = find(k=few.found)
        labels = state.labels(data)
        solution = Solution(result, labels, labels, state.stationarity)
        if data.n_missing:  # the spectrum is that of a matrix without any
            solution = solution._replace(unseen=state.unseen)
        elif state.limit is not None:  # and its bound none for the samples that have a cluster
            solution = solution._replace(limit=state.limit, excess=state.excess(data))
        else:
            solution = solution._replace(proof=cheap_proof(data, result.W, result.relative_error))
        return solution if len(result.W) == k else with_empty(data, solution, k, W)


@dataclass(frozen=True)
class PaperSolver(Solver):
    """The paper's method, once for each start; the lowest error wins."""

    penalty: Penalty
    palm: PALM
    path: Path
    bounds: Bounds | None

    # It depends on the scale of X as the paper's does, and must be given X as it is.
    scale: ClassVar[Scale] = staticmethod(check_scale)

    @classmethod
    def of(
        cls,
        begin: Initialization,
        n_threads: int,
        *,
        penalty: str | Penalty,
        rho: float | None,
        growth: float | None,
        mu_h: float | None,
        mu_w: float | None,
        accelerate: bool | None,
        tol: float | None,
        inner_tol: float | None,
        max_iter: int | None,
        center_bounds: CenterBounds,
        outliers: Any = None,
    ) -> Self:
        if outliers is not None:
            raise ValueError("outliers belong to solver='fast': leave them out, or use it.")
        chosen: Penalty = PENALTIES[penalty] if isinstance(penalty, str) else penalty
        pace = Inertia() if accelerate else Plain()
        palm = PALM(pace=pace, **without_none(mu_h=mu_h, mu_w=mu_w, tol=inner_tol))
        steps = {"tol": chosen.tol} | without_none(start=rho, growth=growth, tol=tol)
        path = Path(max_sweeps=max_iter, **steps)
        return cls(begin, chosen, palm, path, as_bounds(center_bounds))

    @property
    def most_sweeps(self) -> int | None:
        starts = 1 if self.begin.n_init == "auto" else int(self.begin.n_init)
        return None if self.path.max_sweeps is None else starts * self.path.max_sweeps

    def solve(self, rows: Placement, watch: Watch, checkpoints: CheckpointStore) -> Solution:
        data = rows.data
        palm = replace(self.palm, bounds=self.bounds or Bounds(*data.extremes))
        best, done = _best_so_far(checkpoints)
        for restart, seed in enumerate(self.begin.seeds(checkpoints)):
            if restart < done:
                continue
            H, W = self.begin.factors(data, rows.X, seed)
            H = from_centroids(data, W) if H is None else H
            H = data.map_blocks(_without_empty, data.row_sqnorms, H)
            new = tighten(palm, data, H, W, self.penalty, self.path, watch, restart, checkpoints)
            best = new if best is None or new.relative_error < best.relative_error else best
            if new.stop == "callback":
                break
            checkpoints.note("best", partial(_facts_of, best, restart + 1))
        if best is None:
            raise AssertionError("there is at least one start")
        stationarity = palm.stationarity(data, data.scatter(best.H), best.W, self.penalty, best.rho)
        return with_labels(data, best, Rays.of(best.W), stationarity)


SOLVERS: dict[str, type[FastSolver] | type[PaperSolver]] = {"fast": FastSolver, "palm": PaperSolver}


def with_empty(data: Data, solution: Solution, k: int, given: Array | None) -> Solution:
    """The solution with empty clusters besides, their centroids zero, so that there are k.

    Where the fit began at given centroids, each cluster takes the id of the one it is nearest to.
    """
    W, ids = solution.result.W, np.arange(len(solution.result.W))
    if given is not None:
        _, ids = linear_sum_assignment(-(unit(W) @ unit(given).T))
    wide = np.zeros((k, W.shape[1]), W.dtype)
    wide[ids] = W
    labels = np.append(ids, -1)[solution.labels]
    rule = rays_beside(data, wide)
    rule = rule if solution.limit is None else LimitedRays.beyond(rule, solution.limit)
    rows, _ = data.sweep(rule)
    history = [s._replace(empty_clusters=k - len(W)) for s in solution.result.history]
    H = data.dense(k, rule.memberships, rows)
    result = solution.result._replace(H=H, W=wide, history=history)
    return solution._replace(result=result, labels=labels, nearest=labels)


def with_labels(
    data: Data, result: Factorization, rule: Rays | Means, stationarity: float
) -> Solution:
    """With the labels of the factors, and those that the rule gives; reads X once."""
    near, _ = data.sweep(rule)
    labels = data.gather(data.map_blocks(_largest, data.scatter(result.H), near))
    return Solution(result, labels, data.gather(data.map_blocks(labels_of, near)), stationarity)


def _best_so_far(checkpoints: CheckpointStore) -> tuple[Factorization | None, int]:
    """The best result of the starts that an earlier process did, and how many they were."""
    notes = checkpoints.recall("best")
    if notes is None:
        return None, 0
    history = [Stage(*stage) for stage in notes["best"]["history"]]
    return Factorization(**notes["best"] | {"history": history}), notes["done"]


def _facts_of(best: Factorization, done: int) -> dict[str, Any]:
    return {"best": best._asdict() | {"H": np.asarray(best.H)}, "done": done}


def _without_empty(sqnorms: Array, H: Array) -> Array:
    """A sample of zeros has nothing to explain, hence no cluster."""
    return np.where((sqnorms == 0)[:, None], H.dtype.type(0), H)


def _largest(H: Array, near: Code) -> Array:
    """The paper's label, where the membership is largest; the nearest ray's if there is none."""
    return np.where(H.any(axis=1), H.argmax(axis=1), near.labels)
