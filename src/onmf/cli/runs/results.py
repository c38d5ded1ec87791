"""The files of a result: what they hold, and how a finished run is found again."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onmf import ONMF, certify, load
from onmf.cli.console import cluster_sizes, notes, waiting
from onmf.cli.runs.inputs import Input, aligned
from onmf.cli.runs.outliers import outlier_record
from onmf.cli.runs.parent import Parent
from onmf.cli.runs.records import (
    CENTERS,
    LABELS,
    MARKERS,
    MODEL,
    PAGE,
    RUN,
    STREAM,
    TOP,
    is_of_run,
    not_a_record,
    read_record,
    stored_column,
)
from onmf.cli.runs.tables import (
    Array,
    Model,
    centers_csv,
    labels_csv,
    markers_csv,
    named_clusters,
    top_csv,
)
from onmf.estimators.storage import model_bytes
from onmf.explain import Explanation, clusters
from onmf.io import Source, Table, checksum, to_json_values
from onmf.io.output import content_bytes
from onmf.io.remote import RemoteFile
from onmf.metrics import adjusted_rand_score, clustering_accuracy, normalized_mutual_info_score
from onmf.preparation.steps import Log
from onmf.proof import Certificate
from onmf.proof.certificate import certificate_of_fit
from onmf.report import package_versions
from onmf.report.periods import Period


def explained(model: Model, table: Table) -> Explanation | None:
    """What makes the clusters of a fit; None if there is but one, hence nothing to compare."""
    if len(np.unique(model.labels_[model.labels_ >= 0])) < 2:
        return None
    chain = getattr(model, "preprocessing_", ())
    log_base = 2 if chain and isinstance(chain[-1], Log) else None
    return clusters(model, table, features=table.features, log_base=log_base)


def proved(model: Model, table: Table) -> Certificate | None:
    """How far from the best the fit can be; None if rows on disk had to be read again for it, or
    if samples may be outliers, or entries are missing: the bound holds for clusters of all; or if
    it is no squares that are minimised."""
    if model.get_params().get("loss") == "kl":
        return None
    if getattr(model, "outliers", None) is not None or model.n_missing_:
        return None
    known = certificate_of_fit(model)
    return known or (None if isinstance(table.X, Source) else certify(model, table))


def proof_record(certificate: Certificate) -> dict[str, Any]:
    """The bound as JSON, and what it says."""
    names = ("bound", "gap", "doubt", "method")
    return {name: getattr(certificate, name) for name in names} | {"sentence": str(certificate)}


def agreement_scores(truth: Sequence[str] | None, labels: NDArray[Any]) -> dict[str, float] | None:
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
    """A finished fit: the model, what makes its clusters, and where its samples came from."""

    model: Model
    source: Input
    table: Table
    explanation: Explanation | None
    seconds: float
    shown: list[str] | None = None  # what the page calls the samples, if not by their names
    choice: Any = None  # what `onmf.choose_k` said, if it was asked
    certificate: Certificate | None = None  # how far from the best clustering it can be
    parent: Parent | None = None  # the run it goes on from
    periods: Sequence[Period] = ()  # its samples over time, if that was asked

    def record(self, folder: Path) -> dict[str, Any]:
        """What was done, to what, with what, and how it ended: the content of run.json."""
        parameters = self.model.get_params(deep=False)
        del parameters["callback"]
        n, m = self.table.X.shape
        digest = checksum(self.source.path, self.source.follow_links)
        facts = {
            "input": {
                "file": self.source.path.resolve().name,
                "sha256": digest,
                "samples": n,
                "features": m,
                "missing": getattr(self.model, "n_missing_", 0),
            },
            "source": self.source.record(folder),
            "seed": self.model.random_state,
            "parameters": parameters,
            "versions": package_versions(),
            "choice": None if self.choice is None else choice_record(self.choice),
            "lineage": self.lineage(digest),
            "results": self.results(),
        }
        return dict(json.loads(json.dumps(facts, allow_nan=False)))

    def lineage(self, digest: str) -> list[dict[str, Any]]:
        """What became of the clusters of the runs before, the last of them last."""
        if self.parent is None or not isinstance(self.model, ONMF):
            return []
        ids = named_clusters(self.model, self.model.labels_).tolist()
        return self.parent.chain(self.model.lineage_, digest, self.table.samples, ids)

    def results(self) -> dict[str, Any]:
        labels, k = self.model.labels_, len(self.model.cluster_centers_)
        return {
            "relative_error": float(self.model.relative_error_),
            "sweeps": int(self.model.n_iter_),
            "converged": bool(self.model.converged_),
            "cluster_ids": named_clusters(self.model, np.arange(k)).tolist(),
            "cluster_sizes": cluster_sizes(labels, k).tolist(),
            "samples_in_no_cluster": int(np.sum(labels < 0)),
            "outliers": outlier_record(self.model, self.table.samples),
            "scores": agreement_scores(self.table.labels, labels),
            "seconds": round(self.seconds, 3),
            "proof": None if self.certificate is None else proof_record(self.certificate),
        }

    def labels_csv(self, raw_names: bool = False) -> str:
        """The text of labels.csv."""
        labels, found = self.model.labels_, self.explanation
        certainty = (labels >= 0).astype(float) if found is None else found.certainty
        distance = self.model.distance(self.table) if found is None else found.distance
        columns = {"certainty": certainty, "distance": distance}
        if hasattr(self.model, "outlier_score_"):
            columns["outlier_score"] = self.model.outlier_score_
        ids = named_clusters(self.model, labels)
        return labels_csv(self.table.samples, ids, raw_names, **columns)

    def files(self, raw_names: bool = False) -> dict[str, str | bytes]:
        """All files but the report and run.json."""
        return {
            LABELS: self.labels_csv(raw_names),
            MARKERS: markers_csv(self.explanation, raw_names),
            CENTERS: centers_csv(self.model, self.table.features, raw_names),
            TOP: top_csv(self.model, raw_names),
            MODEL: model_bytes(self.model, samples=False),
        }


def choice_record(choice: Any) -> dict[str, Any]:
    """What `onmf.choose_k` said, as JSON."""
    names = ("best_k", "runner_up", "reason", "evidence", "confidence", "table")
    facts = {name: getattr(choice, name) for name in names}
    scales = [
        {"k": scale.k, "score": scale.score, "sentence": scale.sentence, "inside": scale.inside}
        for scale in choice.scales
    ]
    return dict(to_json_values(facts | {"scales": scales}))


def sealed(
    record: dict[str, Any], files: Mapping[str, str | bytes]
) -> tuple[dict[str, Any], dict[str, str | bytes]]:
    """The record with the checksums of the files, and these with run.json, the last of them."""
    sums = {name: hashlib.sha256(content_bytes(content)) for name, content in files.items()}
    known = record.get("files", {}) | {name: digest.hexdigest() for name, digest in sums.items()}
    record = record | {"files": known}
    return record, {**files, RUN: json.dumps(record, indent=2) + "\n"}


def sealed_again(
    record: dict[str, Any], files: Mapping[str, str | bytes]
) -> Mapping[str, str | bytes]:
    """New files of a finished run, and its run.json if that has checksums to keep up."""
    return sealed(record, files)[1] if "files" in record else files


def fitted_model(folder: Path) -> Model:
    """The model of a finished run, as its last batch left it if it went on as a stream."""
    if (folder / STREAM).exists():
        return load(folder / STREAM)
    if not is_of_run(folder, MODEL, read_record(folder)):
        raise ValueError(
            f"{folder / MODEL} is not the model of {RUN} beside it: run onmf cluster again, or "
            f"name {MODEL} itself."
        )
    return load(folder / MODEL)


def recall(folder: Path, remote: bool = False) -> tuple[dict[str, Any], Input]:
    """The record of a finished run, and its input, which must still be the same.

    An input on another machine is only asked for if that is allowed: the folder, and the address in
    it, may be somebody else's.
    """
    record = read_record(folder)
    try:
        source, digest = Input.recall(record["source"], folder), record["input"]["sha256"]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise not_a_record(folder / RUN, error) from error
    if isinstance(source.path, RemoteFile) and not remote:
        raise ValueError(
            f"the input is {source.path}, on another machine: add --remote if it may be asked."
        )
    if not source.path.exists():
        raise FileNotFoundError(f"the input {source.path} is no longer there: put it back.")
    if checksum(source.path, source.follow_links) != digest:
        raise ValueError(f"the input {source.path} has changed since: run onmf cluster again.")
    return record, source


def labels_of_run(folder: Path, model: Model) -> Array:
    """The numbers of the clusters of the samples, whose ids labels.csv has."""
    ids = named_clusters(model, np.arange(len(model.cluster_centers_))).tolist()
    place = {-1: -1} | {cluster: number for number, cluster in enumerate(ids)}
    stored = stored_column(folder, "cluster", int)
    if not {*stored} <= {*place}:
        raise labels_of_another(folder)
    return np.array([place[cluster] for cluster in stored], np.int64)


def labels_of_another(folder: Path) -> ValueError:
    return ValueError(f"labels.csv in {folder} is not that of the run: run onmf cluster again.")


class ReadRun(NamedTuple):
    """A finished run, read again: its record, input and model, what was read and its features."""

    record: dict[str, Any]
    source: Input
    model: Model
    raw: Table
    table: Table


def read_run(folder: Path, remote: bool = False) -> ReadRun:
    """What `onmf cluster` left in a folder, and its input, which must still be the same."""
    if (folder / STREAM).exists():
        raise ValueError(f"{folder} went on as a stream: its page is {PAGE}, made by onmf update.")
    record, source = recall(folder, remote)
    model = fitted_model(folder)
    ours = True
    if not hasattr(model, "labels_"):  # older runs have them in the model
        model.labels_, ours = labels_of_run(folder, model), is_of_run(folder, LABELS, record)
    with notes(source.path.name), waiting(f"Reading {source.path.name}") as progress:
        raw = source.read(progress)
    table, _ = aligned(raw, model)
    if not ours or len(model.labels_) != len(table.samples):
        raise labels_of_another(folder)
    return ReadRun(record, source, model, raw, table)
