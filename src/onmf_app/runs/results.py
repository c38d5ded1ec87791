"""A finished fit: the content of its files, and how a finished run is read again."""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from onmf import ONMF, load
from onmf.estimators.storage import model_bytes
from onmf.explain import ClusterRow
from onmf.explain.checks import check_fitted_to
from onmf.files import Content, to_json_values
from onmf.rows import Array, Table, Terms
from onmf_app.console import notes, waiting
from onmf_app.runs import records, tables
from onmf_app.runs.align import align_features
from onmf_app.runs.batches import corrected
from onmf_app.runs.description import describe
from onmf_app.runs.findings import Findings
from onmf_app.runs.inputs import Copies, Input, cleaned, rows_of
from onmf_app.runs.sheets import csv_writers


def with_copies(model: ONMF, table: Table, raw: Table, copies: Copies) -> Table:
    """The table of all texts; the model, fitted to one of each, then has the labels of all."""
    model.labels_ = model.labels_[copies.place]
    everything = rows_of(table, copies.place)
    return everything._replace(samples=raw.samples, labels=raw.labels)


def choice_with_copies(choice: Any, copies: Copies) -> Any:
    """The result of `onmf.choose_k` on one of each text, if there is one, for all texts."""
    if choice is None:
        return None
    place = copies.place
    scales = [scale._replace(labels=scale.labels[place]) for scale in choice.scales]
    return replace(choice, scales=scales)


@dataclass(frozen=True)
class FinishedFit:
    """A model, its input before and after the steps, and what was computed from them.

    raw : the input before the steps; texts without what is not text.
    """

    model: ONMF
    source: Input
    origin: records.Origin
    raw: Table
    table: Table
    findings: Findings
    seconds: float
    choice: Any = None  # of `onmf.choose_k`, if it was called
    previous: records.PreviousRun | None = None  # the run that it continues

    @property
    def sample_ids(self) -> Array:
        """The cluster id of each sample."""
        return tables.ids_of_labels(self.findings.ids, self.model.labels_)

    def record(self, folder: Path) -> dict[str, Any]:
        """The content of run.json: input, parameters, versions and results."""
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
            "parameters": flat_parameters(self.model),
            "versions": self.origin.versions,
            "choice": None if self.choice is None else choice_record(self.choice),
            "lineage": self.lineage(),
            "results": self.results(),
        }
        return dict(json.loads(json.dumps(facts, allow_nan=False)))

    def lineage(self) -> list[dict[str, Any]]:
        """What happened to the clusters of the runs before, the last run last."""
        if self.previous is None:
            return []
        return self.previous.lineage(self.model.lineage_, self.origin.digest)

    def results(self) -> dict[str, Any]:
        labels, k = self.model.labels_, len(self.model.cluster_centers_)
        return {
            "relative_error": float(self.model.relative_error_),
            "sweeps": int(self.model.n_iter_),
            "converged": bool(self.model.converged_),
            "cluster_ids": self.findings.ids.tolist(),
            "cluster_names": [*self.model.cluster_names_.values()],
            "cluster_sizes": tables.cluster_sizes(labels, k).tolist(),
            "samples_in_no_cluster": int(np.sum(labels < 0)),
            "outliers": None if self.model.outliers is None else self.outliers(),
            "scores": tables.agreement_scores(self.table.labels, labels),
            "seconds": round(self.seconds, 3),
            "topics": self.findings.topics,
            "clusters": [row._asdict() for row in self.clusters()],
        }

    def outliers(self) -> dict[str, Any]:
        """The number of samples in no cluster, and the names of the farthest."""
        labels, distance = self.model.labels_, self.label_columns()["distance"]
        outside = np.flatnonzero(labels < 0)
        worst = outside[np.argsort(-distance[outside], kind="stable")]
        names = [str(self.table.samples[i]) for i in worst[: tables.MOST_OUTLIERS_NAMED]]
        return {"samples": len(outside), "worst": names}

    def label_columns(self) -> dict[str, Array]:
        """The numbers of each sample in labels.csv."""
        labels, found = self.model.labels_, self.findings.explanation
        return {
            "probability": (labels >= 0).astype(float) if found is None else found.certainty,
            "distance": self.model.distance(self.table) if found is None else found.distance,
            "unusual": self.model.unusual(self.table),
        }

    def labels(self) -> tables.Labels:
        """The content of labels.csv."""
        return tables.Labels(
            self.table.samples,
            self.sample_ids,
            self.label_columns(),
            self.model.cluster_names_,
            self.findings.texts,
        )

    def clusters(self) -> list[ClusterRow]:
        """The content of clusters.csv; nothing if there is a single cluster."""
        found = self.findings.explanation
        return [] if found is None else found.clusters()

    def files(self) -> dict[str, Content]:
        """All files except the report and run.json."""
        sheets = {
            records.LABELS: self.labels().sheet(),
            records.CLUSTERS: tables.clusters_sheet(self.clusters(), self.source.terms),
            records.MARKERS: tables.markers_sheet(self.findings.markers),
            records.CENTERS: tables.centers_sheet(self.model, self.table.features),
        }
        if self.choice is not None and len(self.choice.scales[0].labels) == len(self.table.samples):
            sheets[records.SCALES] = tables.scales_sheet(self.table.samples, self.choice.scales)
        model = model_bytes(self.model, samples=False)
        files: dict[str, Content] = {**csv_writers(sheets), records.MODEL_FILE: model}
        if (tree := getattr(self.model, "tree_", None)) is not None:
            files[records.TREE] = json.dumps(tree.to_dict()) + "\n"
        return files


def choice_record(choice: Any) -> dict[str, Any]:
    """The result of `onmf.choose_k`, as JSON."""
    facts = {name: getattr(choice, name) for name in ("best_k", "reason", "evidence", "table")}
    scales = [
        {"k": scale.k, "score": scale.score, "comes_back": scale.comes_back, "inside": scale.inside}
        for scale in choice.scales
    ]
    return dict(to_json_values(facts | {"scales": scales}))


def flat_parameters(model: ONMF) -> dict[str, Any]:
    """The parameters of a model as JSON has them; those of its solver stand beside the others."""
    flat = model.get_params(deep=False)
    del flat["callback"]
    solver = flat["solver"]
    if not isinstance(solver, str):
        flat |= solver.get_params(deep=False) | {"solver": solver.name}
    return flat


def fitted_model(folder: Path) -> ONMF:
    """The model of a finished run."""
    records.check_model(folder, records.read_record(folder))
    return load(folder / records.MODEL_FILE)


def check_unchanged(source: Input, digest: str) -> None:
    """Refuse an input that is gone or has changed."""
    for path in source.paths:
        if not path.exists():
            raise FileNotFoundError(f"the input {path} no longer exists: put it back.")
    if source.digest() != digest:
        raise ValueError(f"the input {source.path} has changed: run onmf cluster again.")


def labels_of_run(folder: Path, model: ONMF) -> Array:
    """The label of each sample, from the cluster ids in labels.csv."""
    ids = model.cluster_ids_.tolist()
    place = {-1: -1} | {cluster: number for number, cluster in enumerate(ids)}
    stored = records.stored_column(folder, "cluster", int)
    labels = np.fromiter((place.get(cluster, -2) for cluster in stored), np.int64)
    if (labels < -1).any():
        raise _labels_of_another(folder)
    return labels


def _labels_of_another(folder: Path) -> ValueError:
    return ValueError(f"{folder / records.LABELS} is not of this run: run onmf cluster again.")


def read_run(
    folder: Path, change: Callable[[ONMF, Table, Terms], object]
) -> tuple[FinishedFit, dict[str, Any]]:
    """A finished run after a change of its model, and its record.

    `change` gets the model and the table it was fitted to; the findings are those after it.
    """
    record = records.read_record(folder)
    source = records.read_source(record, folder)
    check_unchanged(source, records.Origin.of(record).digest)
    model = fitted_model(folder)
    model.labels_ = labels_of_run(folder, model)
    if not records.is_of_run(folder, records.LABELS, record):
        raise _labels_of_another(folder)
    name = source.path.name
    with notes(name, source.terms), waiting(f"Reading {name}") as progress:
        raw = source.read(progress, few=record["parameters"].get("passes") is not None)
    table = corrected(source, align_features(raw, model)[0])
    if len(model.labels_) != len(table.samples):
        raise _labels_of_another(folder)
    check_fitted_to(model, table)
    if (tree := records.stored_tree(folder, record)) is not None:
        model.tree_ = tree
    change(model, table, source.terms)
    choice = record.get("choice") and SimpleNamespace(**record["choice"])
    seconds = record["results"]["seconds"]
    shown = cleaned(raw, getattr(model, "preprocessing_", ()))
    findings = Findings.of(model, shown, table, describe(source, table.samples))
    return FinishedFit(model, source, records.Origin.of(record), shown, table, findings, seconds,
                       choice), record  # fmt: skip
