"""The files of a result: what they hold, and how a finished run is found again."""

import csv
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onmf import ONMF, Baseline
from onmf.cli.console import cluster_sizes
from onmf.cli.runs.inputs import Input
from onmf.estimators.storage import model_bytes
from onmf.io import Table, checksum, csv_text, to_json_values
from onmf.metrics import adjusted_rand_score, clustering_accuracy, normalized_mutual_info_score
from onmf.report import package_versions

LABELS, CENTERS, TOP, MODEL, REPORT, RUN = RESULTS = (
    "labels.csv",
    "centers.csv",
    "top_features.csv",
    "model.onmf",
    "report.html",
    "run.json",
)
TOP_FEATURES = 20  # a cluster

Model = ONMF | Baseline


class Assessment(NamedTuple):
    """What a model says of samples: the columns of labels.csv."""

    labels: NDArray[Any]
    confidence: NDArray[Any]
    distance: NDArray[Any]

    def csv(self, samples: Sequence[str]) -> str:
        columns = ([f"{value:.6f}" for value in column.tolist()] for column in self[1:])
        rows = zip(samples, self.labels.tolist(), *columns, strict=True)
        return csv_text(["sample", "cluster", "confidence", "distance"], rows)


def assess(model: Model, table: Table, labels: NDArray[Any]) -> Assessment:
    """How sure the model is of the labels it gave the samples; the table is read once."""
    return Assessment(labels, *model.certainty(table))


def scores(truth: Sequence[str] | None, labels: NDArray[Any]) -> dict[str, float] | None:
    """Agreement with the true classes, if they are known."""
    if truth is None:
        return None
    return {
        "accuracy": float(clustering_accuracy(truth, labels)),
        "adjusted_rand_index": float(adjusted_rand_score(truth, labels)),
        "normalized_mutual_information": float(normalized_mutual_info_score(truth, labels)),
    }


@dataclass(frozen=True)
class FinishedFit:
    """A finished fit: the model, what it says of its samples, and where these came from."""

    model: Model
    source: Input
    table: Table
    assessment: Assessment
    seconds: float
    shown: list[str] | None = None  # what the page calls the samples, if not by their names
    choice: Any = None  # what `onmf.choose_k` said, if it was asked

    def record(self, folder: Path) -> dict[str, Any]:
        """What was done, to what, with what, and how it ended: the content of run.json."""
        parameters = self.model.get_params(deep=False)
        del parameters["callback"]
        n, m = self.table.X.shape
        facts = {
            "input": {
                "file": self.source.path.resolve().name,
                "sha256": checksum(self.source.path),
                "samples": n,
                "features": m,
            },
            "source": self.source.record(folder),
            "seed": self.model.random_state,
            "parameters": parameters,
            "versions": package_versions(),
            "choice": None if self.choice is None else choice_record(self.choice),
            "results": self.results(),
        }
        return dict(json.loads(json.dumps(facts, allow_nan=False)))

    def results(self) -> dict[str, Any]:
        labels = self.assessment.labels
        return {
            "relative_error": float(self.model.relative_error_),
            "sweeps": int(self.model.n_iter_),
            "converged": bool(self.model.converged_),
            "cluster_sizes": cluster_sizes(labels, self.model.n_clusters).tolist(),
            "samples_in_no_cluster": int(np.sum(labels < 0)),
            "scores": scores(self.table.labels, labels),
            "seconds": round(self.seconds, 3),
        }

    def files(self, record: dict[str, Any]) -> dict[str, str | bytes]:
        """All files but the report; run.json comes last, so where it is, the others are."""
        top_features, model = (
            self.model.top_features(TOP_FEATURES),
            model_bytes(self.model, samples=False),
        )
        centers = [[i, *row] for i, row in enumerate(self.model.cluster_centers_.tolist())]
        top = [
            [cluster, rank, name, f"{weight:.6g}"]
            for cluster, features in enumerate(top_features)
            for rank, (name, weight) in enumerate(features, 1)
        ]
        return {
            LABELS: self.assessment.csv(self.table.samples),
            CENTERS: csv_text(["cluster", *self.table.features], centers),
            TOP: csv_text(["cluster", "rank", "feature", "weight"], top),
            MODEL: model,
            RUN: json.dumps(record, indent=2) + "\n",
        }


def stored_labels(folder: Path) -> NDArray[np.int64]:
    """The clusters of the samples of a finished run, which its model does not have."""
    path = folder / LABELS
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return np.array([int(row["cluster"]) for row in csv.DictReader(file)], np.int64)
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path} does not hold the labels of a run: {error}.") from error


def choice_record(choice: Any) -> dict[str, Any]:
    """What `onmf.choose_k` said, as JSON."""
    facts = {name: getattr(choice, name) for name in ("best_k", "runner_up", "reason", "table")}
    return dict(to_json_values(facts))


def recall(folder: Path) -> tuple[dict[str, Any], Input]:
    """The record of a finished run, and its input, which must still be the same."""
    path = folder / RUN
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        source, digest = Input.recall(record["source"], folder), record["input"]["sha256"]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path} is not the record of a run of onmf cluster: {error}.") from error
    if not source.path.exists():
        raise FileNotFoundError(f"the input {source.path} is no longer there: put it back.")
    if checksum(source.path) != digest:
        raise ValueError(f"the input {source.path} has changed since: run onmf cluster again.")
    return record, source
