"""A ledger of trials: every trial is a row before it runs, every result is on disk when it ends.

    planned  --work(trial)-->  done | failed

A run that is killed at any moment and started again does what is left: rows that are done are
never run twice, rows that failed are tried again. The file is an SQLite database: each change is
one transaction, so it is there in full or not at all.
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

__all__ = ["Ledger", "Row", "run"]

Trial = dict[str, Any]
Work = Callable[[Trial], tuple[dict[str, Any], NDArray | None]]

FORMAT = 1  # SQLite's user_version
APPLICATION = 0x6F6E6D66  # "onmf", SQLite's application_id
TABLE = """CREATE TABLE trials (
    trial TEXT PRIMARY KEY,
    state TEXT NOT NULL DEFAULT 'planned',
    result TEXT NOT NULL DEFAULT '{}',
    labels BLOB,
    error TEXT NOT NULL DEFAULT ''
)"""
LABEL = np.dtype("<i4")


class Row(NamedTuple):
    """A trial and what became of it.

    `state` is "planned", "done" or "failed"; `result` and `labels` are there when it is done,
    `error` when it failed.
    """

    trial: Trial
    state: str
    result: dict[str, Any]
    labels: NDArray | None
    error: str


class Ledger:
    """Rows of trials in one file, written by one process at a time.

    Parameters
    ----------
    path : str or Path, default=":memory:"
        The file, made if it is not there; ":memory:" keeps the rows only while the process lives.

    Raises
    ------
    ValueError
        If the file is something else than a ledger of this format.

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
        """Make the table in an empty file; refuse what is not ours."""
        with self._base:
            self._base.execute("BEGIN IMMEDIATE")
            (application,) = self._base.execute("PRAGMA application_id").fetchone()
            (version,) = self._base.execute("PRAGMA user_version").fetchone()
            (tables,) = self._base.execute("SELECT count(*) FROM sqlite_master").fetchone()
            if not tables:
                self._base.execute(TABLE)
                self._base.execute(f"PRAGMA application_id = {APPLICATION}")
                self._base.execute(f"PRAGMA user_version = {FORMAT}")
            elif application != APPLICATION:
                raise ValueError(f"{self.path} is a database, but not a ledger of trials.")
            elif version != FORMAT:
                raise ValueError(
                    f"{self.path} is a ledger of format {version}; this version reads format "
                    f"{FORMAT}. Name another file."
                )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file."""
        self._base.close()

    def plan(self, trials: Iterable[Trial]) -> None:
        """Write a row for each trial that has none; all of them or, on a failure, none."""
        self._write(
            "INSERT OR IGNORE INTO trials (trial) VALUES (?)", [(_key(trial),) for trial in trials]
        )

    def record(self, trial: Trial, result: dict[str, Any], labels: NDArray | None = None) -> None:
        """The trial is done."""
        packed = None if labels is None else zlib.compress(np.asarray(labels, LABEL).tobytes(), 1)
        row = ("done", json.dumps(result, default=_json_default), packed, "", _key(trial))
        self._update(row)

    def fail(self, trial: Trial, error: str) -> None:
        """The trial ended with an error; it will be tried again."""
        self._update(("failed", "{}", None, error, _key(trial)))

    def _update(self, row: tuple[Any, ...]) -> None:
        self._write(
            "UPDATE trials SET state = ?, result = ?, labels = ?, error = ? WHERE trial = ?", [row]
        )

    def _write(self, statement: str, rows: list[tuple[Any, ...]]) -> None:
        with self._base:
            self._base.executemany(statement, rows)

    def _ask(self, question: str, *values: str) -> list[Any]:
        try:
            return self._base.execute(question, values).fetchall()
        except sqlite3.DatabaseError as error:
            reason = " ".join(str(error).split())
            raise ValueError(f"the ledger {self.path} is damaged: {reason}.") from error

    def row(self, trial: Trial) -> Row:
        """The row of a trial that was planned."""
        rows = self._ask("SELECT * FROM trials WHERE trial = ?", _key(trial))
        if not rows:
            raise KeyError(f"no trial {_key(trial)} was planned in {self.path}")
        return _row_from_texts(*rows[0])

    def rows(self, trials: Iterable[Trial] | None = None) -> list[Row]:
        """The rows of these trials, or of all, in the order they were given or planned."""
        if trials is not None:
            return [self.row(trial) for trial in trials]
        return [_row_from_texts(*row) for row in self._ask("SELECT * FROM trials ORDER BY rowid")]

    def unfinished(self, trials: Iterable[Trial]) -> list[Trial]:
        """Those that are not done, each once."""
        done = {k for (k,) in self._ask("SELECT trial FROM trials WHERE state = 'done'")}
        left = {_key(trial): trial for trial in trials}
        return [trial for k, trial in left.items() if k not in done]


def _key(trial: Trial) -> str:
    """The same text for equal trials, whatever the order of their entries."""
    return json.dumps(trial, sort_keys=True, default=_json_default)


def _json_default(value: Any) -> Any:
    """NumPy's numbers and arrays as JSON's."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(f"a ledger keeps numbers, text and lists, not {type(value).__name__}")


def _row_from_texts(trial: str, state: str, result: str, labels: bytes | None, error: str) -> Row:
    """A row as it was given."""
    try:
        numbers = None if labels is None else np.frombuffer(zlib.decompress(labels), LABEL)
        return Row(json.loads(trial), state, json.loads(result), numbers, error)
    except (ValueError, TypeError, RecursionError, zlib.error) as damage:
        raise ValueError(f"the ledger has a row that is damaged: {damage}.") from damage


def run(
    ledger: Ledger,
    trials: Iterable[Trial],
    work: Work,
    *,
    n_jobs: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> list[Row]:
    """Plan all trials, then run those that are not done; their rows, in the order given.

    Parameters
    ----------
    ledger : Ledger
    trials : iterable of dict
        Flat dictionaries of numbers and text that say all a trial depends on, a fingerprint of
        the data included.
    work : callable
        ``work(trial)`` returns a dictionary of numbers and text, and labels or None. An exception
        marks its trial as failed; the others go on.
    n_jobs : int, default=1
        Processes; -1 takes all processors.
    progress : callable, optional
        Called with (trials done, all trials), at the start and whenever one ends.

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
    """The work, or the sentence that says why not."""
    try:
        return trial, *work(trial), None
    except Exception as error:  # whatever it is, the other trials go on
        return trial, {}, None, f"{type(error).__name__}: {error}"
