"""Classes that are known for some samples: `fit(X, y)` beside classifiers and a fit without y."""

import warnings
from statistics import mean

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linear_sum_assignment
from sklearn.neighbors import NearestCentroid
from sklearn.preprocessing import normalize
from sklearn.semi_supervised import LabelSpreading

import sets
from onmf import ONMF
from onmf.metrics import clustering_accuracy
from onmf.prepare import tfidf
from tables import table, write_section

SEEDS = (2704, 2705, 2706)  # of which samples are known; the rule was made on 1 and 2
SHARES = (0.05, 0.2)
MOST = 4000  # samples
NOTE = f"""

Percent of the samples without a known label that get their true class, mean of seeds {SEEDS[0]} to
{SEEDS[-1]}, in brackets the worst; at most {MOST} samples of each set. *Without y*: a fit without
y, whose clusters are matched to the classes in the best way by the known labels; *by all labels*:
the same matched by all labels, which nobody has. *Worst change*: the lowest difference of
`fit(X, y)` from each of the two over the seeds, in points. `NearestCentroid` and `LabelSpreading`
(kernel knn) of scikit-learn know the same labels; for counts they are given tf-idf, and all are
given samples of length 1."""


def cases():
    """Name, samples, classes, loss, and the samples as the others get them."""
    for name, loss, make in [
        ("digits", "frobenius", sets.digits),
        ("digits", "kl", sets.digits),
        ("miRNA, 32 types", "frobenius", lambda: sets.mirna(32)),
        ("20 Newsgroups", "kl", sets.newsgroup_counts),
        ("20 Newsgroups", "frobenius", sets.newsgroups),
    ]:
        X, y, _ = make()
        y = np.unique(y, return_inverse=True)[1]
        rows = np.sort(np.random.default_rng(0).permutation(len(y))[:MOST])
        X, y = X[rows], y[rows]
        weighted = tfidf().fit_transform(X) if sp.issparse(X) and loss == "kl" else X
        yield name, X, y, loss, normalize(weighted)


def accuracy(labels, truth, names) -> float:
    """Of labels that are numbers of these classes."""
    return 100 * float(np.mean(np.append(names, -1)[labels] == truth))


def classes_of_clusters(labels, y, k):
    """The class of each cluster, matched so that most known samples are in their own class."""
    shared = np.zeros((k, k))
    there = (labels >= 0) & (y >= 0)
    np.add.at(shared, (labels[there], y[there]), 1)
    return linear_sum_assignment(shared, maximize=True)[1]


def run() -> None:
    rows = []
    for name, X, truth, loss, others in cases():
        k = len(np.unique(truth))
        for share in SHARES:
            found = {key: [] for key in ("without", "told", "guided", "centroid", "spreading")}
            for seed in SEEDS:
                known = np.random.default_rng(seed).random(len(truth)) < share
                y, free, names = np.where(known, truth, -1), ~known, np.unique(truth[known])
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    plain = ONMF(k, loss=loss, random_state=seed).fit(X)
                    model = ONMF(k, loss=loss, random_state=seed).fit(X, y)
                    near = NearestCentroid().fit(others[known], truth[known])
                    spread = LabelSpreading(kernel="knn", n_neighbors=7)
                    spread.fit(others, y)
                own = np.append(names, np.full(k - len(names), -2))
                named = classes_of_clusters(plain.labels_, y, k)
                found["without"].append(accuracy(plain.labels_[free], truth[free], named))
                found["told"].append(100 * clustering_accuracy(truth[free], plain.labels_[free]))
                found["guided"].append(accuracy(model.labels_[free], truth[free], own))
                found["centroid"].append(100 * near.score(others[free], truth[free]))
                found["spreading"].append(
                    100 * float(np.mean(spread.transduction_[free] == truth[free]))
                )
            gains = [
                min(a - b for a, b in zip(found["guided"], found[other], strict=True))
                for other in ("without", "told")
            ]
            shown = [f"{mean(own):.1f} ({min(own):.1f})" for own in found.values()]
            worst = " / ".join(f"{gain:+.1f}" for gain in gains)
            rows.append([f"{name}, {loss}", f"{share:.0%}", *shown, worst])
            print(*rows[-1], flush=True)
    header = ["data", "known", "without y", "by all labels", "fit(X, y)", "nearest centroid"]
    body = table([*header, "label spreading", "worst change"], rows) + NOTE
    write_section("guided", "Known classes for some samples", body)
