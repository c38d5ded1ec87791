"""`onmf predict`."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import numpy as np

from onmf import load
from onmf.cli.console import cluster_sizes, note, say
from onmf.cli.options import INPUT, RAW_NAMES, reading, reading_options
from onmf.cli.runs import (
    Array,
    Input,
    Model,
    agreement_scores,
    align_features,
    fitted_model,
    ids_of_clusters,
    ids_of_labels,
    is_transposed,
    labels_sheet,
)
from onmf.cli.runs.standard_input import receive
from onmf.explain import Calibration
from onmf.io import Table, csv_text, place_for, replace_files
from onmf.preparation import Words

MISSING = {"refuse": None, "zero": 0.0, "nan": np.nan}


@click.command("predict")
@click.argument("model", type=click.Path(exists=True, path_type=Path))
@click.argument("input", type=INPUT)
@click.option(
    "-o",
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    required=True,
    help="File for the labels, as labels.csv.",
)
@reading_options
@click.option(
    "--missing",
    type=click.Choice(list(MISSING)),
    default="refuse",
    help="What becomes of features of the model that the input lacks; nan: they count as not "
    "observed.",
)
@click.option("--follow-links", is_flag=True, help="Of documents: also links out of the folder.")
@RAW_NAMES
@click.option("--force", is_flag=True, help="Replace the file if it is there.")
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON.")
def run_predict(
    model: Path,
    out: Path,
    missing: str,
    raw_names: bool,
    force: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Give new samples the clusters of a model.

    MODEL is a model.onmf file, or the folder that `onmf cluster` wrote. INPUT is read as `onmf
    cluster` reads it and goes through the same steps; its features are matched by their names,
    which also tell whether they are its rows or its columns.

    \b
    Example:
      onmf predict result new_tumours.csv -o new_labels.csv
    """
    with place_for(out.parent, [out.name], force):
        fitted = fitted_model(model) if model.is_dir() else load(model)
        of_words = any(isinstance(step, Words) for step in getattr(fitted, "preprocessing_", ()))
        lines = of_words and options["text_column"] is None
        source = Input(receive(options.pop("input"), lines), text=of_words, **options)
        table, said = align_features(read_along(source, fitted), fitted, MISSING[missing])
        labels = fitted.predict(table)
        sure, distance = how_sure(fitted, table, labels)
        columns = {"certainty": sure, "distance": distance}
        if hasattr(fitted, "outlier_limit_"):
            columns["outlier_score"] = fitted.outlier_score(table)
        ids = ids_of_labels(ids_of_clusters(fitted), labels)
        text = csv_text(*labels_sheet(table.samples, ids, **columns), raw_names)
        replace_files(out.parent, {out.name: text})
    note(source.path.name, said)
    sizes = cluster_sizes(labels, len(fitted.cluster_centers_)).tolist()
    facts = {
        "samples": len(table.samples),
        "cluster_sizes": sizes,
        "samples_in_no_cluster": len(table.samples) - sum(sizes),
        "scores": agreement_scores(table.labels, labels),
    }
    sentence = f"{len(table.samples)} samples into clusters of {', '.join(map(str, sizes))}: {out}."
    say(json.dumps(facts, indent=2) if as_json else sentence)


def how_sure(model: Model, table: Table, labels: Array) -> tuple[Array, Array]:
    """Certainty of each sample, by the curve that came with the model, and distance.

    Models of older versions have no curve, those of one cluster need none: any label is certain.
    """
    margin, distance = model.nearness(table)
    curve = getattr(model, "certainty_curve_", None)
    sure = np.ones(len(labels)) if curve is None else Calibration.of(curve)(margin)
    return np.where(labels >= 0, sure, 0), distance


def read_along(source: Input, model: Model) -> Table:
    """The input, its features as columns: their names tell which way it lies."""
    with reading(source) as progress:
        table = source.read(progress)
        if is_transposed(table, model):
            table = replace(source, transpose=not source.transpose).read(progress)
            lie = "columns" if source.transpose else "rows"
            note(source.path.name, [f"its {lie} are the features of the model: it was transposed."])
    return table
