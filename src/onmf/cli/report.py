"""`onmf report`."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click

from onmf.cli.console import notes, place_for, say, waiting
from onmf.cli.options import REMOTE
from onmf.cli.runs import REPORT, RUN, FinishedFit, explained, first_words, read_run, sealed_again
from onmf.io import replace_files
from onmf.report import html


@click.command("report")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@REMOTE
def run_report(folder: Path, remote: bool) -> None:
    """Make report.html of a finished run again.

    FOLDER is what `onmf cluster` wrote; its input must be where it was, and unchanged.

    \b
    Example:
      onmf report result
    """
    with place_for(folder, [RUN], force=True):
        write_report(folder, remote)
    say(f"Wrote {folder / REPORT}.")


def write_report(folder: Path, remote: bool) -> None:
    """The page of the run in the folder, and its checksum in run.json."""
    record, source, model, raw, table = read_run(folder, remote)
    choice = record.get("choice") and SimpleNamespace(**record["choice"])
    with waiting("Comparing the clusters"):
        explanation = explained(model, table)
    seconds = record["results"]["seconds"]
    run = FinishedFit(model, source, table, explanation, seconds, first_words(raw), choice)
    replace_files(folder, sealed_again(record, {REPORT: make_report(run, record)}))


def make_report(run: FinishedFit, record: dict[str, Any]) -> str:
    """The text of report.html."""
    with notes("report.html"), waiting("Making report.html"):
        return html(
            run.model,
            run.table.X,
            samples=run.shown or run.table.samples,
            features=run.table.features,
            truth=run.table.labels,
            explanation=run.explanation,
            run=record,
            choice=run.choice,
        )
