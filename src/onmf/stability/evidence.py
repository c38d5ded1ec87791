"""What halves of the data say about every K: one trial a cut, or a cut and a K, kept in a ledger.

* `ByPath`: `ONMF` by its default solver. One trial has all K up to 20, 40, 80, ...: the path to the
  largest costs little more than a fit with it, and its sketch does not depend on the K asked for;
* `ByFits`: any other clusterer is fitted to each half, for each K.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from joblib import parallel_config
from numpy.typing import NDArray
from sklearn.base import ClusterMixin, clone

from onmf.ledger import Ledger, Trial, run
from onmf.rows.memory import InMemory
from onmf.rows.threads import single_threaded_blas
from onmf.stability import rule
from onmf.stability.centres import centres
from onmf.stability.halves import Clusters, Cut, Seen, along_the_path, by_centres, clusters_of
from onmf.stability.runners import Progress

Array = NDArray[Any]

SMALLEST = 20  # K of the first path; each next one goes twice as far
EDITION = 3  # of what a trial keeps: a ledger with another is not mistaken for this one


@dataclass(frozen=True)
class ByPath:
    """All K up to the trial's `most`, and one ray more for outliers."""

    X: Any
    weight: Array
    groups: Array
    scale: Array  # what the samples are multiplied by
    knows_outliers = True

    def trials(self, k: int, cut: int) -> Trial:
        most = SMALLEST
        while most < k:
            most *= 2
        return {"cut": cut, "first": 1, "most": most}

    def __call__(self, trial: Trial) -> tuple[dict[str, Any], Array]:
        cut = Cut.of(self.groups, self.X.shape[1], trial["cut"])
        return packed(along_the_path(self.X, self.weight, cut, trial["most"] + 1, self.scale))


@dataclass(frozen=True)
class ByFits:
    """One K a trial, by fits of the model to both halves."""

    X: Any
    weight: Array | None
    groups: Array
    model: ClusterMixin
    name: str
    knows_outliers = False

    def trials(self, k: int, cut: int) -> Trial:
        return {"cut": cut, "first": k, "most": k}

    def __call__(self, trial: Trial) -> tuple[dict[str, Any], Array]:
        cut = Cut.of(self.groups, self.X.shape[1], trial["cut"])
        first, second = (self.seen(cut, side, trial["most"]) for side in (False, True))
        return packed([clusters_of((first, second), cut.samples, trial["most"])])

    def seen(self, cut: Cut, side: bool, k: int) -> Seen:
        """All samples by the clusters that the model finds in one half."""
        rows = np.flatnonzero(cut.samples == side)
        model, X = clone(self.model).set_params(**{self.name: k}), self.X[rows]
        if "random_state" in model.get_params():
            model.set_params(random_state=0)
        weights = {} if self.weight is None else {"sample_weight": self.weight[rows]}
        labels = np.asarray(model.fit_predict(X, **weights), np.intp)
        rays = hasattr(model, "membership_")
        data = InMemory(X)
        if getattr(model, "equal_votes", False):
            data = data.one_vote_each()
        W = centres(data, labels, k, rays)
        seen = by_centres(self.X, W, rays, cut.features)
        if self.weight is not None:
            seen.labels[self.weight == 0] = seen.by_features[:, self.weight == 0] = -1
        return seen


def packed(clusters: Iterable[Clusters]) -> tuple[dict[str, Any], Array]:
    """For the ledger: figures as lists, one entry a K, and all labels."""
    known = list(clusters)
    lists = [[part.tolist() for part in each[:-1]] for each in known]
    return {"clusters": lists}, np.array([each.labels for each in known])


def unpacked(lists: list[Any]) -> Clusters:
    """What the ledger keeps, without the labels."""
    return Clusters._make([*map(np.asarray, lists), np.zeros((2, 0))])


@dataclass
class Evidence:
    """The figures of each K asked for so far."""

    work: ByPath | ByFits
    key: Trial  # what all trials have in common
    book: Ledger
    n_cuts: int
    n_jobs: int
    progress: Progress | None
    figures: dict[int, rule.Figures] = field(default_factory=dict)
    failed: dict[int, str] = field(default_factory=dict)
    done: int = 0
    lists: dict[str, list[Any]] = field(default_factory=dict)  # by trial, one entry a K

    def ask(self, ks: Sequence[int]) -> None:
        """Look at these K, too."""
        new = [k for k in ks if k not in self.figures and k not in self.failed]
        trials = {str(t): t for k in new for t in self.trials(k)}
        self.run(list(trials.values()))
        for k in new:
            self.read(k)

    def trials(self, k: int) -> list[Trial]:
        key = self.key | {"edition": EDITION}
        return [key | self.work.trials(k, cut) for cut in range(self.n_cuts)]

    def run(self, trials: list[Trial]) -> None:
        before = self.done

        def tell(done: int, total: int) -> None:
            if self.progress is not None:
                self.progress(before + done, before + total)

        # Threads for the path, which lets go of Python's lock; processes for others' fits.
        backend = "threading" if isinstance(self.work, ByPath) else "loky"
        with single_threaded_blas(), parallel_config(backend):
            run(self.book, trials, self.work, n_jobs=self.n_jobs, progress=tell)
        self.done += len(trials)

    def read(self, k: int) -> None:
        """The figures of K from the ledger, or why there are none."""
        trials, errors = self.trials(k), []
        for trial in trials:
            if str(trial) not in self.lists:
                row = self.book.row(trial)
                errors += [row.error] if row.state == "failed" else []
                self.lists[str(trial)] = row.result.get("clusters", [])
        if errors:
            self.failed[k] = f"{len(errors)} of {len(trials)} cuts in halves: {errors[0]}"
            return
        lists, place = [self.lists[str(trial)] for trial in trials], k - trials[0]["first"]
        fewest = min(map(len, lists))
        if place >= fewest:
            self.failed[k] = f"a half of the samples has only {fewest} distinct directions"
            return
        here, more = (
            rule.figures([unpacked(own[at]) for own in lists]) if at < fewest else None
            for at in (place, place + 1)
        )
        assert here is not None
        self.figures[k] = rule.beside_outliers(here, more if self.work.knows_outliers else None)

    def labels(self, k: int, n: int) -> Array:
        """(n, 2 cuts): all samples by the clusters of every half."""
        columns = []
        for row in self.book.rows(self.trials(k)):
            assert row.labels is not None
            columns += list(row.labels.reshape(-1, 2, n)[k - row.trial["first"]])
        return np.column_stack(columns)
