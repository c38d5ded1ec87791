"""What more clusters cost: processor time beside K-means with one start, one thread each."""

import tracemalloc
import warnings
from contextlib import ExitStack
from importlib import import_module
from time import process_time
from unittest.mock import patch

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from threadpoolctl import threadpool_limits

from onmf import ONMF
from onmf.datasets import make_rays
from onmf.losses import ray_alternation as settle
from onmf.metrics import partition_error
from onmf.search import moves, row_problems, swaps
from onmf.search import path as search
from quality import errors
from sets import Set, available
from tables import table, write_section

SEED = 1501  # never used while the solver was made
KS = (20, 50, 100, 200, 500)
COMPARED = 200  # clusters up to which ten starts of K-means are awaited
PLAIN = 100  # and a fit in NumPy alone
SMALL = {
    "synthetic -3 dB": 3, "digits": 3, "TDT2 1": 3, "TDT2 3": 3, "TDT2 5": 3,
    "miRNA 15 types": 2, "RNA-seq 6 types": 3, "pbmc_facs": 2, "20 Newsgroups": 1,
}  # fmt: skip
COLUMNS = [
    "K", "fit (s)", "K-means, 1 start (s)", "ratio", "NumPy alone, ratio", "error",
    "K-means, 10 starts, and alternation",
]  # fmt: skip
NOTE = """

20,000 x 300 float32: rays with gamma(0.3) features, lognormal lengths (0.5) and the size of
normal noise; processor seconds of one thread, the better of two runs (one of NumPy alone). The time
grows like K to the power {exponent:.2f} from K = {first} to {last}. At K = {last} the fit takes
{peak:.0f} MB beyond the input ({size:.0f} MB)."""
MANY_COLUMNS = [
    "data", "K", "fit (s)", "K-means, 1 start (s)", "ratio", "error", "over faiss",
    "error of faiss",
]  # fmt: skip
MANY_NOTE = """

Processor seconds of one thread, the best of five seeds for digits, three for colours, one else.
Goals: at most twice one start of K-means, and an exponent in K of at most 1.1. faiss: its spherical
K-means, 25 iterations, from `pip install faiss-cpu`; empty if it is not installed. The gap to it:
it takes at most 256 rows for each cluster and stops after 25 iterations wherever it is, while of
our time at K = 50 a third is spent on X itself (the sketch, and sweeps until no row moves), one and
a half times all of faiss, and the rest, at K = 200 nearly everything, is the search by paths, swaps
and moves that makes the error half a percent lower."""
RATIO_NOTE = """

Processor time of one thread over that of K-means with ten starts: the best of the seeds from 1501
on, as many as in the last column."""


def planted(k: int, seed: int, noise: float = 0.5) -> Set:
    rng = np.random.default_rng(seed)
    rays = rng.gamma(0.3, size=(k, 300))
    rays /= np.linalg.norm(rays, axis=1, keepdims=True)
    y = rng.integers(0, k, 20_000)
    dirt = noise * np.abs(rng.standard_normal((20_000, 300))) / np.sqrt(300)
    X = rng.lognormal(0, 0.5, (20_000, 1)) * (rays[y] + dirt)
    return Set(X.astype(np.float32), y, k)


def run() -> None:
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        many_clusters()
        by_k()
        beside_ten_starts()


def colours() -> np.ndarray:
    """Pixels of twelve surfaces under changing light, 0 to 255."""
    rng = np.random.default_rng(SEED)
    light = rng.random((12, 3))[rng.integers(0, 12, 20_000)] * rng.beta(4, 2, (20_000, 1))
    return 255 * np.clip(light + 0.04 * rng.standard_normal((20_000, 3)), 0, 1)


def signed() -> np.ndarray:
    """Sixty directions of any sign, as embeddings have them."""
    rng = np.random.default_rng(SEED)
    centres = rng.standard_normal((60, 384))[rng.integers(0, 60, 20_000)]
    return (centres + 2 * rng.standard_normal((20_000, 384))).astype(np.float32)


FAMILIES = {  # more clusters than features, and many: data, numbers of clusters, repeats
    "digits": (lambda: load_digits().data, (80, 120, 300, 800), 5),
    "colours": (colours, (16, 64, 256), 3),
    "rays": (lambda: make_rays(10_000, 100, 100, noise=2.0, random_state=SEED)[0],
             (100, 200, 400, 1000), 1),
    "signed": (signed, (20, 50, 200), 1),
}  # fmt: skip


def many_clusters() -> None:
    """Beside one start of K-means and, if it is installed, of faiss' spherical K-means."""
    rows = []
    for name, (make, ks, repeats) in FAMILIES.items():
        X, times = make(), {}
        ONMF(ks[0], random_state=0, n_jobs=1).fit(X)  # all is imported
        for k in ks:
            ours, theirs, faiss = [], [], []
            for seed in range(SEED, SEED + repeats):
                model = ONMF(k, random_state=seed, n_jobs=1)
                ours.append(seconds(model, X))
                theirs.append(seconds(KMeans(k, n_init=1, random_state=seed), X))
                faiss.append(faiss_seconds(X, k, seed) if name == "signed" else (np.nan, np.nan))
            times[k], other = min(ours), min(theirs)
            quick, error = faiss[0]
            rows.append([
                f"{name}, {X.shape[0]} x {X.shape[1]}", k, f"{times[k]:.2f}", f"{other:.2f}",
                f"{times[k] / other:.2f}", f"{model.relative_error_:.5f}",
                "" if np.isnan(quick) else f"{times[k] / quick:.2f}",
                "" if np.isnan(error) else f"{error:.5f}",
            ])  # fmt: skip
            write_section("many", "Many clusters", table(MANY_COLUMNS, rows) + MANY_NOTE)
        exponent = np.polyfit(np.log(list(times)), np.log(list(times.values())), 1)[0]
        rows.append([f"{name}, exponent in K", "", f"{exponent:.2f}", "", "", "", "", ""])
        write_section("many", "Many clusters", table(MANY_COLUMNS, rows) + MANY_NOTE)


def faiss_seconds(X, k: int, seed: int) -> tuple[float, float]:
    """Processor seconds and relative error of faiss' spherical K-means; NaN without faiss."""
    try:
        faiss = import_module("faiss")
    except ImportError:
        return np.nan, np.nan
    faiss.omp_set_num_threads(1)
    unit = (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(np.float32)
    begin = process_time()
    kmeans = faiss.Kmeans(X.shape[1], k, spherical=True, seed=seed, niter=25)
    kmeans.train(unit)
    spent = process_time() - begin
    return spent, partition_error(X, (unit @ kmeans.centroids.T).argmax(axis=1))


def seconds(model, X) -> float:
    begin = process_time()
    model.fit(X)
    return process_time() - begin


def numpy_alone(model, X) -> float:
    with ExitStack() as stack:
        for module in (search, swaps, moves, settle):
            stack.enter_context(patch.object(module, "kernels", lambda: row_problems))
        return seconds(model, X)


def by_k() -> None:
    rows, times = [], {}
    ONMF(3, random_state=0).fit(planted(3, SEED).X[:200])  # compiled
    for k in KS:
        data = planted(k, SEED + k)
        ours, theirs = [], []
        for seed in (SEED, SEED + 1):
            model = ONMF(k, random_state=seed, n_jobs=1)
            ours.append(seconds(model, data.X))
            theirs.append(seconds(KMeans(k, n_init=1, random_state=seed), data.X))
        times[k], theirs = min(ours), min(theirs)
        plain = "" if k > PLAIN else f"{numpy_alone(model, data.X) / theirs:.2f}"
        rival = "" if k > COMPARED else f"{rival_error(data):.6f}"
        rows.append([
            k, f"{times[k]:.2f}", f"{theirs:.2f}", f"{times[k] / theirs:.2f}", plain,
            f"{model.relative_error_:.6f}", rival,
        ])  # fmt: skip
        write_section("growth", "What more clusters cost", table(COLUMNS, rows))
    note = NOTE.format(
        exponent=np.polyfit(np.log(list(times)), np.log(list(times.values())), 1)[0],
        first=KS[0], last=k, peak=peak(k, data.X) / 1e6, size=data.X.nbytes / 1e6,
    )  # fmt: skip
    write_section("growth", "What more clusters cost", table(COLUMNS, rows) + note)


def rival_error(data) -> float:
    """Ten starts of K-means, then the exact alternation to its fixed point."""
    labels = KMeans(data.k, n_init=10, random_state=SEED).fit(data.X).labels_
    return errors(data, labels)[1]


def peak(k: int, X) -> float:
    """Bytes beyond the input at the worst moment."""
    tracemalloc.start()
    ONMF(k, random_state=SEED, n_jobs=1).fit(X)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most


def beside_ten_starts() -> None:
    rows, makers = [], available()
    for name, count in SMALL.items():
        if name not in makers:
            continue
        X, _, k = makers[name]()
        ONMF(k, random_state=0, n_jobs=1).fit(X)
        seeds = range(SEED, SEED + count)
        ours = min(seconds(ONMF(k, random_state=s, n_jobs=1), X) for s in seeds)
        theirs = min(seconds(KMeans(k, n_init=10, random_state=s), X) for s in seeds)
        rows.append([name, f"{ours:.3f}", f"{theirs:.3f}", f"{ours / theirs:.2f}", count])
        body = table(["data", "fit (s)", "K-means, 10 starts (s)", "ratio", "seeds"], rows)
        write_section("ten-starts", "Beside ten starts of K-means", body + RATIO_NOTE)
