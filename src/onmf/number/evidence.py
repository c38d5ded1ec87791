"""What halves of the data say about every K: trials kept in a ledger, and their means.

Trials are of two kinds: `ByPath`, a cut and all K up to 20, 40, 80, ..., for `ONMF` by its default
solver; `fits.ByFits`, a cut and one K, for any other clusterer.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from joblib import parallel_config
from numpy.typing import NDArray

from onmf.ledger import Ledger, Row, Trial, run
from onmf.number.fits import ByFits
from onmf.number.halves import Cut, HalfLabels, compare, packed
from onmf.number.rule import Figures
from onmf.rows.threads import single_threaded_blas

Array = NDArray[Any]
Progress = Callable[[int, int], None]

SMALLEST = 20  # K of the first path; each next one goes twice as far
EDITION = 5  # of what a trial keeps: a ledger with another is not mistaken for this one


class Half(Protocol):
    """One half of the samples."""

    def labels_by_k(self, first: int, last: int) -> dict[int, HalfLabels]:
        """All samples by its clusters, for the K from first to last that it has directions for."""


@dataclass(frozen=True)
class ByPath:
    """All K from the trial's first to its last."""

    half: Callable[[Cut, bool], Half]
    n_features: int
    groups: Array
    backend = "threading"  # the path lets go of Python's lock

    def trial(self, k: int, cut: int) -> Trial:
        first, last = 1, SMALLEST
        while last < k:
            first, last = last + 1, 2 * last
        return {"cut": cut, "first": first, "last": last}

    def __call__(self, trial: Trial) -> tuple[dict[str, Any], Array]:
        cut = Cut.of(self.groups, self.n_features, trial["cut"])
        span = trial["first"], trial["last"]
        one, other = (self.half(cut, side).labels_by_k(*span) for side in (False, True))
        both = sorted(one.keys() & other.keys())
        return packed({k: compare((one[k], other[k]), cut.samples, k) for k in both})


@dataclass
class Evidence:
    """The figures of each K asked for so far."""

    work: ByPath | ByFits
    key: Trial  # what all trials have in common
    book: Ledger
    n_cuts: int
    n_jobs: int
    progress: Progress | None
    figures: dict[int, Figures] = field(default_factory=dict)
    failed: dict[int, str] = field(default_factory=dict)
    done: int = 0
    rows: dict[str, Row] = field(default_factory=dict)  # by trial

    def ask(self, ks: Sequence[int]) -> None:
        """Look at these K, too."""
        new = [k for k in ks if k not in self.figures and k not in self.failed]
        trials = {str(t): t for k in new for t in self.trials(k)}
        self.run(list(trials.values()))
        for k in new:
            self.read(k)

    def trials(self, k: int) -> list[Trial]:
        key = self.key | {"edition": EDITION}
        return [key | self.work.trial(k, cut) for cut in range(self.n_cuts)]

    def run(self, trials: list[Trial]) -> None:
        before = self.done

        def tell(done: int, total: int) -> None:
            if self.progress is not None:
                self.progress(before + done, before + total)

        with single_threaded_blas(), parallel_config(self.work.backend):
            run(self.book, trials, self.work, n_jobs=self.n_jobs, progress=tell)
        self.done += len(trials)

    def read(self, k: int) -> None:
        """The figures of K from the ledger, or why there are none."""
        rows = [self.row(trial) for trial in self.trials(k)]
        errors = [row.error for row in rows if row.state == "failed"]
        own = [row.result["figures"].get(str(k)) for row in rows if row.state == "done"]
        if errors:
            self.failed[k] = f"{len(errors)} of {len(rows)} cuts in halves: {errors[0]}"
        elif None in own:
            self.failed[k] = f"a half of the samples has fewer than {k} distinct directions"
        else:
            J, M, A, B, at_border, inside, n_found = np.mean(own, axis=0).tolist()
            valley = at_border / inside if inside > 0 else float(at_border > 0)
            self.figures[k] = Figures(J, M, A, B, valley, n_found)

    def row(self, trial: Trial) -> Row:
        """What the ledger keeps of a trial, read once."""
        if str(trial) not in self.rows:
            self.rows[str(trial)] = self.book.row(trial)
        return self.rows[str(trial)]

    def labels(self, k: int, n: int) -> Array:
        """(n, 2 cuts): all samples by the clusters of every half."""
        columns = []
        for row in (self.row(trial) for trial in self.trials(k)):
            assert row.labels is not None
            place = list(row.result["figures"]).index(str(k))
            columns += list(row.labels.reshape(-1, 2, n)[place])
        return np.column_stack(columns)
