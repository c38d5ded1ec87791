"""What a fit costs: in sweeps over X, beside K-means, with more clusters and more samples."""

import tracemalloc
import warnings
from time import process_time

import numpy as np
import scipy.sparse as sp
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from onmf import ONMF
from onmf.datasets import make_rays
from sets import available
from tables import table, write_section

SEED, REPEATS = 2601, 5  # never used while the solver was made
KS = (20, 50, 100, 200, 500)
SAMPLES = (10_000, 100_000, 1_000_000)


def run() -> None:
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        body = "\n\n".join([sweeps(), small(), clusters(), samples()])
    write_section("speed", "What a fit costs", body)


def seconds(task) -> float:
    begin = process_time()
    task()
    return process_time() - begin


def sweeps() -> str:
    """Beside one X W' and one H'X with dense factors, in the precision of X."""
    rows = []
    for name, make in available().items():
        X, _, k = make()
        rng = np.random.default_rng(0)
        W = np.ascontiguousarray(rng.random((X.shape[1], k)).astype(X.dtype))
        H = rng.random((X.shape[0], k)).astype(X.dtype)
        unit = min(seconds(lambda X=X, W=W, H=H: (X @ W, X.T @ H)) for _ in range(REPEATS))
        fits = [ONMF(k, random_state=SEED + i, n_jobs=1) for i in range(2)]
        spent = min(seconds(lambda model=model, X=X: model.fit(X)) for model in fits)
        kind = "CSR" if sp.issparse(X) else "dense"
        rows.append([f"{name} {X.shape}, K = {k}", kind, f"{spent / unit:.1f}"])
    note = "Processor time of a fit in sweeps (goal: 20 for dense X, 40 for CSR).\n\n"
    return note + table(["data", "kind", "sweeps"], rows)


def small() -> str:
    """One sample, and a small fit: what is around the work."""
    X = make_rays(300, 30, 5, noise=1.0, random_state=SEED)[0]
    ours, theirs = ONMF(5, random_state=0, n_jobs=1), KMeans(5, n_init=10, random_state=0)
    fits = [min(seconds(lambda m=m: m.fit(X)) for _ in range(20)) for m in (ours, theirs)]
    ones = [min(seconds(lambda m=m: m.predict(X[:1])) for _ in range(300)) for m in (ours, theirs)]
    return (
        f"300 x 30, K = 5: a fit takes {fits[0] / fits[1]:.2f} times the time of K-means with ten "
        f"starts, `predict` of one sample {ones[0] / ones[1]:.1f} times that of K-means."
    )


def clusters() -> str:
    """More clusters, beside K-means with one start."""
    X, _ = make_rays(20_000, 100, 100, noise=1.0, random_state=SEED)
    rows = []
    for k in KS:
        own = min(seconds(lambda k=k: ONMF(k, random_state=SEED, n_jobs=1).fit(X)) for _ in (1, 2))
        one = min(
            seconds(lambda k=k: KMeans(k, n_init=1, random_state=SEED).fit(X)) for _ in (1, 2)
        )
        tracemalloc.start()
        ONMF(k, random_state=SEED, n_jobs=1).fit(X)
        peak = tracemalloc.get_traced_memory()[1] / X.nbytes
        tracemalloc.stop()
        rows.append([k, f"{own / one:.2f}", f"{peak:.2f}"])
    columns = ["K", "time / K-means, 1 start", "peak memory / X"]
    return "20,000 x 100, one thread.\n\n" + table(columns, rows)


def samples() -> str:
    spent = []
    for n in SAMPLES:
        X, _ = make_rays(n, 50, 10, noise=1.0, random_state=SEED, dtype=np.float32)
        spent.append(seconds(lambda X=X: ONMF(10, random_state=0, n_jobs=1).fit(X)))
    growth = np.log(spent[-1] / spent[0]) / np.log(SAMPLES[-1] / SAMPLES[0])
    return (
        f"From {SAMPLES[0]:,} to {SAMPLES[-1]:,} samples the time grows with exponent {growth:.2f}."
    )
