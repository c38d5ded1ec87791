"""When samples were: periods of about one time, the sizes and words of the clusters in each."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from onmf.page.periods import Period, period_words
from onmf.page.samples import SampleTimes
from onmf.result import FittedModel, cluster_ids

MOST_PERIODS = 24  # on a page
ISO_DATE = re.compile(r"\d{4}-\d\d(-\d\d.*)?$")
DATE_LENGTHS = (10, 7, 4)  # characters of a day, a month, a year


def periods_of(
    times: Sequence[Any], model: FittedModel, X: Any, features: Sequence[str]
) -> tuple[list[Period], SampleTimes]:
    """Sizes and words of the clusters in each period, and the period of each sample."""
    names, numbers = grouped_times([str(time) for time in times])
    place, ids, W = np.array(numbers), cluster_ids(model), np.asarray(model.cluster_centers_)
    labels, periods = np.asarray(model.labels_), []
    if len(place) != len(labels):
        raise ValueError(f"{len(place)} times for {len(labels)} samples: give one for each.")
    for t, name in enumerate(names):
        rows = np.flatnonzero(place == t)
        words = period_words(X[rows], labels[rows], W, features)
        sizes = {ids[k]: int(np.sum(labels[rows] == k)) for k in words}
        periods.append(Period(name, sizes, {ids[k]: own for k, own in words.items()}))
    return periods, SampleTimes(names, place)


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
    try:
        ordered = sorted(known, key=float)
    except ValueError:
        ordered = sorted(known)
    parts = [part.tolist() for part in np.array_split(ordered, min(MOST_PERIODS, len(ordered)))]
    names = [part[0] if len(part) == 1 else f"{part[0]} to {part[-1]}" for part in parts]
    place = {time: number for number, part in enumerate(parts) for time in part}
    return names, [place[time] for time in times]
