"""What the page about a clustering shows, as plain data: one function per panel.

Every value is text, a finite number, None, or a list or dict of such: it becomes JSON as it is.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.metrics.cluster import contingency_matrix

from onmf.metrics import adjusted_rand_score, clustering_accuracy, normalized_mutual_info_score
from onmf.page.clustering import ClusteringFacts
from onmf.page.embedding import Embedding
from onmf.page.names import display_name
from onmf.rows.sweep import Array, divisor

MAX_CLASSES = 60  # rows of the confusion table
MAX_STAGES = 200  # points of a curve
MAP_GRID = 10_000  # steps of the map along its longer side
HEAT_COLUMNS = 64  # features of the heat map


def round_digits(value: Any, digits: int = 4) -> float | None:
    """A finite number to so many digits, or None."""
    value = float(value)
    return float(f"{value:.{digits}g}") if np.isfinite(value) else None


def round_rows(values: Array, digits: int = 3) -> list[list[float | None]]:
    """The same for every entry of a matrix."""
    return [[round_digits(value, digits) for value in row] for row in values]


def unit_rays(centers: Array) -> Array:
    """Centroids of length 1; those of length 0 stay."""
    lengths = np.linalg.norm(centers, axis=1, keepdims=True)
    return centers / divisor(lengths)


def heaviest_features(centers: Array, names: list[str], n: int) -> list[list[tuple[str, float]]]:
    """The n features of largest weight in each unit centroid, without those of weight 0."""
    return [
        [(names[j], float(ray[j])) for j in np.argsort(-ray, kind="stable")[:n] if ray[j]]
        for ray in unit_rays(centers)
    ]


def heat_columns(rays: Array, most: int = HEAT_COLUMNS) -> list[int]:
    """All features if they are few, else the heaviest of each ray, ray by ray, each once."""
    k, m = rays.shape
    if m <= most:
        return list(range(m))
    heavy = np.argsort(-np.abs(rays), axis=1, kind="stable")[:, : max(1, most // k)]
    pairs = zip(rays, heavy.tolist(), strict=True)
    return list(dict.fromkeys(j for ray, own in pairs for j in own if ray[j]))


def heat_panel(clustering: ClusteringFacts) -> dict[str, Any] | None:
    """w_kj / ||w_k||, clusters x features, and what the colours mean; None if all are zero."""
    rays = unit_rays(clustering.centers)
    columns, largest = heat_columns(rays), float(np.abs(rays).max(initial=0))
    if not largest:
        return None
    m = rays.shape[1]
    noun = clustering.terms.features
    part = f"all {noun}" if len(columns) == m else f"the heaviest of the {m:,} {noun}"
    signs = " Negative weights have another colour." if rays.min() < 0 else ""
    return {
        "features": [clustering.features[j] for j in columns],
        "weights": round_rows(rays[:, columns]),
        "largest": largest,
        "note": f"Weights of {part} in the centroids, scaled to length 1: from 0 (empty) to "
        f"{largest:.3g} (full colour).{signs}",
    }


def map_panel(embedding: Embedding, clustering: ClusteringFacts) -> dict[str, Any]:
    """The map in whole steps; interpolated samples come first, so that they are drawn below."""
    samples, points = embedding.samples[::-1], embedding.points[::-1]
    span = np.ptp(points, axis=0).max(initial=0) or 1
    grid = np.rint((points - points.min(axis=0)) / span * MAP_GRID).astype(int)
    return {
        "note": clustering.terms.say(embedding.note),
        "x": grid[:, 0].tolist(),
        "y": grid[:, 1].tolist(),
        "cluster": clustering.labels[samples].tolist(),
        "sample": [display_name(clustering.samples[i]) for i in samples],
        "interpolated": int(embedding.interpolated.sum()),
    }


def class_agreement(truth: Array, labels: Array, n_clusters: int) -> dict[str, Any]:
    """Scores and the confusion table: its diagonal has the matching of the accuracy.

    Columns are clusters, in the order of the classes that they match, then those that match none,
    then no cluster.
    """
    classes = np.unique(truth)
    counts = np.zeros((len(classes), n_clusters + 1), dtype=int)  # the last column: no cluster
    counts[:, np.unique(labels)] = contingency_matrix(truth, labels)
    row, column = linear_sum_assignment(counts[:, :-1], maximize=True)
    match = np.full(len(classes), n_clusters)
    match[row] = column
    order = np.lexsort((-counts.sum(axis=1), match))
    largest = np.argsort(-counts.sum(axis=1), kind="stable")[:MAX_CLASSES]
    kept = [i for i in order if i in set(largest)]
    rest = np.setdiff1d(order, kept)
    matched = [int(match[i]) for i in kept if match[i] < n_clusters]
    columns = [*matched, *(k for k in range(n_clusters) if k not in {*matched}), n_clusters]
    counts = counts[:, columns]
    return {
        "scores": {
            "ACC": round_digits(clustering_accuracy(truth, labels)),
            "ARI": round_digits(adjusted_rand_score(truth, labels)),
            "NMI": round_digits(normalized_mutual_info_score(truth, labels)),
        },
        "classes": [display_name(classes[i]) for i in kept],
        "clusters": columns[:-1],
        "match": [columns.index(match[i]) if match[i] < n_clusters else None for i in kept],
        "counts": counts[kept].tolist(),
        "rest": {"classes": len(rest), "counts": counts[rest].sum(axis=0).tolist()},
    }


def convergence_panel(history: Sequence[Any]) -> list[dict[str, Any]]:
    """Three curves over the stages of a fit, if there were any."""
    if not history:
        return []
    step = -(-len(history) // MAX_STAGES)
    stages = sorted({*range(0, len(history), step), len(history) - 1})
    wanted = {
        "relative_error": ("Relative error", False),
        "orthogonality": ("Overlap of clusters", False),
        "residual": ("Residual", True),
    }
    return [
        {
            "title": title,
            "log": log,
            "x": [i + 1 for i in stages],
            "y": [round_digits(getattr(history[i], name)) for i in stages],
        }
        for name, (title, log) in wanted.items()
    ]
