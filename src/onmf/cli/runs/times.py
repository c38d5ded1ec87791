"""The time of each sample, from a column, and the samples in periods of it."""

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from onmf.cli.runs.inputs import Input
from onmf.cli.runs.tables import Model
from onmf.io import Table
from onmf.io.cells import is_number, to_number
from onmf.io.table import Progress, no_progress
from onmf.report.periods import Period, period_words

MOST = 24  # periods on a page
DATE = re.compile(r"\d{4}-\d\d(-\d\d.*)?$")  # as ISO 8601 writes it
PARTS = (10, 7, 4)  # characters of a day, a month, a year


def read_times(source: Input, progress: Progress = no_progress) -> list[str]:
    """When each sample was, as its column says; the input is read once more for it."""
    told = replace(source, labels=source.time, time=None).read(progress).labels
    if told is None:
        raise ValueError(f"{source.path.name} has no column {source.time!r} for --time.")
    return told


def grouped_times(times: Sequence[str]) -> tuple[list[str], list[int]]:
    """Names of at most MOST periods, in their order, and the number of the period of each time.

    Dates go by days, months or years, whichever are few enough; all else, numbers by their size and
    names by the alphabet, with their neighbours.
    """
    known = {*times}
    if all(DATE.match(time) for time in known):
        for length in PARTS:
            if len({time[:length] for time in known}) <= MOST:
                short = [time[:length] for time in times]
                names = sorted({*short})
                return names, [names.index(time) for time in short]
    ordered = sorted(known, key=to_number if all(map(is_number, known)) else str)
    parts = [part.tolist() for part in np.array_split(ordered, min(MOST, len(ordered)))]
    names = [part[0] if len(part) == 1 else f"{part[0]} to {part[-1]}" for part in parts]
    place = {time: number for number, part in enumerate(parts) for time in part}
    return names, [place[time] for time in times]


def periods_of(
    model: Model, ids: Sequence[int], table: Table, times: Sequence[str]
) -> list[Period]:
    """Sizes and words of the clusters in each period."""
    names, numbers = grouped_times(times)
    periods = []
    for t, name in enumerate(names):
        rows = np.flatnonzero(np.array(numbers) == t)
        labels = model.labels_[rows]
        words = period_words(table.X[rows], labels, model.cluster_centers_, table.features)
        sizes = {ids[k]: int(np.sum(labels == k)) for k in words}
        periods.append(Period(name, sizes, {ids[k]: own for k, own in words.items()}))
    return periods
