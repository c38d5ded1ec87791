"""Classes that are known for some samples: `fit(X, y)` beside classifiers and a fit without y."""

import warnings
from statistics import mean

import numpy as np
import scipy.sparse as sp
from sklearn.neighbors import NearestCentroid
from sklearn.preprocessing import normalize
from sklearn.semi_supervised import LabelSpreading

import sets
from onmf import ONMF
from onmf.metrics import clustering_accuracy
from onmf.preparation import tfidf
from tables import table, write_section

SEEDS = (2701, 2702, 2703)  # of which samples are known; the rule was made on 1 and 2
SHARES = (0.05, 0.2)
MOST = 4000  # samples
NOTE = f"""

Percent of the samples without a known label that get their true class, mean of seeds {SEEDS[0]} to
{SEEDS[-1]}, in brackets the worst; at most {MOST} samples of each set. *Without y*: clusters
matched to the classes in the best way, which needs all labels. *Worst change*: the lowest
difference of the two over the seeds, in points. `NearestCentroid` and `LabelSpreading` (kernel knn)
of scikit-learn know the same labels; for counts they are given tf-idf, and all are given samples of
length 1."""


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


def run() -> None:
    rows = []
    for name, X, truth, loss, others in cases():
        k = len(np.unique(truth))
        for share in SHARES:
            found = {key: [] for key in ("without", "guided", "centroid", "spreading")}
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
                found["without"].append(100 * clustering_accuracy(truth[free], plain.labels_[free]))
                found["guided"].append(accuracy(model.labels_[free], truth[free], own))
                found["centroid"].append(100 * near.score(others[free], truth[free]))
                found["spreading"].append(
                    100 * float(np.mean(spread.transduction_[free] == truth[free]))
                )
            gains = [a - b for a, b in zip(found["guided"], found["without"], strict=True)]
            shown = [f"{mean(own):.1f} ({min(own):.1f})" for own in found.values()]
            rows.append([f"{name}, {loss}", f"{share:.0%}", *shown, f"{min(gains):+.1f}"])
            print(*rows[-1], flush=True)
    header = ["data", "known", "without y", "fit(X, y)", "nearest centroid", "label spreading"]
    body = table([*header, "worst change"], rows) + NOTE
    write_section("guided", "Known classes for some samples", body)
