"""Ctrl-C at any stage: the estimator is as before, workers are gone, no temporary file is left."""

import contextlib
import gc
import os
import signal
import subprocess
import sys
import tempfile
import time

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError

from cases import few
from onmf import ONMF, PALM
from onmf.datasets import make_rays
from onmf.rows import disk, flat
from onmf.rows.memory import InMemory

X, _ = make_rays(240, 30, 4, noise=0.6, random_state=2)
WIDER, _ = make_rays(240, 45, 4, noise=0.6, random_state=3)
pytestmark = pytest.mark.filterwarnings("ignore::onmf.exceptions.ConvergenceWarning")

MODELS = {
    "fast": lambda: ONMF(4, random_state=0, n_init=2),
    "palm": lambda: ONMF(4, random_state=0, max_iter=40, solver=PALM(growth=3.0)),
}


def interrupted_at(monkeypatch, moment, owner, name):
    """Ctrl-C when `owner.name` is called for the `moment`-th time; how often it was called."""
    calls, real = [], getattr(owner, name)

    def counting(*args, **options):
        calls.append(name)
        if len(calls) == moment:
            signal.raise_signal(signal.SIGINT)
        return real(*args, **options)

    monkeypatch.setattr(owner, name, counting)
    return calls


@pytest.mark.parametrize("name", few(MODELS, 2))
def test_an_interrupt_at_any_sweep_leaves_the_estimator_as_it_was(name, monkeypatch):
    """Every reading of X, from the first look to the last measurement, is a stage."""
    with monkeypatch.context() as patch:
        calls = interrupted_at(patch, 0, InMemory, "sweep")
        MODELS[name]().fit(WIDER)
    earlier = MODELS[name]().fit(X)
    labels, known = earlier.predict(X), dict(vars(earlier))
    for moment in {*range(1, len(calls), 1 + len(calls) // 12), len(calls)}:
        fresh = MODELS[name]()
        for model in (fresh, earlier):
            with monkeypatch.context() as patch:
                interrupted_at(patch, moment, InMemory, "sweep")
                with pytest.raises(KeyboardInterrupt):
                    model.fit(WIDER)
        with pytest.raises(NotFittedError):
            fresh.predict(WIDER)
        assert vars(fresh) == fresh.get_params(deep=False)
        assert all(vars(earlier)[key] is value for key, value in known.items())
        np.testing.assert_array_equal(earlier.predict(X), labels)


def test_an_interrupt_while_attributes_are_set_changes_none(monkeypatch):
    model = ONMF(4, random_state=0).fit(X)
    known = dict(vars(model))
    setattr_, seen = ONMF.__setattr__, []

    def interrupting(self, name, value):
        setattr_(self, name, value)
        if name == "cluster_centers_":
            seen.append(name)
            raise KeyboardInterrupt

    monkeypatch.setattr(ONMF, "__setattr__", interrupting, raising=False)
    with pytest.raises(KeyboardInterrupt):
        model.fit(WIDER)
    assert seen
    assert vars(model) == known


def test_an_interrupted_stream_is_where_the_last_whole_batch_left_it(monkeypatch):
    model = ONMF(4, random_state=0)
    with monkeypatch.context() as patch:
        interrupted_at(patch, 4, InMemory, "sweep")
        with pytest.raises(KeyboardInterrupt):
            model.partial_fit(X)
    assert vars(model) == model.get_params()
    model.partial_fit(X[:120])
    known = dict(vars(model))
    with monkeypatch.context() as patch:
        interrupted_at(patch, 1, InMemory, "sweep")
        with pytest.raises(KeyboardInterrupt):
            model.partial_fit(X[120:])
    assert vars(model) == known
    whole = ONMF(4, random_state=0).partial_fit(X[:120]).partial_fit(X[120:])
    np.testing.assert_array_equal(
        model.partial_fit(X[120:]).cluster_centers_, whole.cluster_centers_
    )


def test_a_fit_that_fails_changes_nothing_either():
    model = ONMF(4, random_state=0).fit(X)
    known = dict(vars(model))
    bad = WIDER.copy()
    bad[3, 4] = np.inf
    with pytest.raises(ValueError, match="row 3, column 4"):
        model.fit(bad)
    assert vars(model) == known
    with pytest.raises(ValueError, match="infinity"):
        (unfitted := ONMF(4)).fit(bad)
    assert not hasattr(unfitted, "n_features_in_")


# --- rows elsewhere -------------------------------------------------------------------------------


def packed(folder):
    sp.save_npz(folder / "x.npz", sp.csr_array(np.where(X > 1, X, 0)))
    return folder / "x.npz"


def columns(folder):
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pa.table({f"x{j}": X[:, j] for j in range(30)}), folder / "x.parquet")
    return folder / "x.parquet"


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["fast", "palm"])
@pytest.mark.parametrize("make", [packed, columns])
def test_an_interrupted_fit_of_rows_on_disk_leaves_no_temporary_file(
    solver, make, tmp_path, monkeypatch
):
    path, temporary = make(tmp_path), tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    monkeypatch.setattr(disk, "MAX_MEMBERSHIP_BYTES", 0)  # memberships go to a file as well
    made = []
    real = flat.TemporaryFolder
    monkeypatch.setattr(flat, "TemporaryFolder", lambda: made.append(1) or real())
    model = ONMF(4, solver=solver, random_state=0)
    for moment in (1, 2, 4):
        with monkeypatch.context() as patch:
            interrupted_at(patch, moment, disk.OnDisk, "sweep")
            with contextlib.suppress(KeyboardInterrupt):  # pytest.raises would keep the frames
                model.fit(path)
                raise AssertionError("not interrupted")
        assert made
        made.clear()
        assert vars(model) == model.get_params()
    gc.collect()
    assert list(temporary.iterdir()) == []


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")
def test_an_interrupted_fit_on_workers_leaves_nothing_on_them(monkeypatch):
    distributed, da = pytest.importorskip("distributed"), pytest.importorskip("dask.array")
    from onmf.rows.dask import OnDask

    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        for moment in (1, 2, 4):
            model = ONMF(4, random_state=0)
            with monkeypatch.context() as patch, contextlib.suppress(KeyboardInterrupt):
                interrupted_at(patch, moment, OnDask, "_round")
                model.fit(da.from_array(X, chunks=(60, 30)))
                raise AssertionError("not interrupted")
            assert not hasattr(model, "labels_")
            gc.collect()
            waited = until(lambda: not client.run_on_scheduler(held), seconds=30)
            assert waited, "the workers still hold what the fit gave them"
        whole = ONMF(4, random_state=0).fit(da.from_array(X, chunks=(60, 30)))
        np.testing.assert_array_equal(whole.labels_, ONMF(4, random_state=0).fit(X).labels_)


def held(dask_scheduler):
    return len(dask_scheduler.tasks)


def until(true, seconds):
    deadline = time.monotonic() + seconds
    while not (result := true()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return result


# --- a process at its prompt ----------------------------------------------------------------------

AT_THE_PROMPT = """
import sys, threading
import numpy as np
from onmf import ONMF, choose_k

X = np.random.default_rng(0).random((4000, 60))
try:
    print("running", flush=True)
    while True:
        choose_k(ONMF(loss=sys.argv[1]), X, range(2, 12), n_runs=20, n_jobs=2)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["frobenius", "kl"])
def test_an_interrupted_choice_of_k_ends_and_leaves_no_files(loss, tmp_path):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    places = dict.fromkeys(("TMPDIR", "JOBLIB_TEMP_FOLDER"), str(temporary))
    process = subprocess.Popen(
        [sys.executable, "-c", AT_THE_PROMPT, loss],
        stdout=subprocess.PIPE, text=True, env=os.environ | places, start_new_session=True,
    )  # fmt: skip
    try:
        assert process.stdout.readline() == "running\n"
        os.killpg(process.pid, signal.SIGINT)
        said, _ = process.communicate(timeout=120)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
    assert said == "interrupted\n"
    assert process.returncode == 0
    assert not list(temporary.iterdir())
