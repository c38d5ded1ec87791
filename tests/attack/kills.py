"""Processes that die at any moment: what they leave is whole, and what goes on ends the same."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd

import onmf
from onmf.datasets import make_rays
from onmf_app import ALREADY_COUNTED

ENVIRONMENT = os.environ | {
    "PYTHONPATH": str(Path(onmf.__file__).parents[1]),
    "OPENBLAS_NUM_THREADS": "1",
}
FIT = """
import sys, warnings
import numpy as np
from onmf import PALM, Fast, ONMF
warnings.simplefilter("ignore")
folder, solver, seed = sys.argv[1], sys.argv[2], int(sys.argv[3])
X = np.lib.format.open_memmap(folder + "/X.npy", mode="r")
notes = folder + "/notes"
options = {"fast": {"solver": Fast(checkpoint=notes), "tol": 1e-14, "max_iter": 400},
           "palm": {"solver": PALM(growth=3.0, checkpoint=notes), "max_iter": 60}}[solver]
def tell(event):
    print("sweep", flush=True)
model = ONMF(5, random_state=seed, n_jobs=1, callback=tell, **options)
model.fit(X)
print("ended", flush=True)
np.savez(folder + "/answer.npz", labels=model.labels_, W=model.cluster_centers_)
"""


def start(*words, **options):
    return subprocess.Popen(
        [sys.executable, *map(str, words)], env=ENVIRONMENT, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options,
    )  # fmt: skip


def fit(folder, solver, seed, kill_at=None):
    """Sweeps that a fit of a memory map told of, and whether it came to its end; it is killed after
    so many of them."""
    told = 0
    with start("-c", FIT, folder, solver, seed) as process:
        for line in process.stdout:
            told += line == "sweep\n"
            if told == kill_at:
                process.send_signal(signal.SIGKILL)
                break
        rest, said = process.communicate()
    assert process.returncode in (0, -signal.SIGKILL), said
    return told, "ended" in rest or (kill_at is None and process.returncode == 0)


def answer(folder):
    with np.load(folder / "answer.npz") as found:
        return found["labels"], found["W"]


def a_killed_fit_of_a_memory_map_goes_on(rng, folder):
    """From notes that are really there, and ends with the bits of one that was left alone."""
    seed, solver = int(rng.integers(100)), str(rng.choice(["fast", "palm"]))
    rows, _ = make_rays(int(rng.integers(300, 600)), 60, 5, noise=3.0, random_state=seed)
    np.save(folder / "X.npy", rows)
    sweeps, _ = fit(folder, solver, seed)
    labels, W = answer(folder)
    (folder / "answer.npz").unlink()
    _, ended = fit(folder, solver, seed, kill_at=int(rng.integers(2, max(3, sweeps))))
    killed = not (folder / "answer.npz").exists()
    notes = {path.name for path in (folder / "notes").iterdir() if path.suffix == ".notes"}
    assert ended or notes, "killed without a note"
    left = fit(folder, solver, seed)[0] if killed else 0
    again, W_again = answer(folder)
    assert left <= sweeps
    np.testing.assert_array_equal(again, labels)
    np.testing.assert_array_equal(W_again, W)
    assert not [path for path in (folder / "notes").iterdir() if path.suffix == ".notes"]
    if ended:
        return "ended before its kill"
    return "killed with notes, and went on from them" if left < sweeps else "killed, began anew"


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
    from onmf_app.runs.records import read_record

    record = read_record(folder / "out")
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
    return start("-m", "onmf", "update", folder / "out", folder / "new.csv")


def an_update_that_is_killed_counts_its_batch_once(rng, folder):
    """Given again after a kill at a random moment it leaves what one left that was not killed."""
    write_table(folder)
    rows, _ = make_rays(150, 30, 5, noise=1.0, random_state=int(rng.integers(100)))
    pd.DataFrame(rows, [f"n{i}" for i in range(150)]).to_csv(folder / "new.csv")
    with cluster(folder, 4) as first:
        _, said = first.communicate()
    assert first.returncode == 0, said
    whole = folder / "whole"  # the state has the way from it to the batch
    shutil.copytree(folder / "out", whole / "out")
    shutil.copy(folder / "new.csv", whole)
    begin = time.monotonic()
    with update(whole) as process:
        _, said = process.communicate()
    assert process.returncode == 0, said
    with update(folder) as process:
        time.sleep(rng.uniform(0.3, 1.0) * (time.monotonic() - begin))
        process.send_signal(signal.SIGKILL)
        process.communicate()
    killed = process.returncode == -signal.SIGKILL
    counted = (folder / "out" / "stream.onmf").exists()
    with update(folder) as process:
        _, said = process.communicate()
    assert process.returncode == (ALREADY_COUNTED if counted else 0), said
    from onmf.files.checksums import checksum

    ends = []
    for out in (folder / "out", whole / "out"):
        files = [path for path in out.rglob("*") if path.is_file() and path.name[0] != "."]
        sums = {str(path.relative_to(out)): checksum(path) for path in files}
        ends.append({name: digest for name, digest in sums.items() if name != "run.json"})
    assert ends[0] == ends[1], "not the same state"
    if not killed:
        return "ended before its kill"
    return "killed after it counted" if counted else "killed before it counted"


ATTACKS = (
    a_killed_fit_of_a_memory_map_goes_on,
    a_run_that_is_killed_is_whole_or_none,
    a_run_that_is_ended_is_whole_or_leaves_no_folder,
    an_update_that_is_killed_counts_its_batch_once,
)
