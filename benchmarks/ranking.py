"""Which features come first: our ranking beside that of Wilcoxon's test, that of the AUC."""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.stats import rankdata

from onmf import ONMF, explain
from tables import table


class Ranked(NamedTuple):
    """Rankings of the features for each cluster."""

    ours: list
    auc: np.ndarray

    @classmethod
    def of(cls, X, labels):
        ranks = rankdata(X.toarray() if sp.issparse(X) else X, axis=0)
        aucs = []
        for c in np.unique(labels):
            inside = labels == c
            n, others = inside.sum(), (~inside).sum()
            aucs.append((ranks[inside].sum(axis=0) - n * (n + 1) / 2) / (n * others))
        return cls(explain.groups(labels, X).numbers(20), np.array(aucs))

    def top(self, by):
        order = np.argsort(-self.auc, axis=1, kind="stable")[:, :20].tolist()
        return self.ours if by == "ours" else order

    def shared(self, by, other, by_other):
        pairs = zip(self.top(by), other.top(by_other), strict=True)
        return [len({*one} & {*two}) for one, two in pairs]


def compare_rankings(sets, seed) -> str:
    """The first 20 features beside those of Wilcoxon's test, in all samples and in halves."""
    rows = []
    for name, (X, k) in sets.items():
        model = ONMF(k, random_state=seed).fit(X)
        first = np.random.default_rng(seed).permutation(len(model.labels_)) % 2 == 0
        whole, *halves = [
            Ranked.of(X[side], model.labels_[side])
            for side in (np.flatnonzero(part) for part in (first | True, first, ~first))
        ]
        shared = whole.shared("ours", whole, "wilcoxon")
        again = [halves[0].shared(by, halves[1], by) for by in ("ours", "wilcoxon")]
        aucs = [
            np.mean(
                [
                    [b.auc[c, a.top(by)[c]].mean() for c in range(k)]
                    for a, b in (halves, halves[::-1])
                ]
            )
            for by in ("ours", "wilcoxon")
        ]
        rows.append([name, f"{np.mean(shared):.1f}", ", ".join(map(str, shared)),
                     *(f"{np.mean(own):.1f}" for own in again), *(f"{own:.3f}" for own in aucs),
                     f"{np.mean(whole.auc > 0.99) * whole.auc.shape[1]:.0f}"])  # fmt: skip
    columns = ["data", "common", "each cluster", "ours, both halves", "Wilcoxon, both halves",
               "AUC of ours in the other half", "of Wilcoxon's",
               "features with an AUC above .99"]  # fmt: skip
    return (
        "The first 20 features of each cluster, ours and those of Wilcoxon's test (scanpy's "
        "ranking): how many are common, how many come back in the other half of the samples, and "
        "how well they tell the cluster apart there.\n\n" + table(columns, rows)
    )
