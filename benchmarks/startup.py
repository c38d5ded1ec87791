"""The first fit of a fresh process beside the second: nothing is compiled at run time."""

import os
import subprocess
import sys

from tables import table, write_section

REPEATS = 3
SETS = {
    "300 x 30, K = 5": "make_rays(300, 30, 5, noise=1.0, random_state=2701)[0], 5",
    "3000 x 200, K = 20": "make_rays(3000, 200, 20, noise=1.0, random_state=2701)[0], 20",
    "1000 x 2000, CSR, K = 10": "sp.random_array((1000, 2000), density=0.02, format='csr'), 10",
}
FITS = """
from time import process_time
import scipy.sparse as sp
from sklearn.cluster import KMeans
from onmf import ONMF
from onmf.datasets import make_rays
X, k = {data}
for model in (ONMF(k, random_state=0, n_jobs=1), KMeans(k, n_init=1, random_state=0)):
    for _ in range(2):
        begin = process_time()
        model.fit(X)
        print(process_time() - begin)
"""
NOTE = f"""

Processor seconds of the first and the second fit of a fresh process, one thread, imports of `onmf`
and of scikit-learn's KMeans excluded; the process with the smallest difference of {REPEATS}. Goal:
at most 0.1 s between them."""


def run() -> None:
    rows = []
    for name, data in SETS.items():
        runs = [fits(data) for _ in range(REPEATS)]
        first, second, *theirs = min(runs, key=lambda seconds: seconds[0] - seconds[1])
        figures = [f"{value:.3f}" for value in (first, second, first - second, *theirs)]
        rows.append([name, *figures])
    columns = ["data", "first fit (s)", "second", "difference", "K-means, first", "second"]
    write_section("startup", "The first fit of a process", table(columns, rows) + NOTE)


def fits(data: str) -> list[float]:
    """Seconds of two fits of ONMF and two of K-means in a fresh process."""
    alone = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    words = [sys.executable, "-W", "ignore", "-c", FITS.format(data=data)]
    done = subprocess.run(words, env=alone, capture_output=True, text=True, check=True)
    return [float(line) for line in done.stdout.split()]
