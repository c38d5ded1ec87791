"""Large and odd shapes: many topics, many samples, other libraries, and the luck of a seed."""

import warnings
from importlib import import_module
from time import process_time

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, load_wine
from threadpoolctl import threadpool_limits

import sets
from growth import planted, seconds
from onmf import ONMF
from onmf.datasets import make_rays
from onmf.metrics import partition_error
from onmf.prepare import tfidf
from tables import table, write_section

SEED = 2501  # never used while the solver was made
TOPICS_NOTE = """

tf-idf; processor seconds of one thread, the better of two runs, interleaved."""
SAMPLES = 10_000_000
SLAB = 500_000  # samples made at a time
SAMPLES_NOTE = """

Ten million samples of 50 features, float32 (2 GB), in memory: rays with gamma(0.3) features,
lognormal lengths (0.5) and the size of normal noise (0.5). Processor seconds of one thread, one
run each. The error of K-means is that of the best rays for its labels."""
LIBRARIES_NOTE = """

20,000 x 300 float32, as in the table of K; processor seconds, one thread each, the best of three
runs, interleaved. faiss: spherical, all points, 20 iterations, one start; scikit-learn-intelex:
KMeans, one start. The error is that of the best rays for the labels, the mean of the runs."""
SEEDS = range(SEED, SEED + 10)
LUCK_NOTE = f"""

Relative error over seeds {SEEDS[0]}-{SEEDS[-1]}, small sets made here: few samples of many
features; heavy, where five samples hold 40 % of the energy; the first 150 digits; wine."""


def quietly(task) -> None:
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ONMF(3, random_state=0, n_jobs=1).fit(planted(3, SEED).X[:200])  # compiled
        task()


def run_topics() -> None:
    quietly(topics)


def topics() -> None:
    if not sets.folder():
        print("all of TDT2 and 20 Newsgroups: skipped, ONMF_DATA names no folder")
        return
    rows = []
    stories = tfidf().fit_transform(sets.used(sets.tdt2_counts().data))
    for name, X, k in (("TDT2", stories, 96), ("20 Newsgroups", sets.newsgroups().X, 200)):
        ours, theirs = [], []
        for seed in (SEED, SEED + 1):
            ours.append(seconds(ONMF(k, random_state=seed, n_jobs=1), X))
            theirs.append(seconds(KMeans(k, n_init=1, random_state=seed), X))
        size = f"{name} ({X.shape[0]} x {X.shape[1]})"
        ratio = min(ours) / min(theirs)
        rows.append([size, k, f"{min(ours):.1f}", f"{min(theirs):.1f}", f"{ratio:.2f}"])
        body = table(["data", "K", "fit (s)", "K-means, 1 start (s)", "ratio"], rows)
        write_section("topics", "Many topics", body + TOPICS_NOTE)


def run_samples() -> None:
    quietly(samples)


def samples() -> None:
    X, k = many_samples(), 20
    model, rival = ONMF(k, random_state=SEED, n_jobs=1), KMeans(k, n_init=1, random_state=SEED)
    ours, theirs = seconds(model, X), seconds(rival, X)
    row = [
        f"{ours:.1f}", f"{theirs:.1f}", f"{ours / theirs:.2f}", model.n_iter_,
        f"{model.relative_error_:.6f}", f"{partition_error(X, rival.labels_):.6f}",
    ]  # fmt: skip
    columns = ["fit (s)", "K-means, 1 start (s)", "ratio", "sweeps", "error", "K-means, error"]
    write_section("samples", "Ten million samples", table(columns, [row]) + SAMPLES_NOTE)


def many_samples():
    """Made in slabs, for the noise alone would be larger than X."""
    rng = np.random.default_rng(SEED)
    rays = rng.gamma(0.3, size=(20, 50))
    rays = (rays / np.linalg.norm(rays, axis=1, keepdims=True)).astype(np.float32)
    X = np.empty((SAMPLES, 50), np.float32)
    for i in range(0, SAMPLES, SLAB):
        part = X[i : i + SLAB]
        part[:] = np.abs(rng.standard_normal(part.shape, np.float32)) * (0.5 / np.sqrt(50))
        part += rays[rng.integers(0, 20, len(part))]
        part *= rng.lognormal(0, 0.5, (len(part), 1)).astype(np.float32)
    return X


def run_libraries() -> None:
    quietly(libraries)


def libraries() -> None:
    rivals, rows = {"onmf": onmf_labels}, []
    for name, method in {"faiss": faiss_labels, "sklearnex": intelex_labels}.items():
        try:
            import_module(name)
            rivals[name] = method
        except ImportError:
            print(f"{name}: skipped, not installed")
    for k in (10, 100):
        X = planted(k, SEED + k).X
        spent, errors = {name: [] for name in rivals}, {name: [] for name in rivals}
        for seed in range(SEED, SEED + 3):
            for name, method in rivals.items():
                begin = process_time()
                labels = method(X, k, seed)
                spent[name].append(process_time() - begin)
                errors[name].append(partition_error(X, labels))
        for name in rivals:
            best, error = min(spent[name]), np.mean(errors[name])
            ratio = min(spent["onmf"]) / best
            rows.append([k, name, f"{best:.2f}", f"{ratio:.2f}", f"{error:.6f}"])
        body = table(["K", "library", "seconds", "onmf / it", "error"], rows)
        write_section("libraries", "Other libraries", body + LIBRARIES_NOTE)


def onmf_labels(X, k, seed):
    return ONMF(k, random_state=seed, n_jobs=1).fit(X).labels_


def faiss_labels(X, k, seed):
    faiss = import_module("faiss")
    faiss.omp_set_num_threads(1)
    model = faiss.Kmeans(
        X.shape[1], k, niter=20, spherical=True, seed=seed, max_points_per_centroid=len(X)
    )
    model.train(X)
    return model.index.search(X, 1)[1].ravel()


def intelex_labels(X, k, seed):
    cluster = import_module("sklearnex.cluster")
    return cluster.KMeans(k, n_init=1, random_state=seed).fit(X).labels_


def run_luck() -> None:
    quietly(luck)


def luck() -> None:
    rows = []
    for name, (X, k) in small_sets().items():
        errors = [ONMF(k, random_state=s, n_jobs=1).fit(X).relative_error_ for s in SEEDS]
        best, worst = min(errors), max(errors)
        size = f"{name} ({X.shape[0]} x {X.shape[1]}, K = {k})"
        figures = [f"{best:.6f}", f"{np.mean(errors):.6f}", f"{100 * (worst / best - 1):.3f} %"]
        rows.append([size, *figures])
    body = table(["data", "best", "mean", "worst / best - 1"], rows)
    write_section("luck", "The luck of a seed", body + LUCK_NOTE)


def small_sets() -> dict:
    few = {
        f"few samples {n}": (make_rays(n, m, k, noise=4.0, random_state=SEED)[0], k)
        for n, m, k in ((60, 2000, 5), (100, 5000, 8), (200, 1000, 12), (400, 3000, 20))
    }
    large = {
        f"heavy {seed}": (heavy(make_rays(600, 60, 8, noise=3.0, random_state=seed)[0]), 8)
        for seed in range(SEED, SEED + 4)
    }
    return few | large | {
        "digits, 150": (load_digits().data[:150], 10),
        "wine, 3": (load_wine().data, 3),
        "wine, 6": (load_wine().data, 6),
    }  # fmt: skip


def heavy(X):
    """Five samples hold 40 % of the energy."""
    X[:5] *= np.sqrt(0.4 / 0.6 * np.square(X[5:]).sum() / np.square(X[:5]).sum())
    return X
