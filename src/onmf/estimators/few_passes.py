"""A fit that reads X a given number of times.

    1      a summary of the rows (`rows.summary`), on which the default solver finds the centroids
    2      every sample goes to its nearest centroid: labels, and the exact error
    3 ...  more of the exact alternation on X

Whatever the number of samples, the first sweep brings the same number of bytes, and the centroids
are the same bits wherever the rows are and however they are cut.
"""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from onmf.estimators.ordering import number_clusters
from onmf.estimators.parameters import without_none
from onmf.estimators.solvers import FastSolver, Solution, Solver
from onmf.losses.alternation import finish
from onmf.losses.squares import settle_rule
from onmf.result import CheckpointStore, Recorder, Watch
from onmf.rows import Placement
from onmf.rows.memory import InMemory
from onmf.rows.summary import BottomKSampler
from onmf.rows.sweep import Place

FEWEST_ROWS, ROWS_PER_CLUSTER = 20_000, 1_000  # of the summary


@dataclass(frozen=True)
class FewPasses(Solver):
    """The default solver on a summary of the rows, and what else the passes allow on all rows."""

    fast: FastSolver
    passes: int
    equal_votes: bool

    @classmethod
    def of(cls, fast: Solver, passes: int, equal_votes: bool, **others: Any) -> Self:
        """The summary and the search share one seed; what else was asked for may not fit in."""
        for other in without_none(**others):
            raise ValueError(f"passes and {other} do not go together: leave one of them out.")
        if not isinstance(fast, FastSolver):
            raise ValueError("passes belong to solver='fast': leave them out, or use it.")
        begin = replace(fast.begin, random_state=fast.begin.seeds()[0])
        size = max(FEWEST_ROWS, ROWS_PER_CLUSTER * begin.n_clusters)
        sampler = BottomKSampler(size, begin.random_state, equal_votes)
        summary = {"sampler": sampler, "once": passes == 1}
        again = replace(fast, begin=begin)
        return cls(begin, again, passes, equal_votes, summary=summary)

    @property
    def most_sweeps(self) -> int | None:
        return self.fast.most_sweeps

    def solve(self, rows: Placement, watch: Watch, checkpoints: CheckpointStore) -> Solution:
        some = self._sample(rows)
        solution = self.fast.solve(rows._replace(data=some, X=some.X), watch, checkpoints)
        solution = number_clusters(solution, some.weight, self.begin)
        traffic = rows.data.traffic._asdict()
        history = [stage._replace(sweeps=1, **traffic) for stage in solution.result.history]
        stop = "summary" if solution.result.stop == "max_iter" else solution.result.stop
        result = solution.result._replace(history=history, sweeps=1, iterations=1, stop=stop)
        if self.passes == 1:
            nobody = np.empty(0, np.intp)
            return Solution(result._replace(H=result.H[:0]), nobody, nobody, solution.stationarity)
        return self._on_all_rows(rows.data, solution._replace(result=result), watch)

    def _sample(self, rows: Placement) -> InMemory:
        """The summary as a place of its own."""
        if rows.summary is None:
            raise AssertionError("the first look was to bring a summary")
        X, weight = rows.summary.rows()
        some = InMemory(X, weight[:, 0], self.fast.settings.n_threads)
        some.extremes = rows.data.extremes
        return some.one_vote_each() if self.equal_votes else some

    def _on_all_rows(self, data: Place, solution: Solution, watch: Watch) -> Solution:
        """The labels of all samples, after as much of the exact alternation as there is left."""
        result, settings = solution.result, self.fast.settings_for(data)
        passes = self.passes if result.W.any(axis=1).all() else 2  # no direction to fill empty ones
        recorder = Recorder(watch, passes, history=result.history)
        last, state = finish(settle_rule(settings, data), [result.W], recorder)
        labels = state.labels(data)
        stop = result.stop if last.stop == "max_iter" else last.stop
        return Solution(last._replace(stop=stop), labels, labels, state.stationarity)
