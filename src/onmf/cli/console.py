"""What the subcommands share: a fit with a progress bar, and errors as one sentence."""

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

NOT_CONVERGED = 3
LONGEST_BAR = 1000  # sweeps


class BadInput(click.ClickException):
    """What the user can put right: one sentence on stderr, no traceback."""

    exit_code = 2


def fit(model: Any, X: Any, label: str) -> float:
    """Fit with a progress bar if stderr is a terminal, warnings as notes; return the seconds."""
    console = Console(stderr=True)
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed} sweeps"),
        TimeElapsedColumn(),
    )
    with (
        warnings.catch_warnings(record=True) as notes,
        Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar,
    ):
        warnings.simplefilter("always")
        task = bar.add_task(label, total=None)
        if hasattr(model, "callback"):
            model.set_params(callback=follow(bar, task))
        begin = time.perf_counter()
        model.fit(X)
        seconds = time.perf_counter() - begin
    for note in notes:
        click.echo(f"Note: {label}: {one_line(note.message)}", err=True)
    return seconds


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
    except (ValueError, TypeError, OSError, MemoryError) as error:
        raise BadInput(one_line(error)) from error


def one_line(message: object) -> str:
    """The message without line breaks."""
    return " ".join(str(message).split())


def cluster_sizes(labels: NDArray, k: int) -> NDArray:
    """Samples in each of k clusters."""
    return np.bincount(labels[labels >= 0], minlength=k)
