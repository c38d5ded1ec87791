"""A consensus and a choice of K with the members that the page and the figures ask for."""

from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import squareform


class Row(NamedTuple):
    k: int
    score: float
    comes_back: float
    found_again: float
    kept: float
    feature_agreement: float
    border: float
    valley: float
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
    """Over K = 2 to 5; the last K has no valley."""
    rest = {"comes_back": 0.9, "kept": 0.9, "feature_agreement": 0.8, "failed": ""}
    table = [
        Row(
            k=k,
            score=float(k == best_k),
            found_again=1 / k,
            border=0.1,
            valley=0.5 if k < 5 else np.nan,
            **rest,
        )
        for k in range(2, 6)
    ]
    return SimpleNamespace(best_k=best_k, reason="3 clusters: <b>because</b>.", table=table)
