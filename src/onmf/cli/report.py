"""`onmf report`."""

from collections import Counter
from pathlib import Path
from typing import Any

import click

from onmf.cli.console import notes, say, waiting
from onmf.cli.options import REMOTE
from onmf.cli.runs.inputs import first_words
from onmf.cli.runs.records import REPORT, RUN, with_record
from onmf.cli.runs.results import FinishedFit, read_run
from onmf.cli.runs.times import time_periods
from onmf.io import place_for, replace_files
from onmf.report import html
from onmf.report.flow import Flow


@click.command("report")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@REMOTE
def run_report(folder: Path, remote: bool) -> None:
    """Write report.html of a finished run again.

    FOLDER is the output folder of `onmf cluster`; its input must still exist, unchanged.

    \b
    Example:
      onmf report result
    """
    with place_for(folder, [RUN], force=True):
        run, record = read_run(folder, remote)
        replace_files(folder, with_record(record, {REPORT: make_report(run, record)}))
    say(f"Wrote {folder / REPORT}.")


def make_report(run: FinishedFit, record: dict[str, Any]) -> str:
    """The text of report.html."""
    periods = time_periods(run)
    with notes("report.html"), waiting("Making report.html"):
        return html(
            run.model,
            run.table.X,
            samples=first_words(run.raw) or run.table.samples,
            features=run.table.features,
            truth=run.table.labels,
            explanation=run.findings.explanation,
            run=record,
            choice=run.choice,
            flow=cluster_flow(run, record["lineage"][-1]) if record.get("lineage") else None,
            periods=periods,
        )


def cluster_flow(run: FinishedFit, entry: dict[str, Any]) -> Flow:
    """What happened to the clusters of the run before, from the last entry of the lineage."""
    turned = zip(entry["ids"], entry["drift"], strict=True)
    return Flow(
        moves={(old, new): n for old, new, n in entry["moves"]},
        before={int(i): n for i, n in entry["before"].items()},
        after=Counter(i for i in run.sample_ids.tolist() if i >= 0),
        drift={i: angle for i, angle in turned if angle is not None},
        names={},
    )
