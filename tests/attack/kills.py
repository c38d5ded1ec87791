"""Processes that die at any moment: what they leave is whole, and what goes on ends the same."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd

import onmf
from onmf.datasets import make_rays
from onmf_app import BAD_INPUT

ENVIRONMENT = os.environ | {
    "PYTHONPATH": str(Path(onmf.__file__).parents[1]),
    "OPENBLAS_NUM_THREADS": "1",
}


def start(*words, **options):
    return subprocess.Popen(
        [sys.executable, *map(str, words)], env=ENVIRONMENT, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options,
    )  # fmt: skip


def cluster(folder, k, *words):
    given = ("-k", k, "-o", folder / "out", *words)
    return start("-m", "onmf", "cluster", folder / "x.csv", *given)


def write_table(folder, n=400):
    rows, _ = make_rays(n, 30, 4, noise=1.0, random_state=0)
    pd.DataFrame(rows, [f"s{i}" for i in range(n)]).to_csv(folder / "x.csv")


def check_run(folder, ks):
    """There is a whole run of one of these K, or none that `predict` would take."""
    words = ("predict", folder / "out", folder / "x.csv", "-o", folder / "new.csv", "--force")
    with start("-m", "onmf", *words) as process:
        _, said = process.communicate()
    if process.returncode:
        assert "Traceback" not in said, said
        assert not (folder / "out" / "run.json").exists(), said
        return
    from onmf.files.checksums import checksum
    from onmf_app.run import record_of

    record = record_of(folder / "out")
    sums = {name: checksum(folder / "out" / name) for name in record["files"]}
    assert sums == record["files"], "files of two runs"
    assert len(record["results"]["cluster_sizes"]) in ks


def a_run_that_is_killed_is_whole_or_none(rng, folder):
    write_table(folder)
    with cluster(folder, 3) as first:
        _, said = first.communicate()
    assert first.returncode == 0, said
    kind = [signal.SIGKILL, signal.SIGTERM, signal.SIGINT][rng.integers(3)]
    with cluster(folder, 4, "--force") as process:
        deadline = time.monotonic() + rng.uniform(0.2, 4)
        while process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        process.send_signal(kind)
        _, said = process.communicate(timeout=120)
    assert process.returncode in (0, 130, 143, -kind), said
    check_run(folder, {3, 4})
    if kind != signal.SIGKILL:
        hidden = [path.name for path in (folder / "out").iterdir() if path.name.startswith(".")]
        assert not hidden or process.returncode == -kind, hidden  # during the imports


def a_run_that_is_ended_is_whole_or_leaves_no_folder(rng, folder):
    write_table(folder)
    with cluster(folder, 3) as process:
        time.sleep(rng.uniform(0.5, 3))
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=120)
    assert process.returncode in (0, 143, -signal.SIGTERM), said
    if (folder / "out").exists():  # then it was ended when it was done
        assert (folder / "out" / "run.json").exists(), said
        check_run(folder, {3})


def update(folder):
    return start("-m", "onmf", "update", folder / "out", folder / "more.csv")


def an_update_that_is_killed_is_done_or_not(rng, folder):
    """After a kill at a random moment the run is about the old samples, or about all of them."""
    write_table(folder)
    rows, _ = make_rays(150, 30, 5, noise=1.0, random_state=int(rng.integers(100)))
    pd.DataFrame(rows, [f"n{i}" for i in range(150)]).to_csv(folder / "more.csv")
    with cluster(folder, 4) as first:
        _, said = first.communicate()
    assert first.returncode == 0, said
    with update(folder) as process:
        time.sleep(rng.uniform(0.3, 3))
        process.send_signal(signal.SIGKILL)
        process.communicate()
    killed = process.returncode == -signal.SIGKILL
    check_run(folder, {4})
    done = len(pd.read_csv(folder / "out" / "labels.csv")) == 550
    with update(folder) as process:
        _, said = process.communicate()
    assert process.returncode == (BAD_INPUT if done else 0), said
    assert len(pd.read_csv(folder / "out" / "labels.csv")) == 550
    if not killed:
        return "ended before its kill"
    return "killed when it was done" if done else "killed before it was done"


ATTACKS = (
    a_run_that_is_killed_is_whole_or_none,
    a_run_that_is_ended_is_whole_or_leaves_no_folder,
    an_update_that_is_killed_is_done_or_not,
)
