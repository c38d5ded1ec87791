"""What one PALM iteration costs beside the two products it cannot do without."""

import os
import tracemalloc
from pathlib import Path

import numpy as np
import scipy.io
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

from onmf import ONMF
from onmf.datasets import make_paper_synthetic
from onmf.palm.palm import PalmSettings
from onmf.palm.penalties import PENALTIES
from onmf.palm.start import paper_start
from onmf.rows.memory import InMemory
from tables import best_times, table, write_section

PASSES = 50


def run() -> None:
    rows, iteration = [], {}
    for dtype in (np.float64, np.float32):
        X = make_paper_synthetic(-3)[0].astype(dtype)
        data = InMemory(X)
        start, W = paper_start(data, 10, 1)
        H = data.gather(start)
        with threadpool_limits(1):
            best = best_times(tasks(X, data, H, W), 20)
        for name in PENALTIES:
            iteration[name, dtype] = best[name]
            rows.append(
                [name, np.dtype(dtype).name, f"{1e3 * best[name] / PASSES:.2f}",
                 f"{1e3 * best['products'] / PASSES:.2f}", f"{best[name] / best['products']:.2f}"]
            )  # fmt: skip
    gains = ", ".join(
        f"{name} {iteration[name, np.float64] / iteration[name, np.float32]:.2f}x"
        for name in PENALTIES
    )
    columns = ["penalty", "dtype", "iteration (ms)", "two bare products (ms)", "ratio"]
    body = f"{table(columns, rows)}\n\nfloat32 against float64, per iteration: {gains}. "
    body += "1000 samples x 2000 features, K = 10, one thread.\n\n" + memory()
    write_section("palm", "One PALM iteration, and memory", body)


def tasks(X, data, H, W):
    def passes(name):
        rows = data.scatter(H)
        settings = PalmSettings(tol=0, max_passes=PASSES)
        return lambda: settings.run(data, rows, W, PENALTIES[name], 1e-6)

    def products():
        for _ in range(PASSES):
            X @ W.T
            H.T @ X

    return {"products": products, **{name: passes(name) for name in PENALTIES}}


def memory() -> str:
    """Peak memory of a fit on TDT2, in units of one dense (n + m) x k array."""
    folder = os.environ.get("ONMF_DATA")
    if folder is None:
        return "Memory on TDT2: not measured (set ONMF_DATA)."
    X = sp.csr_array(scipy.io.loadmat(Path(folder) / "tdt2" / "TDT2_all.mat")["fea"], dtype=float)
    k = 20
    unit = (sum(X.shape) * k) * X.dtype.itemsize
    matrix = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    model = ONMF(k, solver="palm", random_state=1, callback=lambda event: event.sweep == 30)
    tracemalloc.start()
    model.fit(X)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return (
        f"TDT2 ({X.shape[0]} x {X.shape[1]} CSR, K = {k}): a fit takes {peak / 1e6:.0f} MB beyond "
        f"the input ({matrix / 1e6:.0f} MB), or {peak / unit:.1f} dense arrays of (n + m) x k; "
        "the bound is 12 of them."
    )
