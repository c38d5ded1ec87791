"""The same answer from memory, disk and Dask, and what each place costs."""

import json
import shutil
import subprocess
import sys
import tempfile
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

from onmf import ONMF
from onmf.datasets import make_rays
from tables import best_times, table, write_section

K = 20
BIG = 1_000_000, 1_000  # float32: 4 GB
WIDE = 200_000, 200
BLOCK = 50_000  # rows that are generated at a time
UNEVEN = 0.05, 0.3, 0.31, 0.32, 0.7, 0.95
FIT = """
import json, sys, time, warnings
import numpy as np
warnings.simplefilter("ignore")
from onmf import ONMF
begin = time.perf_counter()
model = ONMF(int(sys.argv[2]), random_state=0, n_jobs=2).fit(sys.argv[1])
print(json.dumps({"seconds": time.perf_counter() - begin, "sweeps": model.n_iter_,
    "resident": int(open("/proc/self/status").read().split("VmHWM:")[1].split()[0]) << 10}))
"""


def run() -> None:
    warnings.simplefilter("ignore")
    body = "\n\n".join([same_answer(), on_dask(), on_disk()])
    write_section("places", "Memory, disk and Dask", body)


def same_answer() -> str:
    """Labels and centroids beside those of the fit in memory, for both losses."""
    import dask.array as da

    lines = []
    dense = make_rays(4000, 300, 6, noise=1.0, random_state=0)[0]
    sparse = sp.csr_array(make_rays(4000, 900, 6, sparsity=0.95, noise=0.5, random_state=0)[0])
    with tempfile.TemporaryDirectory() as folder:
        for kind, X in (("dense", dense), ("CSR", sparse)):
            for loss in ("frobenius", "kl"):
                model = ONMF(6, loss=loss, random_state=0)
                here = model.fit(X).labels_, model.cluster_centers_
                for place, there in elsewhere(da, X, Path(folder)).items():
                    model.fit(there)
                    same = "same" if np.array_equal(here[0], model.labels_) else "DIFFERENT"
                    moved = np.abs(model.cluster_centers_ - here[1]).max() / here[1].max()
                    lines.append([kind, loss, place, same, f"{moved:.1e}"])
    return table(["data", "loss", "place", "labels", "largest difference in W"], lines)


def elsewhere(da, X, folder: Path) -> dict[str, object]:
    n, m = X.shape
    full = X.toarray() if sp.issparse(X) else X
    cuts = np.diff([0, *(int(share * n) for share in UNEVEN), n]).tolist()
    path = folder / ("X.npz" if sp.issparse(X) else "X.npy")
    if sp.issparse(X):
        sp.save_npz(path, X, compressed=False)
    else:
        np.save(path, X)
    chunked = da.from_array(full, chunks=(tuple(cuts), m))
    return {
        path.suffix: path,
        "Dask, 7 uneven chunks": chunked.map_blocks(sp.csr_array) if sp.issparse(X) else chunked,
    }


def on_dask() -> str:
    """Two workers with a thread each beside two threads."""
    from dask.array import from_array
    from distributed import Client, LocalCluster, wait

    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    here, _ = make_rays(*WIDE, K, noise=1.0, random_state=0)
    with LocalCluster(processes=True, **options) as cluster, Client(cluster):
        there = from_array(here, chunks=(WIDE[0] // 8, WIDE[1])).persist()
        wait(there)
        model = ONMF(K, random_state=0, n_jobs=2)
        tasks = {"memory": lambda: model.fit(here), "dask": lambda: model.fit(there)}
        best = best_times(tasks, 3)
    return (
        f"{WIDE[0]:,} x {WIDE[1]}, K = {K}: a fit on two Dask workers takes "
        f"{best['dask'] / best['memory']:.2f} times the time of two threads."
    )


def on_disk() -> str:
    """A fit to a file that is read in blocks, beside reading and multiplying it."""
    n, m = BIG
    folder = Path(tempfile.mkdtemp(prefix="onmf-"))
    try:
        if shutil.disk_usage(folder).free < 1.2 * n * m * 4:
            return f"Left out: {folder} has no room for {n * m * 4 / 1e9:.0f} GB."
        path = folder / "X.npy"
        X = np.lib.format.open_memmap(path, "w+", np.float32, (n, m))
        rays = np.random.default_rng(0).gamma(0.3, size=(K, m)).astype(np.float32)
        for i in range(0, n, BLOCK):
            rng = np.random.default_rng((1, i))
            block = rng.random((min(BLOCK, n - i), m), np.float32) / 2
            X[i : i + BLOCK] = block + rays[rng.integers(0, K, len(block))]
        X.flush()
        best = best_times({"reading": lambda: reading(path, rays)}, 2)
        command = [sys.executable, "-c", FIT, str(path), str(K)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
    finally:
        shutil.rmtree(folder)
    fit = json.loads(done.stdout)
    return (
        f"{n:,} x {m:,} float32 on disk ({n * m * 4 / 1e9:.0f} GB), K = {K}: a fit takes "
        f"{fit['sweeps']} sweeps and {fit['seconds'] / best['reading']:.1f} times the time of "
        f"reading the file and its two products once; resident memory at most "
        f"{fit['resident'] / 1e6:.0f} MB."
    )


def reading(path: Path, W) -> None:
    X = np.load(path, mmap_mode="r")
    step = (8 << 20) // (4 * X.shape[1])

    def piece(i):
        block = np.array(X[i : i + step])
        return (block @ W.T).T @ block

    with threadpool_limits(1), ThreadPoolExecutor(2) as pool:
        sum(pool.map(piece, range(0, len(X), step)))
