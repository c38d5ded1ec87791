"""`onmf choose-k`."""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import click
from rich.console import Console
from rich.table import Table

from onmf import ONMF, choose_k
from onmf.explain.comparison import Ranking
from onmf.explain.explanation import clusters_or_none
from onmf.io import Table as DataTable
from onmf.io import csv_text, replace_files, to_json_values
from onmf.io.cells import to_count
from onmf.io.terms import Terms
from onmf.number import Consensus, KChoice, KRow
from onmf.page import html
from onmf.prepare.steps import STEPS
from onmf_app.console import notes, say, waiting
from onmf_app.options import (
    INPUT,
    RAW_NAMES,
    bounds_option,
    loss_option,
    preparation_options,
    reading_options,
    source_of,
    votes_option,
)
from onmf_app.runs.findings import ranking
from onmf_app.runs.inputs import sample_in_memory
from onmf_app.runs.reading import read_and_learn
from onmf_app.runs.records import REPORT, SCALES
from onmf_app.runs.results import choice_record
from onmf_app.runs.tables import scales_sheet
from onmf_app.sections import SectionedCommand

LEDGER = "choose-k.ledger"
SHOWN = ("score", "comes_back", "found_again", "kept")
BAR = 16  # characters of the longest bar


@click.command("choose-k", cls=SectionedCommand)
@click.argument("input", type=INPUT)
@click.option(
    "--k",
    "span",
    help="First and last K, and a step if not 1: 2:20:2. Default: 2 to 20, and twice as many while "
    "the best is above half of the last, at most 80 and an eighth of the samples.",
)
@click.option(
    "-o",
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for report.html, the tables and a ledger, from which a killed run goes on.",
)
@reading_options
@preparation_options
@loss_option
@votes_option
@bounds_option
@click.option("--runs", type=int, default=12, help="Fits on halves of the samples for each K.")
@click.option("--penalty", type=click.Choice(["sncp", "nsncp"]), default="sncp")
@click.option("--solver", type=click.Choice(["fast", "palm"]), default="fast")
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), default=0)
@click.option("--jobs", type=int, help="Threads (palm: processes); -1 takes all processors.")
@click.option("--only", is_flag=True, help="Do not go on past the last K where it is the best.")
@RAW_NAMES
@click.option("--json", "as_json", is_flag=True, help="Print choice.json instead of a table.")
def run_choose_k(
    span: str | None,
    out: Path | None,
    runs: int,
    seed: int,
    jobs: int | None,
    only: bool,
    raw_names: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Recommend a number of clusters for the samples of a file.

    INPUT is read and prepared as `onmf cluster` does; of a file too large for the memory 20,000
    samples are taken.

    \b
    Example:
      onmf choose-k tumours.csv --labels type -o result
    """
    source = source_of(options.pop("input"), options)
    ks = None if span is None else parse_span(span)
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)  # before the long part, not after it
    bounds = options["center_bounds"]
    source, options["loss"], learnt = read_and_learn(source, options["loss"], bounds)
    table = sample_in_memory(learnt, seed)
    model = ONMF(random_state=seed, n_jobs=jobs, **options)
    with notes(source.path.name, source.terms), waiting(source.path.name) as advance:
        choice = choose_k(
            model,
            table.X,
            ks,
            n_runs=runs,
            n_jobs=jobs,
            ledger=None if out is None else out / LEDGER,
            beyond=not only,
            progress=advance,
        )
    parameters = {"n_runs": runs, "random_state": seed, "steps": list(source.steps)} | options
    account = choice_account(choice, source.path.name, len(table.samples), parameters)
    if out is not None:
        rank = ranking(STEPS[name] for name in source.steps)
        page = make_page(table, choice, account, rank, source.terms)
        replace_files(out, {REPORT: page} | result_files(choice, table.samples, account, raw_names))
    if as_json:
        say(json.dumps(account, indent=2))
    else:
        say(source.terms.say(choice.reason))
        Console().print(choice_grid(choice))
        say("\n".join(remarks(choice, out)))


def choice_account(
    choice: KChoice, file: str, n_samples: int, parameters: dict[str, Any]
) -> dict[str, Any]:
    """What was asked, and the answer: the content of choice.json."""
    return {
        "input": {"file": file, "samples": n_samples},
        "parameters": {"k_range": [row.k for row in choice.table]} | parameters,
        **choice_record(choice),
        "cluster_stability": consensus_of(choice).cluster_stability.tolist(),
    }


def consensus_of(choice: KChoice) -> Consensus:
    """It is there: this command judges all samples."""
    return cast(Consensus, choice.consensus)


def parse_span(span: str) -> list[int]:
    """The K of first:last or first:last:step, or of a single number."""
    try:
        first, *rest = (to_count(part) for part in span.split(":"))
        last, step = (*rest, 1) if len(rest) == 1 else rest or (first, 1)
        return list(range(first, last + 1, step))
    except ValueError:
        raise ValueError(f"--k must be first:last or first:last:step, not {span!r}.") from None


def result_files(
    choice: KChoice, samples: Sequence[str], account: dict[str, Any], raw_names: bool
) -> dict[str, str]:
    """Name and text of each file; choice.json comes last, so where it is, the others are."""
    stability = consensus_of(choice).sample_stability.tolist()
    labels = zip(samples, choice.labels.tolist(), stability, strict=True)
    rows = (to_json_values(row).values() for row in choice.table)
    return {
        "table.csv": csv_text(KRow._fields, rows, raw_names),
        "labels.csv": csv_text(["sample", "cluster", "stability"], labels, raw_names),
        SCALES: csv_text(*scales_sheet(samples, choice.scales), raw_names),
        "choice.json": json.dumps(account, indent=2) + "\n",
    }


def make_page(
    table: DataTable, choice: KChoice, account: dict[str, Any], rank: Ranking, terms: Terms
) -> str:
    """report.html: the fit with the K recommended, the curves and the consensus map."""
    model = cast(ONMF, choice.model)  # as it was asked for
    with waiting("Making report.html"):
        return html(
            model,
            table.X,
            explanation=clusters_or_none(model, table.X, feature_names=table.features, rank=rank),
            samples=table.samples,
            features=table.features,
            truth=table.labels,
            run=account,
            choice=choice,
            terms=terms,
        )


def choice_grid(choice: KChoice) -> Table:
    """Why: a bar for the score of each K, the largest marked, and what it is made of."""
    table = Table()
    table.add_column("K", justify="right")
    table.add_column("score decides")
    for name in SHOWN:
        table.add_column(name.replace("_", " "), justify="right")
    top = max([row.score for row in choice.table if row.score > 0], default=1.0)
    for row in choice.table:
        length = 0 if math.isnan(row.score) else round(BAR * max(row.score, 0) / top)
        figures = [getattr(row, name) for name in SHOWN]
        cells = ["" if math.isnan(figure) else f"{figure:.3g}" for figure in figures]
        style = "bold" if row.k == choice.best_k else None
        table.add_row(f"{row.k}{'*' if style else ''}", "#" * length, *cells, style=style)
    return table


def remarks(choice: KChoice, out: Path | None) -> list[str]:
    """What failed, what was written."""
    lines = [f"K={row.k}: {row.failed}." for row in choice.table if row.failed]
    if out is not None:
        lines.append(
            f"Wrote report.html, table.csv, labels.csv, {SCALES} and choice.json to {out}."
        )
    return lines
