"""What the subcommands share: progress and notes."""

import logging
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Column
from rich.text import Text

from onmf.cli import LOG
from onmf.io.table import one_line, printable

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

LONGEST_BAR = 1000  # sweeps
SECONDS_BETWEEN_LINES = 10


class Description(ProgressColumn):
    """What a task is called: no name in it can steer the terminal."""

    def render(self, task: Task) -> Text:
        return Text(printable(task.description))


class Follower:
    """How far a task is: a bar on a terminal; elsewhere, and in --log-file, a line now and then."""

    def __init__(self, bar: Progress) -> None:
        self.bar = bar
        self.begin = self.told = time.monotonic()

    @property
    def lines(self) -> bool:
        return self.bar.disable or LOG.isEnabledFor(logging.INFO)

    def add_task(self, description: str, total: float | None = None) -> TaskID:
        return self.bar.add_task(description, total=total)

    def update(self, task: TaskID, **facts: Any) -> None:
        """As `Progress.update` of rich."""
        self.bar.update(task, **facts)
        now = time.monotonic()
        if self.lines and now - self.told >= SECONDS_BETWEEN_LINES:
            self.told = now
            state = next(known for known in self.bar.tasks if known.id == task)
            far = f"{state.completed:.0f}" + (
                "" if state.total is None else f" of {state.total:.0f}"
            )
            line = f"{printable(state.description)}: {far}, {now - self.begin:.0f} s"
            LOG.info(line)
            if self.bar.disable:
                click.echo(f"{time.strftime('%H:%M:%S')} {line}", err=True)

    def advance(self, task: TaskID) -> None:
        self.update(task, advance=1)


@contextmanager
def progress_bar(*middle: ProgressColumn) -> Iterator[Follower]:
    """A bar with the time gone and left, if stderr is a terminal; it leaves no trace."""
    console = Console(stderr=True)
    console.quiet = not console.is_terminal  # older versions end even a disabled bar by a line
    columns = (
        SpinnerColumn(),
        Description(Column(no_wrap=True)),
        BarColumn(),
        *middle,
        TimeElapsedColumn(),
        TextColumn("left:"),
        TimeRemainingColumn(),
    )
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        yield Follower(bar)


@contextmanager
def waiting(label: str) -> Iterator[Callable[[int, int], None]]:
    """A bar that the function it yields moves: (done, total). It pulses until that is called."""
    with progress_bar() as bar:
        task = bar.add_task(label, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


@contextmanager
def show_sweeps(label: str) -> Iterator[Callable[[Any], bool]]:
    """The callback of a fit that a bar, or lines, follow; its warnings become notes."""
    with notes(label), progress_bar(TextColumn("{task.completed} sweeps")) as bar:
        yield sweep_callback(bar, bar.add_task(label, total=None))


def fit_with_progress(model: "BaseEstimator", X: Any, label: str) -> float:
    """Fit, warnings as notes; return the seconds. A bar, or lines, follow the sweeps."""
    with show_sweeps(label) as callback:
        followed = hasattr(model, "callback")
        if followed:
            model.set_params(callback=callback)
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
    note(label, [str(warning.message) for warning in caught])


def note(label: str, sentences: Sequence[str]) -> None:
    """Each sentence once, on a line of stderr."""
    if not sentences:
        return
    label = one_line(label)
    for sentence in dict.fromkeys(map(one_line, sentences)):
        named = sentence if sentence.startswith(label) else f"{label}: {sentence}"
        click.echo(f"Note: {named}", err=True)
        LOG.warning(named)


def say(text: str) -> None:
    """The result, on stdout; what others wrote (names, headings) cannot steer the terminal."""
    shown = printable(text)
    click.echo(shown)
    LOG.info(shown)


def write_log(context: click.Context, option: click.Parameter, path: Path | None) -> None:
    """From now on, what is said and how far it is goes into this file, too."""
    if path is None:
        return
    handler = logging.FileHandler(path, encoding="utf-8")
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    LOG.addHandler(handler)
    LOG.setLevel(logging.INFO)
    LOG.info("onmf %s", one_line(" ".join(sys.argv[1:])))


@contextmanager
def within_memory(file: str) -> Iterator[None]:
    """Out of memory is said of a file."""
    try:
        yield
    except MemoryError as error:
        said = one_line(error).removesuffix(".")
        raise MemoryError(
            f"{file} does not fit{f' ({said})' if said else ''}; .npy, .parquet, .h5ad and .zarr "
            "are read block by block."
        ) from error


def sweep_callback(bar: Follower, task: TaskID) -> Callable[[Any], bool]:
    """The estimator's callback that moves a progress bar and never stops the fit.

    The paper's limits allow half a million sweeps of which a thousand are used: a bar of that
    length would stay empty, so it pulses instead.
    """

    def callback(event: Any) -> bool:
        total = event.max_sweeps if event.max_sweeps <= LONGEST_BAR else None
        bar.update(task, completed=event.sweep, total=total)
        return False

    return callback


def cluster_sizes(labels: NDArray, k: int) -> NDArray:
    """Samples in each of k clusters."""
    return np.bincount(labels[labels >= 0], minlength=k)
