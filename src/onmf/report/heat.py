"""The centroids as a heat map: w_kj / ||w_k||, clusters x features."""

from typing import Any

import numpy as np

from onmf.report.clustering import ClusteringFacts
from onmf.report.panels import round_digits, unit_rays
from onmf.rows.sweep import Array

COLUMNS = 64  # features shown: all in their order, or as many of the heaviest


def heat_columns(rays: Array, most: int = COLUMNS) -> list[int]:
    """All features, if they are few; else the heaviest of each ray, each once, ray by ray."""
    k, m = rays.shape
    if m <= most:
        return list(range(m))
    heavy = np.argsort(-np.abs(rays), axis=1, kind="stable")[:, : max(1, most // k)]
    return list(dict.fromkeys(int(j) for ray, own in zip(rays, heavy, strict=True)
                              for j in own if ray[j]))  # fmt: skip


def heat_panel(clustering: ClusteringFacts) -> dict[str, Any] | None:
    """Weights in the unit centroids, and what their colours mean; None if all are zero."""
    rays = unit_rays(clustering.centers)
    columns = heat_columns(rays)
    largest = float(np.abs(rays).max(initial=0))
    if not largest:
        return None
    m = rays.shape[1]
    part = "all features" if len(columns) == m else f"the heaviest of the {m:,} features"
    signs = "; below zero in another colour" if rays.min() < 0 else ""
    return {
        "features": [clustering.features[j] for j in columns],
        "weights": [[round_digits(weight, 3) for weight in ray] for ray in rays[:, columns]],
        "largest": largest,
        "note": f"Weights of {part} in the centroids, each of length 1: from 0, empty, to "
        f"{largest:.3g}, full{signs}.",
    }
