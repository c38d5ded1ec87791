"""What differs between operating systems: locks, signals, renames.

Nothing else asks which system it is. (`onmf_app` handles SIGTERM itself, which all of them have.)
"""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from threading import current_thread, main_thread
from typing import IO, Any


def _module(name: str) -> Any:
    """A module that only some systems have, or None."""
    try:
        return import_module(name)
    except ImportError:
        return None


fcntl, msvcrt = _module("fcntl"), _module("msvcrt")
WINDOWS = os.name == "nt"
NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)  # Windows opens no link for writing without being asked
RENAME_WAITS = (0.01, 0.05, 0.25, 1.0)  # seconds: what scans new files there holds them for less


def lock_file(file: IO[bytes]) -> None:
    """Lock a file for this process; BlockingIOError if another one has it.

    The system releases the lock with the process. Where there are no locks this does nothing.
    """
    if fcntl is not None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    elif msvcrt is not None:
        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError as error:
            raise BlockingIOError(error.errno, "another process has the lock") from error


def remove_open_file(path: Path) -> None:
    """Remove a file that is still open, where that is possible."""
    with suppress(*([PermissionError] if WINDOWS else [])):
        path.unlink(missing_ok=True)


def rename(path: Path, place: Path) -> None:
    """Put a file into its place in one step, whatever was there.

    On Windows that fails while another program reads the file: it is tried again for a while.
    """
    for wait in RENAME_WAITS if WINDOWS else ():
        try:
            return os.replace(path, place)
        except PermissionError:
            time.sleep(wait)
    return os.replace(path, place)


@contextmanager
def signals_deferred() -> Iterator[None]:
    """Signals that interrupt or end the process wait until the block has ended."""
    if current_thread() is not main_thread():  # signals go to the main thread
        yield
        return
    came: list[int] = []
    named = (getattr(signal, name, None) for name in ("SIGINT", "SIGTERM", "SIGHUP"))
    kinds = [kind for kind in named if kind is not None and signal.getsignal(kind) is not None]
    usual = {kind: signal.signal(kind, lambda number, _: came.append(number)) for kind in kinds}
    try:
        yield
    finally:
        for kind, handler in usual.items():
            signal.signal(kind, handler)
        for number in came:
            signal.raise_signal(number)
