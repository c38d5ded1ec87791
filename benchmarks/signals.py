"""Ctrl-C and SIGTERM at random moments of fits and commands: how they end, and how soon."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import onmf
from onmf.datasets import make_rays
from tables import table, write_section

SEED, SIGNALS = 3201, 100
MOST_SECONDS = 1.0
ENVIRONMENT = os.environ | {"PYTHONPATH": str(Path(onmf.__file__).parents[1])}
FIT = """
import json, signal, sys, threading, time, warnings
from pathlib import Path
import numpy as np
import scipy.sparse as sp
import threadpoolctl
from onmf import ONMF
from onmf.datasets import make_rays
warnings.simplefilter("ignore")
kind, folder, seed = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
rng = np.random.default_rng(seed)
def rays(n=8_000):
    return make_rays(n, 100, 50, noise=2.0, random_state=seed)[0]
def words():
    X = sp.random_array((4_000, 3_000), density=0.01, rng=rng, format="csr")
    X.data = 1.0 + rng.poisson(1, len(X.data))
    return X
def file():
    np.save(folder / "x.npy", rays())
    return folder / "x.npy"
models = {
    "many clusters": (ONMF(400, random_state=seed), rays),
    "signed": (ONMF(50, random_state=seed), lambda: rng.standard_normal((8_000, 384), np.float32)),
    "sparse": (ONMF(40, random_state=seed), words),
    "counts": (ONMF(20, loss="kl", random_state=seed), words),
    "missing": (ONMF(20, random_state=seed),
                lambda: np.where(rng.random((2_000, 100)) < 0.2, np.nan, rays(2_000))),
    "outliers": (ONMF(20, outliers="auto", random_state=seed), lambda: rays(3_000)),
    "file": (ONMF(30, random_state=seed), file),
    "paper": (ONMF(10, solver="palm", random_state=seed), lambda: rays(1_000)),
}
def blas():
    pools = threadpoolctl.threadpool_info()
    return [(p["filepath"], p["num_threads"]) for p in pools if p["user_api"] == "blas"]
model, make = models[kind]
X = make()
ONMF(2, random_state=0).fit(rays(50))  # all is imported
limits, threads = blas(), threading.active_count()
try:
    print("begin", flush=True)
    model.fit(X)
    end = "done"
except KeyboardInterrupt:
    end = "KeyboardInterrupt"
at = time.monotonic()
signal.signal(signal.SIGINT, signal.SIG_IGN)  # later than the fit
same = vars(model) == model.get_params(deep=False)
time.sleep(0.2)  # idle threads of a pool that is given up end by themselves
print(json.dumps({"end": end, "at": at, "unfitted": same, "blas": blas() == limits,
                  "threads": threading.active_count() - threads}), flush=True)
"""
KINDS = ["many clusters", "signed", "sparse", "counts", "missing", "outliers", "file", "paper"]
COMMANDS = {
    "cluster": ["cluster", "x.csv", "-k", "5", "-o", "out"],
    "cluster -k auto": ["cluster", "x.csv", "-k", "auto", "-o", "out", "--no-report"],
    "choose-k": ["choose-k", "x.csv"],
    "cluster, no page": ["cluster", "x.csv", "-k", "40", "-o", "out", "--no-report"],
}
COLUMNS = ["what", "signals", "right endings", "slowest (s)", "wrong ones"]
NOTE = f"""

{SIGNALS} signals to real processes, SIGINT and SIGTERM in turn, after a random part of the time
that the same fit or command takes without one (imports of a command included). Right: a fit raises
`KeyboardInterrupt` (SIGTERM ends a plain Python process) and leaves the estimator unfitted, the
limits of BLAS as they were, no thread and no temporary file; a command exits with 130 or 143, or is
ended by the signal before its first line runs, without a traceback, and leaves nothing in the
folder; all within {MOST_SECONDS:.0f} s."""


def run() -> None:
    rng = np.random.default_rng(SEED)
    rows = []
    for name, task in [(f"fit, {kind}", kind) for kind in KINDS] + [
        (f"onmf {name}", words) for name, words in COMMANDS.items()
    ]:
        count = SIGNALS // 2 // (len(COMMANDS) if name.startswith("onmf") else len(KINDS))
        count += name in ("fit, signed", "fit, many clusters", "onmf cluster", "onmf choose-k")
        one = command_ending if isinstance(task, list) else fit_ending
        endings = repeated(one, task, count, rng)
        wrong = [why for why, _ in endings if why]
        slowest = max(seconds for _, seconds in endings)
        rows.append([name, count, count - len(wrong), f"{slowest:.2f}", "; ".join(wrong)])
        write_section("signals", "Interrupted fits and commands", table(COLUMNS, rows) + NOTE)


def repeated(one, task, count, rng):
    """So many endings; a process that was faster than its signal does not count."""
    usual = one(task, None, rng)
    endings = []
    while len(endings) < count:
        kind = (signal.SIGINT, signal.SIGTERM)[len(endings) % 2]
        if ending := one(task, (kind, rng.uniform(0, usual)), rng):
            endings.append(ending)
    return endings


def fit_ending(kind, sent, rng):
    """(what is wrong, seconds from signal to end) of one fit; its seconds if none is sent."""
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as temporary:
        process = start(["-c", FIT, kind, folder, "7"], TMPDIR=temporary)
        with process:
            assert process.stdout.readline() == "begin\n", process.stderr.read()
            begin = time.monotonic()
            if sent is not None:
                time.sleep(sent[1])
                signalled = time.monotonic()
                process.send_signal(sent[0])
            out, said = process.communicate()
            ended = time.monotonic()
        left = os.listdir(temporary)
    if sent is not None and process.returncode == -signal.SIGTERM == -sent[0]:
        return ("", ended - signalled)  # temporary files of a plain process stay, as for all
    if not out:
        return said.strip().splitlines()[-1] if said else f"exit {process.returncode}", 0.0
    facts = json.loads(out)
    if sent is None:
        return facts["at"] - begin
    if facts["end"] == "done":
        return None
    seconds = facts["at"] - signalled
    good = facts["unfitted"] and facts["blas"] and not left and facts["threads"] <= 0
    why = "" if good else f"{facts}, {left}"
    return why or late(seconds), seconds


def command_ending(words, sent, rng):
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as temporary:
        rows, _ = make_rays(3000, 60, 6, noise=2.0, random_state=SEED)
        np.savetxt(
            Path(folder) / "x.csv", rows, delimiter=",", header=",".join(map(str, range(60)))
        )
        begin = time.monotonic()
        process = start(["-m", "onmf", *words], cwd=folder, TMPDIR=temporary)
        with process:
            if sent is not None:
                time.sleep(sent[1])
                signalled = time.monotonic()
                process.send_signal(sent[0])
            _, said = process.communicate()
            ended = time.monotonic()
        left = [name for name in os.listdir(folder) if name != "x.csv"] + os.listdir(temporary)
        done = (Path(folder) / "out" / "run.json").exists()
    if sent is None:
        assert process.returncode == 0, said
        return ended - begin
    if process.returncode == 0 or done:  # the signal came while Python ended
        return None
    seconds = ended - signalled
    right = (128 + sent[0], -sent[0])
    if process.returncode not in right or "Traceback" in said or left:
        return f"exit {process.returncode}, {left}, {said.strip().splitlines()[-1:]}", seconds
    return late(seconds), seconds


def late(seconds):
    return f"after {seconds:.2f} s" if seconds > MOST_SECONDS else ""


def start(words, cwd=None, **environment):
    return subprocess.Popen(
        [sys.executable, *words], env=ENVIRONMENT | environment, cwd=cwd, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
