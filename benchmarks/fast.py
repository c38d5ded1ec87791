"""The default solver taken apart: a sweep, large sparse data, memory, kernels, ablation."""

import tracemalloc
import warnings
from contextlib import ExitStack
from time import perf_counter
from unittest.mock import patch

import numpy as np
import scipy.sparse as sp

from onmf import ONMF
from onmf.datasets import make_paper_synthetic
from onmf.losses import ray_alternation as finish
from onmf.losses.ray_alternation import Assign
from onmf.rows.assign import Rays
from onmf.rows.memory import InMemory
from onmf.rows.threads import single_threaded_blas
from onmf.search import moves, sketch, swaps
from onmf.search import outlier_rows as crowd
from onmf.search import path as search
from onmf.search import row_problems as rows
from onmf.search import solver as fast
from sets import available
from tables import best_times, table, write_section

SEEDS = range(1301, 1305)


def run() -> None:
    write_section("sweep", "One sweep of one start", sweep())
    write_section("sparse", "Large sparse data", large_sparse())
    write_section("memory", "Memory of a fit with the default solver", memory())
    write_section("kernels", "What compiled kernels are worth", compiled_kernels())


def sweep() -> str:
    lines = []
    for dtype in (np.float64, np.float32):
        X = make_paper_synthetic(-3)[0].astype(dtype)
        best = sweep_and_products(X, X[:10].copy())
        ratio = best["sweep"] / best["products"]
        cells = [f"{1e3 * best[name]:.2f}" for name in ("sweep", "products")]
        lines.append([np.dtype(dtype).name, *cells, f"{ratio:.2f}"])
    return table(["dtype", "sweep (ms)", "two bare products (ms)", "ratio"], lines) + (
        "\n\n1000 x 2000, K = 10, one thread."
    )


def sweep_and_products(X, W):
    data, move, H = InMemory(X), Assign(Rays.of(W).units), np.ascontiguousarray(X @ W.T)
    tasks = {"sweep": lambda: data.sweep(move), "products": lambda: (X @ W.T, H.T @ X)}
    with single_threaded_blas():
        return best_times(tasks, 100)


def large_sparse() -> str:
    rng, lines = np.random.default_rng(0), []
    n, m, k = 5_000, 40_000, 20
    per_row = 6_600
    indices = np.concatenate([np.sort(rng.choice(m, per_row, replace=False)) for _ in range(n)])
    X = sp.csr_array((rng.random(n * per_row), indices, np.arange(0, n * per_row + 1, per_row)), shape=(n, m))  # fmt: skip # noqa: E501
    for name, matrix in (("5,000 x 40,000", X), ("40,000 x 5,000", sp.csr_array(X.T))):
        W = rng.random((k, matrix.shape[1]))
        with single_threaded_blas():
            data = InMemory(matrix, None, 2)
            begin = perf_counter()
            for _ in range(20):
                data.sweep(Assign(Rays.of(W).units))
        lines.append([name, f"{matrix.nnz / 1e6:.0f} million", f"{perf_counter() - begin:.1f}"])
    return table(["CSR", "non-zeros", "seconds for 20 sweeps, K = 20, two threads"], lines)


def memory() -> str:
    names = ["synthetic -3 dB", "TDT2 2", "20 Newsgroups", "miRNA 32 types"]
    lines = []
    for name in (name for name in names if name in available()):
        X, _, k = available()[name]()
        X = sp.csr_array(X) if sp.issparse(X) else X
        size = X.nbytes if isinstance(X, np.ndarray) else X.data.nbytes + X.indices.nbytes + X.indptr.nbytes  # fmt: skip # noqa: E501
        ONMF(k, random_state=0).fit(X)
        tracemalloc.start()
        ONMF(k, random_state=0).fit(X)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        bound = 0.3 * size + 12 * sum(X.shape) * k * sketch.COLUMNS_PER_CLUSTER * X.dtype.itemsize
        lines.append([name, f"{size / 1e6:.0f}", f"{peak / 1e6:.0f}", f"{bound / 1e6:.0f}"])
    return table(["data", "input (MB)", "peak beyond the input (MB)", "bound (MB)"], lines) + (
        "\n\nThe bound: 0.3 of the input and 12 (n + m) 4k numbers."
    )


def compiled_kernels() -> str:
    lines = []
    for name in ("synthetic -3 dB", "digits", "TDT2 3", "miRNA 15 types"):
        if name not in available():
            continue
        X, _, k = available()[name]()

        def fit(kernels, X=X, k=k):
            with ExitStack() as stack:
                for module in (search, swaps, moves):
                    stack.enter_context(patch.object(module, "kernels", kernels))
                ONMF(k, random_state=1, n_jobs=2).fit(X)

        tasks = {"C": lambda f=fit: f(rows.kernels), "numpy": lambda f=fit: f(lambda: rows)}
        best = best_times(tasks, 4)
        lines.append([name, f"{best['numpy']:.3f}", f"{best['C']:.3f}",
                      f"{best['numpy'] / best['C']:.2f}"])  # fmt: skip
    return table(["data", "NumPy (s)", "C (s)", "gain"], lines)


def plain_rays(state, signed):
    """The power step alone."""
    return rows.unit(state.cells.cross, otherwise=rows.unit(state.W))


def no_rescaling(Y, sqnorms, now, *_):
    """No swaps, or no moves."""
    return now


VARIANTS = {
    "all of it": [],
    "no path": [(fast.SearchSettings, "taus", lambda self, most: np.array([0.5]))],
    "path of 10 steps": [
        (fast.SearchSettings, "taus", lambda self, most: np.geomspace(0.02, 0.5, 10))
    ],
    "one start": [(fast, "MAX_STARTS", 1)],
    "no moves": [(crowd, "relocate", no_rescaling), (swaps, "relocate", no_rescaling)],
    "no swaps": [(crowd, "improve", no_rescaling)],
    "sketch of 2k columns": [(sketch, "COLUMNS_PER_CLUSTER", 2), (sketch, "EXTRA_COLUMNS", 0)],
    "one subspace iteration": [(fast, "PLAIN", sketch.PLAIN._replace(iterations=1))],
    "plain power steps": [(finish, "next_rays", plain_rays)],
}
ABLATED = [
    "synthetic -5 dB", "synthetic 1 dB", "synthetic 5 dB", "TDT2 1", "TDT2 3", "TDT2 1 counts",
    "miRNA 15 types", "digits",
]  # fmt: skip


def run_ablation() -> None:
    write_section("ablation", "What each ingredient earns", ablation())


def ablation() -> str:
    """Mean relative error against the whole solver, in percent, and mean sweeps."""
    names = [name for name in ABLATED if name in available()]
    sets = {name: available()[name]() for name in names}
    base, lines = {}, []
    for variant, changes in VARIANTS.items():
        with ExitStack() as stack, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for change in changes:
                stack.enter_context(patch.object(*change))
            cells, sweeps = [], []
            for name, (X, _, k) in sets.items():
                fits = [ONMF(k, random_state=seed, max_iter=100).fit(X) for seed in SEEDS]
                error = np.mean([fit.relative_error_ for fit in fits])
                sweeps.append(np.mean([fit.n_iter_ for fit in fits]))
                base.setdefault(name, error)
                cells.append(f"{100 * (error / base[name] - 1):+.3f}")
        lines.append([variant, *cells, f"{np.mean(sweeps):.1f}"])
        print(*lines[-1], flush=True)
    return table(["variant", *names, "sweeps"], lines) + (
        "\n\nRelative error against the first line, in percent; means over seeds "
        f"{SEEDS[0]}-{SEEDS[-1]}."
    )
