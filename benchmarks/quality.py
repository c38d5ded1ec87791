"""The default solver beside its rivals on every data set: error, agreement, work, time."""

import warnings
from time import process_time

import numpy as np
import scipy.sparse as sp
from sklearn.cluster import KMeans
from sklearn.decomposition import NMF
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import Normalizer
from threadpoolctl import threadpool_limits

from onmf import ONMF
from onmf.losses.alternation import Settings
from onmf.losses.ray_alternation import RayAlternation
from onmf.losses.settling import settle
from onmf.metrics import clustering_accuracy, partition_error
from onmf.palm.penalties import NSNCP, SNCP
from onmf.rows.memory import InMemory
from onmf.rows.threads import single_threaded_blas
from onmf.search.solver import SearchSettings
from sets import available
from tables import table, write_section

SEEDS = range(1401, 1409)  # never used while the solver was made
METHODS = {
    "default, smooth": lambda k, seed: ONMF(k, random_state=seed, n_jobs=1),
    "default, non-smooth": lambda k, seed: ONMF(k, penalty="nsncp", random_state=seed, n_jobs=1),
    "K-means, 1 start": lambda k, seed: KMeans(k, n_init=1, random_state=seed),
    "K-means, 10 starts": lambda k, seed: KMeans(k, n_init=10, random_state=seed),
}
REFERENCE = "K-means, 10 starts"
COLUMNS = [
    "data", "method", "relative error", "after alternation", "worst / best", "ARI", "ACC", "empty",
    "sweeps", "seconds", "time ratio",
]  # fmt: skip


NOTE = f"""

Means over seeds {SEEDS[0]}-{SEEDS[-1]}; the time is the best of them, in processor seconds of
one thread, its ratio that to K-means with ten starts. Relative error: of the best rays for the
labels; *after alternation*: once the exact alternation has run from there to its fixed point."""


NMF_NOTE = f"""

scikit-learn's NMF(init="nndsvda"), seeds {SEEDS[0]}-{SEEDS[-1]}; a sample goes to its largest
membership along rays of unit length, for their scale is arbitrary. Columns as in the table of the
default solver."""
PARTS = "NMF + argmax"
SPHERICAL = "spherical K-means, 10 starts"
SPHERICAL_SETS = ("synthetic -3 dB", "TDT2 3", "TDT2 3 counts", "miRNA 32 types", "digits")
SPHERICAL_NOTE = f"""

Spherical K-means: every sample is scaled to length 1, then scikit-learn's KMeans(n_init=10). Its
centres are means of unit vectors, not of length 1 themselves, which changes little. Seeds
{SEEDS[0]}-{SEEDS[-1]}, the sets of the README's table but 20 Newsgroups, whose samples have
length 1, as those of TDT2 3: there the two are the same. Columns as in the table of the default
solver.
The error is that of the best rays for the labels in the data as they are: spherical K-means counts
every sample the same, orthogonal NMF by its squared length."""
FAITHFUL = {"faithful SNCP": SNCP, "faithful NSNCP": NSNCP}
MOST_SWEEPS = 3000
FAITHFUL_SEEDS = range(1, 6)
FAITHFUL_NOTE = f"""

Starts {FAITHFUL_SEEDS[0]}-{FAITHFUL_SEEDS[-1]}, at most {MOST_SWEEPS} sweeps, the paper's
settings for each kind of data: NSNCP's step 0.51 / L on the synthetic data and digits and 1 / L
elsewhere, mu_h = 1e-8 for documents, centroids bounded by the largest entry of X for expression.
Columns as in the table of the default solver, without times."""


def faithful(name, data, penalty, seed):
    """The paper's method with the settings its authors used for such data."""
    synthetic = "synthetic" in name or name == "digits"
    expression = "types" in name or name == "pbmc_facs"
    settings = {"center_bounds": (0, data.X.max())} if expression else {}
    if not synthetic and not expression:
        settings["mu_h"] = 1e-8
    step = penalty(margin=1.0) if penalty is NSNCP and not synthetic else penalty()
    return ONMF(
        data.k, solver="palm", penalty=step, random_state=seed, max_iter=MOST_SWEEPS, n_jobs=1,
        **settings,
    )  # fmt: skip


def run_faithful() -> None:
    """The paper's method; an hour."""
    rows = []
    for name, make in available().items():
        data = make()
        results = {
            method: [measure(data, faithful(name, data, penalty, s)) for s in FAITHFUL_SEEDS]
            for method, penalty in FAITHFUL.items()
        }
        rows += [row[:-2] for row in summary(name, data, results)]
        body = table(COLUMNS[:-2], rows) + FAITHFUL_NOTE
        write_section("faithful", "The faithful solver on the same data", body)


def run_nmf() -> None:
    """NMF, its time beside that of K-means."""
    rows = []
    for name, make in available().items():
        rows += beside_the_reference(name, make(), PARTS, nmf)
        write_section("nmf", "NMF + argmax on the same data", table(COLUMNS, rows) + NMF_NOTE)


def nmf(k, seed):
    return NMF(k, init="nndsvda", random_state=seed)


def beside_the_reference(name, data, method, build):
    """The row of one method, its time beside that of K-means in the same run."""
    results = interleaved(data, {method: build, REFERENCE: METHODS[REFERENCE]})
    return [row for row in summary(name, data, results) if row[1] == method]


def spherical(k, seed):
    return make_pipeline(Normalizer(), KMeans(k, n_init=10, random_state=seed))


def run_spherical() -> None:
    """Spherical K-means on the sets of the README's table, between the two it is compared with."""
    rows, makers = [], available()
    chosen = {name: METHODS[name] for name in ("default, smooth", REFERENCE)}
    for name in filter(makers.__contains__, SPHERICAL_SETS):
        data = makers[name]()
        rows += summary(name, data, interleaved(data, chosen | {SPHERICAL: spherical}))
        body = table(COLUMNS, rows) + SPHERICAL_NOTE
        write_section("spherical", "Spherical K-means", body)


def run() -> None:
    rows = []
    for name, make in available().items():
        data = make()
        rows += summary(name, data, interleaved(data, METHODS))
        write_section(
            "quality", "The default solver beside its rivals", table(COLUMNS, rows) + NOTE
        )


def interleaved(data, methods):
    """The fits of every method, seed by seed, so that all have the same weather."""
    ONMF(data.k, random_state=0).fit(data.X)  # compiled and cached
    results = {method: [] for method in methods}
    for seed in SEEDS:
        for method, build in methods.items():
            results[method].append(measure(data, build(data.k, seed)))
    return results


def measure(data, model):
    """(error, error after alternation, ARI, ACC, empty, sweeps, seconds) of one fit."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with threadpool_limits(1):
            begin = process_time()
            model.fit(data.X)
            seconds = process_time() - begin
        labels = labels_of(model, data.X)
    own, settled = errors(data, labels)
    return (
        own,
        settled,
        adjusted_rand_score(data.y, labels),
        clustering_accuracy(data.y, labels),
        data.k - len(np.unique(labels[labels >= 0])),
        last(model).n_iter_,
        seconds,
    )


def labels_of(model, X):
    """Its labels; for NMF the largest membership along unit rays, for their scale is arbitrary."""
    if not isinstance(model, NMF):
        return last(model).labels_
    return (model.transform(X) * np.linalg.norm(model.components_, axis=1)).argmax(axis=1)


def last(model):
    """The clusterer, without what prepares its data."""
    return model[-1] if isinstance(model, Pipeline) else model


def errors(data, labels):
    """Relative error of the best rays for the labels, and after the exact alternation."""
    X = sp.csr_array(data.X) if sp.issparse(data.X) else data.X
    rays = np.zeros((data.k, X.shape[1]))
    for k in np.unique(labels[labels >= 0]):
        rays[k] = leading(X[np.flatnonzero(labels == k)])
    with single_threaded_blas():
        rows = InMemory(X, None, 2)
        alternation = RayAlternation(rows, Settings(SearchSettings(), SNCP()))
        state = settle(alternation, rays, 300)
    return partition_error(X, labels), alternation.error(state)


def leading(X):
    """Leading right singular vector of non-negative rows, by power iteration."""
    w = np.asarray(X.sum(axis=0)).ravel()
    for _ in range(100):
        before, w = w, X.T @ (X @ (w / np.linalg.norm(w)))
        if np.linalg.norm(w / np.linalg.norm(w) - before / np.linalg.norm(before)) < 1e-7:
            break
    return w / np.linalg.norm(w)


def summary(name, data, results):
    reference = min(row[-1] for row in results.get(REFERENCE, results[next(iter(results))]))
    for method, measured in results.items():
        own, settled, ari, acc, empty, sweeps, _ = np.mean(measured, axis=0)
        best = min(row[-1] for row in measured)
        spread = max(row[0] for row in measured) / min(row[0] for row in measured) - 1
        yield [
            f"{name} ({data.X.shape[0]} x {data.X.shape[1]}, K = {data.k})", method, f"{own:.6f}",
            f"{settled:.6f}", f"{100 * spread:+.3f} %", f"{100 * ari:.1f}", f"{100 * acc:.1f}",
            f"{empty:.1f}", f"{sweeps:.0f}", f"{best:.3f}", f"{best / reference:.2f}",
        ]  # fmt: skip
