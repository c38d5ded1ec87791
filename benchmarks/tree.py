"""Levels of `build_tree` beside agglomerative merging of its finest level."""

import warnings
from statistics import mean

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from sklearn.metrics import adjusted_mutual_info_score
from sklearn.preprocessing import normalize

import sets
from onmf import ONMF, build_tree
from onmf.datasets.corpora import NEWSGROUPS
from onmf.datasets.files import locate, read_mat_variables
from tables import table, write_section

SEEDS = (3601, 3602)  # of the samples and of the fits
MOST = 1500  # samples
NOTE = f"""

AMI in percent, mean of seeds {SEEDS[0]} and {SEEDS[-1]}, in brackets the worst. The tree is
`build_tree(model, X)` of `ONMF(K, loss="kl")` with the true number of fine classes; groups are
compared with its first level, classes with its finest. *Merged*: the finest level of the same tree
by average linkage of its unit centroids (SciPy), cut to as many clusters as the tree has there, and
to the true number, which no tree is told. *Levels*: clusters at each level, for each seed. At
most {MOST} random documents. TDT2: subsets 1 and 2, one for each seed, of ten categories, whose
groups are not known."""


def some(n: int, seed: int):
    """At most MOST random rows of n."""
    return np.sort(np.random.default_rng(seed).permutation(n)[:MOST])


def newsgroups(seed: int):
    """Counts of random messages, and their classes: 6 groups, 20 newsgroups."""
    X, fine, _ = sets.newsgroup_counts()
    coarse = read_mat_variables(locate(NEWSGROUPS, None), ["gnd1"])["gnd1"].ravel()
    rows = some(len(fine), seed)
    return sets.used(X[rows]), {"6 groups": coarse[rows], "20 classes": fine[rows]}


def tdt2(seed: int):
    """Counts of one subset for each seed."""
    X, y, _ = sets.tdt2(SEEDS.index(seed) + 1, weighted=False)
    rows = some(len(y), seed)
    return sets.used(X[rows]), {"10 classes": y[rows]}


def merged(X, finest, n: int):
    """The finest level, put together to n clusters."""
    nodes, own = np.unique(finest, return_inverse=True)
    centers = np.vstack([np.asarray(X[np.flatnonzero(finest == i)].sum(axis=0)) for i in nodes])
    return fcluster(linkage(normalize(centers), "average"), n, "maxclust")[own]


def ami(truth, labels) -> float:
    return 100 * float(adjusted_mutual_info_score(truth, labels))


def run() -> None:
    rows = []
    for name, make in [("20 Newsgroups", newsgroups), ("TDT2", tdt2)]:
        found, levels = {}, []
        for seed in SEEDS:
            X, classes = make(seed)
            k = max(len(np.unique(truth)) for truth in classes.values())
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = build_tree(ONMF(k, loss="kl", random_state=seed).fit(X), X)
            cuts = [tree.cut(level) for level in range(1, tree.depth + 1)]
            levels.append("-".join(str(len(np.unique(cut[cut >= 0]))) for cut in cuts))
            print(name, seed, levels[-1], flush=True)
            for kind, truth in classes.items():
                n = len(np.unique(truth))
                cut = cuts[-1 if n == k else 0]
                same = merged(X, cuts[-1], len(np.unique(cut)))
                told = merged(X, cuts[-1], n)
                scores = [ami(truth, labels) for labels in (cut, same, told)]
                found.setdefault(kind, []).append(scores)
        for kind, scores in found.items():
            shown = [f"{mean(own):.1f} ({min(own):.1f})" for own in zip(*scores, strict=True)]
            rows.append([name, kind, ", ".join(levels), *shown])
    header = ["data", "classes", "levels", "tree", "merged, same number", "merged, true number"]
    write_section("tree", "Levels of a tree", table(header, rows) + NOTE)
