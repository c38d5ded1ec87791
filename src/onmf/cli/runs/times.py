"""The samples of a run in periods of time (`--time`)."""

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from onmf.cli.console import waiting
from onmf.cli.runs.results import FinishedFit
from onmf.io.cells import is_number, to_number
from onmf.report.periods import Period, period_words

MOST_PERIODS = 24  # on a page
ISO_DATE = re.compile(r"\d{4}-\d\d(-\d\d.*)?$")
DATE_LENGTHS = (10, 7, 4)  # characters of a day, a month, a year


def time_periods(run: FinishedFit) -> list[Period]:
    """Sizes and words of the clusters in each period; none without --time."""
    if run.source.time is None:
        return []
    with waiting("Reading the times") as progress:
        source = replace(run.source, labels=run.source.time, time=None)
        times = source.read(progress).labels
        if times is None:
            raise ValueError(f"{source.path.name} has no column {run.source.time!r} for --time.")
        names, numbers = grouped_times(times)
        ids, periods = run.findings.ids.tolist(), []
        for t, name in enumerate(names):
            rows = np.flatnonzero(np.array(numbers) == t)
            labels, W = run.model.labels_[rows], run.model.cluster_centers_
            words = period_words(run.table.X[rows], labels, W, run.table.features)
            sizes = {ids[k]: int(np.sum(labels == k)) for k in words}
            periods.append(Period(name, sizes, {ids[k]: own for k, own in words.items()}))
    return periods


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
