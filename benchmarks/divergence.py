"""`loss="kl"` on raw counts: its objective beside those of rivals, agreement, and time."""

import time
import warnings
from statistics import mean, median

import numpy as np
import scipy.sparse as sp
from scipy.special import xlogy
from sklearn.decomposition import NMF
from sklearn.metrics import adjusted_rand_score

import sets
from onmf import ONMF
from onmf.preparation import tfidf
from tables import table, write_section
from votes import counts_of_cells, counts_of_newsgroups

SEEDS = (2411, 2412, 2413)  # never used while the solver was made
RESTARTS = 20
MIX = 0.01  # of the overall mean in the rivals' centroids, as in ours
COLUMNS = [
    "data", "samples", "KL, onmf (worst of the seeds)", "KL, NMF + alternation",
    "KL, best of 20 alternations", "ARI, kl", "ARI, kl, one vote each", "ARI, NMF + alternation",
    "ARI, counts", "ARI, tf-idf", "time / counts", "time / tf-idf",
]  # fmt: skip
NOTE = f"""

Raw counts, as they are. *KL*: what is left of KL(X || HW) with the exact centroids of the labels,
in percent of that of a single cluster. *onmf*: `ONMF(loss="kl")`, mean over seeds {SEEDS[0]} to
{SEEDS[-1]}, and its worst. *NMF + alternation*: scikit-learn's `NMF(beta_loss="kullback-leibler",
solver="mu")`, the largest membership, then the alternation of samples and centroids under KL.
*20 alternations*: the same alternation from {RESTARTS} sets of K samples. ARI in percent, means of
the seeds; *counts* and *tf-idf*: `ONMF` as it is on the raw counts and on their tf-idf. Time: that
of a fit with `loss="kl"` on the counts over that of a default fit on the counts, or on their tf-idf
without its preparation; processor time of one thread, medians, taken in turn."""


def chosen() -> dict:
    counts = {f"TDT2 {s}": lambda s=s: sets.tdt2(s, False) for s in range(1, 7)}
    return counts | {"20 Newsgroups": counts_of_newsgroups, "pbmc_facs": counts_of_cells}


def run() -> None:
    rows = []
    for name, make in chosen().items() if sets.folder() else ():
        rows.append([name, *figures(*make())])
        write_rows(rows)


def write_rows(rows: list) -> None:
    body = table(COLUMNS, rows + averages(rows)) + NOTE
    write_section("divergence", "Counts by the Kullback-Leibler divergence", body)


def averages(rows: list) -> list:
    """Mean ARI over the subsets of TDT2, once there are all."""
    own = [row for row in rows if row[0].startswith("TDT2")]
    if len(own) < 6:
        return []
    means = [f"{mean(float(row[j]) for row in own):.1f}" for j in range(5, 10)]
    return [["TDT2, mean", "", "", "", "", *means, "", ""]]


def figures(X, y, k: int) -> list[str]:
    """A row of the table but its name."""
    X, weighted = sp.csr_array(X), tfidf().fit_transform(X)
    by_kl, by_votes, plain, prepared = [], [], [], []
    for seed in SEEDS:
        by_kl.append(fitted(X, k, seed, loss="kl"))
        plain.append(fitted(X, k, seed))
        prepared.append(fitted(weighted, k, seed))
        by_votes.append(fitted(X, k, seed, loss="kl", equal_votes=True))
    ours = [divergence_left(X, labels, k) for labels, _ in by_kl]
    rival, best = nmf_labels(X, k), best_of_restarts(X, k)
    left = [f"{mean(ours):.3f} ({max(ours):.3f})"]
    left += [f"{divergence_left(X, labels, k):.3f}" for labels in (rival, best)]
    agree = [agreement(y, runs) for runs in (by_kl, by_votes, [(rival, 0)], plain, prepared)]
    times = [median(t for _, t in runs) for runs in (by_kl, plain, prepared)]
    return [len(y), *left, *agree, *(f"{times[0] / other:.2f}" for other in times[1:])]


def agreement(y, runs: list) -> str:
    return f"{100 * mean(adjusted_rand_score(y, labels) for labels, _ in runs):.1f}"


def fitted(X, k: int, seed: int, **params) -> tuple[np.ndarray, float]:
    """Labels, and the processor time of the fit."""
    model = ONMF(k, random_state=seed, n_jobs=1, **params)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        begin = time.process_time()
        model.fit(X)
        return model.labels_, time.process_time() - begin


def sums_of(X, labels, k: int) -> np.ndarray:
    inside = labels >= 0
    parts = np.ones(inside.sum()), (labels[inside], np.flatnonzero(inside))
    return (sp.csr_array(parts, shape=(k, len(labels))) @ X).toarray()


def divergence_left(X, labels, k: int) -> float:
    """Percent of KL of one cluster that the exact centroids of the labels leave."""
    own = xlogy(X.data, X.data).sum() - xlogy(t := X.sum(axis=1), t).sum()
    explained = [
        xlogy(S, S).sum() - xlogy(T := S.sum(axis=1), T).sum()
        for S in (sums_of(X, labels, k), X.sum(axis=0)[None])
    ]
    return 100 * float((own - explained[0]) / (own - explained[1]))


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


def nmf_labels(X, k: int) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = NMF(k, beta_loss="kullback-leibler", solver="mu", random_state=SEEDS[0])
        H = model.fit_transform(X)
    return alternate(X, (H * model.components_.sum(axis=1)).argmax(axis=1), k)


def best_of_restarts(X, k: int) -> np.ndarray:
    rng, found = np.random.default_rng(SEEDS[0]), []
    for _ in range(RESTARTS):
        labels = np.full(X.shape[0], -1)
        labels[rng.choice(X.shape[0], k, replace=False)] = np.arange(k)
        found.append(alternate(X, labels, k))
    return min(found, key=lambda labels: divergence_left(X, labels, k))
