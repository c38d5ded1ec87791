"""`loss="kl"` on counts: what it explains beside rivals, agreement with the classes, and time."""

import time
import warnings
from statistics import mean, median

import numpy as np
import scipy.sparse as sp
from scipy.special import xlogy
from sklearn.metrics import adjusted_rand_score

import sets
from onmf import ONMF
from onmf.prepare import tfidf
from tables import table, write_section
from votes import counts_of_cells

SEEDS = tuple(range(2501, 2509))  # not used to choose settings of the search
FEW_SEEDS = SEEDS[:3]
MIX = 0.01  # of the overall mean in the rivals' centroids, as in ours
PAIRS = ((0, 1), (3, 4), (7, 8))  # newsgroups, by number
COLUMNS = [
    "data", "samples", "K", "explained: mean (worst)", "by the classes",
    "by one alternation", "ARI: mean (worst)", "ARI, one vote each", "ARI, tf-idf", "seconds",
    "time / alternation", "time / tf-idf",
]  # fmt: skip
NOTE = f"""

Counts, as they are. *Explained*: the share (sum_k g(S_k) - g(S)) / (sum_i g(x_i) - g(S)) of the
information of one cluster for all, in percent: 100 less the relative divergence with the exact
centroids of the labels. *Mean (worst)* of `ONMF(loss="kl")` over seeds {SEEDS[0]} to {SEEDS[-1]}.
*One alternation*: samples and centroids in turn from K samples, mean of seeds {FEW_SEEDS[0]} to
{FEW_SEEDS[-1]}, as are *one vote each* (`equal_votes=True`) and *tf-idf* (`ONMF` as it is).
*Time*: a fit over one such alternation, and over a default fit of the tf-idf;
processor time of one thread, medians, taken in turn. bbc, m10, searchsnippets: words of at least
two and at most half of the documents, without English stop words. *Two groups*: pairs of 20
Newsgroups."""


def chosen() -> dict:
    texts = {name: lambda name=name: sets.word_counts(name) for name in sets.texts_of_folder()}
    tdt2 = {f"TDT2 {s}": lambda s=s: sets.tdt2(s, False) for s in range(1, 7)}
    pairs = {f"two groups {a}, {b}": lambda a=a, b=b: two_newsgroups(a, b) for a, b in PAIRS}
    return (
        texts | {"20 Newsgroups": sets.newsgroup_counts} | tdt2 | pairs
        | {"pbmc_facs": counts_of_cells}
    )  # fmt: skip


def two_newsgroups(a: int, b: int) -> sets.Set:
    """The messages of two groups, by number, with the words that they have."""
    X, y, _ = sets.newsgroup_counts()
    rows = np.flatnonzero(np.isin(y, np.unique(y)[[a, b]]))
    X = sets.used(sp.csr_array(X)[rows])
    return sets.Set(X, y[rows], 2)


def run() -> None:
    rows = []
    for name, make in chosen().items() if sets.folder() else ():
        rows.append([name, *figures(*make())])
        body = table(COLUMNS, rows) + NOTE
        write_section("counts", "Counts by the Kullback-Leibler divergence", body)


def figures(X, y, k: int) -> list[str]:
    """A row of the table but its name."""
    X, y = sp.csr_array(X), np.asarray(y)
    weighted = tfidf().fit_transform(X)
    by_kl = [fitted(X, k, seed, loss="kl") for seed in SEEDS]
    prepared, by_votes, plain = [], [], []
    for seed in FEW_SEEDS:
        prepared.append(fitted(weighted, k, seed))
        plain.append(timed(lambda seed=seed: alternate_from_samples(X, k, seed)))
        by_votes.append(fitted(X, k, seed, loss="kl", equal_votes=True))
    ours = [explained(X, labels, k) for labels, _ in by_kl]
    classes = np.unique(y, return_inverse=True)[1]
    shares = [f"{mean(ours):.2f} ({min(ours):.2f})", f"{explained(X, classes, k):.2f}"]
    shares.append(f"{mean(explained(X, labels, k) for labels, _ in plain):.2f}")
    times = [median(t for _, t in runs) for runs in (by_kl, plain, prepared)]
    agree = [agreement(y, by_kl, True), agreement(y, by_votes), agreement(y, prepared)]
    ratios = [f"{times[0] / other:.1f}" for other in times[1:]]
    return [len(y), k, *shares, *agree, f"{times[0]:.2f}", *ratios]


def agreement(y, runs: list, worst: bool = False) -> str:
    found = [100 * adjusted_rand_score(y, labels) for labels, _ in runs]
    return f"{mean(found):.1f}" + (f" ({min(found):.1f})" if worst else "")


def fitted(X, k: int, seed: int, **params) -> tuple[np.ndarray, float]:
    """Labels, and the processor time of the fit."""
    model = ONMF(k, random_state=seed, n_jobs=1, **params)
    return timed(lambda: model.fit(X).labels_)


def timed(task) -> tuple[np.ndarray, float]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        begin = time.process_time()
        return task(), time.process_time() - begin


def sums_of(X, labels, k: int) -> np.ndarray:
    inside = labels >= 0
    parts = np.ones(inside.sum()), (labels[inside], np.flatnonzero(inside))
    return (sp.csr_array(parts, shape=(k, len(labels))) @ X).toarray()


def explained(X, labels, k: int) -> float:
    """Percent of KL of one cluster that the exact centroids of the labels explain."""
    own = xlogy(X.data, X.data).sum() - xlogy(t := X.sum(axis=1), t).sum()
    several, one = (
        xlogy(S, S).sum() - xlogy(T := S.sum(axis=1), T).sum()
        for S in (sums_of(X, labels, k), X.sum(axis=0)[None])
    )
    return 100 * float((several - one) / (own - one))


def alternate(X, labels, k: int) -> np.ndarray:
    """Nearest centroid, sums of the samples, until no label changes."""
    p = X.sum(axis=0) / X.sum()
    for _ in range(100):
        S = sums_of(X, labels, k)
        W = (1 - MIX) * S / np.maximum(S.sum(axis=1, keepdims=True), 1e-300) + MIX * p
        new = (X @ np.log(np.maximum(W, 1e-300)).T).argmax(axis=1)
        if np.array_equal(new, labels):
            break
        labels = new
    return labels


def alternate_from_samples(X, k: int, seed: int) -> np.ndarray:
    labels = np.full(X.shape[0], -1)
    labels[np.random.default_rng(seed).choice(X.shape[0], k, replace=False)] = np.arange(k)
    return alternate(X, labels, k)
