"""Rows of a ledger to tables: methods x data sets, mean and deviation, the paper's number beside.

mean = sum_s x_s / n,    sd = sqrt( sum_s (x_s - mean)^2 / (n - 1) )    over the starts s.
"""

import csv
import io
from collections import defaultdict
from collections.abc import Iterable
from statistics import fmean, stdev
from typing import Any, NamedTuple

from onmf_paper.ledger import Row
from onmf_paper.methods import NAMES
from onmf_paper.published import published_value
from onmf_paper.trials import KEY


class Measure(NamedTuple):
    """What a table is about: its heading, its digits, and which end is good."""

    heading: str
    digits: int
    good: str  # "high", "low", or "" if there is nothing to win


MEASURES = {
    "acc": Measure("Accuracy (%)", 1, "high"),
    "ari": Measure("Adjusted Rand index (%)", 1, "high"),
    "cpu": Measure("CPU time of one thread (s)", 2, "low"),
    "sweeps": Measure("Iterations", 0, "low"),
    "error": Measure("Relative error of the best rays for the labels", 5, "low"),
    "empty": Measure("Empty clusters", 1, ""),
}


class TableEntry(NamedTuple):
    """A cell: our mean over n starts, its deviation, the paper's number, and whether ours wins."""

    mean: float
    sd: float | None  # of a single start there is none
    n: int
    published: float | None
    best: bool = False

    @property
    def difference(self) -> float:
        return self.mean - (self.published or 0)

    @property
    def standard_error(self) -> float:
        """sd sqrt(2 / n), of the difference: the paper's mean, too, is one over some n starts."""
        return (self.sd or 0) * (2 / self.n) ** 0.5


class ResultTable(NamedTuple):
    """The cells of one measure; a method or data set that was not run has none."""

    measure: str
    data: tuple[str, ...]
    methods: tuple[str, ...]
    entries: dict[tuple[str, str], TableEntry]  # (method, data)

    @property
    def heading(self) -> str:
        return MEASURES[self.measure].heading

    def text(self, value: float) -> str:
        return f"{value:.{MEASURES[self.measure].digits}f}"

    def missing(self) -> list[tuple[str, str]]:
        """Cells that a full table would have."""
        cells = ((method, data) for method in self.methods for data in self.data)
        return [cell for cell in cells if cell not in self.entries]


def make_table(
    rows: Iterable[Row], measure: str, data: tuple[str, ...], methods: tuple[str, ...], source: str
) -> ResultTable:
    """One measure of all finished trials with the paper's settings.

    Parameters
    ----------
    rows : iterable of Row
    measure : str
        A key of `MEASURES`.
    data, methods : tuple of str
        What the table would have if everything were run, in order.
    source : str
        The paper's table, a key of `published.PUBLISHED`.

    Returns
    -------
    ResultTable
    """
    values: dict[tuple[str, str], list[float]] = defaultdict(list)
    for row in rows:
        if row.state == "done" and set(row.trial) == set(KEY):
            values[row.trial["method"], row.trial["data"]].append(row.result[measure])
    entries = {
        (method, name): summarise(
            values[method, name], published_value(source, measure, method, name)
        )
        for method in methods
        for name in data
        if values[method, name]
    }
    return mark_winners(ResultTable(measure, data, methods, entries))


def summarise(values: list[float], printed: float | None) -> TableEntry:
    sd = stdev(values) if len(values) > 1 else None
    return TableEntry(fmean(values), sd, len(values), printed)


def mark_winners(table: ResultTable) -> ResultTable:
    """Mark the best of each data set; those that print alike win alike."""
    good = MEASURES[table.measure].good
    if not good:
        return table
    choose: Any = max if good == "high" else min
    shown = {cell: float(table.text(entry.mean)) for cell, entry in table.entries.items()}
    best = {
        name: choose((value for (_, data), value in shown.items() if data == name), default=None)
        for name in table.data
    }
    marked = {
        cell: entry._replace(best=shown[cell] == best[cell[1]])
        for cell, entry in table.entries.items()
    }
    return table._replace(entries=marked)


def table_csv(table: ResultTable) -> str:
    """One line a cell, as comma-separated text."""
    header = ["measure", "data", "method", "starts", "mean", "sd", "best", "paper"]
    lines = (
        [
            table.measure,
            name,
            NAMES[method],
            entry.n,
            f"{entry.mean:.6g}",
            "" if entry.sd is None else f"{entry.sd:.3g}",
            "yes" if entry.best else "",
            "" if entry.published is None else entry.published,
        ]
        for (method, name), entry in table.entries.items()
    )
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows([header, *lines])
    return text.getvalue()
