"""Two ways to run trials (K, seed).

* `Alone`: any scikit-learn clusterer, one fit a trial, in parallel processes;
* `Together`: `ONMF` by its default solver, whose fits share the sketch and every sweep.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Any, Protocol

import joblib
import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from onmf.core.rows import InMemory, blas_threads, single_threaded_blas
from onmf.data import validation as door
from onmf.estimators import ONMF
from onmf.estimators.clusterer import canonical_order, useful
from onmf.estimators.solvers import fast_settings
from onmf.ledger import Ledger, Trial, run
from onmf.stability.many import Many, Run

Array = NDArray[Any]
Progress = Callable[[int, int], None]


class Runner(Protocol):
    """Runs the trials of one model on one data set."""

    def __call__(
        self, ledger: Ledger, trials: Sequence[Trial], progress: Progress | None = None
    ) -> None: ...


class Alone:
    """Any clusterer: each trial is a fit of its own."""

    def __init__(self, model: Any, name: str, X: Any, n_jobs: int | None) -> None:
        self.model, self.name, self.X, self.n_jobs = model, name, X, n_jobs

    def __call__(
        self, ledger: Ledger, trials: Sequence[Trial], progress: Progress | None = None
    ) -> None:
        work = Fit(self.model, self.name, self.X)
        run(ledger, trials, work, n_jobs=self.n_jobs or 1, progress=progress)


@dataclass(frozen=True)
class Fit:
    """The work of one trial; small enough to be sent to another process with the data."""

    model: Any
    name: str
    X: Any

    def __call__(self, trial: Trial) -> tuple[dict[str, Any], Array]:
        model = clone(self.model)
        model.set_params(**{self.name: trial["k"], "random_state": trial["seed"]})
        return {}, np.asarray(model.fit_predict(self.X))


class Together:
    """`ONMF` by its default solver: the trials that see the same features share their sweeps."""

    def __init__(self, model: ONMF, name: str, X: Any, n_jobs: int | None) -> None:
        self.X, _ = door.scaled(X, door.power_of_two)
        self.n_threads = blas_threads() if n_jobs is None else joblib.effective_n_jobs(n_jobs)
        self.data = InMemory(self.X, n_threads=self.n_threads)
        self.settings, self.penalty = fast_settings(model, self.data, self.n_threads)

    def __call__(
        self, ledger: Ledger, trials: Sequence[Trial], progress: Progress | None = None
    ) -> None:
        ledger.plan(trials)
        left, total = ledger.unfinished(trials), len(trials)
        report = (lambda done, total: None) if progress is None else progress
        report(done := total - len(left), total)
        maker = Maker(self, max(trial["k"] for trial in trials))
        with single_threaded_blas():
            for batch in batches(left):
                for trial, outcome in maker.outcomes(batch):
                    if isinstance(outcome, Exception):
                        ledger.fail(trial, f"{type(outcome).__name__}: {outcome}")
                    else:
                        ledger.record(trial, *outcome)
                    report(done := done + 1, total)


def batches(trials: list[Trial]) -> list[list[Trial]]:
    """Trials to be run side by side: the runs of one K."""
    ordered = sorted(trials, key=lambda trial: trial["k"])
    return [list(batch) for _, batch in groupby(ordered, key=lambda trial: trial["k"])]


class Maker:
    """The clusterings of one set of data."""

    def __init__(self, runner: Together, most: int) -> None:
        self.runner, self.most, self.data = runner, most, runner.data
        self.useful = self.data.total(useful, self.data.energy)

    @cached_property
    def many(self) -> Many:
        """Made when it is first needed, once the data are known to be useful."""
        runner = self.runner
        return Many(runner.settings, self.data, self.most, runner.penalty, seed=0)

    def outcomes(self, batch: list[Trial]) -> Iterator[tuple[Trial, Any]]:
        """Result and labels of each trial, or its exception."""
        try:
            yield from zip(batch, self.make(batch), strict=True)
        except Exception as error:  # whatever it is, the other trials go on
            if len(batch) == 1:
                yield batch[0], error
            else:  # one of them spoils it for all: each for itself
                for trial in batch:
                    yield from self.outcomes([trial])

    def make(self, batch: list[Trial]) -> list[tuple[dict[str, Any], Array]]:
        for trial in batch:
            door.check_useful(self.useful, self.data.shape[0], trial["k"])
        found = self.many([Run(trial["k"], trial["seed"]) for trial in batch])
        return [
            (
                {"relative_error": end.relative_error, "converged": end.converged},
                canonical(end.labels, trial["k"]),
            )
            for end, trial in zip(found, batch, strict=True)
        ]


def canonical(labels: Array, k: int) -> Array:
    """Largest cluster first, as `ONMF` numbers them."""
    order = canonical_order(labels, None, k)
    return np.append(np.argsort(order), -1)[labels]
