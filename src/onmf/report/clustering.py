"""A fitted model and its samples as plain values: the only place where a page reads a model."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array

from onmf.data import fill_holes, open_rows
from onmf.explain import Explanation, Markers, clusters
from onmf.explain.explanation import distances
from onmf.proof import Certificate
from onmf.proof.certificate import certificate_of_fit
from onmf.report.names import display_names

Array = NDArray[Any]


class FittedClusterer(Protocol):
    """What a page must know of a model; a history and names of features it may have besides."""

    labels_: Any
    cluster_centers_: Any
    relative_error_: float
    n_iter_: int

    def predict(self, X: Any) -> Any: ...

    def get_params(self, deep: bool = True) -> dict[str, Any]: ...


@dataclass(frozen=True)
class ClusteringFacts:
    """Samples, the clusters they were put into, and how that came about.

    X : array, CSR or rows on disk; what was not observed is as the centroids have it.
    holes : the share of such entries.
    samples, features : names, fit to be shown; `features_named` if they are more than numbers.
    truth : known classes, if there are any.
    certainty, explained : of each sample; the share of it that its centroid explains.
    markers : the table of features; None if there is one cluster, hence nothing to compare.
    history : stages of the fit, as in `history_`.
    ids : of the clusters, by which they are called.
    proof : how far from the best clustering it can be, if the fit knows.
    """

    X: Any
    holes: float
    samples: list[str]
    features: list[str]
    features_named: bool
    labels: Array
    truth: Array | None
    centers: Array
    certainty: Array
    explained: Array
    markers: Markers | None
    history: Sequence[Any]
    relative_error: float
    sweeps: int
    converged: bool
    method: str
    parameters: dict[str, Any]
    proof: Certificate | None
    ids: list[int]

    @property
    def n_clusters(self) -> int:
        return len(self.centers)


def read_clustering(
    model: FittedClusterer,
    X: Any,
    samples: Sequence[Any] | None,
    features: Sequence[Any] | None,
    truth: Any,
    explanation: Explanation | None,
) -> ClusteringFacts:
    """What a model found in X; `explanation` is that of its clusters, if it is known already."""
    if samples is None and hasattr(X, "columns"):  # a DataFrame; a str has an `index` as well
        samples = X.index
    features = getattr(model, "feature_names_in_", None) if features is None else features
    rows, labels = samples_to_show(X), np.asarray(model.labels_)
    rows = fill_holes(rows, np.asarray(model.cluster_centers_))
    check_same_samples(rows.shape[0], labels)
    if truth is not None and len(truth) != len(labels):
        raise ValueError(
            f"{len(truth)} known classes for {len(labels)} samples: give one for each."
        )
    sample_names = display_names(samples, len(labels), "samples")
    feature_names = display_names(features, rows.shape[1], "features", "x")
    if explanation is None and len(np.unique(labels[labels >= 0])) > 1:
        explanation = clusters(model, X, features=features)
    if explanation is None:
        certainty, markers = (labels >= 0).astype(float), None
        distance = distances(model, X)
    else:
        certainty, markers = explanation.certainty, explanation.markers
        distance = explanation.distance
    parameters = model.get_params(deep=False)
    return ClusteringFacts(
        X=rows,
        holes=getattr(model, "n_missing_", 0) / np.prod(rows.shape, dtype=float),
        samples=sample_names,
        features=feature_names,
        features_named=features is not None,
        labels=labels,
        truth=None if truth is None else np.asarray(truth),
        centers=np.asarray(model.cluster_centers_),
        certainty=certainty,
        explained=1 - distance**2,
        markers=markers,
        history=getattr(model, "history_", ()),
        relative_error=float(model.relative_error_),
        sweeps=int(model.n_iter_),
        converged=bool(getattr(model, "converged_", True)),
        method=str(parameters.get("method", type(model).__name__)),
        parameters={name: value for name, value in parameters.items() if name != "callback"},
        proof=certificate_of_fit(model),
        ids=np.asarray(getattr(model, "cluster_ids_", range(len(model.cluster_centers_)))).tolist(),
    )


def samples_to_show(X: Any) -> Any:
    """X as an array or CSR; rows on disk stay there."""
    rows = open_rows(X)
    if rows is not None:
        return rows
    return check_array(X, accept_sparse="csr", dtype=None, ensure_all_finite=False)


def check_same_samples(n: int, labels: Array) -> None:
    """X and the labels of a model are about the same samples."""
    if len(labels) != n:
        raise ValueError(
            f"X has {n} samples but the model was fitted to {len(labels)}: give the X that it was "
            "fitted to."
        )
