"""The files of a result: what they hold, and how a finished run is found again."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onmf import ONMF, Baseline, load
from onmf.cli.console import cluster_sizes
from onmf.cli.runs.inputs import Input
from onmf.estimators.storage import model_bytes
from onmf.io import Table, checksum, csv_text, to_json_values
from onmf.io.output import content_bytes
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

    def csv(self, samples: Sequence[str], raw_names: bool = False) -> str:
        columns = ([f"{value:.6f}" for value in column.tolist()] for column in self[1:])
        rows = zip(samples, self.labels.tolist(), *columns, strict=True)
        return csv_text(["sample", "cluster", "confidence", "distance"], rows, raw_names)


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
    choice: Any = None  # what `onmf.choose_k` said, if it was asked

    def record(self, folder: Path) -> dict[str, Any]:
        """What was done, to what, with what, and how it ended: the content of run.json."""
        parameters = self.model.get_params(deep=False)
        del parameters["callback"]
        n, m = self.table.X.shape
        facts = {
            "input": {
                "file": self.source.path.resolve().name,
                "sha256": checksum(self.source.path, self.source.follow_links),
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

    def files(self, raw_names: bool = False) -> dict[str, str | bytes]:
        """All files but the report and run.json."""
        top_features, model = self.model.top_features(TOP_FEATURES), model_bytes(self.model)
        centers = [[i, *row] for i, row in enumerate(self.model.cluster_centers_.tolist())]
        top = [
            [cluster, rank, name, f"{weight:.6g}"]
            for cluster, features in enumerate(top_features)
            for rank, (name, weight) in enumerate(features, 1)
        ]
        return {
            LABELS: self.assessment.csv(self.table.samples, raw_names),
            CENTERS: csv_text(["cluster", *self.table.features], centers, raw_names),
            TOP: csv_text(["cluster", "rank", "feature", "weight"], top, raw_names),
            MODEL: model,
        }


def choice_record(choice: Any) -> dict[str, Any]:
    """What `onmf.choose_k` said, as JSON."""
    facts = {name: getattr(choice, name) for name in ("best_k", "runner_up", "reason", "table")}
    return dict(to_json_values(facts))


def sealed(
    record: dict[str, Any], files: Mapping[str, str | bytes]
) -> tuple[dict[str, Any], dict[str, str | bytes]]:
    """The record with the checksums of the files, and these with run.json, the last of them."""
    sums = {name: hashlib.sha256(content_bytes(content)) for name, content in files.items()}
    known = record.get("files", {}) | {name: digest.hexdigest() for name, digest in sums.items()}
    record = record | {"files": known}
    return record, {**files, RUN: json.dumps(record, indent=2) + "\n"}


def fitted_model(folder: Path) -> Model:
    """The model of a finished run."""
    record = read_record(folder)
    digest = record.get("files", {}).get(MODEL)  # runs of the first version have none
    if digest is not None and checksum(folder / MODEL) != digest:
        raise ValueError(
            f"{folder / MODEL} is not the model of {RUN} beside it: run onmf cluster again, or "
            f"name {MODEL} itself."
        )
    return load(folder / MODEL)


def read_record(folder: Path) -> dict[str, Any]:
    """The content of run.json, which is there if the run has ended."""
    path = folder / RUN
    if not path.exists():
        raise FileNotFoundError(
            f"{folder} has no {RUN}, so no finished run: run onmf cluster again, or name the "
            "file of a model."
        )
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(record.get("files", {}), dict):
            raise TypeError("its files have no names")
        return dict(record)
    except (ValueError, TypeError, AttributeError) as error:
        raise not_a_record(path, error) from error


def not_a_record(path: Path, error: Exception) -> ValueError:
    return ValueError(f"{path} is not the record of a run of onmf cluster: {error}.")


def recall(folder: Path) -> tuple[dict[str, Any], Input]:
    """The record of a finished run, and its input, which must still be the same."""
    record = read_record(folder)
    try:
        source, digest = Input.recall(record["source"], folder), record["input"]["sha256"]
    except (ValueError, KeyError, TypeError) as error:
        raise not_a_record(folder / RUN, error) from error
    if not source.path.exists():
        raise FileNotFoundError(f"the input {source.path} is no longer there: put it back.")
    if checksum(source.path, source.follow_links) != digest:
        raise ValueError(f"the input {source.path} has changed since: run onmf cluster again.")
    return record, source
