"""`onmf explain`."""

import json
from pathlib import Path
from typing import Any

import click
import numpy as np

from onmf.cli.console import say, waiting
from onmf.cli.options import RAW_NAMES, REMOTE
from onmf.cli.runs import (
    LABELS,
    MARKERS,
    RUN,
    Findings,
    FinishedFit,
    Origin,
    markers_sheet,
    read_run,
    sealed_again,
)
from onmf.explain import Explanation
from onmf.io import csv_texts, place_for, replace_files

TYPICAL, FIRST_WORDS = 3, 72  # samples shown of each cluster, characters shown of a document


@click.command("explain")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--top", type=click.IntRange(1), default=10, help="Features of each cluster.")
@REMOTE
@RAW_NAMES
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def run_explain(folder: Path, top: int, remote: bool, raw_names: bool, as_json: bool) -> None:
    """Say what makes the clusters of a finished run.

    FOLDER is what `onmf cluster` wrote; its input must be where it was, and unchanged. Printed are
    the distinctive features of each cluster with their mean inside, and its most typical samples,
    documents by their first words. Written anew are labels.csv and markers.csv.

    \b
    Example:
      onmf explain result
    """
    with place_for(folder, [RUN], force=True):
        record, source, model, raw, table = read_run(folder, remote)
        with waiting("Comparing the clusters"):
            findings = Findings.of(model, table)
        found = findings.explanation
        if found is None:
            raise ValueError("the run has a single cluster: there is nothing to compare it with.")
        origin, seconds = Origin.recall(record), record["results"]["seconds"]
        run = FinishedFit(model, source, origin, table, findings, seconds)
        sheets = {LABELS: run.labels_sheet(), MARKERS: markers_sheet(findings.markers)}
        files = csv_texts(sheets, raw_names)
        replace_files(folder, sealed_again(record, files))
    names = [_first_words(text) for text in raw.X] if source.text else raw.samples
    facts = cluster_facts(found, names, top)
    say(json.dumps(facts, indent=2) if as_json else summarise_clusters(facts))
    if not as_json:
        say(f"Wrote {LABELS} and {MARKERS} to {folder}.")


def _first_words(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= FIRST_WORDS else f"{line[: FIRST_WORDS - 1]}…"


def cluster_facts(found: Explanation, names: list[str], top: int) -> list[dict[str, Any]]:
    """What is told of each cluster that has samples."""
    markers, facts = found.markers, []
    for k, numbers in enumerate(markers.numbers(top)):
        inside = np.flatnonzero(found.labels == k)
        if not len(inside):
            continue
        typical = inside[np.argsort(found.distance[inside], kind="stable")[:TYPICAL]]
        means = markers.facts.mean_inside[k]
        facts.append(
            {
                "cluster": markers.clusters[k],
                "name": markers.names[k],
                "samples": len(inside),
                "certainty": round(float(found.certainty[inside].mean()), 4),
                "features": [[markers.features[j], float(f"{means[j]:.4g}")] for j in numbers],
                "typical": [names[i] for i in typical],
            }
        )
    return facts


def summarise_clusters(facts: list[dict[str, Any]]) -> str:
    """The same for people."""
    lines = []
    for own in facts:
        features = ", ".join(f"{name} {mean:.3g}" for name, mean in own["features"])
        lines += [
            f"Cluster {own['cluster']}: {own['name']} ({own['samples']} samples, certainty "
            f"{own['certainty']:.2f})",
            f"  features  {features}",
            *(f"  typical   {name}" for name in own["typical"]),
        ]
    return "\n".join(lines)
