"""From resolved parameters to a solution; nothing here sees an estimator.

A `Solver` has frozen settings. The default solver runs the alternation of the loss on the rows, or
first on a summary of them; `paper_solver` has that of the paper.
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from onmf.estimators.initialization import Initialization
from onmf.estimators.lineage import Lineage
from onmf.estimators.ordering import number_clusters
from onmf.losses import Loss
from onmf.losses.alternation import Alternation
from onmf.losses.filling import fill_along_common_ray
from onmf.losses.ray_alternation import TooFewDirectionsError
from onmf.losses.settling import finish, fit
from onmf.result import Factorization, Recorder, Watch
from onmf.rows import Placement
from onmf.rows.memory import InMemory, count_nonzero_samples
from onmf.rows.scale import Scale, safe_scale
from onmf.rows.summary import BottomKSampler
from onmf.rows.sweep import Array, Data, count_missing
from onmf.search.numpy_kernels import unit
from onmf.search.outliers import OutlierLimit, Outliers
from onmf.search.starts import Settings


class FitRequest(NamedTuple):
    """What an estimator asks of a solver."""

    loss: Loss
    init: Initialization
    n_threads: int
    outliers: Outliers | None
    tol: float | None
    max_iter: int | None


class Solution(NamedTuple):
    """The factors, the label of each sample of X, and the one that `predict` gives to it."""

    result: Factorization
    labels: Array
    nearest: Array
    stationarity: float
    whole: float  # what the relative error is a share of
    limit: OutlierLimit | None = None  # beyond which samples are outliers
    beyond: Array | None = None  # whether each sample is beyond the limit
    unobserved: Array | None = None  # features that no sample shows, where values are missing
    lineage: Lineage | None = None  # what became of the clusters of an earlier model


@dataclass(frozen=True)
class Solver:
    """A method with its settings: the parameters of an estimator, resolved."""

    begin: Initialization

    scale: ClassVar[Scale] = staticmethod(safe_scale)  # what X is multiplied by

    @property
    def most_sweeps(self) -> int | None:
        """How many there can be, over all starts, if that is known."""
        raise NotImplementedError

    @property
    def sampling(self) -> dict[str, Any]:
        """What the validation of the rows must bring, as `rows.PlacementRequest` has it."""
        return {}

    def solve(self, rows: Placement, watch: Watch) -> Solution:
        """The clusters of these rows."""
        raise NotImplementedError


@dataclass(frozen=True)
class FastSolver(Solver):
    """The default solver; `passes` limits how often X is read."""

    loss: Loss
    settings: Settings
    passes: int | None = None
    sampler: BottomKSampler | None = None

    @property
    def most_sweeps(self) -> int | None:
        return self.settings.max_sweeps

    @property
    def sampling(self) -> dict[str, Any]:
        if self.sampler is None:
            return {}
        return {"sampler": self.sampler, "once": self.passes == 1}

    def settings_for(self, rows: Placement, data: Data) -> Settings:
        """For data of this sign, with outliers as a share of all samples."""
        outliers = self.settings.outliers
        if outliers is not None:
            some = rows.summary  # of its rows each stands for many
            present = (
                data.reduce_blocks(count_nonzero_samples, data.row_sqnorms)
                if some is None
                else some.count
            )
            outliers = outliers.among(present, self.begin.n_clusters)
        signed, refit = data.extremes[0] < 0, self.begin.previous is not None
        return replace(self.settings, signed=signed, outliers=outliers, refit=refit)

    def solve(self, rows: Placement, watch: Watch) -> Solution:
        if self.passes is not None:
            return self._solve_by_summary(rows, watch)
        return self._solution(rows.data, *self._fit(rows, rows.data, watch))

    def _fit(
        self, rows: Placement, data: Data, watch: Watch
    ) -> tuple[Factorization, Any, Alternation]:
        """k clusters of these rows, or as many as they have directions."""
        begin, seed = self.begin, self.begin.seeds()[0]
        settings = self.settings_for(rows, data)
        alternation: Alternation = self.loss.alternation(data, settings)
        given: Array | None = None
        if begin.previous is not None:
            given = begin.previous.centers
        elif not begin.is_search:
            full = fill_along_common_ray(data) if data.n_missing else data
            given = begin.factors(full, rows.X, seed)[1]
        most, k = settings.max_sweeps, begin.n_clusters
        recorder = Recorder(watch, most)
        while True:
            try:
                return fit(alternation, k, seed, recorder, given)
            except TooFewDirectionsError as few:
                if not few.found:
                    raise
                k, given, recorder = few.found, None, Recorder(watch, most)

    def _solution(
        self, data: Data, result: Factorization, state: Any, alternation: Alternation
    ) -> Solution:
        labels, k = state.labels(data), self.begin.n_clusters
        solution = Solution(
            result,
            labels,
            labels,
            alternation.stationarity(state),
            alternation.whole,
            limit=state.limit,
            beyond=state.limit and state.limit.beyond(*alternation.gathered_pairs(state)),
            unobserved=alternation.unobserved(state),
        )
        if len(result.W) == k:
            return solution
        given = None if isinstance(self.begin.init, str) else np.asarray(self.begin.init)
        return with_empty(alternation, solution, k, given)

    def _solve_by_summary(self, rows: Placement, watch: Watch) -> Solution:
        """Clusters of the summary, then labels and further sweeps on all rows."""
        some = self._summary(rows)
        result, state, alternation = self._fit(rows, some, watch)
        solution = self._solution(some, result, state, alternation)
        solution = number_clusters(solution, some.weight, self.begin, self.loss)
        traffic = rows.data.traffic._asdict()
        history = [stage._replace(sweeps=1, **traffic) for stage in solution.result.history]
        stop = "summary" if result.stop == "max_iter" else result.stop
        result = solution.result._replace(history=history, sweeps=1, iterations=1, stop=stop)
        totals = None if rows.summary is None else rows.summary.totals
        alternation = alternation.moved_to(rows.data, totals)
        if self.passes == 1:
            nobody = np.empty(0, np.intp)
            return solution._replace(
                result=result._replace(H=result.H[:0]),
                labels=nobody,
                nearest=nobody,
                beyond=None,
                whole=alternation.whole,
            )
        passes = self.passes or 2
        passes = passes if result.W.any(axis=1).all() else 2  # no direction to fill empty ones
        recorder = Recorder(watch, passes, history=history)
        last, state = finish(alternation, [result.W], recorder, limit=state.limit)
        stop = result.stop if last.stop == "max_iter" else last.stop
        return self._solution(rows.data, last._replace(stop=stop), state, alternation)

    def _summary(self, rows: Placement) -> InMemory:
        """The summary as a place of its own."""
        assert rows.summary is not None  # asked for by `sampling`
        X, weight = rows.summary.rows()
        threads = self.settings.n_threads
        some = InMemory(X, weight[:, 0], threads, count_missing(X))
        some.extremes = rows.data.extremes
        return some


def with_empty(
    alternation: Alternation, solution: Solution, k: int, given: Array | None
) -> Solution:
    """The solution with empty clusters besides, their centroids zero, so that there are k.

    Where the fit started from given centroids, each cluster takes the id of the nearest one.
    """
    data, W = alternation.data, solution.result.W
    ids = np.arange(len(W))
    if given is not None:
        _, ids = linear_sum_assignment(-(unit(W) @ unit(given).T))
    wide = np.zeros((k, W.shape[1]), W.dtype)
    wide[ids] = W
    labels = np.append(ids, -1)[solution.labels]
    assignment = alternation.assignment(wide, solution.limit)
    rows, _ = data.sweep(assignment)
    history = [s._replace(empty_clusters=k - len(W)) for s in solution.result.history]
    H = data.dense(k, assignment.memberships, rows)
    result = solution.result._replace(H=H, W=wide, history=history)
    return solution._replace(result=result, labels=labels, nearest=labels)
