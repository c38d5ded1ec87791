"""A fitted model and its samples as plain values, of which a page is made."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array

from onmf.explain import Explanation, Markers, clusters
from onmf.explain.explanation import distances
from onmf.losses.missing import fill_missing
from onmf.report.names import display_names
from onmf.rows import open_rows

Array = NDArray[Any]

FEATURES = 10  # of each cluster that the page tells


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
    distinctive, names : the numbers of the first features of each cluster, and what they call it.
    history : stages of the fit, as in `history_`.
    ids : of the clusters, by which they are called.
    """

    X: Any
    missing_share: float
    samples: list[str]
    features: list[str]
    features_named: bool
    labels: Array
    truth: Array | None
    centers: Array
    certainty: Array
    explained: Array
    markers: Markers | None
    distinctive: list[list[int]]
    names: list[str]
    history: Sequence[Any]
    relative_error: float
    sweeps: int
    converged: bool
    method: str
    parameters: dict[str, Any]
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
    labels, W = np.asarray(model.labels_), np.asarray(model.cluster_centers_)
    sample_names = display_names(samples, len(labels), "samples")
    feature_names = display_names(features, W.shape[1], "features", "x")
    rows = samples_to_show(X, W if getattr(model, "n_missing_", True) else None)
    if rows.shape[0] != len(labels):
        raise other_samples(rows.shape[0], labels)
    if truth is not None and len(truth) != len(labels):
        raise ValueError(
            f"{len(truth)} known classes for {len(labels)} samples: give one for each."
        )
    if explanation is None and len(np.unique(labels[labels >= 0])) > 1:
        explanation = clusters(model, X, features=features)
    distinctive: list[list[int]]
    if explanation is None:
        certainty, markers = (labels >= 0).astype(float), None
        distance = distances(model, X)
        ids = np.asarray(getattr(model, "cluster_ids_", range(len(W)))).tolist()
        distinctive, names = [], [""] * len(W)
    else:
        certainty, markers = explanation.certainty, explanation.markers
        distance, ids = explanation.distance, markers.clusters
        distinctive = [own[:FEATURES].tolist() for own in markers.ranked]
        names = markers.names
    parameters = model.get_params(deep=False)
    return ClusteringFacts(
        X=rows,
        missing_share=getattr(model, "n_missing_", 0) / np.prod(rows.shape, dtype=float),
        samples=sample_names,
        features=feature_names,
        features_named=features is not None,
        labels=labels,
        truth=None if truth is None else np.asarray(truth),
        centers=W,
        certainty=certainty,
        explained=1 - distance**2,
        markers=markers,
        distinctive=distinctive,
        names=names,
        history=getattr(model, "history_", ()),
        relative_error=float(model.relative_error_),
        sweeps=int(model.n_iter_),
        converged=bool(getattr(model, "converged_", True)),
        method=str(parameters.get("method", type(model).__name__)),
        parameters={name: value for name, value in parameters.items() if name != "callback"},
        ids=ids,
    )


def samples_to_show(X: Any, W: Array | None = None) -> Any:
    """X as an array or CSR, its holes filled by these centroids; rows on disk stay there."""
    rows = open_rows(X)
    if rows is None:
        rows = check_array(X, accept_sparse="csr", dtype=None, ensure_all_finite=False)
    return rows if W is None else fill_missing(rows, W)


def other_samples(n: int, labels: Array) -> ValueError:
    """X and the labels of a model are not about the same samples."""
    return ValueError(
        f"X has {n} samples but the model was fitted to {len(labels)}: give the X that it was "
        "fitted to."
    )
