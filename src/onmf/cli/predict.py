"""`onmf predict`."""

import json
from pathlib import Path
from typing import Any

import click

from onmf import load
from onmf.cli.console import cluster_sizes, place_for, say, waiting
from onmf.cli.options import INPUT, RAW_NAMES, reading_options
from onmf.cli.runs import Input, aligned, assess, fitted_model, scores
from onmf.io import replace_files
from onmf.preparation import Words


@click.command()
@click.argument("model", type=INPUT)
@click.argument("input", type=INPUT)
@click.option(
    "-o",
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    required=True,
    help="File for the labels, as labels.csv.",
)
@reading_options
@RAW_NAMES
@click.option("--follow-links", is_flag=True, help="Of documents: also links out of the folder.")
@click.option("--force", is_flag=True, help="Replace the file if it is there.")
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON.")
def predict(
    model: Path, out: Path, force: bool, raw_names: bool, as_json: bool, **options: Any
) -> None:
    """Give new samples the clusters of a model.

    MODEL is a model.onmf file, or the folder that `onmf cluster` wrote. INPUT is read as `onmf
    cluster` reads it and goes through the same steps; its features are matched by their names.

    \b
    Example:
      onmf predict result new_tumours.csv -o new_labels.csv
    """
    with place_for(out.parent, [out.name], force):
        fitted = fitted_model(model) if model.is_dir() else load(model)
        text = any(isinstance(step, Words) for step in getattr(fitted, "preprocessing_", ()))
        source = Input(options.pop("input"), text=text, **options)
        with waiting(f"Reading {source.path.name}") as progress:
            table, unknown = aligned(source.read(progress), fitted)
        labels = fitted.predict(table)
        text_of_labels = assess(fitted, table, labels).csv(table.samples, raw_names)
        replace_files(out.parent, {out.name: text_of_labels})
    if unknown:
        say(f"Note: {unknown} features are unknown to the model and not used.", err=True)
    sizes = cluster_sizes(labels, fitted.n_clusters).tolist()
    facts = {
        "samples": len(table.samples),
        "cluster_sizes": sizes,
        "samples_in_no_cluster": len(table.samples) - sum(sizes),
        "scores": scores(table.labels, labels),
    }
    sentence = f"{len(table.samples)} samples into clusters of {', '.join(map(str, sizes))}: {out}."
    say(json.dumps(facts, indent=2) if as_json else sentence)
