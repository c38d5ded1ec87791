"""What the subcommands share: progress, notes, errors as one sentence, a place for the results."""

import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

NOT_CONVERGED = 3
LONGEST_BAR = 1000  # sweeps


class BadInput(click.ClickException):
    """What the user can put right: one sentence on stderr, no traceback."""

    exit_code = 2


@contextmanager
def progress_bar(*middle: ProgressColumn) -> Iterator[Progress]:
    """A bar with the time gone and left, if stderr is a terminal; it leaves no trace."""
    console = Console(stderr=True)
    console.quiet = not console.is_terminal  # older versions end even a disabled bar by a line
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        *middle,
        TimeElapsedColumn(),
        TextColumn("left:"),
        TimeRemainingColumn(),
    )
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        yield bar


@contextmanager
def waiting(label: str) -> Iterator[Callable[[int, int], None]]:
    """A bar that the function it yields moves: (done, total). It pulses until that is called."""
    with progress_bar() as bar:
        task = bar.add_task(label, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def fit(model: Any, X: Any, label: str) -> float:
    """Fit with a progress bar, warnings as notes; return the seconds."""
    with (
        notes(label),
        progress_bar(TextColumn("{task.completed} sweeps")) as bar,
    ):
        task = bar.add_task(label, total=None)
        if hasattr(model, "callback"):
            model.set_params(callback=follow(bar, task))
        begin = time.perf_counter()
        try:
            model.fit(X)
        finally:
            if hasattr(model, "callback"):
                model.set_params(callback=None)
        return time.perf_counter() - begin


@contextmanager
def notes(label: str) -> Iterator[None]:
    """Warnings as notes on stderr, once all is done."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for note in caught:
        click.echo(f"Note: {label}: {one_line(note.message)}", err=True)


def follow(bar: Progress, task: Any) -> Callable[[Any], bool]:
    """The estimator's callback that moves a progress bar and never stops the fit.

    The paper's limits allow half a million sweeps of which a thousand are used: a bar of that
    length would stay empty, so it pulses instead.
    """

    def callback(event: Any) -> bool:
        total = event.max_sweeps if event.max_sweeps <= LONGEST_BAR else None
        bar.update(task, completed=event.sweep, total=total)
        return False

    return callback


@contextmanager
def bad_input() -> Iterator[None]:
    """Errors about the input or the file system become one sentence and exit code 2."""
    try:
        yield
    except (ValueError, TypeError, OSError, MemoryError, ImportError) as error:
        raise BadInput(one_line(error)) from error


@contextmanager
def place_for(folder: Path, names: Iterable[str], force: bool) -> Iterator[None]:
    """Make sure, before the long part, that the files can be put into the folder.

    Folders that were made for nothing are taken away again.
    """
    there = [name for name in names if (folder / name).exists()]
    if there and not force:
        raise FileExistsError(
            f"{folder} already has {', '.join(there)}: choose another place, or replace with "
            "--force."
        )
    made = [place for place in (folder, *folder.parents) if not place.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    try:
        tempfile.TemporaryFile(dir=folder).close()
        yield
    except BaseException:
        with suppress(OSError):
            for place in made:
                place.rmdir()
        raise


def one_line(message: object) -> str:
    """The message without line breaks."""
    return " ".join(str(message).split())


def cluster_sizes(labels: NDArray, k: int) -> NDArray:
    """Samples in each of k clusters."""
    return np.bincount(labels[labels >= 0], minlength=k)
