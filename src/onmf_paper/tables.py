"""Rows of a ledger to tables: methods x data sets, mean and deviation, the paper's number beside.

mean = sum_s x_s / n,    sd = sqrt( sum_s (x_s - mean)^2 / (n - 1) )    over the starts s.
"""

from collections import defaultdict
from collections.abc import Iterable
from statistics import fmean, stdev
from typing import Any, NamedTuple

from onmf.io import csv_text
from onmf.ledger import Row
from onmf_paper.methods import NAMES
from onmf_paper.published import published
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


class Entry(NamedTuple):
    """A cell: our mean over n starts, its deviation, the paper's number, and whether ours wins."""

    mean: float
    sd: float | None  # of a single start there is none
    n: int
    published: float | None
    best: bool = False


class Table(NamedTuple):
    """The cells of one measure; a method or data set that was not run has none."""

    measure: str
    data: tuple[str, ...]
    methods: tuple[str, ...]
    entries: dict[tuple[str, str], Entry]  # (method, data)

    @property
    def heading(self) -> str:
        return MEASURES[self.measure].heading

    def text(self, value: float) -> str:
        return f"{value:.{MEASURES[self.measure].digits}f}"

    def missing(self) -> list[tuple[str, str]]:
        """Cells that a full table would have."""
        cells = ((method, data) for method in self.methods for data in self.data)
        return [cell for cell in cells if cell not in self.entries]


def make(
    rows: Iterable[Row], measure: str, data: tuple[str, ...], methods: tuple[str, ...], source: str
) -> Table:
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
    Table
    """
    values: dict[tuple[str, str], list[float]] = defaultdict(list)
    for row in rows:
        if row.state == "done" and set(row.trial) == set(KEY):
            values[row.trial["method"], row.trial["data"]].append(row.result[measure])
    entries = {
        (method, name): entry(values[method, name], published(source, measure, method, name))
        for method in methods
        for name in data
        if values[method, name]
    }
    return with_winners(Table(measure, data, methods, entries))


def entry(values: list[float], printed: float | None) -> Entry:
    sd = stdev(values) if len(values) > 1 else None
    return Entry(fmean(values), sd, len(values), printed)


def with_winners(table: Table) -> Table:
    """Mark the best of each data set; those that print alike win alike."""
    good = MEASURES[table.measure].good
    if not good:
        return table
    choose: Any = max if good == "high" else min
    shown = {cell: float(table.text(found.mean)) for cell, found in table.entries.items()}
    best = {
        name: choose((value for (_, data), value in shown.items() if data == name), default=None)
        for name in table.data
    }
    marked = {
        cell: found._replace(best=shown[cell] == best[cell[1]])
        for cell, found in table.entries.items()
    }
    return table._replace(entries=marked)


def as_csv(table: Table) -> str:
    """One line a cell."""
    header = ["measure", "data", "method", "starts", "mean", "sd", "best", "paper"]
    lines = (
        [
            table.measure,
            name,
            NAMES[method],
            found.n,
            f"{found.mean:.6g}",
            "" if found.sd is None else f"{found.sd:.3g}",
            "yes" if found.best else "",
            "" if found.published is None else found.published,
        ]
        for (method, name), found in table.entries.items()
    )
    return csv_text(header, lines)
