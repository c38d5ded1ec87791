"""What a fit costs: in sweeps over X, and beside K-means for small data."""

import warnings
from functools import partial
from time import perf_counter, process_time

import numpy as np
import scipy.sparse as sp
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from onmf import ONMF
from onmf.datasets import make_rays
from sets import available
from tables import table, write_section

SEED = 2601  # never used while the solver was made
REPEATS = 5
LIMITS = {True: 40, False: 20}  # sweep-equivalents that a fit may take: sparse, dense
NOTE = f"""

Processor time of a fit (one thread, the better of two seeds from {SEED} on) over that of one X W'
and one H'X with dense H (n, K) and W (K, m), the best of {REPEATS}, in the precision of X. Goal: at
most {LIMITS[False]} for dense X, {LIMITS[True]} for CSR."""
SMALL_NOTE = """

Microseconds of one call, the best of 300 for `predict` and of 20 for `fit`, in turn."""


def run() -> None:
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        small()
        sweeps()


def sweeps() -> None:
    rows = []
    for name, make in available().items():
        X, _, k = make()
        unit = min(sweep_seconds(X, k) for _ in range(REPEATS))
        fits = [ONMF(k, random_state=SEED + i, n_jobs=1) for i in range(2)]
        seconds = min(cpu(partial(model.fit, X)) for model in fits)
        kind = "CSR" if sp.issparse(X) else "dense"
        size = f"{X.shape[0]} x {X.shape[1]}, K = {k}"
        rows.append([name, size, kind, f"{unit:.4f}", f"{seconds:.3f}", f"{seconds / unit:.1f}"])
        body = table(["data", "size", "kind", "sweep (s)", "fit (s)", "sweeps"], rows)
        write_section("speed", "Fits in units of a sweep", body + NOTE)


def sweep_seconds(X, k) -> float:
    rng = np.random.default_rng(0)
    W, H = rng.random((k, X.shape[1])).astype(X.dtype), rng.random((X.shape[0], k)).astype(X.dtype)
    right = np.ascontiguousarray(W.T)
    return cpu(lambda: (X @ right, X.T @ H))


def small() -> None:
    """One sample, and a small fit: what is around the work."""
    rng, rows = np.random.default_rng(SEED), []
    sets = {
        "rays": (make_rays(300, 30, 5, noise=1.0, random_state=SEED)[0], 5),
        "noisy rays": (make_rays(300, 30, 5, noise=4.0, random_state=SEED)[0], 5),
        "uniform": (rng.random((300, 30)), 5),
        "normal": (rng.standard_normal((300, 30)), 5),
    }
    for name, (X, k) in sets.items():
        ours, theirs = ONMF(k, random_state=0, n_jobs=1), KMeans(k, n_init=10, random_state=0)
        fits = best({"ours": partial(ours.fit, X), "theirs": partial(theirs.fit, X)}, 20)
        one = best(
            {"ours": partial(ours.predict, X[:1]), "theirs": partial(theirs.predict, X[:1])}, 300
        )
        figures = [f"{1e3 * fits[who]:.1f}" for who in fits]
        figures += [f"{1e6 * one[who]:.0f}" for who in one]
        rows.append([f"{name} (300 x 30, K = {k})", *figures])
    columns = ["data", "fit (ms)", "K-means, 10 starts (ms)", "predict of one (us)", "K-means (us)"]
    write_section("small", "Small fits, and one sample", table(columns, rows) + SMALL_NOTE)


def best(tasks, repeats):
    """Shortest wall time of each task, in turn."""
    least = dict.fromkeys(tasks, np.inf)
    for _ in range(repeats):
        for name, task in tasks.items():
            begin = perf_counter()
            task()
            least[name] = min(least[name], perf_counter() - begin)
    return least


def cpu(task) -> float:
    begin = process_time()
    task()
    return process_time() - begin
