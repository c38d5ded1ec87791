"""What a page about a clustering says, as plain data: one function a panel.

Every value is text, a finite number, None, or a list or dict of such: it becomes JSON as it is.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from sklearn.metrics.cluster import contingency_matrix

from onmf.metrics import adjusted_rand_score, clustering_accuracy, normalized_mutual_info_score
from onmf.report.embedding import Embedding
from onmf.report.names import shown

Array = NDArray[Any]

FEATURES, SAMPLES = 10, 5  # of each cluster
CLASSES = 60  # rows of the confusion table
STAGES = 200  # points of a curve
GRID = 10_000  # places of the map along its longer side


class Samples(NamedTuple):
    """What is known about each sample."""

    X: Any  # array or CSR
    names: list[str]
    confidence: Array
    explained: Array  # the share of it that its centroid explains


def number(value: Any, digits: int = 4) -> float | None:
    """A finite number to so many digits, or None."""
    value = float(value)
    return float(f"{value:.{digits}g}") if np.isfinite(value) else None


def unit(centers: Array) -> Array:
    """Centroids of length 1; those of length 0 stay."""
    lengths = np.linalg.norm(centers, axis=1, keepdims=True)
    return centers / np.where(lengths > 0, lengths, 1)


def heaviest(centers: Array, names: list[str], n: int) -> list[list[tuple[str, float]]]:
    """The n features of largest weight in each unit centroid; those of no weight are left out."""
    return [
        [(names[j], float(ray[j])) for j in np.argsort(-ray, kind="stable")[:n] if ray[j]]
        for ray in unit(centers)
    ]


def clusters(
    about: Samples, centers: Array, labels: Array, features: list[str]
) -> list[dict[str, Any]]:
    """Size, heaviest features, most typical and least certain samples of each cluster."""
    rays = unit(centers)
    panels = []
    for k, heavy in enumerate(heaviest(centers, features, FEATURES)):
        inside = np.flatnonzero(labels == k)
        typical = inside[np.argsort(-about.explained[inside], kind="stable")[:SAMPLES]]
        unsure = inside[np.argsort(about.confidence[inside], kind="stable")[:SAMPLES]]
        others = runner_up(about.X[unsure], rays, k)
        panels.append(
            {
                "size": len(inside),
                "confidence": number(about.confidence[inside].mean()) if len(inside) else None,
                "features": [[name, number(weight)] for name, weight in heavy],
                "typical": [[about.names[i], number(about.explained[i])] for i in typical],
                "unsure": [
                    [about.names[i], number(about.confidence[i]), other]
                    for i, other in zip(unsure, others, strict=True)
                ],
            }
        )
    return panels


def runner_up(X: Any, rays: Array, k: int) -> list[int | None]:
    """The cluster that each of these samples of cluster k would go to if k did not exist."""
    products = np.asarray(X @ rays.T)
    products[:, k] = 0
    best = products.argmax(axis=1)
    return [int(b) if row[b] > 0 else None for row, b in zip(products, best, strict=True)]


def points(embedding: Embedding, labels: Array, samples: list[str]) -> dict[str, Any]:
    """The map on a grid of whole numbers; the `placed` come first, so they are drawn below."""
    rows, xy = embedding.rows[::-1], embedding.points[::-1]
    span = np.ptp(xy, axis=0).max(initial=0) or 1
    grid = np.rint((xy - xy.min(axis=0)) / span * GRID).astype(int)
    return {
        "note": embedding.note,
        "x": grid[:, 0].tolist(),
        "y": grid[:, 1].tolist(),
        "cluster": labels[rows].tolist(),
        "sample": [samples[i] for i in rows],
        "placed": int(embedding.placed.sum()),
    }


def agreement(truth: Array, labels: Array, n_clusters: int) -> dict[str, Any]:
    """Scores and the confusion table, classes ordered so that matches lie on its diagonal."""
    classes = np.unique(truth)
    found = np.unique(labels)
    counts = np.zeros((len(classes), n_clusters + 1), dtype=int)  # the last column: no cluster
    counts[:, found] = contingency_matrix(truth, labels)
    row, column = linear_sum_assignment(counts[:, :-1], maximize=True)
    match = np.full(len(classes), n_clusters)
    match[row] = column
    order = np.lexsort((-counts.sum(axis=1), match))
    largest = np.argsort(-counts.sum(axis=1), kind="stable")[:CLASSES]
    kept = [i for i in order if i in set(largest)]
    rest = np.setdiff1d(order, kept)
    return {
        "scores": {
            "ACC": number(clustering_accuracy(truth, labels)),
            "ARI": number(adjusted_rand_score(truth, labels)),
            "NMI": number(normalized_mutual_info_score(truth, labels)),
        },
        "classes": [shown(classes[i]) for i in kept],
        "match": [int(match[i]) if match[i] < n_clusters else None for i in kept],
        "counts": counts[kept].tolist(),
        "rest": {"classes": len(rest), "counts": counts[rest].sum(axis=0).tolist()},
    }


def convergence(history: list[Any]) -> list[dict[str, Any]]:
    """Three curves over the stages of the growing penalty, if there were any."""
    if not history:
        return []
    step = -(-len(history) // STAGES)
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
            "y": [number(getattr(history[i], name)) for i in stages],
        }
        for name, (title, log) in wanted.items()
    ]
