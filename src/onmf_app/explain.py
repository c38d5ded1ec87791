"""`onmf explain`."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np

from onmf.explain import Explanation
from onmf.explain.typical import decimals, typical_samples
from onmf.io import csv_writers, place_for, replace_files
from onmf.io.terms import Terms
from onmf_app.console import say
from onmf_app.options import RAW_NAMES, REMOTE
from onmf_app.runs.records import CLUSTERS, LABELS, MARKERS, RUN, with_record
from onmf_app.runs.results import read_run
from onmf_app.runs.tables import clusters_sheet, markers_sheet

TYPICAL_SAMPLES = 3  # shown per cluster
TEXT_SHOWN = 72  # characters of a document


@click.command("explain")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--top", type=click.IntRange(1), default=10, help="Features per cluster.")
@REMOTE
@RAW_NAMES
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def run_explain(folder: Path, top: int, remote: bool, raw_names: bool, as_json: bool) -> None:
    """Explain the clusters of a finished run.

    FOLDER is the output folder of `onmf cluster`; its input must still exist, unchanged. Prints the
    distinctive features of each cluster with their mean inside it, and its most typical samples.
    Writes labels.csv, clusters.csv and markers.csv again.

    \b
    Example:
      onmf explain result
    """
    with place_for(folder, [RUN], force=True):
        run, record = read_run(folder, remote)
        found = run.findings.explanation
        if found is None:
            raise ValueError("the run has a single cluster: there is nothing to compare.")
        sheets = {
            LABELS: run.labels().sheet(),
            CLUSTERS: clusters_sheet(run.clusters(), run.source.terms),
            MARKERS: markers_sheet(run.findings.markers),
        }
        replace_files(folder, with_record(record, csv_writers(sheets, raw_names)))
    names = run.raw.samples
    if run.source.text:
        names = [_shortened(text) for text in run.raw.X]
    facts = cluster_facts(found, names, top)
    said = summarise_clusters(facts, run.source.terms)
    say(json.dumps(facts, indent=2) if as_json else said)
    if not as_json:
        say(f"Wrote {LABELS}, {CLUSTERS} and {MARKERS} to {folder}.")


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= TEXT_SHOWN else f"{line[: TEXT_SHOWN - 1]}…"


def cluster_facts(found: Explanation, names: Sequence[str], top: int) -> list[dict[str, Any]]:
    """Size, trust, features and typical samples of each cluster that has samples."""
    markers, facts = found.markers, []
    digits = decimals(found.certainty[found.labels >= 0])
    for row in found.clusters():
        k = markers.clusters.index(row.cluster)
        inside = np.flatnonzero(found.labels == k)
        typical = typical_samples(inside, found.distance, found.certainty, TYPICAL_SAMPLES)
        means, numbers = markers.facts.mean_inside[k], markers.numbers(top)[k]
        facts.append(
            row._asdict()
            | {
                "certainty": round(row.certainty, max(digits, 4)),
                "features": [[markers.features[j], float(f"{means[j]:.4g}")] for j in numbers],
                "typical": [names[i] for i in typical],
            }
        )
    return facts


def summarise_clusters(facts: list[dict[str, Any]], terms: Terms) -> str:
    """The same as text."""
    lines, digits = [], decimals(np.array([own["certainty"] for own in facts]))
    for own in facts:
        features = ", ".join(f"{name} {mean:.3g}" for name, mean in own["features"])
        lines += [
            f"{terms.cluster.capitalize()} {own['cluster']}: {own['name']} "
            f"({terms.counted(own['samples'], 'sample')}, certainty {own['certainty']:.{digits}f}, "
            f"found again {own['found_again']:.2f})",
            *([f"  {'doubt':<8}  {terms.say(own['note'])}"] if own["note"] else []),
            f"  {terms.features:<8}  {features}",
            *(f"  typical   {name}" for name in own["typical"]),
        ]
    return "\n".join(lines)
