"""The default beside K-means, spherical K-means and NMF on every data set: error, ARI, time."""

import warnings
from time import process_time

import numpy as np
from sklearn.cluster import KMeans
from sklearn.decomposition import NMF
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import normalize
from threadpoolctl import threadpool_limits

from onmf import ONMF
from onmf_paper.bounds import partition_error
from sets import available
from tables import table, write_section

SEEDS = range(1401, 1405)  # never used while the solver was made
SETS = (
    "synthetic -3 dB", "synthetic 1 dB", "digits", "RNA-seq 6 types", "miRNA 10 types",
    "miRNA 32 types", "pbmc_facs", "TDT2 1", "TDT2 3", "TDT2 3 counts", "20 Newsgroups",
)  # fmt: skip
NOTE = f"""

Means over seeds {SEEDS[0]}-{SEEDS[-1]}, one thread. *Error*: the relative error of the best rays
for the labels; of the others in percent above that of onmf. *ARI* in percent. *Time*: processor
time of onmf as a multiple of that of K-means with ten starts, the best of the seeds, interleaved.
*spherical*: K-means with ten starts on samples of length 1. *NMF*: scikit-learn's (nndsvda), the
largest membership along rays of unit length."""


def default(X, k, seed):
    return ONMF(k, random_state=seed, n_jobs=1).fit(X).labels_


def k_means(X, k, seed):
    return KMeans(k, n_init=10, random_state=seed).fit(X).labels_


def spherical(X, k, seed):
    return k_means(normalize(X), k, seed)


def nmf(X, k, seed):
    model = NMF(k, init="nndsvda", random_state=seed)
    return (model.fit_transform(X) * np.linalg.norm(model.components_, axis=1)).argmax(axis=1)


METHODS = {"onmf": default, "K-means": k_means, "spherical": spherical, "NMF": nmf}


def run() -> None:
    warnings.simplefilter("ignore")
    rows = []
    columns = ["data", "error", *(f"{m}, error" for m in [*METHODS][1:]), *METHODS, "time"]
    makers = available()
    for name in filter(makers.__contains__, SETS):
        rows.append(row_of(name, makers[name]()))
        write_section("quality", "Beside K-means and NMF", table(columns, rows) + NOTE)


def row_of(name, data) -> list[str]:
    errors, agreement, seconds = ({method: [] for method in METHODS} for _ in range(3))
    default(data.X, data.k, 0)  # warm
    with threadpool_limits(1):
        for seed in SEEDS:
            for method, work in METHODS.items():
                begin = process_time()
                labels = work(data.X, data.k, seed)
                seconds[method].append(process_time() - begin)
                errors[method].append(partition_error(data.X, labels))
                agreement[method].append(adjusted_rand_score(data.y, labels))
    own = np.mean(errors["onmf"])
    more = [f"{100 * (np.mean(errors[m]) / own - 1):+.2f} %" for m in [*METHODS][1:]]
    ari = [f"{100 * np.mean(agreement[m]):.1f}" for m in METHODS]
    time = min(seconds["onmf"]) / min(seconds["K-means"])
    n, m = data.X.shape
    return [f"{name} ({n} x {m}, K = {data.k})", f"{own:.5f}", *more, *ari, f"{time:.2f}"]
