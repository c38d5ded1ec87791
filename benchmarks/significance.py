"""What a cluster is worth: significance without clusters and with them, pairs of clusters, cost.

Constants were settled on seeds below 200; the figures are for seeds from 2800 on. The sets are the
same: their types and mixtures were looked at before.
"""

import itertools
import warnings
from importlib.util import find_spec
from time import process_time

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import svds
from scipy.stats import norm

import sets
from explain import match, tumours
from onmf import ONMF, explain
from onmf.explain.reading import read_clusters
from onmf.explain.separation import Separation
from onmf.explain.significance import Significance
from onmf.preparation.transformers import log_expression
from tables import table, write_section

SEED, DRAWS, FACTORS = 2800, 5, 10
RARE = 0.02  # share of the samples of a type: features that fewer have are left out of null data
LEVEL = 0.05


def run() -> None:
    warnings.simplefilter("ignore")
    parts = []
    for part in (cost_part, planted_part, pairs_part, power_part, scanpy_part, null_part):
        parts.append(part())
        write_section("significance", "What a cluster is worth", "\n\n".join(parts))


def known_sets():
    """Name, samples with their classes, loss, and base of the logarithm."""
    return {
        "pbmc_facs": (sets.pbmc, "frobenius", np.e),
        "miRNA 5 types": (lambda: sets.mirna(5), "frobenius", 2),
        "RNA-seq 6 types": (sets.rnaseq, "frobenius", 2),
        "bbc": (lambda: sets.word_counts("bbc"), "kl", None),
    }


def read(make):
    X, y, k = make()
    X = sp.csr_array(X).astype(float) if sp.issparse(X) else X
    return X, np.asarray(y).astype(str), k


def called(model, X, seed):
    """Which features are called now, and which by halves of the features alone, as before."""
    seen = read_clusters(model, X, None, 2, seed)
    k = len(model.cluster_centers_)
    always = Separation(
        seen.separation.neighbour, np.zeros(k), np.arange(k), np.zeros(k), np.ones(k)
    )
    now, before = (Significance.of_clusters(seen.tests, each) for each in (seen.separation, always))
    return now.p_adjusted < LEVEL, before.p_adjusted < LEVEL


def copula(X, rng):
    """One cloud with the margins of X and the correlations of its normal scores."""
    n = len(X)
    ranks = np.lexsort((rng.random(X.shape), X), axis=0).argsort(axis=0)
    scores = rng.standard_normal((n, n)) @ norm.ppf((ranks + 0.5) / n) / np.sqrt(n)
    places = np.minimum((norm.cdf(scores) * n).astype(int), n - 1)
    return np.take_along_axis(np.sort(X, axis=0), places, axis=0)


def factors(X, rng):
    """One cloud: normal factors along the principal axes, and what they leave, shuffled."""
    mean, n = X.mean(axis=0), len(X)
    _, size, axes = svds(X - mean, FACTORS, v0=np.ones(min(X.shape)))
    rest = rng.permuted(X - mean - (X - mean) @ axes.T @ axes, axis=0)
    cloud = (rng.standard_normal((n, len(size))) * size / np.sqrt(n)) @ axes
    return np.maximum(mean + cloud + rest, 0)


def null_part() -> str:
    """One cloud, cut into two and three."""
    rows = []
    for name, (make, loss, _) in known_sets().items():
        X, y, _ = read(make)
        for kind, draw in {"copula": copula, "factors": factors}.items():
            runs = []
            for number, own in enumerate(np.unique(y)):
                one = X[np.flatnonzero(y == own)]
                one = one.toarray() if sp.issparse(one) else one
                one = one[:, np.mean(one > 0, axis=0) > RARE]
                for d in range(DRAWS):
                    rng = np.random.default_rng((SEED, number, d))
                    cloud = draw(one, rng)
                    cloud = sp.csr_array(cloud) if sp.issparse(X) else cloud
                    for k in (2, 3):
                        model = ONMF(k, loss=loss, random_state=SEED + d).fit(cloud)
                        now, before = called(model, cloud, SEED + d)
                        runs.append([now.any(), now.any(axis=0).mean(), before.any(),
                                     before.any(axis=0).mean()])  # fmt: skip
            figures = [f"{100 * value:.1f} %" for value in np.mean(runs, axis=0)]
            rows.append([name, kind, len(runs), *figures])
    columns = ["types of", "null data", "runs", "runs that call any feature", "features called",
               "runs, before", "features, before"]  # fmt: skip
    return (
        f"One cloud of each type alone, with its correlations, cut into two and three; {DRAWS} "
        "draws of each type. Features with an adjusted p below .05 in any cluster.\n\n"
        + table(columns, rows)
    )


def power_part() -> str:
    """The true mixtures: what was called before and has a fold change above two."""
    rows = []
    for name, (make, loss, base) in known_sets().items():
        X, _, k = read(make)
        kept, tried = [], []
        for seed in range(SEED, SEED + 3):
            model = ONMF(k, loss=loss, random_state=seed).fit(X)
            now, before = called(model, X, seed)
            large = explain.groups(model.labels_, X, log_base=base).facts.log2_fold_change > 1
            kept.append(np.sum(now & before & large) / np.sum(before & large))
            tried.append(np.sum(before & large))
        rows.append([name, f"{np.mean(tried):.0f}", f"{np.mean(kept):.1%}", f"{min(kept):.1%}"])
    columns = ["mixture", "called before, fold change > 2", "still called", "worst of three seeds"]
    return "True mixtures at their K.\n\n" + table(columns, rows)


def planted_part() -> str:
    shares = []
    for seed in range(SEED, SEED + 5):
        counts, y, genes = tumours(seed)
        X = log_expression(total=1e6).fit_transform(counts)
        model = ONMF(5, random_state=seed).fit(X)
        now, before = called(model, X, seed)
        clusters = match(y, model.labels_, 5)
        own = [[each[c][genes[kind]].mean() for kind, c in enumerate(clusters)]
               for each in (now, before)]  # fmt: skip
        shares.append(np.mean(own, axis=1))
    now, before = np.mean(shares, axis=0)
    return (
        f"Planted features (2 to 4 times as high in one of five kinds, 200 x 3000, five seeds): "
        f"{now:.1%} called, {before:.1%} before; {now / before:.1%} of those stay."
    )


def pairs_part() -> str:
    """Every two types together, and every type alone, cut into two."""
    rows = []
    chosen = {"pbmc_facs": known_sets()["pbmc_facs"], "bbc": known_sets()["bbc"]}
    chosen["miRNA 10 types"] = (lambda: sets.mirna(10), "frobenius", 2)
    for name, (make, loss, _) in chosen.items():
        X, y, _ = read(make)
        kinds = np.unique(y)
        two = [pair for pair in itertools.combinations(kinds, 2) if apart(X, y, pair, loss)]
        one = [kind for kind in kinds if not apart(X, y, [kind], loss)]
        others = ", ".join(kind for kind in kinds if kind not in one) or "none"
        pairs = len(kinds) * (len(kinds) - 1) // 2
        rows.append([name, f"{len(two)} of {pairs}", f"{len(one)} of {len(kinds)}", others])
    X, y, _ = read(sets.pbmc)
    y = sets.load("pbmc_facs", "pbmc_facs_labels.npz")["celltype"].astype(str)
    kinds = np.unique(y)
    others = [kind for kind in kinds if apart(X, y, [kind], "frobenius")]
    one = f"{len(kinds) - len(others)} of {len(kinds)}"
    rows.append(["pbmc_facs, as sorted", "", one, ", ".join(others) or "none"])
    columns = ["types of", "true pairs called two", "types alone called one", "called two"]
    return "One cloud or two? K = 2, adjusted p below .05.\n\n" + table(columns, rows)


def apart(X, y, kinds, loss):
    own = X[np.flatnonzero(np.isin(y, kinds))]
    model = ONMF(2, loss=loss, random_state=SEED).fit(own)
    return model.explain(own).markers.p_one_cloud.min() < LEVEL


def scanpy_part() -> str:
    """The first 20 genes beside those of scanpy's Wilcoxon test."""
    if find_spec("scanpy") is None:
        return "scanpy is not installed: the comparison with it was not made."
    import anndata
    import pandas as pd
    import scanpy

    rows = []
    for name in ("pbmc_facs", "miRNA 5 types", "RNA-seq 6 types"):
        make, loss, base = known_sets()[name]
        X, _, k = read(make)
        model = ONMF(k, loss=loss, random_state=SEED).fit(X)
        ours = model.explain(X, log_base=base).markers.numbers(20)
        cells = anndata.AnnData(sp.csr_matrix(X) if sp.issparse(X) else X)
        cells.obs["cluster"] = pd.Categorical(model.labels_.astype(str))
        scanpy.tl.rank_genes_groups(cells, "cluster", method="wilcoxon")
        names = cells.uns["rank_genes_groups"]["names"]
        shared = [len({*map(int, names[str(c)][:20])} & {*ours[c]}) for c in range(k)]
        rows.append([name, f"{np.mean(shared):.1f}", ", ".join(map(str, shared))])
    return "The first 20 of scanpy's Wilcoxon test that are among ours.\n\n" + table(
        ["data", "mean", "each cluster"], rows
    )


def cost_part() -> str:
    rows = []
    makers = {"digits": sets.digits, "miRNA 20 types": lambda: sets.mirna(20)}
    makers |= {name: make for name, (make, *_) in known_sets().items()}
    losses = {name: loss for name, (_, loss, _) in known_sets().items()}
    for name, make in makers.items():
        X, _, k = read(make)
        fit, whole = [], []
        for seed in range(SEED, SEED + 5):
            begin = process_time()
            model = ONMF(k, loss=losses.get(name, "frobenius"), random_state=seed).fit(X)
            middle = process_time()
            model.explain(X)
            fit, whole = [*fit, middle - begin], [*whole, process_time() - middle]
        rows.append([name, f"{min(whole) / min(fit):.1f}"])
    return "Processor time, best of five.\n\n" + table(["data", "explain / fit"], rows)
