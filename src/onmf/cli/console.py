"""What the subcommands share: progress, notes, a place for the results."""

import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol

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

from onmf.io import sole_writer
from onmf.io.table import one_line, printable

NOT_CONVERGED = 3
LONGEST_BAR = 1000  # sweeps


class Fittable(Protocol):
    """An estimator of onmf or of scikit-learn."""

    def fit(self, X: Any) -> Any: ...

    def set_params(self, **parameters: Any) -> Any: ...


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
        task = bar.add_task(printable(label), total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def fit_with_progress(model: Fittable, X: Any, label: str) -> float:
    """Fit, warnings as notes; return the seconds. On a terminal a bar follows the sweeps."""
    with (
        notes(label),
        progress_bar(TextColumn("{task.completed} sweeps")) as bar,
    ):
        followed = hasattr(model, "callback") and not bar.disable
        if followed:
            model.set_params(
                callback=sweep_callback(bar, bar.add_task(printable(label), total=None))
            )
        begin = time.perf_counter()
        try:
            model.fit(X)
        finally:
            if followed:
                model.set_params(callback=None)
        return time.perf_counter() - begin


@contextmanager
def notes(label: str) -> Iterator[None]:
    """Warnings as notes on stderr, once all is done."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for warning in caught:
        say(f"Note: {label}: {one_line(warning.message)}", err=True)


def sweep_callback(bar: Progress, task: Any) -> Callable[[Any], bool]:
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
def place_for(folder: Path, names: Sequence[str], force: bool) -> Iterator[None]:
    """Make sure, before the long part, that the files can be put into the folder, by us alone.

    Folders that were made for nothing are taken away again.
    """
    made = [place for place in (folder, *folder.parents) if not place.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    try:
        tempfile.TemporaryFile(dir=folder).close()
        with sole_writer(folder / f".{names[-1]}.lock"):
            there = [name for name in names if (folder / name).exists()]
            if there and not force:
                raise FileExistsError(
                    f"{folder} already has {', '.join(there)}: choose another place, or replace "
                    "with --force."
                )
            yield
    except BaseException:
        with suppress(OSError):
            for place in made:
                place.rmdir()
        raise


def say(text: str, err: bool = False) -> None:
    """Print; what others wrote (names, headings) cannot steer the terminal."""
    click.echo(printable(text), err=err)


def cluster_sizes(labels: NDArray, k: int) -> NDArray:
    """Samples in each of k clusters."""
    return np.bincount(labels[labels >= 0], minlength=k)
