"""`onmf report`."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click

from onmf import load
from onmf.cli.console import notes, waiting
from onmf.cli.runs import (
    MODEL,
    REPORT,
    FinishedFit,
    aligned,
    assess,
    first_words,
    recall,
    stored_labels,
)
from onmf.io import replace_files
from onmf.report import html


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
def report(folder: Path) -> None:
    """Make report.html of a finished run again.

    FOLDER is what `onmf cluster` wrote; its input must be where it was, and unchanged.

    \b
    Example:
      onmf report result
    """
    record, source = recall(folder)
    model = load(folder / MODEL)
    if not hasattr(model, "labels_"):  # older runs have them in the model
        model.labels_ = stored_labels(folder)
    with notes(source.path.name), waiting(f"Reading {source.path.name}") as progress:
        raw = source.read(progress)
    table, _ = aligned(raw, model)
    if len(model.labels_) != len(table.samples):
        raise ValueError(f"labels.csv in {folder} is not that of the run: run onmf cluster again.")
    choice = record.get("choice") and SimpleNamespace(**record["choice"])
    assessment = assess(model, table, model.labels_)
    seconds = record["results"]["seconds"]
    run = FinishedFit(model, source, table, assessment, seconds, first_words(raw), choice)
    replace_files(folder, {REPORT: make_report(run, record)})
    click.echo(f"Wrote {folder / REPORT}.")


def make_report(run: FinishedFit, record: dict[str, Any]) -> str:
    """The text of report.html."""
    with notes("report.html"), waiting("Making report.html"):
        return html(
            run.model,
            run.table.X,
            samples=run.shown or run.table.samples,
            features=run.table.features,
            truth=run.table.labels,
            certainty=run.assessment[1:],
            run=record,
            choice=run.choice,
        )
