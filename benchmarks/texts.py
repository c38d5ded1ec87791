"""Texts at the true K: `onmf cluster` as it is beside tf-idf, NMF and LDA; short texts."""

import resource
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from statistics import mean
from typing import NamedTuple

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.decomposition import NMF, LatentDirichletAllocation
from sklearn.metrics import adjusted_rand_score

import sets
from onmf import ONMF
from onmf.metrics import clustering_accuracy
from onmf.preparation import Log, Tfidf, apply
from tables import table, write_section

SEEDS = tuple(range(2601, 2606))  # never used while the search was made
FEW_SEEDS = SEEDS[:3]
PROGRAM = "import sys; from onmf.cli import main; sys.exit(main(sys.argv[1:]))"
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

ARI in percent at the number of classes. *onmf --text*: the command as it is (`onmf cluster
set.jsonl --text-column text -k K`), mean of seeds {SEEDS[0]} to {SEEDS[-1]}; an empty text has a
label of its own. The others start from counts of the words of at least two and at most half of the
texts, without English stop words, seeds {FEW_SEEDS[0]} to {FEW_SEEDS[-1]}: *tf-idf* and *sublinear*
(tf-idf of log2(1 + x)) by squares, the steps `Tfidf` and `Log`; scikit-learn's `NMF` of tf-idf and
`LatentDirichletAllocation` of counts, with the largest membership. *Words*: counted words of a
text, on average. The matrix of 20 Newsgroups has counts only: there *onmf --text* is
`ONMF(loss="kl")`."""
SHORT_NOTE = f"""

Accuracy in percent of `onmf cluster` as it is on texts of at most {SHORT} counted words, seeds
{SEEDS[0]} to {SEEDS[-1]}, without a model of language and from these texts alone; *seconds* of
processor time of the whole command, reading and writing included. Beside it the figures that were
published for STC2 (2017), HAC-SD-IC (2020), SCCL (2021, with BERT) and Deep ECIC (2021). A further
set is a file `name.jsonl` or `name.jsonl.gz` with `text` and `label` in the folder that the
environment variable `ONMF_TEXTS` names; those with a published figure are
{", ".join(PUBLISHED)}."""


class Found(NamedTuple):
    """Labels by the command for each seed, and processor seconds."""

    labels: list[np.ndarray]
    seconds: float


def run() -> None:
    rows, short = [], []
    for name in [*sets.texts_of_folder(), *(["20 Newsgroups, matrix"] if sets.folder() else [])]:
        X, y, k, found = of_matrix() if "matrix" in name else of_texts(name)
        ours = [100 * adjusted_rand_score(y, labels) for labels in found.labels]
        others = [agreement(rival, X, y, k) for rival in RIVALS.values()]
        rows.append([name, len(y), k, f"{X.sum() / X.shape[0]:.0f}", f"{mean(ours):.1f}", *others])
        if X.sum() <= SHORT * X.shape[0]:
            short.append(short_row(name, y, k, found))
        write_rows(rows, short)


def write_rows(rows: list, short: list) -> None:
    columns = ["data", "texts", "K", "words", "onmf --text", *RIVALS]
    means = [f"{mean(float(row[j]) for row in rows):.1f}" for j in range(4, len(columns))]
    body = table(columns, [*rows, ["mean", "", "", "", *means]]) + NOTE
    write_section("texts", "Texts at the true number of clusters", body)
    columns = ["data", "texts", "K", "onmf: mean", "worst", "seconds", *PAPERS]
    write_section("short-texts", "Short texts", table(columns, short) + SHORT_NOTE)


def of_texts(name: str):
    X, y, k = sets.word_counts(name, drop_empty=False)
    return X, y, k, by_command(name, k)


def of_matrix():
    X, y, k = sets.newsgroup_counts()
    fits = [ONMF(k, loss="kl", random_state=seed, n_jobs=1).fit(X).labels_ for seed in SEEDS]
    return sp.csr_array(X), y, k, Found(fits, np.nan)


def by_command(name: str, k: int) -> Found:
    """`onmf cluster` in processes of its own."""
    texts, found, begin = sets.read_texts(name), [], used_seconds()
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "set.jsonl"
        pd.DataFrame({"text": texts.texts}).to_json(path, orient="records", lines=True)
        for seed in SEEDS:
            words = ["cluster", path, "--text-column", "text", "-k", k, "-o", f"{place}/out"]
            words += ["--seed", seed, "--force", "--no-report", "--jobs", 1]
            subprocess.run(
                [sys.executable, "-c", PROGRAM, *map(str, words)], check=True, capture_output=True
            )
            labels = pd.read_csv(f"{place}/out/labels.csv")["cluster"].to_numpy()
            assert len(labels) == len(texts.texts), "the command left texts out"
            found.append(labels)
    return Found(found, (used_seconds() - begin) / len(SEEDS))


def used_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def short_row(name: str, y, k: int, found: Found) -> list:
    right = [100 * clustering_accuracy(y, labels) for labels in found.labels]
    papers = PUBLISHED.get(name.lower(), (None,) * len(PAPERS))
    figures = [f"{mean(right):.1f}", f"{min(right):.1f}", f"{found.seconds:.1f}"]
    return [name, len(y), k, *figures, *("" if one is None else one for one in papers)]


def agreement(rival: Callable, X, y, k: int) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        labels = [rival(X, k, seed) for seed in FEW_SEEDS]
    return f"{100 * mean(adjusted_rand_score(y, one) for one in labels):.1f}"


def by_tfidf(X, k: int, seed: int) -> np.ndarray:
    return ONMF(k, random_state=seed, n_jobs=1).fit(Tfidf.fit(X)(X)).labels_


def by_sublinear(X, k: int, seed: int) -> np.ndarray:
    return by_tfidf(apply([Log()], X), k, seed)


def by_nmf(X, k: int, seed: int) -> np.ndarray:
    return NMF(k, random_state=seed).fit_transform(Tfidf.fit(X)(X)).argmax(axis=1)


def by_lda(X, k: int, seed: int) -> np.ndarray:
    return LatentDirichletAllocation(k, random_state=seed).fit_transform(X).argmax(axis=1)


RIVALS = {"tf-idf": by_tfidf, "sublinear": by_sublinear, "NMF": by_nmf, "LDA": by_lda}
