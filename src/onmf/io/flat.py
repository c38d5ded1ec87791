"""Numbers one after the other in a file, and temporary files to unpack others into."""

import errno
import os
import shutil
import tempfile
import weakref
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onmf.exceptions import FormatError
from onmf.io.groups import container_memory
from onmf.io.remote import AnyFile, RemoteFile


@dataclass(frozen=True)
class FlatFile:
    """An array in row order that begins at `position` of a file, to be read by slices.

    Read, not mapped: pages that are mapped count as memory of the process, and a file that was cut
    off kills it.
    """

    path: AnyFile
    position: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    folder: "TemporaryFolder | None" = None  # lives as long as somebody reads from it

    def __post_init__(self) -> None:
        needed = self.position + self._bytes(self.shape[0] if self.shape else 1)
        if (size := self.path.stat().st_size) < needed:
            raise FormatError(
                f"{self.path.name} is cut off: it has {size} bytes instead of {needed}."
            )

    def _bytes(self, n: int) -> int:
        """Of n rows."""
        return n * int(np.prod(self.shape[1:], dtype=object)) * self.dtype.itemsize

    def __getitem__(self, rows: slice) -> NDArray[Any]:
        i, j, _ = rows.indices(self.shape[0])
        count = self._bytes(j - i) // self.dtype.itemsize
        offset = self.position + self._bytes(i)
        numbers = read_numbers(self.path, self.dtype, count, offset)
        if len(numbers) < count:
            raise FormatError(f"{self.path.name} was cut off while it was read.")
        return numbers.reshape(j - i, *self.shape[1:])

    def announce(self, i: int, j: int) -> bool:
        """Tell the system what will be read next, if it listens: no thread has to wait for it."""
        if isinstance(self.path, RemoteFile) or not hasattr(os, "posix_fadvise"):
            return False
        with self.path.open("rb", buffering=0) as file:
            start, length = self.position + self._bytes(i), self._bytes(j - i)
            os.posix_fadvise(file.fileno(), start, length, os.POSIX_FADV_WILLNEED)
        return True


def read_numbers(path: AnyFile, dtype: np.dtype[Any], count: int, offset: int) -> NDArray[Any]:
    """So many numbers from there on, or as many as there are."""
    if isinstance(path, Path):
        return np.fromfile(path, dtype, count, offset=offset)
    part = path.read_range(offset, offset + count * dtype.itemsize)
    return np.frombuffer(part, dtype, len(part) // dtype.itemsize)


class NoRoomError(OSError):
    """What must be unpacked does not fit on the disk, or into memory."""


class TemporaryFolder:
    """A temporary folder that goes when it is no longer used."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="onmf-"))
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


def room_for(size: int, what: str) -> TemporaryFolder:
    """A temporary folder with room for so many bytes."""
    folder = TemporaryFolder()
    free = shutil.disk_usage(folder.path).free
    if free < size:
        raise NoRoomError(
            errno.ENOSPC,
            f"{what} must be unpacked to be read by rows, which takes {size / 1e9:.1f} GB in the "
            f"folder for temporary files; {free / 1e9:.1f} GB are free. Set TMPDIR to another",
        )
    return folder


def free_memory() -> int:
    """Bytes that can be had without swapping, of the machine and of the container."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            facts = dict(line.split(":") for line in lines)
        free = int(facts["MemAvailable"].split()[0]) << 10
    except (OSError, KeyError):
        free = int(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2)
    return min([free, *container_memory()])


def check_memory(size: int, what: str) -> None:
    """So many bytes can be had. A small file may claim, or even hold, any number of zeros."""
    free = free_memory()
    if free < size:
        raise NoRoomError(
            errno.ENOMEM,
            f"{what} takes {size / 1e9:.1f} GB of memory, of which {free / 1e9:.1f} GB are free: "
            "store it as .npy or .h5ad and give ONMF its path, which reads it by rows",
        )
