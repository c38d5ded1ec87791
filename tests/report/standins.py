"""A consensus and a choice of K with the members that the page and the figures ask for."""

from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import squareform


class Row(NamedTuple):
    k: int
    cophenetic: float
    cophenetic_se: float | None
    dispersion: float
    ambiguous: float
    agreement: float
    relative_error: float
    ratio: float
    silhouette: float
    held_out: float
    held_out_se: float
    score: float
    failed: str


def consensus(labels, runs, stability):
    """Of given labels and runs (n, R), all samples shown."""

    def values(rows, columns=None):
        columns = rows if columns is None else columns
        return np.mean(runs[rows][:, None] == runs[columns][None], axis=2)

    everyone = np.arange(len(labels))
    return SimpleNamespace(
        labels_runs=runs,
        labels=labels,
        cophenetic=0.95,
        cophenetic_se=None,
        dispersion=0.9,
        ambiguous=0.1,
        sample_stability=np.ones(len(labels)),
        cluster_stability=np.asarray(stability),
        linkage=linkage(squareform(1 - values(everyone), checks=False), "average"),
        shown=everyone,
        values=values,
    )


def choice(best_k=3):
    """Over K = 2 to 5; the last K has no silhouette."""
    rest = {"cophenetic_se": None, "dispersion": 0.9, "ambiguous": 0.1, "agreement": 0.8}
    rest |= {"ratio": 1.0, "held_out_se": 0.01, "failed": ""}
    table = [
        Row(
            k=k,
            cophenetic=1 - k / 100,
            relative_error=1 / k,
            silhouette=0.5 if k < 5 else np.nan,
            held_out=1.1 / k,
            score=float(k == best_k),
            **rest,
        )
        for k in range(2, 6)
    ]
    return SimpleNamespace(
        best_k=best_k, runner_up=2, reason="K = 3: <b>because</b>.", confidence=0.9, table=table
    )
