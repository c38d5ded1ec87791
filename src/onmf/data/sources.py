"""Rows that are somewhere else: all a source must do is read rows i to j.

A source has `shape`, `dtype`, `indptr` (None if dense), `names` of the features (or None) and
`rows(i, j)`. It is built on anything that gives an array for a slice: a plain file (`Plain`), a
data set of HDF5 or Zarr, a memory map; or on another source (`Changed`).
"""

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from onmf.io.table import one_line

Array = NDArray[Any]

PART = 4_000_000  # entries


class Source(ABC):
    """Rows that can be read a few at a time, by several threads at once."""

    if TYPE_CHECKING:  # a field or a property

        @property
        def shape(self) -> tuple[int, int]: ...
        @property
        def dtype(self) -> np.dtype[Any]: ...
        @property
        def indptr(self) -> Array | None: ...
        @property
        def names(self) -> list[str] | None: ...

    @abstractmethod
    def rows(self, i: int, j: int) -> Any:
        """Rows i to j - 1, as an array or a CSR matrix of their own."""

    def announce(self, i: int, j: int) -> bool:
        """Have rows i to j - 1 fetched while others are worked on; False if nobody can."""
        return False

    def __getitem__(self, numbers: Array) -> Any:
        """The rows of these numbers, in their order; runs of neighbours are read at once."""
        if not len(numbers):
            return self.rows(0, 0)
        ordered, place = np.unique(numbers, return_inverse=True)
        runs = np.split(ordered, np.flatnonzero(np.diff(ordered) != 1) + 1)
        parts = [self.rows(int(run[0]), int(run[-1]) + 1) for run in runs]
        return (np.concatenate(parts) if self.indptr is None else sp.vstack(parts, "csr"))[place]

    def parts(self) -> Iterator[Any]:
        """All rows, a moderate number at a time."""
        n, m = self.shape
        entries = n * m if self.indptr is None else int(self.indptr[-1])
        step = max(1, PART * n // max(entries, 1))
        return (self.rows(i, min(i + step, n)) for i in range(0, n, step))


@dataclass(frozen=True)
class Plain:
    """Numbers one after the other in a file, from `position` on.

    Read, not mapped: pages that are mapped count as memory of the process, and a file that was cut
    off kills it.
    """

    path: Path
    position: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    keep: Any = None  # what must live as long as the file: a temporary folder

    def __post_init__(self) -> None:
        needed = self.position + int(np.prod(self.shape, dtype=object)) * self.dtype.itemsize
        if (size := self.path.stat().st_size) < needed:
            raise ValueError(
                f"{self.path.name} is cut off: it has {size} bytes instead of {needed}."
            )

    def __getitem__(self, rows: slice) -> Array:
        i, j, _ = rows.indices(self.shape[0])
        each = int(np.prod(self.shape[1:], dtype=object))
        start = self.position + i * each * self.dtype.itemsize
        found = np.fromfile(self.path, self.dtype, (j - i) * each, offset=start)
        if len(found) < (j - i) * each:
            raise ValueError(f"{self.path.name} was cut off while it was read.")
        return found.reshape(j - i, *self.shape[1:])

    def announce(self, i: int, j: int) -> bool:
        """Tell the system what will be read next, if it listens: no thread has to wait for it."""
        if not hasattr(os, "posix_fadvise"):
            return False
        row = int(np.prod(self.shape[1:], dtype=object)) * self.dtype.itemsize
        with self.path.open("rb", buffering=0) as file:
            start, length = self.position + i * row, (j - i) * row
            os.posix_fadvise(file.fileno(), start, length, os.POSIX_FADV_WILLNEED)
        return True


@dataclass(frozen=True)
class Dense(Source):
    """Rows of anything two-dimensional that can be sliced."""

    array: Any
    dtype: np.dtype[Any]
    names: list[str] | None = None
    factor: float = 1.0
    indptr: ClassVar[None] = None

    @property
    def shape(self) -> tuple[int, int]:
        n, m = self.array.shape
        return int(n), int(m)

    def announce(self, i: int, j: int) -> bool:
        return isinstance(self.array, Plain) and self.array.announce(i, j)

    def rows(self, i: int, j: int) -> Array:
        block = np.ascontiguousarray(between(self.array, i, j), self.dtype)
        return block if self.factor == 1 else block * self.dtype.type(self.factor)


@dataclass(frozen=True)
class Sparse(Source):
    """Rows of a CSR matrix: `data` and `indices` can be sliced, `indptr` is here."""

    data: Any
    indices: Any
    indptr: Array
    columns: int
    dtype: np.dtype[Any]
    names: list[str] | None = None
    factor: float = 1.0

    def __post_init__(self) -> None:
        ends = int(self.indptr[0]), int(self.indptr[-1])
        if ends != (0, len_of(self.data)) or len_of(self.data) != len_of(self.indices):
            raise ValueError(
                f"the sparse matrix is damaged: its indptr runs from {ends[0]} to {ends[1]}, but "
                f"there are {len_of(self.data)} entries and {len_of(self.indices)} column numbers."
            )
        if (np.diff(self.indptr) < 0).any():
            raise ValueError("the sparse matrix is damaged: its indptr decreases.")

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.indptr) - 1, self.columns

    def announce(self, i: int, j: int) -> bool:
        start, stop = int(self.indptr[i]), int(self.indptr[j])
        stored = self.data, self.indices
        return all(isinstance(part, Plain) and part.announce(start, stop) for part in stored)

    def rows(self, i: int, j: int) -> Any:
        start, stop = int(self.indptr[i]), int(self.indptr[j])
        indices = np.ascontiguousarray(between(self.indices, start, stop))
        if len(indices) and not 0 <= int(indices.min()) <= int(indices.max()) < self.columns:
            raise ValueError(
                f"rows {i} to {j - 1} have column numbers outside 0 to {self.columns - 1}: the "
                "sparse matrix is damaged."
            )
        data = np.array(between(self.data, start, stop), self.dtype)
        if self.factor != 1:
            data *= self.dtype.type(self.factor)
        part = sp.csr_array((data, indices, self.indptr[i : j + 1] - start), (j - i, self.columns))
        part.sum_duplicates()  # sorts as well; does nothing if all is well
        return part


@dataclass(frozen=True)
class Changed(Source):
    """Rows that are changed as they are read; zeros stay zeros, columns stay where they are."""

    source: Source
    change: Callable[[Any], Any]
    factor: float = 1.0

    @property
    def shape(self) -> tuple[int, int]:
        return self.source.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.source.dtype

    @property
    def indptr(self) -> Array | None:
        return self.source.indptr

    @property
    def names(self) -> list[str] | None:
        return self.source.names

    def announce(self, i: int, j: int) -> bool:
        return self.source.announce(i, j)

    def rows(self, i: int, j: int) -> Any:
        block = self.change(self.source.rows(i, j)).astype(self.dtype, copy=False)
        return block if self.factor == 1 else block * self.dtype.type(self.factor)


def between(array: Any, start: int, stop: int) -> Any:
    """A slice; what the library behind it says of damage becomes a sentence."""
    try:
        return array[start:stop]
    except FileNotFoundError:
        raise
    except (OSError, RuntimeError, TypeError, LookupError, ArithmeticError) as error:
        raise ValueError(
            f"entries {start} to {stop - 1} cannot be read, the file is damaged: {one_line(error)}."
        ) from error


def len_of(array: Any) -> int:
    return int(array.shape[0])


def floating(dtype: Any, name: str) -> np.dtype[Any]:
    """Single and double precision stay; other numbers become double precision."""
    dtype = np.dtype(dtype)
    if dtype.kind not in "biuf":
        raise ValueError(f"{name} holds entries of type {dtype}, not numbers.")
    return dtype.newbyteorder("=") if dtype in (np.float32, np.float64) else np.dtype(np.float64)


def matrix(name: str, array: Any, names: list[str] | None = None) -> Dense:
    """Rows of a two-dimensional array."""
    if len(array.shape) != 2:
        raise ValueError(f"{name} has {len(array.shape)} dimension(s) instead of 2.")
    return Dense(array, floating(array.dtype, name), names)


def csr(name: str, parts: Any, shape: Any, names: list[str] | None = None) -> Sparse:
    """Rows of a CSR matrix given by its `data`, `indices` and `indptr`."""
    n, m = (int(size) for size in shape)
    data, indptr = parts["data"], np.asarray(parts["indptr"][:])
    if min(n, m) < 0 or indptr.shape != (n + 1,):
        raise ValueError(f"{name} is damaged: {n} rows need {n + 1} entries of indptr.")
    numbers = (indptr.dtype.kind + parts["indices"].dtype.kind).replace("u", "i")
    if numbers != "ii" or len(data.shape) != 1 or len(parts["indices"].shape) != 1:
        raise ValueError(f"{name} is damaged: its indices are not whole numbers in a row.")
    return Sparse(data, parts["indices"], indptr, m, floating(data.dtype, name), names)
