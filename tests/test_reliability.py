"""The same answer every time: in fresh processes, under load, whatever the threads."""

import contextlib
import gc
import hashlib
import os
import subprocess
import sys
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp
from joblib import Parallel, delayed
from threadpoolctl import threadpool_info, threadpool_limits

from onmf import ONMF
from onmf.datasets import make_rays
from onmf.rows.threads import blas_threads, single_threaded_blas

X, _ = make_rays(900, 60, 6, noise=0.4, random_state=5)
FORMS = {"dense": X, "csr": sp.csr_array(np.where(X > np.median(X), X, 0))}


def fitted(form, n_jobs=None, seed=3, **parameters):
    return ONMF(6, random_state=seed, n_jobs=n_jobs, **parameters).fit(FORMS[form])


def digest(model):
    """Labels to the bit, centroids to ten digits."""
    size = np.abs(model.cluster_centers_).max()
    centers = np.round(model.cluster_centers_ / size, 10) + 0.0  # no negative zero
    return hashlib.sha256(model.labels_.tobytes() + centers.tobytes()).hexdigest()


def answer(*task):
    return digest(fitted(*task))


SOLVERS = {"fast": {}, "palm": {"solver": "palm", "max_iter": 60}}
FRESH = """
import sys
sys.path.insert(0, sys.argv[1])
import numpy as np
from test_reliability import all_answers
np.savez(sys.argv[2], **all_answers())
"""


def all_answers():
    """Labels and centroids of both solvers on both forms."""
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # so few sweeps do not converge
        for form in FORMS:
            for solver, options in SOLVERS.items():
                model = fitted(form, **options)
                found[f"{form} {solver} labels"] = model.labels_
                found[f"{form} {solver} W"] = model.cluster_centers_
    return found


@pytest.mark.slow
def test_fresh_processes_with_any_number_of_blas_threads_agree(tmp_path):
    here = all_answers()
    for threads in ("1", "2"):
        names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
        environment = os.environ | dict.fromkeys(names, threads)
        file = tmp_path / f"{threads}.npz"
        command = [sys.executable, "-c", FRESH, os.path.dirname(__file__), file]
        subprocess.run(command, env=environment, check=True)
        there = np.load(file)
        assert there.files == list(here)
        for name, expected in here.items():
            if name.endswith("labels"):
                np.testing.assert_array_equal(there[name], expected)
            np.testing.assert_allclose(there[name], expected, rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("solver", ["fast", "palm"])
def test_n_jobs_and_repetition_change_nothing(form, solver):
    limit = {"max_iter": 20} if solver == "palm" else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # so few sweeps do not converge
        first, *others = (fitted(form, n_jobs, solver=solver, **limit) for n_jobs in (1, 2, -1, 1))
    for other in others:
        np.testing.assert_array_equal(first.labels_, other.labels_)
        np.testing.assert_allclose(
            first.cluster_centers_, other.cluster_centers_, rtol=1e-12, atol=1e-300
        )


@pytest.mark.slow
def test_a_hundred_fits_at_once_give_the_answers_of_one_at_a_time():
    tasks = [(form, 1, seed) for seed in range(50) for form in FORMS]
    alone = [digest(fitted(*task)) for task in tasks]
    with ThreadPoolExecutor(20) as pool:
        assert list(pool.map(answer, *zip(*tasks, strict=True))) == alone
    assert Parallel(n_jobs=2)(delayed(answer)(*task) for task in tasks) == alone


def test_fits_at_once_leave_the_threads_of_blas_as_they_were():
    before = blas_threads()
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda seed: fitted("dense", 2, seed), range(8)))
    assert blas_threads() == before


def seen_inside(seed, n_jobs=None):
    """Most threads of our own, and most threads of BLAS, while a fit runs."""
    own, blas, done = [0], [], threading.Event()
    before = set(threading.enumerate())  # fits before this one may have left some to collect

    def look():
        while not done.wait(0.001):
            new = set(threading.enumerate()) - before
            own.append(sum("ThreadPoolExecutor" in thread.name for thread in new))

    def watch(event):
        counts = (pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas")
        blas.append(max(counts))
        return False

    looking = threading.Thread(target=look)
    looking.start()
    try:
        fitted("csr", n_jobs, seed=seed, n_init=4, callback=watch)
    finally:
        done.set()
        looking.join()
    return max(own), max(blas)


def test_threads_that_are_asked_for_are_seen():
    """The measure of the tests below can see them."""
    own, blas = seen_inside(0, n_jobs=3)
    assert (own >= 3, blas) == (True, 1)
    assert seen_inside(0, n_jobs=1) == (0, 1)  # the one that fits needs no other


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["processes", "threads"])
def test_a_fit_inside_joblib_takes_no_more_than_its_share(kind):
    cores = os.cpu_count()
    parallel = Parallel(n_jobs=cores, prefer=kind)
    with threadpool_limits(4 * cores, user_api="blas"):  # what a fit alone would take
        seen = parallel(delayed(seen_inside)(seed) for seed in range(2 * cores))
    for own, blas in seen:
        assert own <= (1 if kind == "processes" else cores)
        assert blas == 1 or kind == "threads"  # whose BLAS is the caller's, who set a limit


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")
@pytest.mark.parametrize("processes", [True, False])
def test_a_fit_inside_dask_takes_no_more_than_its_share(processes):
    distributed = pytest.importorskip("distributed")
    cores = os.cpu_count()
    shape = {"n_workers": cores, "threads_per_worker": 1} if processes else {
        "n_workers": 1, "threads_per_worker": cores}  # fmt: skip
    with (
        distributed.LocalCluster(**shape, processes=processes, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
    ):
        here = os.path.dirname(__file__)
        client.run(lambda: sys.path.insert(0, here))
        with threadpool_limits(4 * cores, user_api="blas"):  # what a fit alone would take
            seen = client.gather(client.map(seen_inside, range(2 * cores), pure=False))
    for own, blas in seen:
        assert own <= (1 if processes else cores)
        assert blas == 1 or not processes  # whose BLAS is the caller's, who set a limit


IN_A_CELL = """
import sys; sys.path.insert(0, {here!r})
from test_reliability import seen_inside
print(*seen_inside(0))
"""


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")
def test_a_fit_in_a_cell_of_a_notebook_takes_no_more_than_the_cores():
    pytest.importorskip("ipykernel")
    from jupyter_client.manager import start_new_kernel

    manager, client = start_new_kernel(kernel_name="python3")
    said = []
    try:
        answer = client.execute_interactive(
            IN_A_CELL.format(here=os.path.dirname(__file__)),
            output_hook=lambda message: said.append(message["content"].get("text", "")),
            timeout=120,
        )
        assert answer["content"]["status"] == "ok", answer["content"]
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    own, blas = map(int, "".join(said).split())
    assert 0 <= own <= os.cpu_count()
    assert blas == 1


@pytest.mark.slow
def test_an_interrupt_leaves_no_threads_and_no_limit_behind():
    def interrupt(event):
        raise KeyboardInterrupt

    blas, threads = blas_threads(), threading.active_count()
    with contextlib.suppress(KeyboardInterrupt):  # pytest.raises would keep the frames alive
        fitted("csr", 2, callback=interrupt)
        raise AssertionError("not interrupted")
    gc.collect()
    deadline = time.monotonic() + 10
    while threading.active_count() > threads and time.monotonic() < deadline:
        time.sleep(0.01)
    assert blas_threads() == blas
    assert threading.active_count() <= threads  # one of an earlier test may have ended meanwhile


def test_limits_of_blas_nest():
    before = blas_threads()
    with single_threaded_blas():
        assert blas_threads() == 1
        with single_threaded_blas():
            assert blas_threads() == 1
        assert blas_threads() == 1
    assert blas_threads() == before
