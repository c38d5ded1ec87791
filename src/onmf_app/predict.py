"""`onmf predict`."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import numpy as np

from onmf import ONMF, load
from onmf.files import place_for, replace_files
from onmf.rows import Source, Table, Terms, turn
from onmf_app.console import note, notes, say
from onmf_app.options import (
    FOLLOW_LINKS,
    INPUT,
    reading_options,
)
from onmf_app.read.annotation import read_labels
from onmf_app.read.annotation import value_file as class_file
from onmf_app.runs.align import align_features, is_transposed
from onmf_app.runs.inputs import Input, cleaned
from onmf_app.runs.reading import reading
from onmf_app.runs.records import terms_of_run
from onmf_app.runs.results import fitted_model
from onmf_app.runs.sheets import csv_writer
from onmf_app.runs.tables import (
    Labels,
    agreement_scores,
    cluster_sizes,
    ids_of_labels,
    probability_columns,
    score_sentence,
)
from onmf_app.sections import SectionedCommand

FILLS = {"refuse": None, "zero": 0.0, "nan": np.nan}  # of features that the input lacks


@click.command("predict", cls=SectionedCommand)
@click.argument("model", type=click.Path(exists=True, path_type=Path))
@click.argument("input", type=INPUT)
@click.option(
    "-o",
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    required=True,
    help="File for the labels, like labels.csv.",
)
@click.option(
    "--missing",
    type=click.Choice(list(FILLS)),
    default="refuse",
    help="What to do if the input lacks features of the model; nan: treat them as missing.",
)
@click.option(
    "--probabilities",
    is_flag=True,
    help="Add a column for each cluster: probability_0 and so on, by cluster id.",
)
@FOLLOW_LINKS
@click.option("--force", is_flag=True, help="Replace an existing file.")
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON.")
@reading_options
def run_predict(
    model: Path,
    out: Path,
    missing: str,
    probabilities: bool,
    force: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Assign new samples to the clusters of a model.

    MODEL is a model.onmf file, or the output folder of `onmf cluster`. INPUT goes through the same
    steps as the input of the model. Features are matched by name; if the names are in the rows, the
    input is transposed.

    \b
    Example:
      onmf predict result new_tumours.csv -o new_labels.csv
    """
    with place_for(out.parent, [out.name], force):
        fitted: ONMF = fitted_model(model) if model.is_dir() else load(model)
        source = Input.for_model(fitted, options.pop("input"), **options)
        terms = terms_of_run(model) or source.terms
        raw = read_for(fitted, source, terms)
        shown = cleaned(raw, getattr(fitted, "preprocessing_", ()))
        with notes(source.path.name, terms):
            table, said = align_features(raw, fitted, FILLS[missing])
            labels = fitted.predict(table)
        P = fitted.predict_proba(table)
        columns = {
            "probability": P.max(axis=1),
            "distance": fitted.distance(table),
            "unusual": fitted.unusual(table),
        }
        if probabilities:
            columns |= probability_columns(fitted.cluster_ids_, P)
        ids = ids_of_labels(fitted.cluster_ids_, labels)
        texts = shown.X if isinstance(shown.X, list) else None
        found = Labels(table.samples, ids, columns, fitted.cluster_names_, texts)
        replace_files(out.parent, {out.name: csv_writer(found.sheet())})
    note(source.path.name, said, terms)
    sizes = cluster_sizes(labels, len(fitted.cluster_centers_)).tolist()
    facts = {
        "samples": len(table.samples),
        "cluster_sizes": sizes,
        "samples_in_no_cluster": len(table.samples) - sum(sizes),
        "scores": agreement_scores(table.labels, labels),
    }
    shown_sizes = ", ".join(map(str, sizes))
    placed = f"{terms.counted(len(labels), 'sample')} in {terms.clusters} of {shown_sizes}"
    nowhere = facts["samples_in_no_cluster"]
    sentence = f"{placed}{f', {nowhere} in none' if nowhere else ''}: {out}."
    if facts["scores"] is not None:
        sentence += f"\n{score_sentence(facts['scores'])}"
    say(json.dumps(facts, indent=2) if as_json else sentence)


def read_for(model: ONMF, source: Input, terms: Terms) -> Table:
    """The input with the features of the model as columns, by their names, and its classes."""
    elsewhere = source.labels is not None and class_file(source.labels) is not None
    with reading(source) as progress:
        table = (replace(source, labels=None) if elsewhere else source).read(progress)
        if is_transposed(table, model):
            table = turn(
                table._replace(X=table.X.matrix()) if isinstance(table.X, Source) else table
            )
            side = "columns" if source.transpose else "rows"
            said = f"its {side} are the features of the model, so it was transposed."
            note(source.path.name, [said], terms)
        if elsewhere:
            table = table._replace(labels=read_labels(str(source.labels), table.samples))
        return table
