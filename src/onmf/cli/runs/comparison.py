"""The table of `onmf compare`: in the terminal, as files and as a page."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from rich.markup import escape
from rich.table import Table as Grid

from onmf.io import csv_text, replace_files
from onmf.io.versions import package_versions
from onmf.report.rivals import RivalTable, comparison_page

Fit = dict[str, Any]  # of one fit, or the means of a method
WITH_LABELS = {"acc": "ACC", "ari": "ARI", "nmi": "NMI"}  # in percent
MEASURES = {
    "relative_error": "error",
    "orthogonality": "orthog.",
    "empty_clusters": "empty",
    "sweeps": "sweeps",
    "seconds": "seconds",
}
NUMBER_FORMATS = {
    "relative_error": ".5f",
    "orthogonality": ".1e",
    "sweeps": ".0f",
    "seconds": ".2f",
}
LOWER_IS_BETTER = ("relative_error", "seconds")
RANKED = (*WITH_LABELS, *LOWER_IS_BETTER)
EXPLANATION = (
    "The relative error is that of the best rays for the labels found. ACC, ARI and NMI, in "
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
        known = [key for key in (*WITH_LABELS, *MEASURES) if good and key in good[0]]
        means = {key: float(np.mean([fit[key] for fit in good])) for key in known}
        converged = sum(fit["converged"] for fit in mine)
        failure = next((fit["failure"] for fit in mine if fit["failure"]), "")
        ended = {"converged": converged, "failure": failure}
        rows.append({"method": name, "starts": len(mine), **means, **ended})
    return rows


def comparison_grid(rows: list[Fit], title: str) -> Grid:
    """The table as it is printed."""
    known = known_keys(rows)
    columns = {key: name for key, name in (WITH_LABELS | MEASURES).items() if key in known}
    failed = [escape(f"{row['method']}: {row['failure']}") for row in rows if row["failure"]]
    grid = Grid(title=title, title_justify="left", box=None, padding=(0, 1, 0, 0))
    grid.caption, grid.caption_justify = "\n".join(failed), "left"
    grid.add_column("method", no_wrap=True)
    for name in (*columns.values(), "converged"):
        grid.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        cells = [cell_text(key, row[key]) if key in row else "" for key in columns]
        ended = "failed" if row["failure"] else f"{row['converged']}/{row['starts']}"
        grid.add_row(row["method"], *cells, ended)
    return grid


def cell_text(key: str, value: float) -> str:
    number = 100 * value if key in WITH_LABELS else value
    return format(number, NUMBER_FORMATS.get(key, ".1f"))


def page_beside(out: Path) -> Path:
    """The page, with the name of the table."""
    return out.with_suffix(".html")


def rival_table(fits: list[Fit], rows: list[Fit], facts: dict[str, Any]) -> RivalTable:
    """The content of the page; `facts` are file, samples, features, clusters, starts, methods."""
    measures = {
        key: name for key, name in (WITH_LABELS | MEASURES).items() if key in known_keys(rows)
    }
    cells = [
        [row["method"], *(cell_text(key, row[key]) if key in row else "" for key in measures),
         "failed" if row["failure"] else f"{row['converged']}/{row['starts']}"]
        for row in rows
    ]  # fmt: skip
    figures = {"relative_error": "Relative error", "ari": "ARI", "seconds": "Seconds"}
    return RivalTable(
        title=facts["file"],
        sentence=opening(rows, facts),
        note=EXPLANATION,
        heads=["method", *measures.values(), "converged"],
        rows=cells,
        best={
            (i, j)
            for j, key in enumerate(measures, 1) if key in RANKED
            for i in leaders(rows, key)
        },
        failures=[f"{row['method']}: {row['failure']}" for row in rows if row["failure"]],
        starts={
            title: {row["method"]: [fit[key] for fit in fits
                                    if fit["method"] == row["method"] and key in fit]
                    for row in rows}
            for key, title in figures.items() if key in measures
        },
        record={"run": facts, "versions": package_versions()},
    )  # fmt: skip


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
    if "ari" in known_keys(rows):
        said += f"; the best agreement with the known classes, ARI {_best(rows, 'ari')}"
    return f"{said}."


def _best(rows: list[Fit], key: str) -> str:
    """The best value of a measure, and its methods."""
    first = leaders(rows, key)
    *others, last = [rows[i]["method"] for i in first]
    names = f"{', '.join(others)} and {last}" if others else last
    return f"{cell_text(key, rows[first[0]][key])}, is that of {names}"


def leaders(rows: list[Fit], key: str) -> list[int]:
    """Numbers of the methods with the best value, as shown."""
    shown = {i: cell_text(key, row[key]) for i, row in enumerate(rows) if key in row}
    choose = min if key in LOWER_IS_BETTER else max
    top = choose(shown.values(), key=float)
    return [i for i, text in shown.items() if text == top]


def known_keys(rows: list[Fit]) -> set[str]:
    return {key for row in rows for key in row}


def save_comparison(out: Path, fits: list[Fit], facts: dict[str, Any], as_json: bool) -> None:
    """Write the table, the page and, if asked, every fit as JSON."""
    rows = method_means(fits)
    order = ["method", "starts", *WITH_LABELS, *MEASURES, "converged", "failure"]
    columns = [key for key in order if any(key in row for row in rows)]
    files = {out.name: csv_text(columns, ([row.get(key, "") for key in columns] for row in rows))}
    files[page_beside(out).name] = comparison_page(rival_table(fits, rows, facts))
    if as_json:
        files[out.with_suffix(".json").name] = comparison_json(fits) + "\n"
    replace_files(out.parent, files)


def comparison_json(fits: list[Fit]) -> str:
    return json.dumps({"methods": method_means(fits), "fits": fits}, indent=2)
