"""Two ways to run trials.

* `Alone`: any scikit-learn clusterer, one fit a trial, in parallel processes;
* `Together`: `ONMF` by its default solver, whose fits share the sketch and every sweep.

A trial with `fold` -1 clusters all features; any other clusters the features outside that part and
measures how well they predict the part.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from onmf.core.memory import InMemory, useful
from onmf.core.threads import single_threaded_blas
from onmf.data.validation import moderate, too_few
from onmf.estimators.ordering import canonical_order, renumber
from onmf.estimators.solvers import FastSolver
from onmf.ledger import Ledger, Trial, run
from onmf.stability.columns import Columns
from onmf.stability.errors import Clustering, held_out_errors
from onmf.stability.many import Attempt, Many, RunEnd

Array = NDArray[Any]
Progress = Callable[[int, int], None]

FOLDS = 4  # parts of the features, each held out once
FEWEST_FEATURES = 8  # with fewer, no feature is held out, only samples
GROUPS = 100  # of samples, over which errors are added up
WHOLE = -1  # the fold of a fit that sees all features


class Partition(NamedTuple):
    """Which part each feature is in, and which group each sample."""

    features: Array
    samples: Array
    n_folds: int

    @classmethod
    def of(cls, shape: tuple[int, int], seed: int) -> "Partition":
        n, m = shape
        rng, n_folds = np.random.default_rng(seed), FOLDS if m >= FEWEST_FEATURES else 1
        features = rng.permutation(np.arange(m) % n_folds)
        return cls(features, rng.permutation(np.arange(n) % GROUPS), n_folds)

    def columns(self, fold: int) -> tuple[Array, Array]:
        """Features for the fit and for the test: all for both if there is a single part."""
        everything = np.arange(len(self.features))
        if self.n_folds == 1:
            return everything, everything
        return np.flatnonzero(self.features != fold), np.flatnonzero(self.features == fold)

    @property
    def n_groups(self) -> int:
        return int(self.samples.max()) + 1


class SklearnClusterer(Protocol):
    """What is asked of a clusterer of scikit-learn, or like one."""

    def fit_predict(self, X: Any, y: Any = None) -> Any: ...
    def get_params(self, deep: bool = True) -> dict[str, Any]: ...
    def set_params(self, **params: Any) -> Any: ...


class Runner(Protocol):
    """Runs the trials of one model on one data set."""

    data: InMemory

    def __call__(
        self, ledger: Ledger, trials: Sequence[Trial], progress: Progress | None = None
    ) -> None: ...


class Alone:
    """Any clusterer, whose parameter `name` holds K: each trial is a fit of its own."""

    def __init__(
        self, model: SklearnClusterer, name: str, X: Any, parts: Partition, n_jobs: int | None
    ) -> None:
        self.model, self.name, self.X, self.parts, self.n_jobs = model, name, X, parts, n_jobs
        self.data = InMemory(X)

    def __call__(
        self, ledger: Ledger, trials: Sequence[Trial], progress: Progress | None = None
    ) -> None:
        work = LoneFit(self.model, self.name, self.X, self.parts)
        run(ledger, trials, work, n_jobs=self.n_jobs or 1, progress=progress)


@dataclass(frozen=True)
class LoneFit:
    """The work of one trial; small enough to be sent to another process with the data."""

    model: SklearnClusterer
    name: str
    X: Any
    parts: Partition

    def __call__(self, trial: Trial) -> tuple[dict[str, Any], Array]:
        model = clone(self.model)
        model.set_params(**{self.name: trial["k"], "random_state": trial["seed"]})
        if trial["fold"] == WHOLE:
            labels = np.asarray(model.fit_predict(self.X))
            error = getattr(model, "relative_error_", None)
            result = {} if error is None else {"relative_error": float(error)}
            return result | {"rays": hasattr(model, "membership_")}, labels
        for_fit, for_test = self.parts.columns(trial["fold"])
        labels = np.asarray(model.fit_predict(self.X[:, for_fit]))
        codes = np.ones(len(labels))
        if hasattr(model, "membership_"):
            codes = model.membership_[np.arange(len(labels)), labels]
        return {"errors": self._errors(for_test, Clustering(labels, codes, trial["k"]))}, labels

    def _errors(self, for_test: Array, clustering: Clustering) -> list[float]:
        data = Columns(self.X, for_test)
        errors = held_out_errors(data, [clustering], self.parts.samples, self.parts.n_groups)
        return [float(error) for error in errors[0]]


class Together:
    """`ONMF` by its default solver: the trials that see the same features share their sweeps."""

    def __init__(self, solver: FastSolver, X: Any, parts: Partition) -> None:
        self.n_threads, self.parts = solver.settings.n_threads, parts
        self.X, _ = moderate(X)
        self.data = InMemory(self.X, n_threads=self.n_threads)
        self.settings, self.penalty = solver.settings_for(self.data), solver.penalty

    def __call__(
        self, ledger: Ledger, trials: Sequence[Trial], progress: Progress | None = None
    ) -> None:
        ledger.plan(trials)
        left, total = ledger.unfinished(trials), len(trials)
        report = (lambda done, total: None) if progress is None else progress
        report(done := total - len(left), total)
        most = max(trial["k"] for trial in trials)
        with single_threaded_blas():
            for fold, mine in groupby(sorted(left, key=_fold), key=_fold):
                runs = FoldRuns(self, fold, most)
                for batch in runs.batches(list(mine)):
                    for trial, outcome in runs.outcomes(batch):
                        if isinstance(outcome, Exception):
                            ledger.fail(trial, f"{type(outcome).__name__}: {outcome}")
                        else:
                            ledger.record(trial, *outcome)
                        report(done := done + 1, total)


def _fold(trial: Trial) -> int:
    return int(trial["fold"])


class FoldRuns:
    """The clusterings of one choice of features."""

    def __init__(self, runner: Together, fold: int, most: int) -> None:
        self.runner, self.fold, self.most = runner, fold, most
        self.data: InMemory = runner.data
        self.unseen: Columns | None = None
        if fold != WHOLE:
            for_fit, for_test = runner.parts.columns(fold)
            self.data = Columns(runner.X, for_fit, runner.n_threads)
            self.unseen = Columns(runner.X, for_test, runner.n_threads)
        self.useful = self.data.total(useful, self.data.energy)

    @cached_property
    def many(self) -> Many:
        """Made when it is first needed, once the data are known to be useful."""
        runner = self.runner
        return Many(runner.settings, self.data, self.most, runner.penalty, seed=0)

    def batches(self, trials: list[Trial]) -> list[list[Trial]]:
        """Trials to be run side by side: the runs of one K, or all K of a fold."""
        if self.fold != WHOLE:
            return [trials]
        ordered = sorted(trials, key=lambda trial: trial["k"])
        return [list(batch) for _, batch in groupby(ordered, key=lambda trial: trial["k"])]

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
        ks = [trial["k"] for trial in batch]
        labels = [
            renumber(end.labels, canonical_order(end.labels, None, k))
            for end, k in zip(ends, ks, strict=True)
        ]
        return list(zip(self._results(ends, ks), labels, strict=True))

    def _results(self, ends: list[RunEnd], ks: list[int]) -> list[dict[str, Any]]:
        """How good the clusterings are: on all features, or on those held out."""
        if self.unseen is None:
            return [
                {"relative_error": end.relative_error, "converged": end.converged, "rays": True}
                for end in ends
            ]
        clusterings = [
            Clustering(end.labels, end.scores, k) for end, k in zip(ends, ks, strict=True)
        ]
        parts = self.runner.parts
        errors = held_out_errors(self.unseen, clusterings, parts.samples, parts.n_groups)
        return [{"errors": own.tolist()} for own in errors]
