"""One pass, one round: how much is lost, what it costs, how many bytes.

Parts, each written when it ends: `ONMF_PARTS=mirna,shards make bench ONLY=passes`. "blocks" makes
as many samples as ONMF_BLOCKS says (100,000,000), "sparse" as ONMF_SPARSE says (10,000,000).
"""

import json
import os
import pickle
import signal
import subprocess
import sys
import warnings
from itertools import pairwise
from pathlib import Path
from threading import Timer
from time import perf_counter

import numpy as np

import sets
from large import K, placed, rows
from onmf import ONMF, Fast
from onmf.estimators import solvers
from onmf.rows.check import Check, CheckAndSampleOnce
from onmf.rows.memory import InMemory
from onmf.rows.summary import BottomKSampler
from onmf.rows.sweep import Block
from tables import table, write_section

SEEDS = range(1701, 1704)
SHARDS = 2, 8, 64
PLANTED = 1_000_000, 200
DASK_ML = os.environ.get("ONMF_DASK_ML")  # folder of dask-ml, which is no dependency


def run() -> None:
    warnings.simplefilter("ignore")
    parts = {
        "mirna": ("One pass: the error, miRNA", lambda: real("miRNA, 32 types")),
        "newsgroups": ("One pass: the error, 20 Newsgroups", lambda: real("20 Newsgroups")),
        "pbmc": ("One pass: the error, pbmc", lambda: real("pbmc")),
        "planted": ("One pass: the error, a million planted samples", planted_rays),
        "shards": ("One round: shards in turn", shards),
        "blocks": ("One pass: samples that are made as they are read", blocks),
        "sparse": ("One pass: sparse samples that are made as they are read", sparse),
        "two": ("One round: two Dask workers", lambda: workers(2)),
        "four": ("One round: four Dask workers", lambda: workers(4)),
    }
    asked = os.environ.get("ONMF_PARTS")
    for name in parts if asked is None else asked.split(","):
        title, part = parts[name]
        write_section(f"passes {name}", title, part())


# The error


def planted(seed: int, n: int = PLANTED[0]) -> np.ndarray:
    """The endless data set of `large`, from another place on for each seed."""
    step = 50_000
    parts = [rows(10**9 * seed + i, step, PLANTED[1], np.float32) for i in range(0, n, step)]
    return np.concatenate(parts)


REAL = {
    "miRNA, 32 types": lambda: sets.mirna(32),
    "20 Newsgroups": sets.newsgroups,
    "pbmc": sets.pbmc,
}


def real(name: str) -> str:
    if not sets.folder():
        return "Left out: ONMF_DATA names no folder."
    X, _, k = REAL[name]()
    n = X.shape[0]
    lines = compare(name, [X] * len(SEEDS), k, [None, n // 2, n // 4])
    return table(COLUMNS, lines) + QUALITY_NOTE


def planted_rays() -> str:
    lines = compare("planted rays", map(planted, SEEDS), K, [None, 40_000])
    return table(COLUMNS, lines) + QUALITY_NOTE


def compare(name: str, made, k: int, sizes: list) -> list:
    """Errors of few passes for summaries of these sizes, relative to the full fit, over seeds."""
    full, few, sweeps, shape = [], {size: [] for size in sizes}, [], None
    for seed, X in zip(SEEDS, made, strict=True):
        shape = X.shape
        model = ONMF(k, random_state=seed, n_jobs=1).fit(X)
        full.append(model.relative_error_)
        sweeps.append(model.n_iter_)
        for size in sizes:
            few[size].append([error(X, k, seed, passes, size) for passes in (2, 3)])
    lines = []
    for size in sizes:
        excess = 100 * (np.array(few[size]) / np.array(full)[:, None] - 1)
        cells = [f"{mean:+.3f} % (worst {worst:+.3f})" for mean, worst in
                 zip(excess.mean(axis=0), excess.max(axis=0), strict=True)]  # fmt: skip
        rows_kept = min(size or default_size(k), shape[0])
        lines.append([f"{name} ({shape[0]:,} x {shape[1]:,})", k, f"{rows_kept:,}",
                      f"{np.mean(full):.5f}", *cells, f"{min(sweeps)}-{max(sweeps)}"])  # fmt: skip
    return lines


def default_size(k: int) -> int:
    return max(solvers.MIN_SUMMARY_ROWS, solvers.SUMMARY_ROWS_PER_CLUSTER * k)


def error(X, k: int, seed: int, passes: int, size: int | None) -> float:
    before = solvers.MIN_SUMMARY_ROWS, solvers.SUMMARY_ROWS_PER_CLUSTER
    if size is not None:
        solvers.MIN_SUMMARY_ROWS, solvers.SUMMARY_ROWS_PER_CLUSTER = size, 0
    try:
        return (
            ONMF(k, random_state=seed, n_jobs=1, solver=Fast(passes=passes)).fit(X).relative_error_
        )
    finally:
        solvers.MIN_SUMMARY_ROWS, solvers.SUMMARY_ROWS_PER_CLUSTER = before


COLUMNS = "data", "K", "summary", "full fit", "passes=2", "passes=3", "sweeps of the full fit"
QUALITY_NOTE = f"""

Relative error of the full fit (mean), and by how much that of few passes is higher: mean and worst
of seeds {SEEDS[0]}-{SEEDS[-1]}, not used for anything else (bound: 0.2 %). The first line of each
set is the summary as it is by default: data of up to 20,000 samples, or 1,000 a cluster, are their
own. The other lines say what another size would give."""


# Shards


def shards() -> str:
    made = [("planted rays", planted(SEEDS[0], 200_000), K)]
    if sets.folder():
        X, _, k = sets.mirna(32)
        made.append(("miRNA, 32 types", X, k))
    lines = []
    for name, X, k in made:
        full = ONMF(k, random_state=0, n_jobs=1).fit(X)
        for order in ("shuffled", "sorted by class"):
            if order == "sorted by class":
                X = X[np.argsort(full.labels_, kind="stable")]
            for count in SHARDS:
                cells = one_round(X, k, count, full.relative_error_)
                lines.append([f"{name} ({len(X):,} x {X.shape[1]})", order, count, *cells])
    columns = ["data", "order", "shards", "bytes of a shard, at most", "bytes in all",
               "error against the central fit"]  # fmt: skip
    return table(columns, lines) + "\n\n" + bytes_by_rows() + SHARDS_NOTE


def bytes_by_rows() -> str:
    """What a shard of so many rows sends."""
    look, step, total, lines = (
        CheckAndSampleOnce(Check("ONMF"), BottomKSampler(default_size(K))),
        10_000,
        None,
        [],
    )
    for i in range(0, 1_280_000, step):
        block = Block(rows(i, step, PLANTED[1], np.float32), np.ones((step, 1), np.float32))
        part = look(block, i)[1].summary
        total = part if total is None else total + part
        if i + step in (20_000, 40_000, 80_000, 320_000, 1_280_000):
            lines.append([f"{i + step:,}", f"{len(pickle.dumps(total)):,}"])
    return table([f"rows of a shard, {PLANTED[1]} features float32", "bytes it sends"], lines)


def one_round(X, k: int, count: int, full: float) -> list[str]:
    """Every shard makes its summary, they meet, and the centroids are judged on all rows."""
    edges = np.linspace(0, len(X), count + 1).astype(int)
    look, total, sizes = (
        CheckAndSampleOnce(Check("ONMF"), BottomKSampler(default_size(k))),
        None,
        [],
    )
    for i, j in pairwise(edges):
        shard = InMemory(X[i:j])
        _, seen = shard.sweep(look, [i + first for first in shard.first])
        sent = pickle.dumps(seen.summary)
        sizes.append(len(sent))
        part = pickle.loads(sent)
        total = part if total is None else total + part
    some = total.rows()
    model = ONMF(k, random_state=0, n_jobs=1).fit(some.X, sample_weight=some.weight[:, 0])
    excess = 100 * ((1 - model.score(X)) / full - 1)
    return [f"{max(sizes):,}", f"{sum(sizes):,}", f"{excess:+.3f} %"]


SHARDS_NOTE = """

One round: each shard sends its summary (pickled), once. Its size has a bound that does not depend
on the number of samples, 2 (s + 1) rows; the rows that are chosen depend on the numbers of the
samples alone, so that any number of shards gives the same centroids. Bound of the error: 0.2 %."""


# Blocks that are made

MAKE = """
import json, os, resource, sys, time, warnings
import numpy as np
import scipy.sparse as sp
warnings.simplefilter("ignore")
from onmf import ONMF
from onmf.io import Blocks
from time import perf_counter, process_time, thread_time
n, K = int(float(sys.argv[1])), 20
"""
DENSE = """
m, size = 200, 5_000
rays = np.random.default_rng(0).gamma(0.3, size=(K, m)).astype(np.float32)
def make(b):
    rng = np.random.default_rng([1, b])
    X = rng.random((size, m), np.float32)
    X *= 0.5
    X += rng.uniform(0.5, 2, (size, 1)).astype(np.float32) * rays[rng.integers(0, K, size)]
    return X
"""
CSR = """
m, size, words = 50_000, 10_000, 50
topics = np.random.default_rng(0).integers(0, m, (K, 100))
pointers = np.arange(0, size * words + 1, words)
def make(b):
    rng = np.random.default_rng([1, b])
    own = topics[rng.integers(0, K, size)[:, None], rng.integers(0, 100, (size, words))]
    other = rng.integers(0, m, (size, words))
    columns = np.where(rng.random((size, words), np.float32) < 0.5, own, other)
    values = rng.random(size * words, np.float32)
    X = sp.csr_array((values, columns.ravel(), pointers.copy()), (size, m))
    X.sum_duplicates()
    return X
"""
MEASURE = """
once = Fast(passes=1)
ONMF(2, random_state=0, solver=once).fit(np.random.default_rng(0).random((100, 5)))
making = 0.0
def timed(b):
    global making
    begin = thread_time()
    X = make(b)
    making += thread_time() - begin
    return X
begin = process_time(), perf_counter()
model = ONMF(K, random_state=0, n_jobs=1, solver=Fast(passes=1)).fit(Blocks.of(timed, (n, m), size))
spent, minutes = process_time() - begin[0], (perf_counter() - begin[1]) / 60
fresh = [make(n // size + b) for b in range(4)]
error = float(1 - np.mean([model.score(X) for X in fresh]))
status = open("/proc/self/status").read()
print(json.dumps({"ratio": spent / making, "in": model.relative_error_, "out": error,
    "sweeps": model.n_iter_, "minutes": minutes, "processor": spent / 60,
    "resident": int(status.split("VmHWM:")[1].split()[0]) << 10}))
"""


def blocks() -> str:
    n = int(float(os.environ.get("ONMF_BLOCKS", "1e8")))
    return made_as_read(MAKE + DENSE + MEASURE, n, "200", n * 800)


def sparse() -> str:
    n = int(float(os.environ.get("ONMF_SPARSE", "1e7")))
    return made_as_read(MAKE + CSR + MEASURE, n, "50,000, 50 entries a row", n * 400)


def made_as_read(program: str, n: int, features: str, size: int) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program, str(n)], check=True, capture_output=True, text=True
    )
    facts = json.loads(done.stdout)
    columns = ["samples", "features", "if stored (GB)", "sweeps", "processor time / making",
               "processor minutes", "resident (MB)", "error of the summary",
               "of fresh samples"]  # fmt: skip
    cells = [f"{n:,}", features, f"{size / 1e9:.0f}", facts["sweeps"], f"{facts['ratio']:.2f}",
             f"{facts['processor']:.1f}", f"{facts['resident'] / 1e6:.0f}", f"{facts['in']:.5f}",
             f"{facts['out']:.5f}"]  # fmt: skip
    return table(columns, [cells]) + (
        f"\n\nONMF(passes=1), K = {K}, one thread and one that makes the next block. Processor "
        "time of the whole fit against that of making its blocks, in the same run (bounds: 1.5, "
        "1000 MB)."
    )


# Workers


def workers(count: int) -> str:
    import dask.array as da
    from distributed import Client, LocalCluster

    lines = []
    options = {"n_workers": count, "threads_per_worker": 1, "dashboard_address": ":0"}
    with LocalCluster(processes=True, **options) as cluster, Client(cluster) as client:
        for n in (100_000, 400_000):
            there = placed(client, on_workers(da, n))
            for name, task in rivals(there).items():
                lines.append([f"{n:,}", name, *watched(task)])
                print(lines[-1], flush=True)
        lines.append(
            ["400,000", "ONMF(solver=Fast(passes=2)), a worker killed", *killed(client, there)]
        )
    columns = ["samples", "method", "rounds", "bytes on the wire", "relative error", "seconds"]
    return table(columns, lines) + WORKERS_NOTE


def killed(client, X) -> list[str]:
    """A worker is killed half a second after the round has begun; are the labels the same?"""
    expected = ONMF(K, random_state=0, n_jobs=1, solver=Fast(passes=2)).fit(X).labels_
    victim = min(client.run(os.getpid).values())
    Timer(0.5, os.kill, (victim, signal.SIGKILL)).start()
    model = ONMF(K, random_state=0, n_jobs=1, solver=Fast(passes=2)).fit(X)
    same = "the same labels" if np.array_equal(model.labels_, expected) else "OTHER LABELS"
    return [model.n_iter_, "", f"{model.relative_error_:.6f}", same]


def on_workers(da, n: int):
    chunks = 8
    empty, cuts = np.empty((0, 0), np.float32), ((n // chunks,) * chunks, PLANTED[1])
    return da.map_blocks(one_chunk, chunks=cuts, dtype=np.float32, meta=empty)


def one_chunk(block_info=None) -> np.ndarray:
    (i, j), _ = block_info[None]["array-location"]
    parts = [rows(s, min(12_500, j - s), PLANTED[1], np.float32) for s in range(i, j, 12_500)]
    return np.concatenate(parts)


def rivals(X) -> dict:
    """What to measure: each gives rounds and error."""

    def ours(passes):
        model = ONMF(K, random_state=0, n_jobs=1, solver=Fast(passes=passes)).fit(X)
        return model.n_iter_, (lambda: 1 - model.score(X))

    found = {
        "ONMF": lambda: ours(None),
        "ONMF(solver=Fast(passes=1))": lambda: ours(1),
        "ONMF(solver=Fast(passes=2))": lambda: ours(2),
    }
    if DASK_ML and len(X) <= 100_000:  # it takes minutes for more
        sys.path.append(DASK_ML)
        from dask_ml.cluster import KMeans

        def theirs():
            model = KMeans(K, random_state=0).fit(X)
            return f"{model.n_iter_} + k-means||", lambda: error_of_labels(X, model.labels_)

        found["dask-ml KMeans"] = theirs
    return found


def error_of_labels(X, labels) -> float:
    """Of the best rays for these labels."""
    from onmf.metrics import partition_error

    return partition_error(X.compute(), np.asarray(labels))


def watched(task) -> list[str]:
    sent, begin = wire(), perf_counter()
    rounds, error = task()
    seconds, sent = perf_counter() - begin, wire() - sent
    return [rounds, f"{sent:,}", f"{error():.6f}", f"{seconds:.1f}"]


def wire() -> int:
    """Bytes that have come over the loopback of this machine."""
    return int(Path("/proc/net/dev").read_text().split("lo:")[1].split()[0])


WORKERS_NOTE = f"""

{PLANTED[1]} features float32, K = {K}, eight chunks that are on the workers already; processes with
one thread each. Bytes on the wire are all that crossed the loopback of the machine meanwhile, those
of the scheduler included. The error of K-means is that of the best rays for its labels; k-means||
takes further rounds that it does not count."""
