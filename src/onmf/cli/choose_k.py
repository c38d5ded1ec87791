"""`onmf choose-k`."""

import json
import math
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from onmf import ONMF
from onmf import choose_k as choose
from onmf.cli.console import say, waiting
from onmf.cli.options import (
    INPUT,
    RAW_NAMES,
    preparation_options,
    reading_options,
    source_of,
)
from onmf.cli.runs import REPORT, at_hand, choice_record
from onmf.io import Table as Samples
from onmf.io import csv_text, replace_files, to_json_values
from onmf.io.cells import to_count
from onmf.report import html
from onmf.stability import KChoice, KRow

LEDGER = "choose-k.ledger"
SHOWN = ("k", "held_out", "score", "agreement", "cophenetic", "dispersion", "silhouette")


@click.command()
@click.argument("input", type=INPUT)
@click.option("--k", "span", default="2:12", help="First and last K, and a step if not 1: 2:20:2.")
@click.option(
    "-o",
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for report.html, the tables and a ledger, from which a killed run goes on.",
)
@reading_options
@preparation_options
@click.option("--runs", type=int, default=10, help="Runs for each K.")
@click.option("--penalty", type=click.Choice(["sncp", "nsncp"]), default="sncp")
@click.option("--solver", type=click.Choice(["fast", "palm"]), default="fast")
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), default=0)
@click.option("--jobs", type=int, help="Threads (palm: processes); -1 takes all processors.")
@click.option("--all", "complete", is_flag=True, help="Make all runs, also past a settled curve.")
@RAW_NAMES
@click.option("--json", "as_json", is_flag=True, help="Print choice.json instead of a table.")
def choose_k(
    span: str,
    out: Path | None,
    runs: int,
    seed: int,
    jobs: int | None,
    complete: bool,
    raw_names: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Recommend a number of clusters for the samples of a file.

    INPUT is read and prepared as `onmf cluster` does; of a file too large for the memory 20,000
    samples are taken.

    \b
    Example:
      onmf choose-k tumours.csv --labels type --k 2:20 -o result
    """
    source = source_of(options.pop("input"), options)
    ks = parse_span(span)
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)  # before the long part, not after it
    with waiting(f"Reading {source.path.name}") as progress:
        table = at_hand(source.learn(source.read(progress))[0], seed)
    model = ONMF(random_state=seed, n_jobs=jobs, **options)
    with waiting(source.path.name) as advance:
        choice = choose(
            model,
            table.X,
            ks,
            n_runs=runs,
            n_jobs=jobs,
            ledger=None if out is None else out / LEDGER,
            early_stop=not complete,
            progress=advance,
        )
    parameters = {"k_range": ks, "n_runs": runs, "random_state": seed, "steps": list(source.steps)}
    account = {
        "input": {"file": source.path.name, "samples": len(table.samples)},
        "parameters": parameters | options,
        **choice_record(choice),
        "confidence": round(choice.confidence, 4),
        "cluster_stability": choice.consensus.cluster_stability.tolist(),
    }
    if out is not None:
        page = fit_and_report(model, table, choice, account)
        replace_files(out, {REPORT: page} | result_files(choice, table.samples, account, raw_names))
    if as_json:
        say(json.dumps(account, indent=2))
    else:
        Console().print(choice_grid(choice))
        say(summarise_choice(choice, out))


def parse_span(span: str) -> list[int]:
    """The K of first:last or first:last:step, or of a single number."""
    try:
        first, *rest = (to_count(part) for part in span.split(":"))
        last, step = (*rest, 1) if len(rest) == 1 else rest or (first, 1)
        return list(range(first, last + 1, step))
    except ValueError:
        raise ValueError(f"--k must be first:last or first:last:step, not {span!r}.") from None


def result_files(
    choice: KChoice, samples: list[str], account: dict[str, Any], raw_names: bool
) -> dict[str, str]:
    """Name and text of each file; choice.json comes last, so where it is, the others are."""
    labels = zip(
        samples,
        choice.consensus.labels.tolist(),
        choice.consensus.sample_stability.tolist(),
        strict=True,
    )
    rows = (to_json_values(row).values() for row in choice.table)
    return {
        "table.csv": csv_text(KRow._fields, rows),
        "labels.csv": csv_text(["sample", "cluster", "stability"], labels, raw_names),
        "choice.json": json.dumps(account, indent=2) + "\n",
    }


def fit_and_report(model: ONMF, table: Samples, choice: KChoice, account: dict[str, Any]) -> str:
    """report.html: a fit with the K recommended, the curves and the consensus map."""
    model.set_params(n_clusters=choice.best_k).fit(table.X)
    with waiting("Making report.html"):
        return html(
            model,
            table.X,
            samples=table.samples,
            features=table.features,
            truth=table.labels,
            run=account,
            choice=choice,
        )


def choice_grid(choice: KChoice) -> Table:
    """The table for the terminal, the recommended K marked."""
    table = Table()
    for name in SHOWN:
        table.add_column(name.replace("_", " "), justify="right")
    for row in choice.table:
        figures = [getattr(row, name) for name in SHOWN[1:]]
        cells = ["" if math.isnan(figure) else f"{figure:.4g}" for figure in figures]
        style = "bold" if row.k == choice.best_k else None
        table.add_row(f"{row.k}{'*' if style else ''}", *cells, style=style)
    return table


def summarise_choice(choice: KChoice, out: Path | None) -> str:
    """The answer in a few lines."""
    failed = [f"K={row.k}: {row.failed}" for row in choice.table if row.failed]
    second = f", runner-up {choice.runner_up}" if choice.runner_up else ""
    lines = [
        f"Recommended: K={choice.best_k} (confidence {choice.confidence:.2f}{second}).",
        choice.reason,
        *failed,
    ]
    if out is not None:
        lines.append(f"Wrote report.html, table.csv, labels.csv and choice.json to {out}.")
    return "\n".join(lines)
