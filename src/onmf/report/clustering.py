"""A fitted model and its samples as plain values, of which a page is made."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_array

from onmf.explain import Explanation, Markers
from onmf.explain.explanation import clusters_or_none
from onmf.explain.reading import distances
from onmf.losses.missing import fill_missing
from onmf.report.names import display_names
from onmf.result import FittedModel, cluster_ids, known_feature_names
from onmf.rows import open_rows
from onmf.rows.sweep import Array


class ClusteringFacts(NamedTuple):
    """Samples, and the clusters they are in.

    X : array, CSR or rows on disk; missing entries are filled from the centroids.
    samples, features : names to show; `features_named` if they are more than numbers.
    truth : known classes, if there are any.
    ids : of the clusters.
    certainty, explained : of each sample; the second is the share that its centroid explains.
    markers : the table of features; None if only one cluster has samples.
    """

    X: Any
    samples: list[str]
    features: list[str]
    features_named: bool
    labels: Array
    truth: Array | None
    centers: Array
    ids: list[Any]
    certainty: Array
    explained: Array
    markers: Markers | None


def read_clustering(
    model: FittedModel,
    X: Any,
    samples: Sequence[Any] | None,
    features: Sequence[Any] | None,
    truth: Any,
    explanation: Explanation | None,
) -> ClusteringFacts:
    """What a model found in X; X is explained if no `explanation` of this model is given."""
    if samples is None and hasattr(X, "columns"):  # a DataFrame; a str has an `index` as well
        samples = X.index
    features = known_feature_names(model, features)
    labels, W = np.asarray(model.labels_), np.asarray(model.cluster_centers_)
    sample_names = display_names(samples, len(labels), "samples")
    shown_features = display_names(features, W.shape[1], "features", "x")
    rows = samples_to_show(X, W if getattr(model, "n_missing_", True) else None)
    check_samples(rows, labels)
    if truth is not None and len(truth) != len(labels):
        raise ValueError(
            f"{len(truth)} known classes for {len(labels)} samples: give one for each."
        )
    found = explanation or clusters_or_none(model, X, feature_names=features)
    if found is not None and not np.array_equal(found.labels, labels):
        raise ValueError("the explanation has other labels: give that of this model.")
    described = found is not None and len(found.markers.features) != W.shape[1]
    distance = distances(model, X) if found is None else found.distance
    return ClusteringFacts(
        X=rows,
        samples=sample_names,
        features=shown_features,
        features_named=features is not None or described,
        labels=labels,
        truth=None if truth is None else np.asarray(truth),
        centers=W,
        ids=cluster_ids(model) if found is None else found.markers.clusters,
        certainty=(labels >= 0).astype(float) if found is None else found.certainty,
        explained=1 - distance**2,
        markers=None if found is None else found.markers,
    )


def samples_to_show(X: Any, W: Array | None = None) -> Any:
    """X as an array or CSR, missing entries filled by these centroids; rows on disk stay there."""
    rows = open_rows(X)
    if rows is None:
        rows = check_array(X, accept_sparse="csr", dtype=None, ensure_all_finite=False)
    return rows if W is None else fill_missing(rows, W)


def check_samples(X: Any, labels: Array) -> None:
    """X and the labels are about the same samples."""
    if X.shape[0] != len(labels):
        raise ValueError(
            f"X has {X.shape[0]} samples but the model was fitted to {len(labels)}: give the X "
            "that it was fitted to."
        )
