"""What `onmf cluster` costs beside the fit in it: 20 Newsgroups, and ten million rows."""

import os
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from onmf import ONMF
from sets import folder, newsgroups
from tables import best_times, table, write_section

K, REPEATS, SEED = 20, 3, 0
PROGRAM = "import sys; from onmf_app import main; sys.exit(main(sys.argv[1:]))"


ROWS, FEATURES, RAYS, ROWS_PER_GROUP = 10_000_000, 20, 8, 250_000
API = """
import sys; from onmf import ONMF, Fast
model = ONMF(8, solver=Fast(passes=2), random_state=0).fit(sys.argv[1])
model.predict(sys.argv[1])
"""


def run() -> None:
    """The command beside the fit, for many features and for many samples."""
    run_large()
    run_news()


def run_large() -> None:
    with tempfile.TemporaryDirectory() as place:
        write_section("command large", "Ten million rows of Parquet", large(Path(place)))


def run_news() -> None:
    if folder() is None:
        body = "Not measured (set ONMF_DATA)."
    else:
        with tempfile.TemporaryDirectory() as place:
            body = measured(Path(place))
    write_section("command", "The command beside the fit", body)


def measured(place: Path) -> str:
    """Seconds of the fit alone and of whole commands, start of Python and reading included."""
    X = sp.csr_array(newsgroups().X)
    sp.save_npz(place / "news.npz", X, compressed=False)
    base = ["cluster", "news.npz", "-k", K, "-o", "out", "--seed", SEED, "--force"]
    tasks = {
        "fit alone": lambda: ONMF(K, random_state=SEED).fit(X),
        "onmf --help": lambda: command(place, "--help"),
        "onmf cluster --no-report": lambda: command(place, *base, "--no-report"),
    }
    if find_spec("onmf.page"):
        tasks["onmf cluster"] = lambda: command(place, *base)
    tasks["onmf predict"] = lambda: command(
        place, "predict", "out", "news.npz", "-o", "new.csv", "--force"
    )
    best = best_times(tasks, REPEATS)
    rows = [[name, f"{t:.2f}", f"{t / best['fit alone']:.2f}"] for name, t in best.items()]
    note = f"{X.shape[0]} x {X.shape[1]} CSR, K = {K}, best of {REPEATS}; the bound is 2.5."
    return f"{table(['what', 'seconds', 'of the fit'], rows)}\n\n{note}"


def command(place: Path, *words: object) -> None:
    """One command in a process of its own."""
    subprocess.run(
        [sys.executable, "-c", PROGRAM, *map(str, words)],
        cwd=place,
        check=True,
        capture_output=True,
    )


def large(place: Path) -> str:
    """Processor time and peak memory of the command and of a program that fits and predicts."""
    write_rays(place / "x.parquet")
    base = ["cluster", "x.parquet", "-k", RAYS, "-o", "out", "--passes", 2, "--force"]
    tasks = {"fit and predict": [API, "x.parquet"], "onmf cluster --passes 2": [PROGRAM, *base]}
    best: dict[str, tuple[float, float]] = {}
    for _ in range(2):
        for name, words in tasks.items():
            seconds, megabytes = measured_process(place, words)
            known = best.get(name, (np.inf, 0))
            best[name] = min(known[0], seconds), max(known[1], megabytes)
    of = best["fit and predict"][0]
    rows = [[name, f"{t:.1f}", f"{t / of:.2f}", f"{mb:.0f}"] for name, (t, mb) in best.items()]
    head = ["what", "processor seconds", "of fit and predict", "peak MB"]
    note = f"{ROWS:,} x {FEATURES} float32, whole processes, best of 2; bounds: 1.5, 1,500 MB."
    return f"{table(head, rows)}\n\n{note}"


def write_rays(path: Path) -> None:
    """Samples on RAYS rays with noise, a row group at a time."""
    import pyarrow as pa
    from pyarrow.parquet import ParquetWriter

    rng = np.random.default_rng(SEED)
    rays = rng.random((RAYS, FEATURES), np.float32) ** 3
    schema = pa.schema([(f"f{j}", pa.float32()) for j in range(FEATURES)])
    with ParquetWriter(path, schema) as writer:
        for _ in range(ROWS // ROWS_PER_GROUP):
            length = rng.uniform(0.5, 2, (ROWS_PER_GROUP, 1)).astype(np.float32)
            X = rays[rng.integers(0, RAYS, ROWS_PER_GROUP)] * length
            X += rng.random(X.shape, np.float32) / 10
            writer.write_table(pa.table([*X.T], schema=schema))


def measured_process(place: Path, words: list[object]) -> tuple[float, float]:
    """Processor seconds and peak megabytes of a Python program."""
    task = subprocess.Popen(
        [sys.executable, "-c", *map(str, words)], cwd=place, stdout=subprocess.DEVNULL
    )
    _, status, used = os.wait4(task.pid, 0)
    assert status == 0
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024
