"""The table of `onmf compare`: in the terminal, as files and as a page."""

import json
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.markup import escape
from rich.table import Table as Grid

from onmf.io import csv_text, replace_files
from onmf.io.versions import package_versions
from onmf.page.rivals import RivalTable, comparison_page

Fit = dict[str, Any]  # of one fit, or the means of a method


class Measure(NamedTuple):
    """How a measure is shown: its heading, format and factor, and which value is best."""

    heading: str
    form: str = ".1f"
    factor: float = 1
    best: Callable[..., Any] | None = None

    def text(self, value: float) -> str:
        return format(self.factor * value, self.form)


MEASURES = {
    "acc": Measure("ACC", factor=100, best=max),
    "ari": Measure("ARI", factor=100, best=max),
    "nmi": Measure("NMI", factor=100, best=max),
    "coherence": Measure("coher.", ".3f", best=max),
    "diversity": Measure("divers.", ".2f", best=max),
    "relative_error": Measure("error", ".5f", best=min),
    "orthogonality": Measure("orthog.", ".1e"),
    "empty_clusters": Measure("empty"),
    "sweeps": Measure("passes", ".0f"),
    "seconds": Measure("seconds", ".2f", best=min),
}
NOT_BESIDE_TOPICS = ("orthogonality", "empty_clusters")  # a terminal has 80 characters
FIGURES = {"relative_error": "Relative error", "ari": "ARI", "seconds": "Seconds"}
ABOUT_TEXTS = (
    "onmf clusters counts of words, all other methods their tf-idf, for which the error is given. "
    "Coherence is the mean NPMI of the ten words that distinguish a cluster: how often they occur "
    "together. Diversity is the share of different words among them. "
)
EXPLANATION = (
    "The relative error is that of the best centroids for the labels found. ACC, ARI and NMI, in "
    "percent, are the agreement with the known classes. Orthogonality measures how much "
    "memberships overlap; empty is the number of clusters without samples. The best value of a "
    "column is bold."
)


def method_means(fits: list[Fit]) -> list[Fit]:
    """One row per method: means over the starts that did not fail."""
    rows = []
    for name in dict.fromkeys(fit["method"] for fit in fits):
        mine = [fit for fit in fits if fit["method"] == name]
        good = [fit for fit in mine if not fit["failure"]]
        known = [key for key in MEASURES if good and key in good[0]]
        means = {key: float(np.mean([fit[key] for fit in good])) for key in known}
        converged = sum(fit["converged"] for fit in mine)
        failure = next((fit["failure"] for fit in mine if fit["failure"]), "")
        ended = {"converged": converged, "failure": failure}
        rows.append({"method": name, "starts": len(mine), **means, **ended})
    return rows


def known_measures(rows: list[Fit]) -> dict[str, Measure]:
    """The measures that some method has."""
    return {key: measure for key, measure in MEASURES.items() if any(key in row for row in rows)}


def table_cells(
    rows: list[Fit], left_out: Collection[str] = ()
) -> tuple[list[str], list[list[str]]]:
    """Headings and cells of the table."""
    known = known_measures(rows).items()
    measures = {key: measure for key, measure in known if key not in left_out}
    heads = ["method", *(measure.heading for measure in measures.values()), "converged"]
    cells = [
        [row["method"], *(m.text(row[key]) if key in row else "" for key, m in measures.items()),
         "failed" if row["failure"] else f"{row['converged']}/{row['starts']}"]
        for row in rows
    ]  # fmt: skip
    return heads, cells


def failures(rows: list[Fit]) -> list[str]:
    """Why methods failed."""
    return [f"{row['method']}: {row['failure']}" for row in rows if row["failure"]]


def comparison_grid(rows: list[Fit], title: str) -> Grid:
    """The table for the terminal."""
    grid = Grid(title=title, title_justify="left", box=None, padding=(0, 1, 0, 0))
    grid.caption, grid.caption_justify = escape("\n".join(failures(rows))), "left"
    texts = any("coherence" in row for row in rows)
    heads, cells = table_cells(rows, NOT_BESIDE_TOPICS if texts else ())
    for head in heads:
        grid.add_column(head, justify="left" if head == "method" else "right", no_wrap=True)
    for line in cells:
        grid.add_row(*line)
    return grid


def rival_table(fits: list[Fit], rows: list[Fit], facts: dict[str, Any]) -> RivalTable:
    """The content of the page; `facts` are file, samples, features, clusters, starts, methods."""
    (heads, cells), measures = table_cells(rows), known_measures(rows)
    return RivalTable(
        title=facts["file"],
        sentence=opening(rows, facts),
        note=(ABOUT_TEXTS if "coherence" in measures else "") + EXPLANATION,
        heads=heads,
        rows=cells,
        best={
            (i, j)
            for j, (key, measure) in enumerate(measures.items(), 1)
            if measure.best
            for i in leaders(rows, key)
        },
        failures=failures(rows),
        starts={
            title: {
                row["method"]: [f[key] for f in fits if f["method"] == row["method"] and key in f]
                for row in rows
            }
            for key, title in FIGURES.items()
            if key in measures
        },
        record={"run": facts, "versions": package_versions()},
    )


def opening(rows: list[Fit], facts: dict[str, Any]) -> str:
    """The methods with the lowest error, and with the best agreement."""
    starts = "one start" if facts["starts"] == 1 else f"{facts['starts']} starts"
    said = (
        f"{len(rows)} methods cluster {facts['samples']:,} samples of {facts['features']:,} "
        f"features into {facts['clusters']} clusters, with {starts} each. The lowest error, "
        f"{_best(rows, 'relative_error')}"
    )
    if "bound" in facts:
        said += f" (no clustering has less than {facts['bound']})"
    if "ari" in known_measures(rows):
        said += f"; the best agreement with the known classes, ARI {_best(rows, 'ari')}"
    return f"{said}."


def _best(rows: list[Fit], key: str) -> str:
    """The best value of a measure, and its methods."""
    first = leaders(rows, key)
    *others, last = [rows[i]["method"] for i in first]
    names = f"{', '.join(others)} and {last}" if others else last
    return f"{MEASURES[key].text(rows[first[0]][key])}, is that of {names}"


def leaders(rows: list[Fit], key: str) -> list[int]:
    """Numbers of the methods with the best value, as shown."""
    measure = MEASURES[key]
    shown = {i: measure.text(row[key]) for i, row in enumerate(rows) if key in row}
    top = (measure.best or max)(shown.values(), key=float)
    return [i for i, text in shown.items() if text == top]


def save_comparison(out: Path, fits: list[Fit], facts: dict[str, Any], as_json: bool) -> None:
    """Write the table, the page and, if asked, every fit as JSON."""
    rows = method_means(fits)
    columns = ["method", "starts", *known_measures(rows), "converged", "failure"]
    page = comparison_page(rival_table(fits, rows, facts))
    files = {
        out.name: csv_text(columns, ([row.get(key, "") for key in columns] for row in rows)),
        out.with_suffix(".html").name: page,
    }
    if as_json:
        files[out.with_suffix(".json").name] = comparison_json(fits) + "\n"
    replace_files(out.parent, files)


def comparison_json(fits: list[Fit]) -> str:
    return json.dumps({"methods": method_means(fits), "fits": fits}, indent=2)
