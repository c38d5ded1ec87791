"""The tables of a result; clusters are called by their ids."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onmf import ONMF, Baseline
from onmf.explain import Marker
from onmf.io import Sheet

TOP_FEATURES = 20  # a cluster
MOST_MARKERS = 100  # a cluster

Model = ONMF | Baseline
Array = NDArray[Any]


def ids_of_clusters(model: Model) -> Array:
    """The id of each cluster of a model."""
    return np.asarray(getattr(model, "cluster_ids_", range(len(model.cluster_centers_))))


def ids_of_labels(ids: Array, labels: Array) -> Array:
    """The ids of the clusters with these numbers; -1 stays."""
    return np.append(ids, -1)[labels]


def labels_sheet(samples: Sequence[str], ids: Array, **columns: Array) -> Sheet:
    """labels.csv: the cluster of each sample, and what else is known of it."""
    told = [[f"{value:.6f}" for value in column.tolist()] for column in columns.values()]
    rows = zip(samples, ids.tolist(), *told, strict=True)
    return Sheet(["sample", "cluster", *columns], rows)


def markers_sheet(found: Sequence[Marker]) -> Sheet:
    """markers.csv: the most distinctive features of each cluster, best first."""
    rows = [[row.cluster, row.feature, *[f"{value:.6g}" for value in row[2:]]] for row in found]
    return Sheet(Marker._fields, rows)


def centers_sheet(ids: Array, centers: Array, features: Sequence[str]) -> Sheet:
    """centers.csv."""
    rows = [[i, *row] for i, row in zip(ids.tolist(), centers.tolist(), strict=True)]
    return Sheet(["cluster", *features], rows)


def top_sheet(ids: Array, top: Sequence[Sequence[tuple[str, float]]]) -> Sheet:
    """top_features.csv: the heaviest features of each cluster, with their weights."""
    rows = [
        [cluster, rank, name, f"{weight:.6g}"]
        for cluster, features in zip(ids, top, strict=True)
        for rank, (name, weight) in enumerate(features, 1)
    ]
    return Sheet(["cluster", "rank", "feature", "weight"], rows)
