"""Two ways to run trials (K, seed).

* `Alone`: any scikit-learn clusterer, one fit a trial, in parallel processes;
* `Together`: `ONMF` by its default solver, whose fits share the sketch and every sweep.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClusterMixin, clone

from onmf.estimators.fitting import FastSolver
from onmf.estimators.ordering import canonical_order, renumber
from onmf.ledger import Ledger, Trial, run
from onmf.rows.memory import InMemory, count_nonzero_samples
from onmf.rows.threads import single_threaded_blas
from onmf.rows.validation import rescale_to_safe_range, too_few
from onmf.stability.many import Attempt, Many

Array = NDArray[Any]
Progress = Callable[[int, int], None]


class Runner(Protocol):
    """Runs the trials of one model on one data set."""

    def __call__(
        self, ledger: Ledger, trials: Sequence[Trial], progress: Progress | None = None
    ) -> None: ...


class Alone:
    """Any clusterer, whose parameter `name` holds K: each trial is a fit of its own."""

    def __init__(self, model: ClusterMixin, name: str, X: Any, n_jobs: int | None) -> None:
        self.model, self.name, self.X, self.n_jobs = model, name, X, n_jobs

    def __call__(
        self, ledger: Ledger, trials: Sequence[Trial], progress: Progress | None = None
    ) -> None:
        work = LoneFit(self.model, self.name, self.X)
        run(ledger, trials, work, n_jobs=self.n_jobs or 1, progress=progress)


@dataclass(frozen=True)
class LoneFit:
    """The work of one trial; small enough to be sent to another process with the data."""

    model: ClusterMixin
    name: str
    X: Any

    def __call__(self, trial: Trial) -> tuple[dict[str, Any], Array]:
        model = clone(self.model)
        model.set_params(**{self.name: trial["k"], "random_state": trial["seed"]})
        return {}, np.asarray(model.fit_predict(self.X))


class Together:
    """`ONMF` by its default solver: the trials share their sweeps."""

    def __init__(self, solver: FastSolver, X: Any, equal_votes: bool = False) -> None:
        self.n_threads = solver.settings.search.n_threads
        self.X, _ = rescale_to_safe_range(X)
        rows = InMemory(self.X, n_threads=self.n_threads)
        self.data = rows.one_vote_each() if equal_votes else rows
        self.settings, self.penalty = solver.settings_for(self.data), solver.penalty

    @property
    def scale(self) -> Array:
        """What to multiply the samples by, for their energy to be their say."""
        influence, sqnorms = (
            self.data.gather(part) for part in (self.data.influence, self.data.row_sqnorms)
        )
        return np.sqrt(influence / np.where(sqnorms > 0, sqnorms, 1))

    def __call__(
        self, ledger: Ledger, trials: Sequence[Trial], progress: Progress | None = None
    ) -> None:
        ledger.plan(trials)
        left, total = ledger.unfinished(trials), len(trials)
        report = (lambda done, total: None) if progress is None else progress
        report(done := total - len(left), total)
        runs = SharedRuns(self, max(trial["k"] for trial in trials))
        with single_threaded_blas():
            for batch in _batches(left):
                for trial, outcome in runs.outcomes(batch):
                    if isinstance(outcome, Exception):
                        ledger.fail(trial, f"{type(outcome).__name__}: {outcome}")
                    else:
                        ledger.record(trial, *outcome)
                    report(done := done + 1, total)


def _batches(trials: list[Trial]) -> list[list[Trial]]:
    """Trials to be run side by side: the runs of one K."""
    ordered = sorted(trials, key=lambda trial: trial["k"])
    return [list(batch) for _, batch in groupby(ordered, key=lambda trial: trial["k"])]


class SharedRuns:
    """The clusterings of one set of data."""

    def __init__(self, runner: Together, most: int) -> None:
        self.runner, self.most, self.data = runner, most, runner.data
        self.useful = self.data.reduce_blocks(count_nonzero_samples, self.data.row_sqnorms)

    @cached_property
    def many(self) -> Many:
        """Made when it is first needed, once the data are known to be useful."""
        runner = self.runner
        return Many(runner.settings, self.data, self.most, runner.penalty, seed=0)

    def outcomes(self, batch: list[Trial]) -> Iterator[tuple[Trial, Any]]:
        """Result and labels of each trial, or its exception."""
        try:
            yield from zip(batch, self._make(batch), strict=True)
        except Exception as error:  # whatever it is, the other trials go on
            if len(batch) == 1:
                yield batch[0], error
            else:  # one of them spoils it for all: each for itself
                for trial in batch:
                    yield from self.outcomes([trial])

    def _make(self, batch: list[Trial]) -> list[tuple[dict[str, Any], Array]]:
        for trial in batch:
            if self.useful < trial["k"]:
                raise too_few(self.useful, self.data.shape[0], trial["k"])
        ends = self.many([Attempt(trial["k"], trial["seed"]) for trial in batch])
        return [
            (
                {"relative_error": end.relative_error, "converged": end.converged},
                renumber(end.labels, canonical_order(end.labels, None, trial["k"])),
            )
            for end, trial in zip(ends, batch, strict=True)
        ]
