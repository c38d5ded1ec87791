"""`onmf report`."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click

from onmf.cli.console import notes, place_for, say, waiting
from onmf.cli.runs import (
    REPORT,
    RUN,
    FinishedFit,
    aligned,
    assess,
    fitted_model,
    recall,
    sealed,
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
    with place_for(folder, [RUN], force=True):
        write_report(folder)
    say(f"Wrote {folder / REPORT}.")


def write_report(folder: Path) -> None:
    """The page of the run in the folder, and its checksum in run.json."""
    record, source = recall(folder)
    model = fitted_model(folder)
    with waiting(f"Reading {source.path.name}") as progress:
        table, _ = aligned(source.read(progress), model)
    choice = record.get("choice") and SimpleNamespace(**record["choice"])
    assessment = assess(model, table, model.labels_)
    run = FinishedFit(model, source, table, assessment, record["results"]["seconds"], choice)
    page = {REPORT: make_report(run, record)}
    # A run of the first version has no checksums to keep up.
    replace_files(folder, sealed(record, page)[1] if "files" in record else page)


def make_report(run: FinishedFit, record: dict[str, Any]) -> str:
    """The text of report.html."""
    with notes("report.html"), waiting("Making report.html"):
        return html(
            run.model,
            run.table.X,
            samples=run.table.samples,
            features=run.table.features,
            truth=run.table.labels,
            certainty=run.assessment[1:],
            run=record,
            choice=run.choice,
        )
