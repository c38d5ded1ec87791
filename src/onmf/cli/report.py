"""`onmf report`."""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click

from onmf import load
from onmf.cli.console import BadInput, bad_input, notes, waiting
from onmf.cli.runs import MODEL, REPORT, Run, aligned, recall
from onmf.io import replace_files

Render = Callable[..., str]


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
def report(folder: Path) -> None:
    """Make report.html of a finished run again.

    FOLDER is what `onmf cluster` wrote; its input must be where it was, and unchanged.

    \b
    Example:
      onmf report result
    """
    render = reporter()
    with bad_input():
        record, source = recall(folder)
        model = load(folder / MODEL)
        with waiting(f"Reading {source.path.name}") as progress:
            table, _ = aligned(source.read(progress), model)
        choice = record.get("choice") and SimpleNamespace(**record["choice"])
        run = Run(model, source, table, record["results"]["seconds"], choice)
        replace_files(folder, {REPORT: page(render, run, record)})
    click.echo(f"Wrote {folder / REPORT}.")


def reporter() -> Render:
    """What makes the page; asked for before the long part, for it may not be installed."""
    try:
        render: Render = import_module("onmf.report").html
    except ImportError as missing:
        raise BadInput(
            f'report.html cannot be made ({missing}): `pip install "onmf[all]"` installs all that '
            "is needed, --no-report does without."
        ) from missing
    return render


def page(render: Render, run: Run, record: dict[str, Any]) -> str:
    with notes("report.html"), waiting("Making report.html"):
        return render(
            run.model,
            run.table.X,
            samples=run.table.samples,
            features=run.table.features,
            truth=run.table.labels,
            certainty=run.assessed[1:],
            run=record,
            choice=run.choice,
        )
