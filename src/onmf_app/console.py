"""What the subcommands print: progress, notes and results."""

import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import click
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

from onmf.exceptions import SignedDataWarning
from onmf.rows import SAMPLES, Terms, one_line, printable

SECONDS_BETWEEN_LINES = 10


class Description(ProgressColumn):
    """The name of a task, without characters that control the terminal."""

    def render(self, task: Task) -> Text:
        return Text(printable(task.description))


class Follower:
    """Progress: a bar on a terminal, elsewhere a line every few seconds."""

    def __init__(self, bar: Progress) -> None:
        self.bar = bar
        self.begin = self.printed = time.monotonic()

    def add_task(self, description: str, total: float | None = None) -> TaskID:
        return self.bar.add_task(description, total=total)

    def update(self, task: TaskID, **facts: Any) -> None:
        """As `Progress.update` of rich."""
        self.bar.update(task, **facts)
        now = time.monotonic()
        if self.bar.disable and now - self.printed >= SECONDS_BETWEEN_LINES:
            self.printed = now
            state = next(known for known in self.bar.tasks if known.id == task)
            far = f"{state.completed:.0f}" + (
                "" if state.total is None else f" of {state.total:.0f}"
            )
            line = f"{printable(state.description)}: {far}, {now - self.begin:.0f} s"
            click.echo(f"{time.strftime('%H:%M:%S')} {line}", err=True)


@contextmanager
def progress_bar() -> Iterator[Follower]:
    """A bar with elapsed and remaining time, if stderr is a terminal."""
    console = Console(stderr=True)
    console.quiet = not console.is_terminal  # older rich ends a disabled bar with a line
    columns = (
        SpinnerColumn(),
        Description(Column(no_wrap=True)),
        BarColumn(),
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
    """A bar, and the function (done, total) that moves it; it pulses before the first call."""
    with progress_bar() as bar:
        task = bar.add_task(label, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


@contextmanager
def notes(label: str, terms: Terms = SAMPLES) -> Iterator[list[str]]:
    """Print warnings as notes on stderr at the end of the block; errors, too, in these words.

    The list that is yielded has the notes afterwards; what was put into it is printed first.
    """
    said: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", SignedDataWarning)  # a note says more
        try:
            yield said
        except ValueError as error:
            raise ValueError(terms.say(str(error))) from error
    said += [str(warning.message) for warning in caught]
    note(label, said, terms)


def note(label: str, sentences: Iterable[str], terms: Terms = SAMPLES) -> None:
    """Print each sentence once, in the words of the reader, on a line of stderr."""
    label = one_line(label)
    for sentence in dict.fromkeys(one_line(terms.say(one)) for one in sentences):
        named = sentence if sentence.startswith(label) else f"{label}: {sentence}"
        click.echo(f"Note: {named}", err=True)


def say(text: str) -> None:
    """Print a result on stdout, without characters that control the terminal."""
    click.echo(printable(text))


@contextmanager
def within_memory(file: str) -> Iterator[None]:
    """Name the file in an out-of-memory error."""
    try:
        yield
    except MemoryError as error:
        said = one_line(error).removesuffix(".")
        raise MemoryError(
            f"{file} does not fit{f' ({said})' if said else ''}; use .npy, .parquet or .h5ad, "
            "which are read in blocks."
        ) from error
