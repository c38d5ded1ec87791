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

from onmf.datasets import make_paper_synthetic, make_three_rays
from onmf.prepare import Depth, Log, Tfidf
from onmf_paper.loaders import load_tcga_mirna, load_tcga_rnaseq, load_tdt2
from onmf_paper.published import SNRS
from onmf_paper.reduction import SpectralReduction, select_genes
from onmf_paper.unlucky import DRAWS, SETTINGS, Setting, draw_rays

# Of RandomState: the first whose ten categories have the paper's number of documents.
SUBSETS = {1: 385, 2: 3066, 3: 1475, 4: 956, 5: 1957, 6: 25967}
GENES = 5000


class LabelledData(NamedTuple):
    """Data to cluster, the true classes and their number."""

    X: Any
    y: NDArray[Any]
    k: int
    centroids: Any = None  # where all methods must begin, if that is what the data are for


class DataSet(NamedTuple):
    """How to make a data set, and which of the paper's settings belong to it."""

    family: str
    make: Callable[[], LabelledData]


def synthetic_samples(snr: int) -> LabelledData:
    return LabelledData(*make_paper_synthetic(snr), 10)


def three_rays_samples() -> LabelledData:
    X, y, centroids = make_three_rays()
    return LabelledData(X, y, 3, centroids)


def unlucky_samples(setting: Setting, draw: int) -> LabelledData:
    X, y, centroids = draw_rays(setting.shape, setting.spread, setting.starts, draw)
    return LabelledData(X, y, 3, centroids)


@cache
def large_categories() -> Any:
    return load_tdt2(smallest=10)


def documents(subset: int) -> LabelledData:
    """Ten random categories, tf-idf, unit documents, no empty terms."""
    X, y = large_categories().data, large_categories().target
    chosen = np.random.RandomState(SUBSETS[subset]).choice(np.unique(y), 10, replace=False)
    rows = np.flatnonzero(np.isin(y, chosen))
    X = X[rows]
    return LabelledData(Tfidf().fit_transform(X[:, np.unique(X.indices)]), y[rows], 10)


def reduced_documents(subset: int) -> LabelledData:
    """The documents in ten eigenvectors of their neighbourhood graph."""
    X, y, k, _ = documents(subset)
    return LabelledData(SpectralReduction(k).fit_transform(X), y, k)


def mirna_tumours(types: int) -> LabelledData:
    """Tumours of some cancer types, log2 counts per million."""
    tumours = load_tcga_mirna()
    chosen = np.random.RandomState(0).choice(np.unique(tumours.target), types, replace=False)
    rows = np.isin(tumours.target, chosen)
    X = Log().fit_transform(Depth(1e6).fit_transform(tumours.data[rows]))
    return LabelledData(X[:, X.any(axis=0)], tumours.target[rows], types)


def rnaseq_tumours() -> LabelledData:
    """Tumours of six types, log2, the genes that the types differ in most: a supervised choice."""
    tumours = load_tcga_rnaseq()
    X = Log().fit_transform(tumours.data)
    return LabelledData(select_genes(GENES).fit_transform(X, tumours.target), tumours.target, 6)


DATA_SETS: dict[str, DataSet] = (
    {f"synthetic {snr} dB": DataSet("synthetic", partial(synthetic_samples, snr)) for snr in SNRS}
    | {f"TDT2 {s}": DataSet("documents", partial(documents, s)) for s in SUBSETS}
    | {f"TDT2 {s} reduced": DataSet("reduced", partial(reduced_documents, s)) for s in SUBSETS}
    | {
        f"miRNA {t} types": DataSet("expression", partial(mirna_tumours, t))
        for t in (5, 10, 15, 20)
    }
    | {
        "RNA-seq 6 types": DataSet("expression", rnaseq_tumours),
        "three rays": DataSet("plane", three_rays_samples),
    }
    | {
        f"{setting.data} {draw}": DataSet("plane", partial(unlucky_samples, setting, draw))
        for setting in SETTINGS
        for draw in DRAWS
    }
)


@cache
def load_data_set(name: str) -> LabelledData:
    """A data set of the studies, made once in a process."""
    return DATA_SETS[name].make()


@cache
def data_fingerprint(name: str) -> str:
    """The same text for the same numbers: a trial keeps it, to know its data again."""
    X, y, _, _ = load_data_set(name)
    parts = [X.data, X.indices, X.indptr] if sp.issparse(X) else [X]
    digest = hashlib.sha256(repr(X.shape).encode())
    for part in (*parts, np.unique(y, return_inverse=True)[1]):
        digest.update(np.ascontiguousarray(part).tobytes())
    return digest.hexdigest()[:16]
