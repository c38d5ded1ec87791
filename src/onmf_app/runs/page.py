"""The page of a run: report.html."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from onmf.page import html
from onmf.page.images import image_shape
from onmf.page.periods import Period, period_words
from onmf.page.samples import SampleTimes
from onmf.prepare.numerals import to_number
from onmf_app.console import notes, waiting
from onmf_app.read.cells import is_number
from onmf_app.runs.batches import of_samples
from onmf_app.runs.results import FinishedFit

MOST_PERIODS = 24  # on a page
ISO_DATE = re.compile(r"\d{4}-\d\d(-\d\d.*)?$")
DATE_LENGTHS = (10, 7, 4)  # characters of a day, a month, a year


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
            periods=periods,
            times=times,
            texts=run.findings.texts,
            images=None if run.source.images is None else image_shape(run.source.images),
            terms=run.source.terms,
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
