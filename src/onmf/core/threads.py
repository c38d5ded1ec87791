"""How many threads a product of matrices may use.

Inside a fit it is one: blocks of rows are what runs in parallel.
"""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import cache
from threading import Lock, current_thread, main_thread
from typing import Any

import threadpoolctl
from threadpoolctl import ThreadpoolController


@cache
def _libraries() -> ThreadpoolController:
    return ThreadpoolController()


@cache
def _limited_by_thread() -> ThreadpoolController:
    """BLAS on OpenMP: a limit holds for the calling thread alone."""
    return _libraries().select(user_api="blas").select(threading_layer="openmp")


class _ProcessLimit:
    """One thread a product, in the whole process, while any fit runs.

    The first fit that begins sets the limit and the last that ends lifts it. Were each to restore
    what it found, one that ends early would lift the limit of those that go on.
    """

    def __init__(self) -> None:
        self.lock, self.fits = Lock(), 0

    def __enter__(self) -> None:
        with self.lock:
            if not self.fits:
                self.limiter = _libraries().limit(limits=1, user_api="blas")
                self.owner = current_thread()
            self.fits += 1

    def __exit__(self, *error: object) -> None:
        with self.lock:
            self.fits -= 1
            if self.fits:
                return
            # threadpoolctl lets only the thread that set a limit lift it, unless told otherwise.
            openblas: Any = threadpoolctl.OpenBLASController
            release = getattr(openblas, "clear_controlling_thread", lambda force: None)
            release(force=current_thread() is not self.owner)
            self.limiter.restore_original_limits()
            release(force=False)


_process_limit = _ProcessLimit()


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Products inside use one thread each."""
    own = _limited_by_thread()
    with _process_limit, own.limit(limits=1) if own.lib_controllers else nullcontext():
        yield


def openmp_threads(n_threads: int) -> Any:
    """A context in which scikit-learn's own loops run in so many threads."""
    return _libraries().limit(limits=n_threads, user_api="openmp")


def blas_threads() -> int:
    """How many threads a product may use here and now: what the caller's limits leave.

    One in any thread but the first: whoever started it (joblib, Dask, a server) has shared the
    processors out already.
    """
    if current_thread() is not main_thread():
        return 1
    counts = [pool["num_threads"] for pool in _libraries().info() if pool["user_api"] == "blas"]
    return max(counts, default=1)
