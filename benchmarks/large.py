"""Larger than memory, larger than a machine: rows on disk, rows on Dask, faults, growth with n."""

import json
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import perf_counter, sleep

import numpy as np
import scipy.sparse as sp

from onmf import ONMF, Fast
from onmf.datasets import make_rays
from onmf.losses.ray_alternation import Assign
from onmf.rows import Check, PlacementRequest, disk, place
from onmf.rows.assign import Rays
from onmf.rows.threads import single_threaded_blas
from tables import best_times, table, write_section

K = 20
BIG = 2_000_000, 1_000  # float32: 8 GB
WIDE = 1_000_000, 200
KILLS = 20
BLOCK = 50_000  # rows that are generated at a time
UNEVEN = 0.05, 0.3, 0.31, 0.32, 0.7, 0.95


def run() -> None:
    warnings.simplefilter("ignore")
    for name, title, part in (
        ("places", "The same answer in every place", same_answer),
        ("growth", "Time against the number of samples", growth),
        ("dask", "Two Dask workers against two threads", on_dask),
        ("disk", "Eight gigabytes on disk", on_disk),
        ("faults", "Killed and continued", faults),
    ):
        write_section(f"large {name}", title, part())


def rows(first: int, count: int, m: int, dtype: type = np.float64) -> np.ndarray:
    """Samples `first` to `first + count` of an endless data set on K rays with noise."""
    rays = np.random.default_rng(0).gamma(0.3, size=(K, m))
    rng = np.random.default_rng([1, first])
    X = rng.random((count, m), np.float32)
    X *= 0.5
    X += rng.uniform(0.5, 2, (count, 1)) * rays[rng.integers(0, K, count)]
    return X.astype(dtype, copy=False)


def samples(n: int, m: int) -> np.ndarray:
    return np.concatenate([rows(i, min(BLOCK, n - i), m) for i in range(0, n, BLOCK)])


# The same answer


def same_answer() -> str:
    import dask.array as da

    disk.MAX_MAP_AS_ARRAY_BYTES, lines = 0, []
    dense = make_rays(4000, 300, 6, noise=1.0, random_state=0)[0]
    sparse = sp.csr_array(make_rays(4000, 900, 6, sparsity=0.95, noise=0.5, random_state=0)[0])
    with tempfile.TemporaryDirectory() as folder:
        for kind, X in (("dense", dense), ("CSR", sparse)):
            for penalty in ("sncp", "nsncp"):
                model = ONMF(6, penalty=penalty, random_state=0)
                here = model.fit(X).labels_, model.cluster_centers_
                for place, there in elsewhere(da, X, Path(folder)).items():
                    model.fit(there)
                    same = "same" if np.array_equal(here[0], model.labels_) else "DIFFERENT"
                    moved = np.abs(model.cluster_centers_ - here[1]).max() / np.abs(here[1]).max()
                    lines.append([kind, penalty, place, same, f"{moved:.1e}"])
    return table(["data", "penalty", "place", "labels", "largest difference in W"], lines) + (
        "\n\nAgainst the fit in memory; differences relative to the largest entry of W."
    )


def elsewhere(da, X, folder: Path) -> dict[str, object]:
    if sp.issparse(X):
        sp.save_npz(folder / "X.npz", X, compressed=False)
        path, chunk = folder / "X.npz", lambda A: A.map_blocks(sp.csr_array)
    else:
        np.save(folder / "X.npy", X)
        path, chunk = folder / "X.npy", lambda A: A
    n, m = X.shape
    full = X.toarray() if sp.issparse(X) else X
    cuts = np.diff([0, *(int(share * n) for share in UNEVEN), n]).tolist()
    stored = path if sp.issparse(X) else np.load(path, mmap_mode="r")
    return {
        "uncompressed .npz" if sp.issparse(X) else "memmap": stored,
        "Dask, 7 uneven chunks": chunk(da.from_array(full, chunks=(tuple(cuts), m))),
        "Dask, 1 chunk": chunk(da.from_array(full, chunks=(n, m))),
    }


# Growth


def growth() -> str:
    sizes, lines, seconds = (10_000, 100_000, 1_000_000), [], []
    for n in sizes:
        X = samples(n, WIDE[1])
        model = ONMF(K, random_state=0, n_jobs=2)
        best = best_times({"fit": lambda X=X, model=model: model.fit(X)}, 3 if n < 10**6 else 2)
        seconds.append(best["fit"])
        lines.append([f"{n:,}", model.n_iter_, f"{best['fit']:.2f}"])
    steps = np.diff(np.log(seconds)) / np.diff(np.log(sizes))
    whole = np.log(seconds[-1] / seconds[0]) / np.log(sizes[-1] / sizes[0])
    return table(["samples", "sweeps", "seconds"], lines) + (
        f"\n\n{WIDE[1]} features, K = {K}, two threads. Exponents: {steps[0]:.2f} and "
        f"{steps[1]:.2f}, over all {whole:.2f} (bound: 1.05)."
    )


# Dask


def on_dask() -> str:
    import dask.array as da
    from distributed import Client, LocalCluster

    lines, traffic = [], {}
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with LocalCluster(processes=True, **options) as cluster, Client(cluster) as client:
        for n in (WIDE[0] // 10, WIDE[0]):
            chunks = 8
            lazy = da.map_blocks(
                generated, chunks=((n // chunks,) * chunks, WIDE[1]), meta=np.empty((0, 0))
            )
            there = placed(client, lazy)
            here = there.compute()
            model = ONMF(K, random_state=0, n_jobs=2)
            tasks = {
                "memory": lambda X=here, model=model: model.fit(X),
                "dask": lambda X=there, model=model: model.fit(X),
            }
            best = best_times(tasks, 3)
            rounds = per_round(model.history_)
            traffic[n] = rounds[-1]
            ratio = best["dask"] / best["memory"]
            lines.append(
                [f"{n:,}", model.n_iter_, f"{best['memory']:.2f}", f"{best['dask']:.2f}",
                 f"{ratio:.2f}", *(f"{b:,}" for b in rounds[-1])]
            )  # fmt: skip
        cost = price_of_a_chunk(da)
    bound = 2 * (K * WIDE[1] + K**2 + 4 * K) * 8
    columns = ["samples", "sweeps", "memory (s)", "Dask (s)", "ratio", "bytes out", "bytes back"]
    sketch = rounds[0]
    return table(columns, lines) + (
        f"\n\n{WIDE[1]} features, K = {K}; best of three, interleaved; memory uses two threads, "
        "Dask two processes with one each (bound on the ratio: 1.25). Bytes are the median of the "
        f"rounds of the exact alternation; workers x (km + k^2 + 4k) x 8 = {bound:,}. The three "
        f"rounds of the sketch together send {sketch[0]:,} and bring {sketch[1]:,} bytes, whatever "
        f"the number of samples. A chunk costs the scheduler {1e3 * cost:.1f} ms a round."
    )


def price_of_a_chunk(da) -> float:
    """Seconds a round takes for each of many chunks with hardly anything in them."""
    chunks = 200
    X = da.from_array(rows(0, 10 * chunks, WIDE[1]), chunks=(10, WIDE[1]))
    data = place(X, None, PlacementRequest(Check("ONMF"))).data
    move = Assign(Rays.of(rows(0, K, WIDE[1])).units)
    return best_times({"round": lambda: data.sweep(move)}, 3)["round"] / chunks


def generated(block_info=None) -> np.ndarray:
    (i, j), _ = block_info[None]["array-location"]
    return np.concatenate([rows(s, min(BLOCK, j - s), WIDE[1]) for s in range(i, j, BLOCK)])


def placed(client, X):
    """X on the workers, runs of neighbours together."""
    from distributed import wait

    workers = sorted(client.scheduler_info(n_workers=-1)["workers"])
    runs = np.array_split(np.arange(X.numblocks[0]), len(workers))
    parts = [
        client.persist(X.blocks[run.tolist()], workers=[worker], allow_other_workers=True)
        for run, worker in zip(runs, workers, strict=True)
    ]
    wait(parts)
    import dask.array as da

    return da.concatenate(parts)


def per_round(history) -> list[tuple[int, int]]:
    """(sent, received): of the sketch as a whole, and the median round of the alternation."""
    ends = {stage.sweeps: (stage.sent, stage.received) for stage in history}
    counts = np.array(list(ends.values()))
    return [
        tuple(counts[0].tolist()),
        tuple(np.median(np.diff(counts, axis=0), axis=0).astype(int)),
    ]


# Disk

FIT = """
import json, sys, time, warnings
import numpy as np
warnings.simplefilter("ignore")
from onmf import ONMF
path, n, m, k = sys.argv[1], *map(int, sys.argv[2:])
X = np.memmap(path, np.float32, "r", shape=(n, m))
begin = time.perf_counter()
model = ONMF(k, random_state=0, n_jobs=2).fit(X)
print(json.dumps({"seconds": time.perf_counter() - begin, "sweeps": model.n_iter_,
    "sizes": np.bincount(model.labels_).tolist(),
    "resident": int(open("/proc/self/status").read().split("VmHWM:")[1].split()[0]) << 10}))
"""


def on_disk() -> str:
    n, m = BIG
    folder = Path(tempfile.mkdtemp(prefix="onmf-"))
    try:
        if shutil.disk_usage(folder).free < 1.2 * n * m * 4:
            return f"Left out: {folder} has no room for {n * m * 4 / 1e9:.0f} GB."
        path = folder / "X"
        with path.open("wb") as file:
            for i in range(0, n, BLOCK):
                rows(i, min(BLOCK, n - i), m, np.float32).tofile(file)
        best = sweep_and_reading(path, n, m)
        done = subprocess.run(
            [sys.executable, "-c", FIT, str(path), str(n), str(m), str(K)],
            check=True, capture_output=True, text=True,
        )  # fmt: skip
    finally:
        shutil.rmtree(folder)
    fit = json.loads(done.stdout)
    columns = ["one sweep (s)", "reading and two products (s)", "ratio", "whole fit (s)", "sweeps",
               "resident (MB)"]  # fmt: skip
    cells = [
        f"{best['sweep']:.2f}", f"{best['reading']:.2f}", f"{best['sweep'] / best['reading']:.2f}",
        f"{fit['seconds']:.0f}", fit["sweeps"], f"{fit['resident'] / 1e6:.0f}",
    ]  # fmt: skip
    return table(columns, [cells]) + (
        f"\n\n{n:,} x {m:,} float32, {n * m * 4 / 1e9:.0f} GB, K = {K}, two threads. Reading and "
        "its products are in pieces of 8 MB, in two threads as well; best of three, interleaved "
        "(bounds: 1.3, 1000 MB). Resident memory is the most of a process that does nothing else."
    )


def sweep_and_reading(path: Path, n: int, m: int) -> dict[str, float]:
    X = np.memmap(path, np.float32, "r", shape=(n, m))
    data = place(X, None, PlacementRequest(Check("ONMF"), n_threads=2)).data
    W = np.array(X[:K])
    move, step = Assign(Rays.of(W).units), (8 << 20) // (4 * m)

    def sweep():
        with single_threaded_blas():
            data.sweep(move)

    def piece(i):
        count = min(step, n - i)
        block = np.fromfile(path, np.float32, count * m, offset=4 * i * m).reshape(count, m)
        return (block @ W.T).T @ block

    def reading():
        with single_threaded_blas(), ThreadPoolExecutor(2) as pool:
            sum(pool.map(piece, range(0, n, step)))

    return best_times({"sweep": sweep, "reading": reading}, 3)


# Faults


def faults() -> str:
    lines = []
    for solver, options in (
        ("fast", {"tol": 1e-14, "max_iter": 400}),
        ("palm", {"solver": "palm", "growth": 1.3, "max_iter": 600}),
    ):
        killed, same = kill_often(options)
        lines.append([f"the process, solver={solver!r}", killed, f"{same} of {killed}"])
    lines.append(["one of three workers", 1, f"{kill_a_worker()} of 1"])
    return table(["SIGKILL of", "times", "same labels and W"], lines) + (
        "\n\nThe process dies at random moments of a fit and is started again with the same "
        "`checkpoint`; W is the same to the last bit. The worker dies in the middle of a fit on "
        "Dask, W is the same to 1e-8."
    )


def kill_often(options: dict[str, object]) -> tuple[int, int]:
    X = make_rays(6000, 300, 6, noise=3.0, random_state=0)[0]
    begin = perf_counter()
    whole = ONMF(6, random_state=0, n_jobs=1, **options).fit(X)
    lasts = perf_counter() - begin
    rng, killed, same = np.random.default_rng(0), 0, 0
    fork = multiprocessing.get_context("fork")
    while killed < KILLS:
        with tempfile.TemporaryDirectory() as folder:
            model = ONMF(6, random_state=0, n_jobs=1, **options, solver=Fast(checkpoint=folder))
            process = fork.Process(target=model.fit, args=(X,))
            process.start()
            sleep(rng.uniform(0, 1) * lasts)
            os.kill(process.pid, signal.SIGKILL)
            process.join()
            if process.exitcode != -signal.SIGKILL:
                continue  # it was quicker
            killed += 1
            model.fit(X)
        equal = np.array_equal(model.labels_, whole.labels_)
        same += equal and np.array_equal(model.cluster_centers_, whole.cluster_centers_)
    return killed, same


def kill_a_worker() -> int:
    import dask.array as da
    from distributed import Client, LocalCluster

    X = make_rays(30_000, 200, 8, noise=1.0, random_state=0)[0]
    whole = ONMF(8, random_state=0, tol=1e-12).fit(X)
    options = {"n_workers": 3, "threads_per_worker": 1, "dashboard_address": ":0"}
    with LocalCluster(processes=True, **options) as cluster, Client(cluster) as client:
        killed = []

        def kill(event):
            if event.sweep == 6 and not killed:
                killed.append(min(client.run(os.getpid).values()))
                os.kill(killed[0], signal.SIGKILL)

        model = ONMF(8, random_state=0, tol=1e-12, callback=kill)
        model.fit(da.from_array(X, chunks=(4000, 200)))
    moved = np.abs(model.cluster_centers_ - whole.cluster_centers_).max()
    near = moved <= 1e-8 * np.abs(whole.cluster_centers_).max()
    return int(bool(killed) and near and np.array_equal(model.labels_, whole.labels_))
