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
    """One thread a product in the whole process: how many fits need it, and who has set it."""

    def __init__(self) -> None:
        self.lock, self.fits = Lock(), 0
        self.limiter: Any = None
        self.owner: Any = None


_limit = _ProcessLimit()


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Products inside use one thread each.

    The limit belongs to the process: the first fit that begins sets it and the last that ends lifts
    it. Were each to restore what it found, one that ends early would lift it for the others.
    """
    with _limit.lock:
        if not _limit.fits:
            _limit.limiter = _libraries().limit(limits=1, user_api="blas")
            _limit.owner = current_thread()
        _limit.fits += 1
    try:
        own = _limited_by_thread()
        with own.limit(limits=1) if own.lib_controllers else nullcontext():
            yield
    finally:
        with _limit.lock:
            _limit.fits -= 1
            if not _limit.fits:
                # threadpoolctl lets only the thread that set a limit lift it, unless forced.
                openblas: Any = threadpoolctl.OpenBLASController
                release = getattr(openblas, "clear_controlling_thread", lambda force: None)
                release(force=current_thread() is not _limit.owner)
                _limit.limiter.restore_original_limits()
                release(force=False)


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
