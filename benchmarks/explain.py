"""What makes a cluster, and how sure it is: right features, honest p-values, calibrated certainty.

Constants were settled on TDT2 1, 7 and 8, miRNA 10 and 15, synthetic -3 dB, digits and 20
Newsgroups with seeds below 10; the figures are for other seeds and, where there are others, sets.
"""

import warnings
from importlib.util import find_spec
from time import process_time

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import roc_auc_score

import sets
from onmf import ONMF, explain
from onmf.explain.sums import sum_by_cluster
from onmf.losses.ray_alternation import Assign
from onmf.page import html
from onmf.prepare.transformers import log_expression
from onmf.rows.assign import Rays
from onmf.rows.memory import InMemory
from tables import table, write_section

SEED = 20
TEXTBOOK = {
    "T cell": ("CD3D", "CD3E"),
    "B cell": ("MS4A1", "CD79A", "CD79B"),
    "NK cell": ("NKG7", "GNLY"),
    "CD14+": ("LYZ", "S100A9"),
    "CD34+": ("SPINK2", "SOX4", "PRSS57"),
}


def run() -> None:
    parts = [planted_part(), null_part(), certainty_part(), cost_part()]
    if sets.folder():
        parts.insert(1, cells_part())
    write_section("explain", "What makes a cluster, and how sure it is", "\n\n".join(parts))


def tumours(seed, n=200, m=3000, k=5, planted=30):
    """Counts of genes: 30 of them 2 to 4 times as high in each of five kinds, and the kinds."""
    rng = np.random.default_rng(seed)
    genes = rng.permutation(m)[: k * planted].reshape(k, planted)
    profile = np.tile(rng.lognormal(3, 1.6, m), (k, 1))
    for kind in range(k):
        profile[kind, genes[kind]] *= rng.uniform(2, 4, planted)
    y = rng.permutation(n) % k
    depth = 2e6 * rng.lognormal(0, 0.3, (n, 1))
    expected = profile[y] / profile[y].sum(axis=1, keepdims=True) * depth
    return rng.poisson(expected * rng.gamma(10, 0.1, (n, m))), y, genes


def planted_part() -> str:
    rows = []
    for seed in range(SEED, SEED + 5):
        counts, y, genes = tumours(seed)
        X = log_expression(total=1e6).fit_transform(counts)
        model = ONMF(5, random_state=seed).fit(X)
        found = explain.clusters(model, X, log_base=2, random_state=seed)
        centers = np.argsort(-model.cluster_centers_, axis=1)[:, :10]
        right, before = [], []
        for kind, cluster in enumerate(match(y, model.labels_, 5)):
            right.append(np.isin(found.markers.numbers(10)[cluster], genes[kind]).mean())
            before.append(np.isin(centers[cluster], genes[kind]).mean())
        agree = np.mean(match(y, model.labels_, 5)[y] == model.labels_)
        rows.append(
            [seed, f"{agree:.0%}", f"{min(right):.0%}", f"{np.mean(right):.0%}",
             f"{np.mean(before):.0%}", f"{np.median(found.certainty):.3f}"]
        )  # fmt: skip
    columns = ["seed", "samples right", "planted among the first ten, worst cluster", "mean",
               "by centroid weight", "median certainty"]  # fmt: skip
    return "Planted expression, 200 x 3000, 5 kinds.\n\n" + table(columns, rows)


def match(y, labels, k):
    """The cluster that stands for each class 0, 1, ..., as many samples as possible being right."""
    shared = np.zeros((int(y.max()) + 1, k))
    inside = labels >= 0
    np.add.at(shared, (y[inside], labels[inside]), 1)
    row, column = linear_sum_assignment(shared, maximize=True)
    found = np.full(len(shared), -1)
    found[row] = column
    return found


def cells_part() -> str:
    X, y, k = sets.pbmc()
    genes = sets.load("pbmc_facs", "pbmc_facs_labels.npz")["gene_symbol"].astype(str)
    model = ONMF(k, random_state=SEED).fit(X)
    found = explain.clusters(model, X, feature_names=genes, log_base=np.e)
    kinds, numbers = np.unique(y, return_inverse=True)
    clusters = match(numbers, model.labels_, k)
    shared, ratio = scanpys(X, model.labels_, genes, found)
    rows = []
    for kind, cluster in zip(kinds, clusters, strict=True):
        top = found.markers.top(10)[cluster]
        known = [gene for gene in TEXTBOOK[kind] if gene in top]
        rows.append([kind, f"{', '.join(known)} of {', '.join(TEXTBOOK[kind])}", ", ".join(top),
                     shared[cluster]])  # fmt: skip
    columns = ["sorted as", "textbook genes among the first ten", "first ten",
               "first 20 shared with scanpy"]  # fmt: skip
    return f"pbmc_facs. {ratio}\n\n" + table(columns, rows)


def scanpys(X, labels, genes, found):
    """Share of the first 20 genes that scanpy's t-test has too, and the ratio of the times."""
    k = len(found.markers.clusters)
    if find_spec("scanpy") is None:
        return ["-"] * k, "scanpy is not installed: the comparison with it was not made."
    import anndata
    import pandas as pd
    import scanpy

    cells = anndata.AnnData(sp.csr_matrix(X), var=pd.DataFrame(index=genes))
    cells.var_names_make_unique()
    cells.obs["cluster"] = pd.Categorical(labels.astype(str))
    theirs, ours = [], []
    for _ in range(5):
        begin = process_time()
        scanpy.tl.rank_genes_groups(cells, "cluster", method="t-test")
        theirs.append(process_time() - begin)
        begin = process_time()
        explain.groups(labels, X, feature_names=genes)
        ours.append(process_time() - begin)
    names = cells.uns["rank_genes_groups"]["names"]
    unique = np.array(cells.var_names)
    both = [
        len(set(names[str(c)][:20]) & set(unique[found.markers.numbers(20)[c]])) / 20
        for c in range(k)
    ]
    said = (
        f"Our table takes {min(ours) / min(theirs):.2f}x the processor time of scanpy's; on "
        f"average {np.mean(both):.0%} of the first 20 genes are shared."
    )
    return [f"{share:.0%}" for share in both], said


def null_part() -> str:
    """One cluster, K = 3: nothing is there to be found."""
    rows, sure = [], []
    for kind, make in NOTHING.items():
        shares = []
        for seed in range(SEED, SEED + 5):
            X = make(np.random.default_rng(seed))
            model = ONMF(3, random_state=seed).fit(X)
            honest = explain.clusters(model, X, random_state=seed).markers.p_value
            naive = explain.groups(model.labels_, X).p_value
            shares.append([np.mean(honest < 0.05), np.mean(naive < 0.05)])
            halved = ONMF(2, random_state=seed).fit(X)
            sure.append(np.median(explain.clusters(halved, X, random_state=seed).certainty))
        honest, naive = np.mean(shares, axis=0)
        rows.append([kind, f"{honest:.1%}", f"{naive:.1%}", f"{np.mean(sure[-5:]):.2f}"])
    columns = ["null data", "p < .05, honest", "p < .05, naive", "median certainty, K = 2"]
    return "One cluster, cut by force; means of five seeds.\n\n" + table(columns, rows)


NOTHING = {
    "Poisson, 300 x 2000": lambda rng: rng.poisson(
        np.tile(rng.lognormal(1, 1, 2000), (300, 1))
    ).astype(float),
    "Poisson, 2000 x 200": lambda rng: rng.poisson(
        np.tile(rng.lognormal(1, 1, 200), (2000, 1))
    ).astype(float),
    "Poisson, 2000 x 1000, 4 % non-zero": lambda rng: rng.poisson(
        np.tile(rng.lognormal(-4, 1, 1000), (2000, 1))
    ).astype(float),
    "log-normal, 300 x 2000": lambda rng: (
        rng.lognormal(1, 1, 2000) * rng.lognormal(0, 0.5, (300, 2000))
    ),
    "log-normal, logarithms, 2000 x 200": lambda rng: np.log1p(
        rng.lognormal(1, 1, 200) * rng.lognormal(0, 0.5, (2000, 200))
    ),
}


def labelled():
    """Sets with classes that were not used to settle anything, or other seeds of those used."""
    known = sets.available()
    wanted = [
        "synthetic -5 dB", "synthetic -1 dB", "digits", "TDT2 2", "TDT2 3", "TDT2 4 counts",
        "TDT2 5", "miRNA 5 types", "miRNA 20 types", "RNA-seq 6 types", "pbmc_facs",
        "20 Newsgroups",
    ]  # fmt: skip
    return {name: known[name] for name in wanted if name in known}


def certainty_part() -> str:
    rows, figures = [], []
    for name, make in labelled().items():
        X, y, k = make()
        X = sp.csr_array(X) if sp.issparse(X) else X
        model = ONMF(k, random_state=SEED).fit(X)
        sure = explain.clusters(model, X, random_state=SEED).certainty
        agreed = np.array([halves_agree(X, k, model.labels_, seed) for seed in looks(X)])
        wrong = wrong_class(y, model.labels_, k)
        high = sure >= 0.9
        own = [auroc(wrong, -sure), auroc(wrong, -ratio_confidence(X, model))]
        figures.append([calibration_error(sure, agreed), *own])
        rows.append(
            [name, f"{agreed.mean():.2f}", f"{sure.mean():.2f}", f"{figures[-1][0]:.3f}",
             f"{high.mean():.0%}", share(~wrong[high]), share(~wrong[~high]),
             *(f"{value:.3f}" for value in own)]
        )  # fmt: skip
    error, now, before = np.nanmean(figures, axis=0)
    rows.append(["mean", "", "", f"{error:.3f}", "", "", "", f"{now:.3f}", f"{before:.3f}"])
    columns = ["data", "halves agree", "mean certainty", "calibration error", "certainty >= .9",
               "right among them", "among the rest", "AUROC", "of 1 - (c2/c1)^2"]  # fmt: skip
    return (
        "Certainty against the agreement of whole fits on disjoint halves of the features (ten "
        "bins; ten splits, three of 20 Newsgroups), and against the classes: a sample is right if "
        "its class is the most frequent of its cluster.\n\n" + table(columns, rows)
    )


def looks(X):
    return range(1000, 1003 if X.shape[0] > 10_000 else 1010)


def halves_agree(X, k, labels, seed):
    """Whether two fits, each on half of the features, put a sample into the same cluster."""
    order = np.random.default_rng(seed).permutation(X.shape[1])
    halves = np.array_split(order, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a half may have samples of zeros
        fits = [ONMF(k, random_state=seed).fit(X[:, np.sort(half)]).labels_ for half in halves]
    one, other = (renumbered(labels, fit, k) for fit in fits)
    return (one == other) & (one >= 0)


def renumbered(labels, fit, k):
    place = np.argsort(match(np.maximum(labels, 0), fit, k))
    return np.where(fit >= 0, place[fit], -1)


def wrong_class(y, labels, k):
    numbers = np.unique(y, return_inverse=True)[1]
    counts = np.zeros((numbers.max() + 1, k + 1))
    np.add.at(counts, (numbers, labels), 1)
    return counts.argmax(axis=0)[labels] != numbers


def ratio_confidence(X, model):
    """What was called confidence before: 1 - (c2 / c1)^2."""
    cosines = np.sort(np.maximum(np.asarray(X @ Rays.of(model.cluster_centers_).units), 0), axis=1)
    return 1 - (cosines[:, -2] / np.maximum(cosines[:, -1], 1e-300)) ** 2


def calibration_error(sure, agreed):
    bins = np.minimum((10 * sure).astype(int), 9)
    parts = [bins == b for b in np.unique(bins)]
    return sum(part.mean() * abs(sure[part].mean() - agreed[:, part].mean()) for part in parts)


def auroc(wrong, doubt):
    return roc_auc_score(wrong, doubt) if 0 < wrong.sum() < len(wrong) else np.nan


def share(right):
    return f"{right.mean():.1%}" if len(right) else "-"


def cost_part() -> str:
    wanted = ["digits", "RNA-seq 6 types", "miRNA 20 types", "pbmc_facs", "20 Newsgroups"]
    known = sets.available()
    rows = [[name, *costs(*known[name]())] for name in wanted if name in known]
    columns = ["data", "sums of the table / sweep of the solver", "explain / fit", "report / fit"]
    return "Processor time.\n\n" + table(columns, rows)


def costs(X, _, k):
    X = sp.csr_array(X) if sp.issparse(X) else X
    fit, model = timed(lambda: ONMF(k, random_state=SEED).fit(X))
    data, move = InMemory(X).wide(), Assign(Rays.of(model.cluster_centers_).units)
    sweep, sums = zip(
        *(
            (
                timed(lambda: data.sweep(move))[0],
                timed(lambda: sum_by_cluster(data, model.labels_, k))[0],
            )
            for _ in range(5)
        ),
        strict=True,
    )
    whole, page = timed(lambda: explain.clusters(model, X))[0], timed(lambda: html(model, X))[0]
    return [f"{min(sums) / min(sweep):.2f}", f"{whole / fit:.2f}", f"{page / fit:.2f}"]


def timed(task):
    """Processor time of a task, and what it returns."""
    begin = process_time()
    done = task()
    return process_time() - begin, done
