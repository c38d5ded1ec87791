"""A table of trials on disk, so that a killed run continues where it stopped.

    planned  --work(trial)-->  done | failed

A trial that is done is never run again; one that failed is. The file is an SQLite database, and
each change is one transaction.
"""

import json
import sqlite3
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

Trial = dict[str, Any]
Work = Callable[[Trial], tuple[dict[str, Any], NDArray | None]]

CREATE_TRIALS = """CREATE TABLE IF NOT EXISTS trials (
    trial TEXT PRIMARY KEY,
    state TEXT NOT NULL DEFAULT 'planned',
    result TEXT NOT NULL DEFAULT '{}',
    labels BLOB,
    error TEXT NOT NULL DEFAULT ''
)"""
COLUMNS = ["trial", "state", "result", "labels", "error"]
LABEL_DTYPE = np.dtype("<i4")


class Row(NamedTuple):
    """A trial, its state ("planned", "done" or "failed"), and its result or error."""

    trial: Trial
    state: str
    result: dict[str, Any]
    labels: NDArray | None
    error: str


class Ledger:
    """Trials and their results in one file, written by one process at a time.

    Parameters
    ----------
    path : str or Path, default=":memory:"
        The file, created if it does not exist; ":memory:" keeps the rows in memory.

    Examples
    --------
    >>> from onmf_paper.ledger import Ledger, run
    >>> with Ledger() as ledger:
    ...     trials = [{"method": "sncp", "seed": seed} for seed in (1, 2)]
    ...     rows = run(ledger, trials, lambda trial: ({"double": 2 * trial["seed"]}, None))
    >>> [row.result["double"] for row in rows]
    [2, 4]
    """

    def __init__(self, path: str | Path = ":memory:") -> None:
        self.path = str(path)
        self._base = sqlite3.connect(self.path, timeout=30)
        try:
            with self._base:
                self._base.execute(CREATE_TRIALS)
            columns = [row[1] for row in self._base.execute("PRAGMA table_info(trials)")]
        except sqlite3.DatabaseError as error:
            self._base.close()
            raise ValueError(f"{self.path} is not a ledger of trials: {error}.") from error
        if columns != COLUMNS:
            self._base.close()
            raise ValueError(f"{self.path} is a database, but not a ledger of trials.")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self._base.close()

    def plan(self, trials: Iterable[Trial]) -> None:
        """Add a row for each new trial, in one transaction."""
        rows = [(key_of(trial),) for trial in trials]
        with self._base:
            self._base.executemany("INSERT OR IGNORE INTO trials (trial) VALUES (?)", rows)

    def record(self, trial: Trial, result: dict[str, Any], labels: NDArray | None = None) -> None:
        """Store the result of a trial."""
        packed = None
        if labels is not None:
            packed = zlib.compress(np.asarray(labels, LABEL_DTYPE).tobytes(), 1)
        self._update("done", json.dumps(result, default=to_json), packed, "", key_of(trial))

    def fail(self, trial: Trial, error: str) -> None:
        """Store the error of a trial; `run` will try it again."""
        self._update("failed", "{}", None, error, key_of(trial))

    def _update(self, *row: Any) -> None:
        change = "UPDATE trials SET state = ?, result = ?, labels = ?, error = ? WHERE trial = ?"
        with self._base:
            self._base.execute(change, row)

    def row(self, trial: Trial) -> Row:
        """The row of a trial."""
        found = self._base.execute("SELECT * FROM trials WHERE trial = ?", (key_of(trial),))
        rows = found.fetchall()
        if not rows:
            raise KeyError(f"no trial {key_of(trial)} was planned in {self.path}")
        return decoded(*rows[0])

    def rows(self, trials: Iterable[Trial] | None = None) -> list[Row]:
        """The rows of these trials, or of all trials in the order of planning."""
        if trials is not None:
            return [self.row(trial) for trial in trials]
        return [decoded(*row) for row in self._base.execute("SELECT * FROM trials ORDER BY rowid")]

    def unfinished(self, trials: Iterable[Trial]) -> list[Trial]:
        """The trials that are not done, without repeats."""
        done = {k for (k,) in self._base.execute("SELECT trial FROM trials WHERE state = 'done'")}
        left = {key_of(trial): trial for trial in trials}
        return [trial for key, trial in left.items() if key not in done]


def key_of(trial: Trial) -> str:
    """The same text for equal trials, whatever the order of their keys."""
    return json.dumps(trial, sort_keys=True, default=to_json)


def to_json(value: Any) -> Any:
    """NumPy numbers and arrays as JSON."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(f"a ledger stores numbers, text and lists, not {type(value).__name__}")


def decoded(trial: str, state: str, result: str, labels: bytes | None, error: str) -> Row:
    """A row of the table."""
    try:
        numbers = None if labels is None else np.frombuffer(zlib.decompress(labels), LABEL_DTYPE)
        return Row(json.loads(trial), state, json.loads(result), numbers, error)
    except (ValueError, TypeError, zlib.error) as damage:
        raise ValueError(f"the ledger has a damaged row: {damage}.") from damage


def run(
    ledger: Ledger,
    trials: Iterable[Trial],
    work: Work,
    *,
    n_jobs: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> list[Row]:
    """Plan all trials and run those that are not done; returns their rows, in order.

    Parameters
    ----------
    ledger : Ledger
    trials : iterable of dict
        Flat dictionaries of numbers and text with all that a trial depends on, including a
        fingerprint of the data.
    work : callable
        ``work(trial)`` returns a dictionary of numbers and text, and labels or None. A trial that
        raises is marked as failed.
    n_jobs : int, default=1
        Number of processes; -1 uses all processors.
    progress : callable, optional
        Called with (trials done, all trials) at the start and after each trial.

    Returns
    -------
    list of Row
    """
    trials = list(trials)
    ledger.plan(trials)
    left = ledger.unfinished(trials)
    total = len({key_of(trial) for trial in trials})
    report = progress or (lambda done, total: None)
    report(total - len(left), total)
    tasks = (delayed(attempt)(work, trial) for trial in left)
    ended = Parallel(n_jobs=n_jobs, return_as="generator_unordered")(tasks)
    for done, (trial, result, labels, error) in enumerate(ended, total - len(left) + 1):
        if error is None:
            ledger.record(trial, result, labels)
        else:
            ledger.fail(trial, error)
        report(done, total)
    return ledger.rows(trials)


def attempt(work: Work, trial: Trial) -> tuple[Trial, dict[str, Any], NDArray | None, str | None]:
    """The result of a trial, or its error."""
    try:
        return trial, *work(trial), None
    except Exception as error:  # the other trials still run
        return trial, {}, None, f"{type(error).__name__}: {error}"
