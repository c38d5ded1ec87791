"""Is the recommended K good and honest, and what does it cost?"""

import sys
import tracemalloc
import warnings
from time import process_time

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import adjusted_rand_score

import sets
from onmf import ONMF, choose_k
from onmf.datasets import make_rays
from tables import table, write_section

GRID = (2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 32, 40)  # K whose fits are looked at for the regret
TEXTS = ("bbc", "searchsnippets", "m10")


def run() -> None:
    warnings.simplefilter("ignore")
    write_section("number", "The recommended K", "\n\n".join([real(), nothing(), cost(), memory()]))


def real_sets():
    """Name, samples, classes and loss."""
    yield "digits", *sets.digits()[:2], "frobenius"
    if sets.folder() is None:
        return
    yield "RNA-seq 6 types", *sets.rnaseq()[:2], "frobenius"
    for types in (5, 10, 15, 20):
        yield f"miRNA {types} types", *sets.mirna(types)[:2], "frobenius"
    yield "pbmc_facs", *sets.pbmc()[:2], "frobenius"
    for subset in (1, 2):
        yield f"TDT2 {subset}, tf-idf", *sets.tdt2(subset, True)[:2], "frobenius"
    for name in TEXTS:
        yield f"{name}, counts", *sets.word_counts(name)[:2], "kl"


def real() -> str:
    """K, the scales named, and the regret: the best ARI over the grid less that at K."""
    lines, lost = [], []
    for name, X, y, loss in real_sets():
        choice = choose_k(ONMF(random_state=0, loss=loss), X)
        classes = len(np.unique(y))
        ks = sorted({k for k in GRID if k <= 1.5 * classes} | {classes, choice.best_k})
        fits = {k: ONMF(k, random_state=0, loss=loss).fit_predict(X) for k in ks}
        found = {k: adjusted_rand_score(y, labels) for k, labels in fits.items()}
        best = max(found, key=found.get)
        lost.append(found[best] - found[choice.best_k])
        scales = ", ".join(str(scale.k) for scale in choice.scales)
        said = "yes" if choice.evidence else "no"
        figures = f"{100 * found[choice.best_k]:.1f}", f"{100 * found[best]:.1f} ({best})"
        lines.append([name, classes, choice.best_k, scales, said, *figures, f"{lost[-1]:.3f}"])
        print(*lines[-1], sep=" | ", file=sys.stderr, flush=True)
    columns = ["data", "classes", "K", "scales", "evidence", "ARI %", "best ARI % (at K)", "regret"]
    return f"Mean regret {np.mean(lost):.3f}.\n\n" + table(columns, lines)


def without_clusters():
    """Clouds, a gradient, and documents that are mixtures of all topics."""
    rng = np.random.default_rng(2900)
    yield "uniform entries", rng.random((400, 60))
    yield "correlated cloud", np.exp(rng.standard_normal((400, 5)) @ rng.normal(0, 0.5, (5, 80)))
    t, ends = rng.random((400, 1)), rng.exponential(size=(2, 80))
    yield "gradient", (1 - t) * ends[0] + t * ends[1] + 0.2 * rng.random((400, 80))
    heavy = 1 + 0.3 * rng.standard_t(5, (400, 60))
    yield "heavy tails", np.maximum(heavy, 0)
    shares = rng.dirichlet(np.ones(8), 400) @ rng.dirichlet(np.full(500, 0.1), 8)
    yield "mixed topics", sp.csr_array(rng.poisson(100 * shares).astype(float))


def nothing() -> str:
    """Data without clusters: whether that is said."""
    lines = []
    for name, X in without_clusters():
        loss = "kl" if sp.issparse(X) else "frobenius"
        choice = choose_k(ONMF(random_state=0, loss=loss), X)
        lines.append([name, choice.best_k, "yes" if choice.evidence else "no"])
    return "Data without clusters.\n\n" + table(["data", "K", "evidence"], lines)


def cost() -> str:
    """All of `choose_k` over 2..20 beside one fit with 20 clusters, interleaved."""
    data = {"synthetic 1 dB": sets.SYNTHETIC["synthetic 1 dB"]().X, "digits": sets.digits().X}
    if sets.folder():
        data |= {"miRNA 10 types": sets.mirna(10).X, "TDT2 1": sets.tdt2(1, True).X}
    lines = []
    for name, X in data.items():
        fits, ours = [], []
        for _ in range(3):
            fits.append(seconds(lambda X=X: ONMF(20, random_state=0, n_jobs=1).fit(X)))
            ours.append(seconds(lambda X=X: chosen(X)))
        lines.append([f"{name} {X.shape}", f"{min(ours) / min(fits):.1f}"])
    columns = ["data", "choose_k over 2..20 / a fit with K = 20"]
    return "Processor time, one thread, best of three.\n\n" + table(columns, lines)


def chosen(X):
    return choose_k(ONMF(random_state=0, n_jobs=1), X, range(2, 21), n_jobs=1, beyond=False)


def seconds(task) -> float:
    begin = process_time()
    task()
    return process_time() - begin


def memory() -> str:
    X, _ = make_rays(200_000, 100, 6, noise=1.0, random_state=0, dtype=np.float32)
    chosen(X[:2000])
    tracemalloc.start()
    choice = chosen(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return (
        f"Memory at {X.shape[0]} x {X.shape[1]}: peak above the data {peak / X.nbytes:.1f} times "
        f"their size; K = {choice.best_k} recommended (true: 6)."
    )
