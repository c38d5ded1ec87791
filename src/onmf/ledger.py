"""A table of trials on disk, so that a killed run continues where it stopped.

    planned  --work(trial)-->  done | failed

A trial that is done is never run again; one that failed is. The file is an SQLite database, and
each change is one transaction.
"""

import json
import sqlite3
import time
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

__all__ = ["Ledger", "Row", "run"]

Trial = dict[str, Any]
Work = Callable[[Trial], tuple[dict[str, Any], NDArray | None]]

LEDGER_VERSION = 1  # SQLite's user_version
APPLICATION_ID = 0x6F6E6D66  # of SQLite: "onmf"
CREATE_TRIALS = """CREATE TABLE trials (
    trial TEXT PRIMARY KEY,
    state TEXT NOT NULL DEFAULT 'planned',
    result TEXT NOT NULL DEFAULT '{}',
    labels BLOB,
    error TEXT NOT NULL DEFAULT ''
)"""
TRIALS = "table", "trials", CREATE_TRIALS
LABEL_DTYPE = np.dtype("<i4")
MAX_LABEL_BYTES = 1 << 28  # of a trial, unpacked: 67 million samples
MAX_ALL_LABEL_BYTES = 1 << 30  # of all trials that are read at once
MAX_SECONDS = 60.0  # of one question or change, which take no time in a file of ours
STEPS_PER_CLOCK = 100_000  # of SQLite between two looks at the clock


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

    Raises
    ------
    ValueError
        If the file is not a ledger of this version.

    Examples
    --------
    >>> from onmf.ledger import Ledger, run
    >>> with Ledger() as ledger:
    ...     trials = [{"method": "sncp", "seed": seed} for seed in (1, 2)]
    ...     rows = run(ledger, trials, lambda trial: ({"double": 2 * trial["seed"]}, None))
    >>> [row.result["double"] for row in rows]
    [2, 4]
    """

    def __init__(self, path: str | Path = ":memory:") -> None:
        self.path = str(path)
        self._base = sqlite3.connect(self.path, timeout=30)
        until = time.monotonic() + MAX_SECONDS
        self._base.set_progress_handler(lambda: time.monotonic() > until, STEPS_PER_CLOCK)
        try:
            self._open()
        except sqlite3.DatabaseError as error:
            self._base.close()
            reason = " ".join(str(error).split())  # SQLite quotes the schema, line by line
            raise ValueError(f"{self.path} is not a ledger of trials: {reason}.") from error
        except ValueError:
            self._base.close()
            raise

    def _open(self) -> None:
        """Create the table in an empty file; refuse other databases."""
        with self._base:
            self._base.execute("BEGIN IMMEDIATE")
            (application,) = self._base.execute("PRAGMA application_id").fetchone()
            (version,) = self._base.execute("PRAGMA user_version").fetchone()
            schema = self._base.execute("SELECT type, name, sql FROM sqlite_master").fetchall()
            if not schema:
                self._base.execute(CREATE_TRIALS)
                self._base.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                self._base.execute(f"PRAGMA user_version = {LEDGER_VERSION}")
            elif application != APPLICATION_ID:
                raise ValueError(f"{self.path} is a database, but not a ledger.")
            elif version != LEDGER_VERSION:
                raise ValueError(
                    f"{self.path} is a ledger of version {version}; this onmf reads version "
                    f"{LEDGER_VERSION}. Name another file."
                )
            elif [row for row in schema if row[2] is not None] != [TRIALS]:
                raise ValueError(
                    f"{self.path} has more or other tables than a ledger of onmf: name another "
                    "file."
                )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._base.close()

    def plan(self, trials: Iterable[Trial]) -> None:
        """Add a row for each new trial, in one transaction."""
        self._write(
            "INSERT OR IGNORE INTO trials (trial) VALUES (?)", [(_key(trial),) for trial in trials]
        )

    def record(self, trial: Trial, result: dict[str, Any], labels: NDArray | None = None) -> None:
        """Store the result of a trial."""
        packed = (
            None if labels is None else zlib.compress(np.asarray(labels, LABEL_DTYPE).tobytes(), 1)
        )
        row = ("done", json.dumps(result, default=_json_default), packed, "", _key(trial))
        self._update(row)

    def fail(self, trial: Trial, error: str) -> None:
        """Store the error of a trial; `run` will try it again."""
        self._update(("failed", "{}", None, error, _key(trial)))

    def _update(self, row: tuple[Any, ...]) -> None:
        self._write(
            "UPDATE trials SET state = ?, result = ?, labels = ?, error = ? WHERE trial = ?", [row]
        )

    def _write(self, statement: str, rows: list[tuple[Any, ...]]) -> None:
        self._until = time.monotonic() + MAX_SECONDS
        with self._base:
            self._base.executemany(statement, rows)

    def _ask(self, question: str, *values: str) -> list[Any]:
        self._until = time.monotonic() + MAX_SECONDS
        try:
            return self._base.execute(question, values).fetchall()
        except sqlite3.DatabaseError as error:
            reason = " ".join(str(error).split())
            raise ValueError(f"the ledger {self.path} is damaged: {reason}.") from error

    def row(self, trial: Trial) -> Row:
        """The row of a trial."""
        rows = self._ask("SELECT * FROM trials WHERE trial = ?", _key(trial))
        if not rows:
            raise KeyError(f"no trial {_key(trial)} was planned in {self.path}")
        return _row_from_texts(*rows[0])

    def rows(self, trials: Iterable[Trial] | None = None) -> list[Row]:
        """The rows of these trials, or of all trials in the order of planning."""
        if trials is not None:
            return [self.row(trial) for trial in trials]
        found, size = [], 0
        for row in self._ask("SELECT * FROM trials ORDER BY rowid"):
            found.append(_row_from_texts(*row))
            size += 0 if found[-1].labels is None else found[-1].labels.nbytes
            if size > MAX_ALL_LABEL_BYTES:
                raise ValueError(
                    f"the labels in {self.path} take over {MAX_ALL_LABEL_BYTES >> 30} GB: read "
                    "fewer trials at a time."
                )
        return found

    def unfinished(self, trials: Iterable[Trial]) -> list[Trial]:
        """The trials that are not done, without repeats."""
        done = {k for (k,) in self._ask("SELECT trial FROM trials WHERE state = 'done'")}
        left = {_key(trial): trial for trial in trials}
        return [trial for k, trial in left.items() if k not in done]


def _key(trial: Trial) -> str:
    """The same text for equal trials, whatever the order of their keys."""
    return json.dumps(trial, sort_keys=True, default=_json_default)


def _json_default(value: Any) -> Any:
    """NumPy numbers and arrays as JSON."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(f"a ledger stores numbers, text and lists, not {type(value).__name__}")


def _row_from_texts(trial: str, state: str, result: str, labels: bytes | None, error: str) -> Row:
    """A row of the table, decoded."""
    try:
        numbers = None if labels is None else _unpacked_labels(labels)
        return Row(json.loads(trial), state, json.loads(result), numbers, error)
    except (ValueError, TypeError, RecursionError, zlib.error) as damage:
        raise ValueError(f"the ledger has a damaged row: {damage}.") from damage


def _unpacked_labels(packed: bytes) -> NDArray:
    stream = zlib.decompressobj()
    content = stream.decompress(packed, MAX_LABEL_BYTES)
    if not stream.eof:
        raise ValueError(f"labels that end too early, or take over {MAX_LABEL_BYTES >> 20} MB")
    return np.frombuffer(content, LABEL_DTYPE)


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
    total = len({_key(trial) for trial in trials})
    report = progress or (lambda done, total: None)
    report(total - len(left), total)
    tasks = (delayed(_attempt)(work, trial) for trial in left)
    ended = Parallel(n_jobs=n_jobs, return_as="generator_unordered")(tasks)
    for done, (trial, result, labels, error) in enumerate(ended, total - len(left) + 1):
        if error is None:
            ledger.record(trial, result, labels)
        else:
            ledger.fail(trial, error)
        report(done, total)
    return ledger.rows(trials)


def _attempt(work: Work, trial: Trial) -> tuple[Trial, dict[str, Any], NDArray | None, str | None]:
    """The result of a trial, or its error."""
    try:
        return trial, *work(trial), None
    except Exception as error:  # the other trials still run
        return trial, {}, None, f"{type(error).__name__}: {error}"
