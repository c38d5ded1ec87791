"""How many threads a product of matrices may use, and tasks in threads that can be stopped.

Inside a fit a product uses one: blocks of rows are what runs in parallel.
"""

from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from itertools import chain
from threading import Event, Lock, current_thread, local, main_thread
from typing import Any

import threadpoolctl
from threadpoolctl import ThreadpoolController


@cache
def _libraries() -> ThreadpoolController:
    return ThreadpoolController()


@cache
def _blas() -> tuple[list[Any], list[Any]]:
    """BLAS with a limit for the process, and BLAS on OpenMP: one for the calling thread alone."""
    blas = _libraries().select(user_api="blas")
    by_thread = blas.select(threading_layer="openmp").lib_controllers
    return [one for one in blas.lib_controllers if one not in by_thread], by_thread


def _limit_to_one(libraries: list[Any]) -> list[tuple[Any, int]]:
    """One thread for those that have more: these, and how many each had."""
    before = [(library, library.get_num_threads() or 1) for library in libraries]
    changed = [(library, threads) for library, threads in before if threads > 1]
    for library, _ in changed:
        library.set_num_threads(1)
    return changed


def _lift(changed: list[tuple[Any, int]]) -> None:
    for library, threads in changed:
        library.set_num_threads(threads)


class _ProcessLimit:
    """One thread a product in the whole process: how many fits need it, and who has set it."""

    def __init__(self) -> None:
        self.lock, self.fits = Lock(), 0
        self.changed: list[tuple[Any, int]] = []
        self.owner: Any = None


_limit = _ProcessLimit()


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Products inside use one thread each.

    The limit belongs to the process: the first fit that begins sets it and the last that ends lifts
    it. Were each to restore what it found, one that ends early would lift it for the others.
    """
    libraries, by_thread = _blas()
    with _limit.lock:
        if not _limit.fits:
            _limit.changed, _limit.owner = _limit_to_one(libraries), current_thread()
        _limit.fits += 1
    own = _limit_to_one(by_thread)
    try:
        yield
    finally:
        _lift(own)
        with _limit.lock:
            _limit.fits -= 1
            if not _limit.fits and _limit.changed:
                # threadpoolctl lets only the thread that set a limit lift it, unless forced.
                openblas: Any = threadpoolctl.OpenBLASController
                release = getattr(openblas, "clear_controlling_thread", lambda force: None)
                release(force=current_thread() is not _limit.owner)
                _lift(_limit.changed)
                release(force=False)


def blas_threads() -> int:
    """How many threads a product may use here and now: what the caller's limits leave.

    One in any thread but the first: whoever started it (joblib, Dask, a server) has shared the
    processors out already.
    """
    if current_thread() is not main_thread():
        return 1
    return max((library.get_num_threads() or 1 for library in chain(*_blas())), default=1)


class _Running(local):
    """Set when nobody waits any more for what this thread computes."""

    stop: Event | None = None


_running = _Running()


def check_stopped() -> None:
    """Raise CancelledError in a thread of `in_threads` that was stopped."""
    if _running.stop is not None and _running.stop.is_set():
        raise CancelledError


def in_threads(
    task: Callable[[Any], Any], items: Sequence[Any], n_threads: int
) -> Generator[Any, None, None]:
    """What the task makes of each item, in turn; a single thread is the caller's own.

    When the caller takes no more, also because of an interrupt, tasks under way end at their next
    `check_stopped`.
    """
    if n_threads == 1 or len(items) == 1:
        yield from map(task, items)
        return
    stop = Event()

    def begin() -> None:
        _running.stop = stop

    pool = ThreadPoolExecutor(n_threads, initializer=begin)
    try:
        yield from pool.map(task, items)
    finally:
        stop.set()
        pool.shutdown(cancel_futures=True)
