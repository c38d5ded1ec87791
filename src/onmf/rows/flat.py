"""Arrays stored row by row in a file, and temporary files for unpacked ones."""

import errno
import math
import os
import shutil
import tempfile
import weakref
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from onmf.exceptions import FormatError
from onmf.rows.room import NoRoomError
from onmf.rows.table import Array


@dataclass(frozen=True)
class FlatFile:
    """An array in row order that starts at `position` of a file, read by slices.

    It is not mapped: mapped pages count as memory of the process, and a file that is truncated
    while it is mapped kills the process.
    """

    path: Path
    position: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    folder: "TemporaryFolder | None" = None  # deleted with the last reader

    def __post_init__(self) -> None:
        needed = self.position + self._bytes(self.shape[0] if self.shape else 1)
        if (size := self.path.stat().st_size) < needed:
            raise FormatError(
                f"{self.path.name} is truncated: it has {size} bytes instead of {needed}."
            )

    def _bytes(self, n: int) -> int:
        """Bytes of n rows."""
        return n * math.prod(map(int, self.shape[1:])) * self.dtype.itemsize

    def __getitem__(self, rows: slice) -> Array:
        i, j, _ = rows.indices(self.shape[0])
        size, offset = self._bytes(j - i), self.position + self._bytes(i)
        count = size // self.dtype.itemsize
        numbers = np.fromfile(self.path, self.dtype, count, offset=offset)
        if len(numbers) < count:
            raise FormatError(f"{self.path.name} was truncated while it was read.")
        return numbers.reshape(j - i, *self.shape[1:])

    def announce(self, i: int, j: int) -> bool:
        """Ask the system to fetch rows i to j - 1 ahead; False where it cannot."""
        if not hasattr(os, "posix_fadvise"):
            return False
        with self.path.open("rb", buffering=0) as file:
            start, length = self.position + self._bytes(i), self._bytes(j - i)
            os.posix_fadvise(file.fileno(), start, length, os.POSIX_FADV_WILLNEED)
        return True


class TemporaryFolder:
    """A temporary folder that is deleted when it is no longer used."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="onmf-"))
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


def room_for(size: int, what: str) -> TemporaryFolder:
    """A temporary folder with space for so many bytes."""
    folder = TemporaryFolder()
    free = shutil.disk_usage(folder.path).free
    if free < size:
        raise NoRoomError(
            errno.ENOSPC,
            f"unpacking {what} needs {size / 1e9:.1f} GB in the folder for temporary files and "
            f"{free / 1e9:.1f} GB are free: set TMPDIR to another folder",
        )
    return folder
