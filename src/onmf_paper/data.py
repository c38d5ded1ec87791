"""The data of the studies, by name.

The paper does not say which categories or cancer types its subsets have. Those of TDT2 are
therefore drawn anew until they have as many documents as the paper's; the matrix of 33 cancer types
has no free copy, so that microRNA of the same patients stands in for it.
"""

import hashlib
from collections.abc import Callable
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from onmf.datasets import (
    load_tcga_mirna,
    load_tcga_rnaseq,
    load_tdt2,
    make_paper_synthetic,
    make_three_rays,
)
from onmf.preparation import (
    SpectralReduction,
    log_expression,
    select_genes,
    tfidf,
    used_features,
)
from onmf_paper.published import SNRS

# Of RandomState: the first whose ten categories have the paper's number of documents.
SUBSETS = {1: 385, 2: 3066, 3: 1475, 4: 956, 5: 1957, 6: 25967}
GENES = 5000


class Samples(NamedTuple):
    """Data to cluster, the true classes and their number."""

    X: Any
    y: NDArray[Any]
    k: int


class Source(NamedTuple):
    """How to make a data set, and which of the paper's settings belong to it."""

    family: str
    make: Callable[[], Samples]


def synthetic(snr: int) -> Samples:
    return Samples(*make_paper_synthetic(snr), 10)


def three_rays() -> Samples:
    X, y, _ = make_three_rays()
    return Samples(X, y, 3)


@cache
def categories() -> Any:
    return load_tdt2(smallest=10)


def documents(subset: int) -> Samples:
    """Ten random categories, tf-idf, unit documents, no empty terms."""
    X, y = categories().data, categories().target
    chosen = np.random.RandomState(SUBSETS[subset]).choice(np.unique(y), 10, replace=False)
    rows = np.flatnonzero(np.isin(y, chosen))
    X = X[rows]
    return Samples(tfidf().fit_transform(X[:, used_features(X)]), y[rows], 10)


def reduced(subset: int) -> Samples:
    """The documents in ten eigenvectors of their neighbourhood graph."""
    X, y, k = documents(subset)
    return Samples(SpectralReduction(k).fit_transform(X), y, k)


def mirna(types: int) -> Samples:
    """Tumours of some cancer types, log2 counts per million."""
    tumours = load_tcga_mirna()
    chosen = np.random.RandomState(0).choice(np.unique(tumours.target), types, replace=False)
    rows = np.isin(tumours.target, chosen)
    X = log_expression(total=1e6).fit_transform(tumours.data[rows])
    return Samples(X[:, used_features(X)], tumours.target[rows], types)


def rnaseq() -> Samples:
    """Tumours of six types, log2, the genes that the types differ in most: a supervised choice."""
    tumours = load_tcga_rnaseq()
    X = log_expression().fit_transform(tumours.data)
    return Samples(select_genes(GENES).fit_transform(X, tumours.target), tumours.target, 6)


SOURCES: dict[str, Source] = (
    {f"synthetic {snr} dB": Source("synthetic", partial(synthetic, snr)) for snr in SNRS}
    | {f"TDT2 {s}": Source("documents", partial(documents, s)) for s in SUBSETS}
    | {f"TDT2 {s} reduced": Source("reduced", partial(reduced, s)) for s in SUBSETS}
    | {f"miRNA {t} types": Source("expression", partial(mirna, t)) for t in (5, 10, 15, 20)}
    | {"RNA-seq 6 types": Source("expression", rnaseq), "three rays": Source("plane", three_rays)}
)


@cache
def load(name: str) -> Samples:
    """A data set of the studies, made once in a process."""
    return SOURCES[name].make()


@cache
def fingerprint(name: str) -> str:
    """The same text for the same numbers."""
    X, y, _ = load(name)
    parts = [X.data, X.indices, X.indptr] if sp.issparse(X) else [X]
    digest = hashlib.sha256(repr(X.shape).encode())
    for part in (*parts, np.unique(y, return_inverse=True)[1]):
        digest.update(np.ascontiguousarray(part).tobytes())
    return digest.hexdigest()[:16]
