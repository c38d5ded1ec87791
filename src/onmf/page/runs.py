"""Panels of many runs: the consensus map, and the curves over the number of clusters."""

from base64 import b64encode
from typing import Any

import numpy as np
from scipy.cluster.hierarchy import leaves_list
from scipy.optimize import linear_sum_assignment
from sklearn.metrics.cluster import contingency_matrix

from onmf.io.terms import Terms
from onmf.page.panels import round_digits
from onmf.rows.sweep import Array

CONSENSUS_SIDE = 300  # samples along each side of the consensus map

K_MEASURES = {  # attribute -> head of the column, title of the curve
    "score": ("score", "Score: the largest decides"),
    "comes_back": ("comes back", "Share that comes back, S"),
    "found_again": ("found again", "Overlap of clusters, J"),
    "kept": ("kept", "Samples that keep their cluster, M"),
    "feature_agreement": ("same by features", "Same clusters by other features"),
    "valley": ("density at borders", "Density at borders, relative to inside, V"),
}
HOW = (
    "Half of the samples are clustered with K, and so is the other half; S is the share that both "
    "find. The score is log(K) times S to the power of 2.5, divided by 1 + V, where V is the "
    "density at borders, at most 0.4: the K with the largest is taken."
)


def linkage_order(consensus: Any, most: int | None = None) -> Array:
    """Samples in the order of the linkage: all, or at most so many at even steps."""
    known = np.asarray(consensus.shown)
    order = known[leaves_list(consensus.linkage)] if len(known) > 1 else known
    if most is None or most >= len(order):
        return order
    return order[np.linspace(0, len(order) - 1, most).astype(int)]


def consensus_panel(consensus: Any, labels: Array, n_clusters: int) -> dict[str, Any]:
    """The share of runs that put two samples together, as bytes 0 to 255, row by row."""
    stability = np.asarray(consensus.cluster_stability)
    if len(consensus.labels) != len(labels) or len(stability) != n_clusters:
        raise ValueError(
            f"the consensus has {len(consensus.labels)} samples in {len(stability)} clusters, the "
            f"model has {len(labels)} in {n_clusters}: give the consensus of this model."
        )
    ids = matching_ids(np.asarray(consensus.labels), labels, n_clusters)
    samples = linkage_order(consensus, CONSENSUS_SIDE)
    shares = np.rint(255 * np.asarray(consensus.values(samples))).astype(np.uint8)
    error = consensus.cophenetic_se
    return {
        "runs": consensus.labels_runs.shape[1],
        "side": len(samples),
        "shares": b64encode(shares.tobytes()).decode(),
        "cluster": ids[consensus.labels[samples]].tolist(),
        "cophenetic": round_digits(consensus.cophenetic),
        "cophenetic_se": None if error is None else round_digits(error, 2),
        "dispersion": round_digits(consensus.dispersion),
        "ambiguous": round_digits(consensus.ambiguous),
        "stability": [round_digits(value, 3) for value in stability[np.argsort(ids[:-1])]],
    }


def matching_ids(consensus_labels: Array, labels: Array, k: int) -> Array:
    """For each cluster of the consensus the one of `labels` it shares most with; -1 stays, last."""
    counts = np.zeros((k + 1, k + 1))
    used = np.ix_(np.unique(consensus_labels), np.unique(labels))
    counts[used] = contingency_matrix(consensus_labels, labels)
    _, match = linear_sum_assignment(counts[:k, :k], maximize=True)
    return np.append(match, -1)


def choice_rows(choice: Any) -> list[dict[str, Any]]:
    """The table of a choice, each row by name; the results of earlier versions are dicts."""
    return [row if isinstance(row, dict) else row._asdict() for row in choice.table]


def choice_panel(choice: Any, terms: Terms) -> dict[str, Any]:
    """The answer, how it comes about, a table, and a curve for each measure."""
    rows = choice_rows(choice)
    ks, curves = [row["k"] for row in rows], []
    for name, (_, title) in K_MEASURES.items():
        values = [None if row.get(name) is None else round_digits(row[name]) for row in rows]
        if any(value is not None for value in values):
            curves.append({"title": terms.say(title), "x": ks, "y": values})
    return {
        "best": int(choice.best_k),
        "answer": terms.say(str(choice.reason)),
        "reason": terms.say(HOW),
        "heads": ["K", *(terms.say(head) for head, _ in K_MEASURES.values())],
        "rows": [[_figure(row, name) for name in ("k", *K_MEASURES)] for row in rows],
        "curves": curves,
    }


def _figure(row: dict[str, Any], name: str) -> str:
    """A cell of the table: a number to three digits."""
    value = row.get(name)
    return "" if value is None or value != value else f"{value:.3g}"
