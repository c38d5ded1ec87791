"""`onmf compare`."""

import json
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.console import Console
from rich.progress import MofNCompleteColumn
from rich.table import Table as Grid

from onmf import ONMF, Baseline
from onmf.baselines import METHODS as RIVALS
from onmf.cli.console import (
    NOT_CONVERGED,
    BadInput,
    bad_input,
    cluster_sizes,
    one_line,
    progress_bar,
)
from onmf.datasets import make_rays
from onmf.io import Table, csv_text, read_table, replace_files
from onmf.metrics import (
    adjusted_rand_score,
    clustering_accuracy,
    normalized_mutual_info_score,
    orthogonality,
    partition_error,
)

OURS: dict[str, Callable[..., Any]] = {
    "onmf": ONMF,
    "sncp": lambda k, **settings: ONMF(k, solver="palm", penalty="sncp", **settings),
    "nsncp": lambda k, **settings: ONMF(k, solver="palm", penalty="nsncp", **settings),
}
ALL = [*OURS, *RIVALS]
QUICK = ["onmf", "alternation", "k-means", "k-means++", "nmf", "hals"]
WITH_LABELS = {"acc": "ACC", "ari": "ARI", "nmi": "NMI"}  # in percent
ALWAYS = {
    "relative_error": "error",
    "orthogonality": "orthog.",
    "empty_clusters": "empty",
    "sweeps": "sweeps",
    "seconds": "seconds",
}
PLACES = {"relative_error": ".5f", "orthogonality": ".1e", "sweeps": ".0f", "seconds": ".2f"}


def chosen(context: click.Context, option: click.Parameter, words: str | None) -> list[str]:
    """The methods named, "all" of them, or those that are quick."""
    names = QUICK if words is None else ALL if words == "all" else words.split(",")
    unknown = [name for name in names if name not in ALL]
    if unknown:
        raise click.BadParameter(f"there is no {', '.join(unknown)}; there are {', '.join(ALL)}.")
    return list(dict.fromkeys(names))


def csv_file(context: click.Context, option: click.Parameter, out: Path) -> Path:
    """The JSON file goes beside it under the same name."""
    if out.suffix.lower() != ".csv":
        raise click.BadParameter(f"{out} does not end in .csv.")
    return out


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "-k", "--clusters", "k", type=click.IntRange(1), required=True, help="Number of clusters."
)
@click.option("--labels", help="Column of true classes; it is no feature.")
@click.option("--methods", callback=chosen, help=f"Of {', '.join(ALL)}; or all.")
@click.option(
    "--starts", type=click.IntRange(1), default=3, help="Seeds 1, 2, ... for each method."
)
@click.option(
    "-o",
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    callback=csv_file,
    default=Path("compare.csv"),
    help="Where the table is saved.",
)
@click.option("--json", "as_json", is_flag=True, help="Print and save JSON with every fit as well.")
@click.option("--jobs", type=int, default=1, help="Threads of a fit; -1 takes all processors.")
def compare(
    file: Path,
    k: int,
    labels: str | None,
    methods: list[str],
    starts: int,
    out: Path,
    as_json: bool,
    jobs: int,
) -> int:
    """Compare methods on the rows of a file, from the same starts.

    The relative error is that of the best rays for the labels found; with --labels the agreement
    with the true classes stands beside it. All are means over the starts. A method that fails says
    why in its row, and the others go on. The table is saved after each method.

    \b
    Example:
      onmf compare tumours.csv -k 10 --labels type --methods onmf,hals,k-means --starts 10
    """
    fits: list[dict[str, Any]] = []
    with bad_input():
        out.parent.mkdir(parents=True, exist_ok=True)  # before the long part, not after it
        table = read_table(file, labels=labels)
        ONMF(2, random_state=0).fit(make_rays(50, 5, 2, random_state=0)[0])  # compiles, once
        for tried in measured(table, k, methods, range(1, starts + 1), jobs):
            fits.append(tried)
            if len(fits) % starts == 0 and not all(fit["failure"] for fit in fits):
                save(out, fits, as_json)
    if all(fit["failure"] for fit in fits):
        raise BadInput(fits[0]["failure"])
    if as_json:
        click.echo(record(fits))
    else:
        title = f"{file.name}, {k} clusters, mean of {starts} start{'s' if starts > 1 else ''}"
        Console().print(grid(summary(fits), title))
        click.echo(f"Wrote {out}.")
    return 0 if all(fit["converged"] for fit in fits) else NOT_CONVERGED


def measured(
    table: Table, k: int, methods: list[str], seeds: Sequence[int], jobs: int
) -> Iterator[dict[str, Any]]:
    """One fit after the other, with a progress bar if stderr is a terminal."""
    with progress_bar(MofNCompleteColumn()) as bar:
        task = bar.add_task("", total=len(methods) * len(seeds))

        def follow(said: str, event: Any) -> bool:
            bar.update(task, description=f"{said}, {event.sweep} sweeps")
            return False

        for name, seed in product(methods, seeds):
            callback = partial(follow, f"{name}, start {seed}")
            model = build(name, k, random_state=seed, n_jobs=jobs, callback=callback)
            yield {"method": name, "start": seed, **measure(model, table)}
            bar.advance(task)


def build(name: str, k: int, **settings: Any) -> Any:
    """The estimator of that name."""
    return OURS[name](k, **settings) if name in OURS else Baseline(name, k, **settings)


def measure(model: Any, table: Table) -> dict[str, Any]:
    """What one fit achieves and costs, or why it fails."""
    begin = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what they say has columns of its own
            model.fit(table.X)
    except Exception as error:  # of any kind: the other methods go on
        return {"converged": False, "failure": one_line(error) or type(error).__name__}
    seconds, labels = time.perf_counter() - begin, model.labels_
    agreement = {}
    if table.labels is not None:
        scores = (clustering_accuracy, adjusted_rand_score, normalized_mutual_info_score)
        values = (float(score(table.labels, labels)) for score in scores)
        agreement = dict(zip(WITH_LABELS, values, strict=True))
    return {
        **agreement,
        "relative_error": partition_error(table.X, labels),
        "orthogonality": orthogonality(model.membership_),
        "empty_clusters": int(np.sum(cluster_sizes(labels, model.n_clusters) == 0)),
        "sweeps": model.history_[-1].sweeps,
        "seconds": seconds,
        "converged": bool(model.converged_),
        "failure": "",
    }


def summary(fits: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One row a method: means over the starts that did not fail."""
    rows = []
    for name in dict.fromkeys(fit["method"] for fit in fits):
        mine = [fit for fit in fits if fit["method"] == name]
        good = [fit for fit in mine if not fit["failure"]]
        known = [key for key in (*WITH_LABELS, *ALWAYS) if good and key in good[0]]
        means = {key: float(np.mean([fit[key] for fit in good])) for key in known}
        converged = sum(fit["converged"] for fit in mine)
        failure = next((fit["failure"] for fit in mine if fit["failure"]), "")
        ended = {"converged": converged, "failure": failure}
        rows.append({"method": name, "starts": len(mine), **means, **ended})
    return rows


def grid(rows: list[dict[str, Any]], title: str) -> Grid:
    """The table as it is printed."""
    known = {key for row in rows for key in row}
    columns = {key: name for key, name in (WITH_LABELS | ALWAYS).items() if key in known}
    failed = [f"{row['method']}: {row['failure']}" for row in rows if row["failure"]]
    shown = Grid(title=title, title_justify="left", box=None, padding=(0, 1, 0, 0))
    shown.caption, shown.caption_justify = "\n".join(failed), "left"
    shown.add_column("method", no_wrap=True)
    for name in (*columns.values(), "converged"):
        shown.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        cells = [cell(key, row[key]) if key in row else "" for key in columns]
        ended = "failed" if row["failure"] else f"{row['converged']}/{row['starts']}"
        shown.add_row(row["method"], *cells, ended)
    return shown


def cell(key: str, value: float) -> str:
    shown = 100 * value if key in WITH_LABELS else value
    return format(shown, PLACES.get(key, ".1f"))


def save(out: Path, fits: list[dict[str, Any]], as_json: bool) -> None:
    """The table into `out`, and every fit into the .json file beside it if asked."""
    rows = summary(fits)
    order = ["method", "starts", *WITH_LABELS, *ALWAYS, "converged", "failure"]
    columns = [key for key in order if any(key in row for row in rows)]
    files = {out.name: csv_text(columns, ([row.get(key, "") for key in columns] for row in rows))}
    if as_json:
        files[out.with_suffix(".json").name] = record(fits) + "\n"
    replace_files(out.parent, files)


def record(fits: list[dict[str, Any]]) -> str:
    return json.dumps({"methods": summary(fits), "fits": fits}, indent=2)
