"""Streams: batches in random order, and one kind after the other; and refits night after night."""

import warnings
from collections.abc import Callable, Iterator
from time import process_time

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import MiniBatchKMeans
from sklearn.metrics import adjusted_rand_score

import sets
from onmf import ONMF
from onmf.prepare import Tfidf
from tables import table, write_section

BATCHES, SEEDS = 12, (0, 1)
NIGHTS, STAY, WINDOW, K = 20, 0.9, 5000, 30  # of TDT2
COLUMNS = ["data", "loss", "batches", "error", "above the fit to all", "ARI", "fit to all",
           "K-means", "seconds"]  # fmt: skip
NOTE = f"""

`partial_fit` of {BATCHES} batches from an empty model, mean over {len(SEEDS)} orders: *random*, or
*by kind*, all samples of one class before those of the next. Errors of all samples with the last
centroids. *K-means*: ARI of `MiniBatchKMeans` on the same batches. Two constants were chosen here:
a fit again when a quarter more was seen (half: up to 3 % more error by kind), and 600 rows per
cluster (280: up to .1 % more on texts)."""


def counts(name: str, weighted: bool) -> sets.Set:
    X, y, k = sets.word_counts(name)
    return sets.Set(Tfidf().fit_transform(X) if weighted else X, y, k)


def streams() -> Iterator[tuple[str, str, sets.Set]]:
    """Name, loss, and samples with their classes."""
    yield "digits", "frobenius", sets.digits()
    yield "digits", "kl", sets.digits()
    if sets.folder():
        yield "TDT2 3", "frobenius", sets.tdt2(3, weighted=True)
        yield "miRNA", "frobenius", sets.mirna(32)
    for name in ("bbc", "m10", "searchsnippets"):
        if name in sets.texts_of_folder():
            yield name, "frobenius", counts(name, weighted=True)
            yield name, "kl", counts(name, weighted=False)


def run_batches() -> None:
    """The error after one pass, beside that of a fit to all and K-means in batches."""
    rows = []
    for name, loss, (X, classes, k) in streams():
        y = np.unique(classes, return_inverse=True)[1]
        whole = quiet(ONMF(k, loss=loss, random_state=0, n_jobs=1).fit, X)
        own = adjusted_rand_score(y, whole.labels_)
        for by_kind in (False, True):
            runs = [one_pass(X, y, k, loss, by_kind, seed) for seed in SEEDS]
            error, ari, means, seconds = np.mean(runs, axis=0)
            above = f"{100 * (error / whole.relative_error_ - 1):+.2f} %"
            figures = [f"{error:.4f}", above, *(f"{100 * a:.0f}" for a in (ari, own, means))]
            rows.append(
                [name, loss, "by kind" if by_kind else "random", *figures, f"{seconds:.1f}"]
            )
            print(rows[-1], flush=True)
    write_section("stream", "Streams", table(COLUMNS, rows) + NOTE)


def one_pass(
    X: object, y: np.ndarray, k: int, loss: str, by_kind: bool, seed: int
) -> tuple[float, float, float, float]:
    """Error, ARI, ARI of K-means, and processor time."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(y))
    if by_kind:
        order = order[np.argsort(rng.permutation(y.max() + 1)[y[order]], kind="stable")]
    model, means = ONMF(k, loss=loss, random_state=0, n_jobs=1), MiniBatchKMeans(k, random_state=0)
    begin = process_time()
    for rows in np.array_split(order, BATCHES):
        quiet(model.partial_fit, X[rows])
    seconds = process_time() - begin
    for rows in np.array_split(order, BATCHES):
        means.partial_fit(X[rows])
    ari = [adjusted_rand_score(y, one.predict(X)) for one in (model, means)]
    return 1 - model.score(X), *ari, seconds


def quiet(method: Callable, *arguments: object) -> object:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return method(*arguments)


def run_nights() -> None:
    """Refit every night on data of which nine tenths stay, beside a fresh fit of each night."""
    X = Tfidf().fit_transform(sets.used(sets.tdt2_counts().data))
    order = np.random.default_rng(1811).permutation(X.shape[0])
    step, last, figures = round((1 - STAY) * WINDOW), None, []
    for night in range(NIGHTS + 1):
        rows = order[np.arange(night * step, night * step + WINDOW) % len(order)]
        fresh = quiet(ONMF(K, random_state=1811 + night, n_jobs=1).fit, X[rows])
        model = fresh
        if last is not None:
            model = quiet(ONMF(init=last[0], random_state=night, n_jobs=1).fit, X[rows])
            both = np.flatnonzero([row in last[1] for row in rows])
            before = np.array([last[1][row] for row in rows[both]])
            same = model.cluster_ids_[model.labels_][both] == before
            disagrees = matched_ids(fresh, model)[both] != before
            ari = adjusted_rand_score(fresh.labels_, model.labels_)
            above = model.relative_error_ / fresh.relative_error_ - 1
            figures.append([same.mean(), (same | disagrees).mean(), ari, above])
        last = model, dict(zip(rows, model.cluster_ids_[model.labels_], strict=True))
    columns = ["", "kept their id", "kept, or the fresh fit disagrees too", "ARI with fresh",
               "error above fresh"]  # fmt: skip
    worst = [*np.min(figures, axis=0)[:3], np.max(figures, axis=0)[3]]
    lines = [("mean", np.mean(figures, axis=0)), ("worst night", worst)]
    body = [[name, *(f"{100 * one:.2f} %" for one in parts)] for name, parts in lines]
    note = f"""

{NIGHTS} nights of {WINDOW} documents of TDT2, K = {K}, each the night before less a tenth and a
tenth new ones; `ONMF(init=the night before)`. Of the samples that stay; the fresh fit, from a seed
of its own, is matched to the warm one by the samples they share."""
    write_section("stream-nights", "Refits night after night", table(columns, body) + note)


def matched_ids(fresh: ONMF, model: ONMF) -> np.ndarray:
    """The labels of the fresh fit under the ids of the other, cluster by cluster."""
    shared = np.zeros((K, len(model.cluster_ids_)))
    np.add.at(shared, (fresh.labels_, model.labels_), 1)
    own, theirs = linear_sum_assignment(-shared)
    ids = np.full(K, -2)
    ids[own] = model.cluster_ids_[theirs]
    return ids[fresh.labels_]


def run() -> None:
    run_batches()
    if sets.folder():
        run_nights()
