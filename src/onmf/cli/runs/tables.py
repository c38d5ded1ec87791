"""The text of the tables of a result; clusters are called by their ids."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onmf import ONMF, Baseline
from onmf.explain import Explanation, Marker
from onmf.io import csv_text

TOP_FEATURES = 20  # a cluster
MOST_MARKERS = 100  # a cluster

Model = ONMF | Baseline
Array = NDArray[Any]


def named_clusters(model: Model, labels: Array) -> Array:
    """The ids of the clusters with these numbers; -1 stays."""
    ids = getattr(model, "cluster_ids_", range(len(model.cluster_centers_)))
    return np.append(ids, -1)[labels]


def labels_csv(
    samples: Sequence[str], labels: Array, raw_names: bool = False, **columns: Array
) -> str:
    """The text of labels.csv: the cluster of each sample, and what else is known of it."""
    told = ([f"{value:.6f}" for value in column.tolist()] for column in columns.values())
    rows = zip(samples, labels.tolist(), *told, strict=True)
    return csv_text(["sample", "cluster", *columns], rows, raw_names)


def markers_csv(explanation: Explanation | None, raw_names: bool = False) -> str:
    """The text of markers.csv: the most distinctive features of each cluster, best first."""
    found = [] if explanation is None else list(explanation.markers.rows(MOST_MARKERS))
    rows = [[row.cluster, row.feature, *(f"{value:.6g}" for value in row[2:])] for row in found]
    return csv_text(list(Marker._fields), rows, raw_names)


def centers_csv(model: Model, features: Sequence[str], raw_names: bool = False) -> str:
    """The text of centers.csv."""
    W = model.cluster_centers_
    ids = named_clusters(model, np.arange(len(W))).tolist()
    rows = ([i, *row] for i, row in zip(ids, W.tolist(), strict=True))
    return csv_text(["cluster", *features], rows, raw_names)


def top_csv(model: Model, raw_names: bool = False) -> str:
    """The text of top_features.csv."""
    top = model.top_features(TOP_FEATURES)
    rows = [
        [cluster, rank, name, f"{weight:.6g}"]
        for cluster, features in zip(named_clusters(model, np.arange(len(top))), top, strict=True)
        for rank, (name, weight) in enumerate(features, 1)
    ]
    return csv_text(["cluster", "rank", "feature", "weight"], rows, raw_names)
