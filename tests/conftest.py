"""Data and parameters shared by all tests."""

import errno
import gc
import io
import os
import signal
import sys
from datetime import date
from importlib import util
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import settings

from onmf.palm.penalties import PENALTIES, General

# `make test` draws the same cases every time; `make fuzz` draws new ones.
settings.register_profile("new", deadline=None)  # a busy machine is no failure
settings.register_profile("same", settings.get_profile("new"), derandomize=True, database=None)
settings.load_profile("new" if int(os.environ.get("ONMF_FUZZ_CASES", 0)) > 300 else "same")

OFFLINE = Path(__file__).parent / "offline"


def load_guard():
    """Refuse the network here, and in every Python that a test starts."""
    loaded = sys.modules.get("sitecustomize")
    if loaded is not None and Path(loaded.__file__).parent == OFFLINE:
        return loaded  # in a worker of pytest-xdist
    known = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(OFFLINE), known]))
    spec = util.spec_from_file_location("offline", OFFLINE / "sitecustomize.py")
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


offline = load_guard()

# Idle threads of scikit-learn's K-means sleep: on a busy machine they spin for ten times the work.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

# A shell that starts the tests in the background has them ignore Ctrl-C; some of them press it.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_itemcollected(item):
    """What is known to fail promises nothing, and its traceback takes half a second."""
    if item.get_closest_marker("xfail"):
        item.add_marker(pytest.mark.slow)


def pytest_collection_finish():
    """What has been imported is no garbage: the collector need not look through it again."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def no_network():
    """A test that asked for the network fails, even if what asked took no for an answer."""
    offline.REFUSED.clear()
    yield offline
    assert not offline.REFUSED, f"tests do not use the network: {offline.REFUSED}"


def chosen_seed():
    """ONMF_SEED, or the day of the year: a promise that holds for one seed only is none."""
    given = os.environ.get("ONMF_SEED")
    if given == "any":
        return int.from_bytes(os.urandom(2)) % 100
    return int(given) if given else date.today().timetuple().tm_yday % 100


SEED = chosen_seed()


def pytest_report_header():
    return f"global_random_seed: {SEED} (ONMF_SEED={SEED} repeats it)"


@pytest.fixture
def global_random_seed():
    """A seed of 0 to 99, another one every day: what a test promises holds for all of them."""
    return SEED


@pytest.fixture(params=["sncp", "nsncp"])
def penalty_name(request):
    return request.param


@pytest.fixture
def penalty(penalty_name):
    return PENALTIES[penalty_name]


ALL_PENALTIES = {**PENALTIES, "general": General(p=1, q=3, v=3), "large": General(p=2, q=4, v=5)}


@pytest.fixture(
    params=[pytest.param(n, marks=pytest.mark.slow) if n == "large" else n for n in ALL_PENALTIES]
)
def any_penalty(request):
    return ALL_PENALTIES[request.param]


@pytest.fixture
def planted():
    """Samples on four noisy rays: the model ONMF assumes."""
    rng = np.random.default_rng(0)
    labels = np.arange(120) % 4
    rays = rng.gamma(1.0, size=(4, 30))
    X = rng.uniform(0.5, 2, size=(120, 1)) * rays[labels]
    return X + 0.05 * rng.random(X.shape), labels


@pytest.fixture
def plain_pages():
    """Pages of one split of the features and of maps that are the first two coordinates, for
    tests of all else: most of the time of a page goes into five splits and the map."""
    from onmf import explain

    with pytest.MonkeyPatch.context() as patch:  # of its own: a test may undo the other
        patch.setitem(explain.clusters.__kwdefaults__, "splits", 1)
        patch.setattr("onmf.page.embedding.lay_out", lambda Y, random_state: Y[:, :2])
        yield


def int64_csr(X):
    X = sp.csr_array(X)
    return sp.csr_array(
        (X.data, X.indices.astype(np.int64), X.indptr.astype(np.int64)), shape=X.shape
    )


CONTAINERS = {
    "array": np.asarray,
    "fortran": np.asfortranarray,
    "csr_array": sp.csr_array,
    "csr_matrix": sp.csr_matrix,
    "csc_array": sp.csc_array,
    "int64_csr": int64_csr,
}


FEW = ("array", "csr_array")  # the others are turned into one of them when they come in


@pytest.fixture(
    params=[n if n in FEW else pytest.param(n, marks=pytest.mark.slow) for n in CONTAINERS]
)
def container(request):
    return CONTAINERS[request.param]


@pytest.fixture
def page(monkeypatch):
    """The report's place is taken by a list of what it was asked for."""
    asked = []

    def html(model, X, **facts):
        asked.append(SimpleNamespace(model=model, X=X, **facts))
        return "<!doctype html>"

    monkeypatch.setattr("onmf.page.html", html)
    return asked


@pytest.fixture
def full_disk(monkeypatch):
    """Call it for a disk on which, from now on, every file has room for so many bytes."""

    def fill(room):
        class Limited(io.FileIO):
            def write(self, data):
                if self.tell() + len(data) > room:
                    raise OSError(errno.ENOSPC, "No space left on device")
                return super().write(data)

        open_ = Path.open

        def limited(path, mode="r", *args, **options):
            if mode == "xb":
                return io.BufferedWriter(Limited(path, "x"))
            return open_(path, mode, *args, **options)

        monkeypatch.setattr(Path, "open", limited)

    return fill
