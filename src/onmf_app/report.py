"""`onmf report`."""

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np

from onmf.io import place_for, replace_files
from onmf.io.cells import is_number, to_number
from onmf.page import html
from onmf.page.flow import Flow
from onmf.page.images import image_shape
from onmf.page.periods import Period, period_words
from onmf.page.samples import SampleTimes
from onmf_app.console import notes, say, waiting
from onmf_app.options import REMOTE
from onmf_app.runs.batches import of_samples
from onmf_app.runs.figures import figure_files
from onmf_app.runs.records import REPORT, RUN, with_record
from onmf_app.runs.results import FinishedFit, read_run

FIGURES = "figures"
MOST_PERIODS = 24  # on a page
ISO_DATE = re.compile(r"\d{4}-\d\d(-\d\d.*)?$")
DATE_LENGTHS = (10, 7, 4)  # characters of a day, a month, a year


@click.command("report")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@REMOTE
@click.option(
    "--figures", is_flag=True, help="Also write each figure as SVG and PDF, into FOLDER/figures."
)
def run_report(folder: Path, remote: bool, figures: bool) -> None:
    """Write report.html of a finished run again.

    FOLDER is the output folder of `onmf cluster`; its input must still exist, unchanged.

    \b
    Examples:
      onmf report result
      onmf report result --figures
    """
    with place_for(folder, [RUN], force=True):
        run, record = read_run(folder, remote)
        replace_files(folder, with_record(record, {REPORT: make_report(run, record)}))
        if figures:
            (folder / FIGURES).mkdir(exist_ok=True)
            with notes("figures", run.source.terms), waiting("Drawing figures"):
                drawn = figure_files(run)
            replace_files(folder / FIGURES, drawn)
    said = f" and {len(drawn)} files in {folder / FIGURES}" if figures else ""
    say(f"Wrote {folder / REPORT}{said}.")


def make_report(run: FinishedFit, record: dict[str, Any]) -> str:
    """The text of report.html."""
    periods, times = time_periods(run)
    with notes("report.html", run.source.terms), waiting("Making report.html"):
        return html(
            run.model,
            run.table.X,
            samples=run.table.samples,
            features=run.table.features,
            truth=run.table.labels,
            explanation=run.findings.explanation,
            run=record,
            choice=run.choice,
            flow=cluster_flow(run, record["lineage"][-1]) if record.get("lineage") else None,
            periods=periods,
            times=times,
            texts=run.findings.texts,
            images=None if run.source.images is None else image_shape(run.source.images),
            terms=run.source.terms,
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


def time_periods(run: FinishedFit) -> tuple[list[Period], SampleTimes | None]:
    """Sizes and words of the clusters in each period, and the period of each sample.

    None without --time.
    """
    if run.source.time is None:
        return [], None
    with waiting("Reading the times"):
        times = of_samples(run.source, run.source.time, "--time", run.table.samples)
        names, numbers = grouped_times(times)
        ids, periods = run.findings.ids.tolist(), []
        for t, name in enumerate(names):
            rows = np.flatnonzero(np.array(numbers) == t)
            labels, W = run.model.labels_[rows], run.model.cluster_centers_
            words = period_words(run.table.X[rows], labels, W, run.table.features)
            sizes = {ids[k]: int(np.sum(labels == k)) for k in words}
            periods.append(Period(name, sizes, {ids[k]: own for k, own in words.items()}))
    return periods, SampleTimes(names, np.array(numbers))


def grouped_times(times: Sequence[str]) -> tuple[list[str], list[int]]:
    """Names of at most MOST_PERIODS periods, in order, and the period of each time.

    Dates are grouped by day, month or year, the shortest that gives few enough periods. Numbers are
    ordered by size, other times by the alphabet; neighbours are put together.
    """
    known = {*times}
    if all(ISO_DATE.match(time) for time in known):
        for length in DATE_LENGTHS:
            short = [time[:length] for time in times]
            if len(names := sorted({*short})) <= MOST_PERIODS:
                return names, [names.index(time) for time in short]
    ordered = sorted(known, key=to_number if all(map(is_number, known)) else str)
    parts = [part.tolist() for part in np.array_split(ordered, min(MOST_PERIODS, len(ordered)))]
    names = [part[0] if len(part) == 1 else f"{part[0]} to {part[-1]}" for part in parts]
    place = {time: number for number, part in enumerate(parts) for time in part}
    return names, [place[time] for time in times]
