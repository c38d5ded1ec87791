"""What the page shows of each cluster: its distinctive features and some of its samples."""

from base64 import b64encode
from collections.abc import Sequence
from typing import Any

import numpy as np

from onmf.explain import Markers
from onmf.explain.typical import decimals, smallest, typical_samples
from onmf.page.clustering import ClusteringFacts
from onmf.page.images import thumbnails
from onmf.page.names import display_name, display_names
from onmf.page.panels import heaviest_features, round_digits, round_rows, unit_rays
from onmf.rows.sweep import Array

FEATURES_PER_CARD, SAMPLES_PER_CARD = 10, 5
CARD_NAME = 40  # characters of the name of a cluster
DOT_COLUMNS, MIN_DOTS, MAX_DOTS = 60, 2, 5  # of the dot plot in all, and for each cluster


def cluster_panels(
    clustering: ClusteringFacts, images: Sequence[int] | None = None
) -> list[dict[str, Any]]:
    """Size, name, features, most typical and least certain samples of each cluster.

    If samples are images of this shape, also pictures: of the centroid and of these samples.
    """
    rays, markers = unit_rays(clustering.centers), clustering.markers
    names, certainty, explained = clustering.samples, clustering.certainty, clustering.explained
    distance = np.sqrt(np.maximum(1 - explained, 0))
    digits = decimals(certainty[clustering.labels >= 0])
    features = _heavy(clustering) if markers is None else _distinctive(clustering, markers)
    panels = []
    for k, own in enumerate(features):
        inside = np.flatnonzero(clustering.labels == k)
        typical = typical_samples(inside, distance, certainty, SAMPLES_PER_CARD)
        unsure = inside[smallest(certainty[inside], SAMPLES_PER_CARD)]
        others = next_clusters(clustering.X[unsure], rays, k)
        panels.append(
            {
                "size": len(inside),
                "name": display_name(clustering.names[k], CARD_NAME),
                "lines": card_lines(clustering, inside, clustering.ids[k], digits),
                "features": own,
                "typical": [[display_name(names[i]), round_digits(explained[i])] for i in typical],
                "unsure": [
                    [
                        display_name(names[i]),
                        f"{certainty[i]:.{decimals(certainty[unsure])}f}",
                        other,
                    ]
                    for i, other in zip(unsure, others, strict=True)
                ],
            }
        )
        if images is not None:
            seen = thumbnails(clustering.X, [*typical, *unsure], images)
            mean = thumbnails(clustering.centers, [k], images)
            pictures = b64encode(mean.content + seen.content).decode()
            panels[-1] |= {"pictures": pictures}
    return panels


def card_lines(clustering: ClusteringFacts, inside: Array, cluster: Any, digits: int) -> list[str]:
    """Sentences below the size of a cluster, in the reader's words; a further fact is added here.

    `inside` are the numbers of its samples, `cluster` is its id; certainties have so many digits.
    """
    if not len(inside):
        return []
    mean = float(clustering.certainty[inside].mean())
    known = clustering.trust.get(cluster)
    said = [] if known is None else map(clustering.terms.say, known.sentences())
    return [f"Mean certainty {mean:.{digits}f}", *said]


def _heavy(clustering: ClusteringFacts) -> list[list[dict[str, Any]]]:
    """The heaviest features of the centroid, if there is only one cluster."""
    heaviest = heaviest_features(clustering.centers, clustering.features, FEATURES_PER_CARD)
    return [
        [{"name": name, "levels": [round_digits(weight)]} for name, weight in heavy]
        for heavy in heaviest
    ]


def _distinctive(clustering: ClusteringFacts, markers: Markers) -> list[list[dict[str, Any]]]:
    """The most distinctive features of each cluster, with their mean in every cluster."""
    facts, names = markers.facts, display_names(markers.features, len(markers.features), "features")
    return [
        [
            {
                "name": names[j],
                "levels": [round_digits(level, 3) for level in facts.mean_inside[:, j]],
                "outside": round_digits(facts.mean_outside[k, j], 3),
                "shares": [round_digits(facts.share_inside[k, j], 3),
                           round_digits(facts.share_outside[k, j], 3)],
                "change": round_digits(facts.log2_fold_change[k, j], 3),
                "p": round_digits(markers.p_adjusted[k, j], 2),
            }
            for j in own
        ]
        for k, own in enumerate(markers.numbers(FEATURES_PER_CARD))
    ]  # fmt: skip


def dots_panel(clustering: ClusteringFacts) -> dict[str, Any] | None:
    """Clusters x features: means from the lowest, 0, to the highest, 1; shares that have any."""
    if clustering.markers is None:
        return None
    columns = shown_features(clustering.markers)
    levels, shares = dot_values(clustering.markers, columns)
    return {
        "features": [display_name(clustering.markers.features[j]) for j in columns],
        "levels": round_rows(levels),
        "shares": round_rows(shares),
    }


def shown_features(markers: Markers, n: int | None = None) -> list[int]:
    """The n most distinctive features of each cluster, cluster by cluster, each once."""
    n = max(MIN_DOTS, min(MAX_DOTS, DOT_COLUMNS // len(markers.ranked))) if n is None else n
    return list(dict.fromkeys(j for own in markers.numbers(n) for j in own))


def dot_values(markers: Markers, columns: list[int]) -> tuple[Array, Array]:
    """Means from the lowest of the feature, 0, to its highest, 1; shares that have it at all."""
    with_samples, means = markers.sizes > 0, markers.facts.mean_inside[:, columns]
    low, high = means[with_samples].min(axis=0), means[with_samples].max(axis=0)
    levels = (means - low) / np.where(high > low, high - low, 1)
    return np.clip(levels, 0, 1), markers.facts.share_inside[:, columns]


def next_clusters(X: Any, rays: Array, k: int) -> list[int | None]:
    """The second nearest cluster of each of these samples of cluster k."""
    products = np.asarray(X @ rays.T)
    products[:, k] = 0
    best = products.argmax(axis=1)
    return [int(b) if row[b] > 0 else None for row, b in zip(products, best, strict=True)]
