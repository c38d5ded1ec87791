"""`onmf report`."""

from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click

from onmf.cli.console import notes, say, waiting
from onmf.cli.options import REMOTE
from onmf.cli.runs import (
    REPORT,
    RUN,
    Array,
    Findings,
    FinishedFit,
    Input,
    Model,
    Origin,
    first_words,
    ids_of_labels,
    read_run,
    sealed_again,
)
from onmf.cli.runs.times import periods_of, read_times
from onmf.io import Table, place_for, replace_files
from onmf.report import html
from onmf.report.flow import Flow
from onmf.report.periods import Period


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
        findings = Findings.of(model, table)
    seconds = record["results"]["seconds"]
    run = FinishedFit(
        model,
        source,
        Origin.recall(record),
        table,
        findings,
        seconds,
        first_words(raw),
        choice,
        periods=spread_over_time(model, findings.ids, source, table),
    )
    replace_files(folder, sealed_again(record, {REPORT: make_report(run, record)}))


def spread_over_time(model: Model, ids: Array, source: Input, table: Table) -> list[Period]:
    """The samples in periods, if their times are known."""
    if source.time is None:
        return []
    with waiting("Looking at the times") as progress:
        return periods_of(model, ids.tolist(), table, read_times(source, progress))


def make_report(run: FinishedFit, record: dict[str, Any]) -> str:
    """The text of report.html."""
    with notes("report.html"), waiting("Making report.html"):
        return html(
            run.model,
            run.table.X,
            samples=run.shown or run.table.samples,
            features=run.table.features,
            truth=run.table.labels,
            explanation=run.findings.explanation,
            run=record,
            choice=run.choice,
            flow=flow_into(run, record["lineage"][-1]) if record.get("lineage") else None,
            periods=run.periods,
        )


def flow_into(run: FinishedFit, told: dict[str, Any]) -> Flow:
    """What became of the clusters of the run before, as run.json tells it, for the page."""
    ids = ids_of_labels(run.findings.ids, run.model.labels_).tolist()
    turned = zip(told["ids"], told["drift"], strict=True)
    return Flow(
        moves={(old, new): n for old, new, n in told["moves"]},
        before={int(i): n for i, n in told["before"].items()},
        after=Counter(i for i in ids if i >= 0),
        drift={i: angle for i, angle in turned if angle is not None},
        names={},
    )
