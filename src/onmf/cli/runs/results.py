"""The files of a result: what they hold, and how a finished run is found again."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from onmf import ONMF, load
from onmf.bounds.certificate import certificate_of_fit
from onmf.cli.console import cluster_sizes, notes, waiting
from onmf.cli.runs.inputs import Input, align_features
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
    Origin,
    is_of_run,
    not_a_record,
    read_record,
    stored_column,
)
from onmf.cli.runs.tables import (
    MOST_MARKERS,
    TOP_FEATURES,
    Array,
    Model,
    centers_sheet,
    ids_of_clusters,
    ids_of_labels,
    labels_sheet,
    markers_sheet,
    top_sheet,
)
from onmf.estimators.solvers import flat_parameters
from onmf.estimators.storage import model_bytes
from onmf.explain import Explanation, Marker
from onmf.explain.clustering import check_fitted_to
from onmf.explain.explanation import fit_clusters
from onmf.io import Sheet, Source, Table, checksum, csv_texts, seal_files, to_json_values
from onmf.io.remote import RemoteFile
from onmf.losses import loss_of
from onmf.metrics import adjusted_rand_score, clustering_accuracy, normalized_mutual_info_score
from onmf.preparation.steps import Log
from onmf.report.periods import Period


class Findings(NamedTuple):
    """What is known of a fit besides its factors: asked for once, and handed on as values.

    ids : of the clusters.
    top : the heaviest features of each, with their weights.
    explanation : what makes them; None if there is but one, hence nothing to compare.
    markers : the rows of markers.csv.
    curve : from margins to certainties.
    proof : how far from the best clustering it can be, as JSON, if the fit knows.
    """

    ids: Array
    top: list[list[tuple[str, float]]]
    explanation: Explanation | None
    markers: list[Marker]
    curve: Array | None
    proof: dict[str, Any] | None

    @classmethod
    def of(cls, model: Model, table: Table) -> Self:
        """Of a fit to the features of this table."""
        base = log_base_of(model)
        ids, top = ids_of_clusters(model), model.top_features(TOP_FEATURES)
        found = fit_clusters(model, table, ids.tolist(), table.features, base)
        markers, curve = [], None
        if found is not None:
            markers, curve = list(found.markers.rows(MOST_MARKERS)), found.calibration.array()
        proof = certificate_of_fit(model)
        told = None if proof is None else proof.record()
        return cls(ids, top, found, markers, curve, told)


def log_base_of(model: Model) -> float | None:
    """The base of the logarithm that the samples went through last, if they did."""
    chain = getattr(model, "preprocessing_", ())
    return 2 if chain and isinstance(chain[-1], Log) else None


def can_certify(model: Model, table: Table) -> bool:
    """Whether a bound can be had: not if rows on disk had to be read again for it, or if samples
    may be outliers, or entries are missing, for it holds for clusters of all; nor if it is no
    squares that are minimised."""
    all_of_them = getattr(model, "outliers", None) is None and not model.n_missing_
    bounded = "bound" in loss_of(model).supports
    return bounded and all_of_them and not isinstance(table.X, Source)


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
    origin: Origin
    table: Table
    findings: Findings
    seconds: float
    shown: list[str] | None = None  # what the page calls the samples, if not by their names
    choice: Any = None  # what `onmf.choose_k` said, if it was asked
    parent: Parent | None = None  # the run it goes on from
    periods: Sequence[Period] = ()  # its samples over time, if that was asked

    def record(self, folder: Path) -> dict[str, Any]:
        """What was done, to what, with what, and how it ended: the content of run.json."""
        parameters = flat_parameters(self.model)
        del parameters["callback"]
        n, m = self.table.X.shape
        facts = {
            "input": {
                "file": self.source.path.resolve().name,
                "sha256": self.origin.digest,
                "samples": n,
                "features": m,
                "missing": getattr(self.model, "n_missing_", 0),
            },
            "source": self.source.record(folder),
            "seed": self.model.random_state,
            "parameters": parameters,
            "versions": self.origin.versions,
            "choice": None if self.choice is None else choice_record(self.choice),
            "lineage": self.lineage(),
            "results": self.results(),
        }
        return dict(json.loads(json.dumps(facts, allow_nan=False)))

    def lineage(self) -> list[dict[str, Any]]:
        """What became of the clusters of the runs before, the last of them last."""
        if self.parent is None or not isinstance(self.model, ONMF):
            return []
        ids = ids_of_labels(self.findings.ids, self.model.labels_).tolist()
        digest, samples = self.origin.digest, self.table.samples
        return self.parent.chain(self.model.lineage_, digest, samples, ids)

    def results(self) -> dict[str, Any]:
        labels, k = self.model.labels_, len(self.model.cluster_centers_)
        return {
            "relative_error": float(self.model.relative_error_),
            "sweeps": int(self.model.n_iter_),
            "converged": bool(self.model.converged_),
            "cluster_ids": self.findings.ids.tolist(),
            "cluster_sizes": cluster_sizes(labels, k).tolist(),
            "samples_in_no_cluster": int(np.sum(labels < 0)),
            "outliers": outlier_record(self.model, self.table.samples),
            "scores": agreement_scores(self.table.labels, labels),
            "seconds": round(self.seconds, 3),
            "proof": self.findings.proof,
        }

    def labels_sheet(self) -> Sheet:
        """What is known of each sample."""
        labels, found = self.model.labels_, self.findings.explanation
        certainty = (labels >= 0).astype(float) if found is None else found.certainty
        distance = self.model.distance(self.table) if found is None else found.distance
        columns = {"certainty": certainty, "distance": distance}
        if hasattr(self.model, "outlier_score_"):
            columns["outlier_score"] = self.model.outlier_score_
        ids = ids_of_labels(self.findings.ids, labels)
        return labels_sheet(self.table.samples, ids, **columns)

    def files(self, raw_names: bool = False) -> dict[str, str | bytes]:
        """All files but the report and run.json."""
        ids, W = self.findings.ids, self.model.cluster_centers_
        sheets = {
            LABELS: self.labels_sheet(),
            MARKERS: markers_sheet(self.findings.markers),
            CENTERS: centers_sheet(ids, W, self.table.features),
            TOP: top_sheet(ids, self.findings.top),
        }
        model = model_bytes(self.model, samples=False)
        return {**csv_texts(sheets, raw_names), MODEL: model}


def choice_record(choice: Any) -> dict[str, Any]:
    """What `onmf.choose_k` said, as JSON."""
    names = ("best_k", "runner_up", "reason", "evidence", "confidence", "table")
    facts = {name: getattr(choice, name) for name in names}
    scales = [
        {"k": scale.k, "score": scale.score, "sentence": scale.sentence, "inside": scale.inside}
        for scale in choice.scales
    ]
    return dict(to_json_values(facts | {"scales": scales}))


def sealed_again(
    record: dict[str, Any], files: Mapping[str, str | bytes]
) -> Mapping[str, str | bytes]:
    """New files of a finished run, and its run.json if that has checksums to keep up."""
    return seal_files(files, RUN, record)[1] if "files" in record else files


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
    ids = ids_of_clusters(model).tolist()
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
    table, _ = align_features(raw, model)
    if not ours or len(model.labels_) != len(table.samples):
        raise labels_of_another(folder)
    check_fitted_to(model, table, table.X.shape)
    return ReadRun(record, source, model, raw, table)
