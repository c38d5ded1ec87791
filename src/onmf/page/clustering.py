"""A fitted model and its samples as plain values, of which a page is made."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_array

from onmf.explain import ClusterRow, Explanation, Markers
from onmf.explain.explanation import clusters_or_none
from onmf.explain.reading import distances
from onmf.losses.missing import fill_missing
from onmf.page.names import check_count, display_names, first_words
from onmf.result import FittedModel, cluster_ids, known_feature_names, known_names
from onmf.rows import open_rows
from onmf.rows.sweep import Array
from onmf.rows.terms import SAMPLES, Terms


class ClusteringFacts(NamedTuple):
    """Samples, and the clusters they are in.

    X : array, CSR or rows on disk; missing entries are filled from the centroids.
    samples : what each is called in a line: its name, and the first words of its text.
    sample_names, texts : of each sample; None if they are no texts.
    features : names to show.
    truth : known classes, if there are any.
    ids, names : of the clusters; a cluster without a name has "".
    certainty, explained : of each sample; the second is the share that its centroid explains.
    markers : the table of features; None if only one cluster has samples.
    trust : how much clusters can be trusted, by id.
    terms : what the reader calls all these.
    """

    X: Any
    samples: Sequence[Any]
    sample_names: Sequence[Any]
    texts: Sequence[str] | None
    features: list[str]
    labels: Array
    truth: Array | None
    centers: Array
    ids: list[Any]
    names: list[str]
    certainty: Array
    explained: Array
    markers: Markers | None
    trust: dict[Any, ClusterRow]
    terms: Terms


def read_clustering(
    model: FittedModel,
    X: Any,
    samples: Sequence[Any] | None,
    features: Sequence[Any] | None,
    truth: Any,
    explanation: Explanation | None,
    texts: Sequence[str] | None = None,
    terms: Terms = SAMPLES,
) -> ClusteringFacts:
    """What a model found in X; X is explained if no `explanation` of this model is given."""
    if samples is None and hasattr(X, "columns"):  # a DataFrame; a str has an `index` as well
        samples = X.index
    features = known_feature_names(model, features)
    labels, W = np.asarray(model.labels_), np.asarray(model.cluster_centers_)
    sample_names = range(len(labels)) if samples is None else samples
    check_count(sample_names, len(labels), "samples")
    shown_features = display_names(features, W.shape[1], "features", "x")
    rows = samples_to_show(X, W if getattr(model, "n_missing_", True) else None)
    check_samples(rows, labels)
    if texts is not None and len(texts) != len(labels):
        raise ValueError(f"{len(texts)} texts for {len(labels)} samples: give one for each.")
    if truth is not None and len(truth) != len(labels):
        raise ValueError(
            f"{len(truth)} known classes for {len(labels)} samples: give one for each."
        )
    found = explanation or clusters_or_none(model, X, feature_names=features)
    if found is not None and not np.array_equal(found.labels, labels):
        raise ValueError("the explanation has other labels: give that of this model.")
    ids, known = cluster_ids(model), known_names(model)
    names = [known.get(i, "") for i in ids]
    if found is not None and (features is not None or len(found.markers.features) != W.shape[1]):
        names = found.markers.names
    distance = distances(model, X) if found is None else found.distance
    pairs = None if texts is None else zip(sample_names, texts, strict=True)
    return ClusteringFacts(
        X=rows,
        samples=sample_names if pairs is None else [first_words(*pair) for pair in pairs],
        sample_names=sample_names,
        texts=texts,
        features=shown_features,
        labels=labels,
        truth=None if truth is None else np.asarray(truth),
        centers=W,
        ids=ids,
        names=names,
        certainty=(labels >= 0).astype(float) if found is None else found.certainty,
        explained=1 - distance**2,
        markers=None if found is None else found.markers,
        trust={} if found is None else {row.cluster: row for row in found.clusters()},
        terms=terms,
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
