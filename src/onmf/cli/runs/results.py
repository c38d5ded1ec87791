"""The files of a result: what they hold, and how a finished run is found again."""

import json
import platform
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from onmf.cli.runs.source import Source
from onmf.estimators.storage import model_bytes
from onmf.io import Table, csv_text, fingerprint
from onmf.metrics import adjusted_rand_score, clustering_accuracy, normalized_mutual_info_score
from onmf.preparation.steps import Step

LABELS, CENTERS, TOP, MODEL, REPORT, RUN = RESULTS = (
    "labels.csv",
    "centers.csv",
    "top_features.csv",
    "model.onmf",
    "report.html",
    "run.json",
)
TOP_FEATURES = 20  # a cluster
PACKAGES = ("onmf", "numpy", "scipy", "scikit-learn")


@contextmanager
def names_compared() -> Iterator[None]:
    """Without scikit-learn's warning that a matrix has no names: its table has, and they fit."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        yield


class Assessed(NamedTuple):
    """What a model says of samples: the columns of labels.csv."""

    labels: NDArray[Any]
    confidence: NDArray[Any]
    distance: NDArray[Any]

    @classmethod
    def of(cls, model: Any, X: Any, labels: NDArray[Any] | None = None) -> Self:
        """`labels` if they are known already."""
        with names_compared():
            known = model.predict(X) if labels is None else labels
            return cls(known, *model.certainty(X))

    def text(self, samples: Sequence[str]) -> str:
        shown = ([f"{value:.6f}" for value in column.tolist()] for column in self[1:])
        rows = zip(samples, self.labels.tolist(), *shown, strict=True)
        return csv_text(["sample", "cluster", "confidence", "distance"], rows)


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
class Run:
    """A finished fit: the model, the table it was fitted to, and where that came from."""

    model: Any
    source: Source
    table: Table
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
                "sha256": fingerprint(self.source.path),
                "samples": n,
                "features": m,
            },
            "source": self.source.record(folder),
            "seed": self.model.random_state,
            "parameters": parameters,
            "versions": {"python": platform.python_version()} | {p: version(p) for p in PACKAGES},
            "choice": None if self.choice is None else choice_record(self.choice),
            "results": self.results(),
        }
        return dict(json.loads(json.dumps(facts, allow_nan=False)))

    def results(self) -> dict[str, Any]:
        labels = self.model.labels_
        sizes = np.bincount(labels[labels >= 0], minlength=self.model.n_clusters)
        return {
            "relative_error": float(self.model.relative_error_),
            "sweeps": int(self.model.n_iter_),
            "converged": bool(self.model.converged_),
            "cluster_sizes": sizes.tolist(),
            "samples_in_no_cluster": int(np.sum(labels < 0)),
            "scores": scores(self.table.labels, labels),
            "seconds": round(self.seconds, 3),
        }

    def files(self, record: dict[str, Any]) -> dict[str, str | bytes]:
        """All files but the report; run.json comes last, so where it is, the others are."""
        centers = ([i, *row] for i, row in enumerate(self.model.cluster_centers_.tolist()))
        top = (
            [cluster, rank, name, f"{weight:.6g}"]
            for cluster, features in enumerate(self.model.top_features(TOP_FEATURES))
            for rank, (name, weight) in enumerate(features, 1)
        )
        assessed = Assessed.of(self.model, self.table.X, self.model.labels_)
        return {
            LABELS: assessed.text(self.table.samples),
            CENTERS: csv_text(["cluster", *self.table.features], centers),
            TOP: csv_text(["cluster", "rank", "feature", "weight"], top),
            MODEL: model_bytes(self.model),
            RUN: json.dumps(record, indent=2) + "\n",
        }


def named(model: Any, table: Table, chain: tuple[Step, ...]) -> None:
    """Give a fitted model the names of its features and the steps that come before it."""
    model.feature_names_in_ = np.array(table.features, dtype=object)
    if chain:
        model.preprocessing_ = chain


def choice_record(choice: Any) -> dict[str, Any]:
    """What `onmf.choose_k` said, as JSON."""
    return {
        "best_k": int(choice.best_k),
        "runner_up": None if choice.runner_up is None else int(choice.runner_up),
        "reason": str(choice.reason),
        "confidence": float(choice.confidence),
        "scales": [{"k": scale.k, "sentence": scale.sentence} for scale in choice.scales],
        "table": [plain_row(row) for row in choice.table],
    }


def plain_row(row: Any) -> dict[str, Any]:
    """A row of the table of choices: numbers that JSON knows, None for the others."""
    facts = row._asdict() if hasattr(row, "_asdict") else dict(row)
    values = {name: v.item() if isinstance(v, np.generic) else v for name, v in facts.items()}
    return {
        name: None if isinstance(v, float) and not np.isfinite(v) else v
        for name, v in values.items()
    }


def recall(folder: Path) -> tuple[dict[str, Any], Source]:
    """The record of a finished run, and its input, which must still be the same."""
    path = folder / RUN
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        source, digest = Source.recall(record["source"], folder), record["input"]["sha256"]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path} is not the record of a run of onmf cluster: {error}.") from error
    if not source.path.exists():
        raise FileNotFoundError(f"the input {source.path} is no longer there: put it back.")
    if fingerprint(source.path) != digest:
        raise ValueError(f"the input {source.path} has changed since: run onmf cluster again.")
    return record, source
