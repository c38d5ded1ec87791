"""`onmf reproduce`."""

import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, TimeElapsedColumn

from onmf_paper.ledger import Ledger, Row, run
from onmf_paper.methods import NAMES
from onmf_paper.output import paper_files
from onmf_paper.studies import FIGURE_STUDIES, STUDIES
from onmf_paper.trials import Trial, run_trial

GROUPS = {"all": tuple(STUDIES), "figures": FIGURE_STUDIES}
QUIET = 30.0  # seconds between two lines, where there is no terminal for a bar


@click.command("reproduce")
@click.argument("what", nargs=-1, required=True, type=click.Choice([*STUDIES, *GROUPS]))
@click.option("--trials", type=click.IntRange(1), help="Starts of each method on each data set.")
@click.option("--jobs", type=int, default=-1, help="Processes, a thread each; -1: all processors.")
@click.option("--only", default="", help=f"Methods, separated by commas: {', '.join(NAMES)}.")
@click.option(
    "-o",
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("paper"),
    help="Folder for index.html, the tables as CSV, the figures as SVG, and trials.sqlite.",
)
def run_reproduce(
    what: tuple[str, ...], trials: int | None, jobs: int, only: str, out: Path
) -> None:
    """Run the paper's tables and figures again.

    Finished trials are kept in trials.sqlite and are never run twice: stop with Ctrl-C, look at
    what there is, start again, and it goes on. The real data are looked for below the folder that
    ONMF_DATA names.

    \b
    Example:
      onmf reproduce table1 --trials 2 --only sncp,nsncp
    """
    methods = tuple(filter(None, (name.strip() for name in only.split(","))))
    if unknown := set(methods) - set(NAMES):
        raise ValueError(
            f"No method {', '.join(sorted(unknown))}: choose among {', '.join(NAMES)}."
        )
    out.mkdir(parents=True, exist_ok=True)
    plans = plan_studies(what, trials, methods)
    with Ledger(out / "trials.sqlite") as ledger:
        every = [trial for plan in plans.values() for trial in plan]
        try:
            with trial_progress() as report:
                rows = run(ledger, every, run_trial, n_jobs=jobs, progress=report)
        finally:  # after Ctrl-C, too: the page shows what there is
            write_files(out, paper_files(ledger, plans))
    note_failures(rows)
    click.echo(f"Wrote {out / 'index.html'}.")


def write_files(folder: Path, files: dict[str, str]) -> None:
    """Each file in full or not at all."""
    for name, text in files.items():
        beside = folder / f".{name}.{secrets.token_hex(8)}"
        with beside.open("x", encoding="utf-8", newline="\n") as file:  # follows no link
            file.write(text)
        beside.replace(folder / name)


def plan_studies(
    what: tuple[str, ...], trials: int | None, methods: tuple[str, ...]
) -> dict[str, list[Trial]]:
    """The trials of each study; one of a group whose data are missing is left out with a note."""
    names = dict.fromkeys(name for word in what for name in GROUPS.get(word, (word,)))
    if any(STUDIES[name].figures for name in names):
        import_module("onmf.plot")  # says what to install, before the long part
    plans = {}
    for name in names:
        try:
            plans[name] = STUDIES[name].plan(trials, methods)
        except FileNotFoundError as error:
            if name in what:
                raise
            click.echo(f"Note: {name} is left out: {error}", err=True)
    return plans


@contextmanager
def trial_progress() -> Iterator[Any]:
    """A bar with the time left; without a terminal, a line now and then."""
    console = Console(stderr=True)
    columns = (*Progress.get_default_columns(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task("trials", total=None)
        lines = ProgressLines()

        def report(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)
            if not console.is_terminal:
                lines(done, total)

        yield report


class ProgressLines:
    """Says how many trials are done and how long the rest will take, if the rest is like them."""

    def __init__(self) -> None:
        self.first: int | None = None
        self.begin = self.last = time.monotonic()

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if self.first is None:
            self.first = done
        elif now - self.last > QUIET or done == total:
            left = (now - self.begin) / (done - self.first) * (total - done)
            click.echo(f"{done} of {total} trials, about {left / 60:.0f} min left", err=True)
            self.last = now


def note_failures(rows: list[Row]) -> None:
    """Say which trials failed, each reason once."""
    failed: dict[str, list[Trial]] = {}
    for row in rows:
        if row.state == "failed":
            failed.setdefault(row.error, []).append(row.trial)
    for error, trials in failed.items():
        first = f"{trials[0]['method']} on {trials[0]['data']}"
        reason = " ".join(error.split())
        click.echo(f"Note: {len(trials)} trials failed ({first}, ...): {reason}", err=True)
