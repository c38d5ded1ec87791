"""The data sets of the benchmarks; the real ones need ONMF_DATA."""

import gzip
import json
import os
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_digits

from onmf.datasets import make_paper_synthetic
from onmf.prepare import Depth, Log, Tfidf, Words
from onmf_paper.loaders import load_newsgroups, load_tcga_mirna, load_tcga_rnaseq, load_tdt2


class Set(NamedTuple):
    """Samples, true classes and their number."""

    X: object
    y: np.ndarray
    k: int


def folder() -> Path | None:
    return Path(os.environ["ONMF_DATA"]) if "ONMF_DATA" in os.environ else None


def load(*names: str):
    """Arrays of a file; the text of pbmc_facs is stored as objects: a pickle, of one's own data."""
    return np.load(folder().joinpath(*names), allow_pickle=True)


def used(X):
    """Without the features that never occur."""
    return X[:, np.flatnonzero(np.asarray(X.sum(axis=0)).ravel())]


@cache
def tdt2_counts():
    return load_tdt2()


def tdt2(subset: int, weighted: bool) -> Set:
    """Ten random categories of at least ten documents; tf-idf or plain counts."""
    X, y = tdt2_counts().data, tdt2_counts().target
    categories, sizes = np.unique(y, return_counts=True)
    chosen = np.random.RandomState(subset).choice(categories[sizes >= 10], 10, replace=False)
    X = used(X[np.flatnonzero(np.isin(y, chosen))])
    return Set(Tfidf().fit_transform(X) if weighted else X, y[np.isin(y, chosen)], 10)


def newsgroups() -> Set:
    messages = load_newsgroups()
    return Set(Tfidf().fit_transform(used(messages.data)), messages.target, 20)


def newsgroup_counts() -> Set:
    messages = load_newsgroups()
    return Set(used(messages.data), messages.target, 20)


def mirna(types: int) -> Set:
    """Tumours of some cancer types, log2 counts per million."""
    tumours = load_tcga_mirna(repeated=True)
    X, y = tumours.data, tumours.target
    known = np.unique(y)
    if types < len(known):
        known = np.random.RandomState(0).choice(known, types, replace=False)
    X, y = X[np.isin(y, known)], y[np.isin(y, known)]
    return Set(used(Log().fit_transform(Depth(1e6).fit_transform(X))), y, types)


def rnaseq() -> Set:
    """Tumours of six types, log2, the 5000 genes that vary most."""
    tumours = load_tcga_rnaseq()
    X = Log().fit_transform(tumours.data)
    genes = np.sort(np.argsort(-X.var(axis=0), kind="stable")[:5000])
    return Set(np.ascontiguousarray(X[:, genes]), tumours.target, 6)


def pbmc() -> Set:
    """Sorted blood cells, each scaled to 10,000 counts, log(1 + x)."""
    raw = load("pbmc_facs", "pbmc_facs_counts_csr.npz")
    parts = raw["data"].astype(float), raw["indices"], raw["indptr"]
    X = sp.csr_array(parts, shape=tuple(raw["shape"]))
    X = sp.csr_array(X.multiply(1e4 / X.sum(axis=1)[:, None]))
    X.data = np.log1p(X.data)
    return Set(X, load("pbmc_facs", "pbmc_facs_labels.npz")["subpop"], 5)


def digits() -> Set:
    return Set(*load_digits(return_X_y=True), 10)


class Texts(NamedTuple):
    """Texts and their classes."""

    texts: list[str]
    y: np.ndarray


def texts_of_folder() -> dict[str, Path]:
    """Files of labelled texts by name: of ONMF_DATA, and of the folder that ONMF_TEXTS names."""
    places = [folder() and folder() / "texts", os.environ.get("ONMF_TEXTS")]
    files = [file for place in places if place for file in sorted(Path(place).glob("*.jsonl*"))]
    return {file.name.partition(".")[0]: file for file in files}


@cache
def read_texts(name: str) -> Texts:
    """One document per line, with `text` and `label`."""
    path = texts_of_folder()[name]
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8") as lines:
        documents = [json.loads(line) for line in lines]
    return Texts(
        [one["text"] for one in documents], np.array([str(one["label"]) for one in documents])
    )


def word_counts(name: str, drop_empty: bool = True) -> Set:
    """Words of at least two and at most half of the texts, without English stop words."""
    texts, y = read_texts(name)
    X = Words(min_df=2, max_df=0.5, stop_words="english").fit_transform(texts)
    kept = np.flatnonzero(X.sum(axis=1) > 0) if drop_empty else np.arange(len(y))
    return Set(X[kept], y[kept], len(np.unique(y)))


SYNTHETIC = {
    f"synthetic {snr} dB": lambda snr=snr: Set(*make_paper_synthetic(snr), 10)
    for snr in (-5, -3, -1, 1, 3, 5)
}
REAL = (
    {f"TDT2 {s}": lambda s=s: tdt2(s, True) for s in range(1, 7)}
    | {f"TDT2 {s} counts": lambda s=s: tdt2(s, False) for s in range(1, 7)}
    | {f"miRNA {t} types": lambda t=t: mirna(t) for t in (5, 10, 15, 20, 32)}
    | {"RNA-seq 6 types": rnaseq, "pbmc_facs": pbmc, "20 Newsgroups": newsgroups}
)


def available() -> dict:
    """Name and maker of each set that can be made here."""
    return SYNTHETIC | (REAL if folder() else {}) | {"digits": digits}
