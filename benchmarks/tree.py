"""Levels of `build_tree` beside agglomerative merging of its finest level."""

import warnings

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from sklearn.metrics import adjusted_mutual_info_score
from sklearn.preprocessing import normalize

import sets
from onmf import ONMF, build_tree
from onmf.datasets.corpora import NEWSGROUPS
from onmf.datasets.files import locate, read_mat_variables
from tables import table, write_section

SEEDS = (3607, 3608)  # of the samples and of the fits
MOST = 1200  # samples: of 100 at least a cluster may be split, which takes most of the time
NOTE = f"""

AMI in percent. The tree is `build_tree(model, X)` of `ONMF(K, loss="kl")` with the true number of
fine classes as K; one row for each of its levels, and one for `tree.groups(n)` with the true number
of classes, which no tree is told. *Merged*: its finest level by average linkage of the unit
centroids (SciPy), cut to as many clusters. Levels *without evidence* put similar clusters together
where `choose_k` finds no coarser number of clusters. At most {MOST} random documents. TDT2: subsets
1 and 2, of ten categories, whose groups are not known."""


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
        for seed in SEEDS:
            X, classes = make(seed)
            k = max(len(np.unique(truth)) for truth in classes.values())
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = build_tree(ONMF(k, loss="kl", random_state=seed).fit(X), X)
            finest = tree.cut(tree.depth)
            for kind, truth in classes.items():
                for level in range(1, tree.depth + 1):
                    cut = tree.cut(level)
                    n = len(np.unique(cut))
                    scores = [f"{ami(truth, own):.1f}" for own in (cut, merged(X, finest, n))]
                    found = all(node.evidence for node in tree.nodes if node.level == level)
                    shown = f"level {level}{'' if found else ', without evidence'}"
                    rows.append([name, seed, kind, shown, n, *scores])
                n = len(np.unique(truth))
                cuts = tree.groups(n), merged(X, finest, n)
                told = [f"{ami(truth, own):.1f}" for own in cuts]
                rows.append([name, seed, kind, "true number", n, *told])
                print(*rows[-1], flush=True)
    header = ["data", "seed", "classes", "cut", "clusters", "tree", "merged"]
    write_section("tree", "Levels of a tree", table(header, rows) + NOTE)
