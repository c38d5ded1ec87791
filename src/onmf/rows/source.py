"""What opening a file returns: shape and names at once, rows when they are asked for.

`load` reads all rows into memory, `rows(i, j)` some of them; rows on disk need nothing else. A
source reads anything that returns an array for a slice: numbers in a file (`FlatFile`), a data set
of HDF5, a memory map; or another source (`Changed`).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from onmf.exceptions import FormatError
from onmf.rows.flat import FlatFile
from onmf.rows.room import NoRoomError, check_memory
from onmf.rows.table import Array, Numbered, Table, check_extent, numbered, one_line

ENTRIES_PER_PART = 4_000_000  # 32 MB of double precision
NUMERIC_KINDS = "biuf"  # of NumPy's types; objects would need pickle
RAW, OBSM = "raw", "obsm/"  # names of layers of annotated data that are elsewhere


@dataclass(frozen=True, kw_only=True, eq=False)
class Source(ABC):
    """Samples in a file; several threads may read at once."""

    where: str  # "X in cells.h5ad", for messages
    shape: tuple[int, int]
    dtype: np.dtype[Any]  # of the rows
    indptr: Array | None = None  # of a sparse matrix
    names: list[str] | None = None  # of the features
    samples: Sequence[str] | None = None  # their names
    labels: list[str] | None = None  # true classes, if asked for
    left_out: dict[str, str] | None = None  # columns that are no features, and why
    edges: Sequence[int] | None = None  # first rows of the stored blocks, and the end

    @abstractmethod
    def rows(self, i: int, j: int) -> Any:
        """Rows i to j - 1, as a new array or CSR matrix."""

    @abstractmethod
    def matrix(self) -> Any:
        """All rows, in the stored type."""

    def load(self) -> Table:
        """The content of the file, in memory."""
        check_memory(self.nbytes, self.where)
        return self._table(self.matrix())

    def outline(self) -> Table:
        """The same, with X a source whose rows stay on disk."""
        return self._table(self.unpacked())

    def _table(self, X: Any) -> Table:
        n, m = X.shape
        return Table(X, self.samples or Numbered(n), self.names or numbered(m), self.labels)

    def unpacked(self) -> "Source":
        """The same with rows that are quick to read: compressed data go to a temporary file."""
        return self

    def in_order(self) -> "Source":
        """The same for a few reads from the first row to the last."""
        return self.unpacked()

    def announce(self, i: int, j: int) -> bool:
        """Have rows i to j - 1 fetched in the background; False if that is not possible."""
        return False

    @property
    def size(self) -> int:
        """Number of stored entries."""
        return self.shape[0] * self.shape[1] if self.indptr is None else int(self.indptr[-1])

    @property
    def nbytes(self) -> int:
        """Memory that `load` needs."""
        return self.size * self.dtype.itemsize

    def __getitem__(self, numbers: Array) -> Any:
        """The rows with these numbers, in this order; runs of neighbours are read at once."""
        if not len(numbers):
            return self.rows(0, 0)
        ordered, place = np.unique(numbers, return_inverse=True)
        runs = np.split(ordered, np.flatnonzero(np.diff(ordered) != 1) + 1)
        parts = [self.rows(int(run[0]), int(run[-1]) + 1) for run in runs]
        return stack_rows(parts)[place]

    def parts(self) -> Iterator[Any]:
        """All rows, in blocks of moderate size."""
        n = self.shape[0]
        step = max(1, ENTRIES_PER_PART * n // max(self.size, 1))
        return (self.rows(i, min(i + step, n)) for i in range(0, n, step))

    def changed(self, change: Callable[[Any], Any]) -> "Changed":
        """The same samples with a function applied to each block as it is read.

        Zeros must stay zeros, and columns must keep their places.
        """
        facts = {field.name: getattr(self, field.name) for field in fields(Source)}
        return Changed(source=self, change=change, **facts)


@dataclass(frozen=True, kw_only=True, eq=False)
class Dense(Source):
    """Rows of any two-dimensional array that can be sliced."""

    array: Any

    @classmethod
    def of(cls, array: Any, where: str, **names: Any) -> Self:
        if len(array.shape) != 2:
            raise FormatError(f"{where} has {len(array.shape)} dimension(s) instead of 2.")
        n, m = array.shape
        dtype = floating(array.dtype, where)
        return cls(array=array, where=where, shape=(int(n), int(m)), dtype=dtype, **names)

    def announce(self, i: int, j: int) -> bool:
        return isinstance(self.array, FlatFile) and self.array.announce(i, j)

    def rows(self, i: int, j: int) -> Array:
        return np.ascontiguousarray(_between(self.array, i, j, self.where), self.dtype)

    def matrix(self) -> Array:
        X = _between(self.array, 0, self.shape[0], self.where)
        copy = isinstance(X, np.memmap)
        return np.asarray(X).astype(X.dtype.newbyteorder("="), copy=copy, subok=False)

    def unpacked(self) -> Source:
        return replace(self, array=_unpacked(self.array))

    def in_order(self) -> Source:
        packed = getattr(self.array, "by_groups", lambda: None)()
        if packed is None:
            return self.unpacked()
        return replace(self, array=packed, edges=packed.edges)


@dataclass(frozen=True, kw_only=True, eq=False)
class Sparse(Source):
    """Rows of a CSR matrix: `data` and `indices` can be sliced, `indptr` is in memory."""

    data: Any
    indices: Any
    indptr: Array

    @classmethod
    def of(cls, parts: Any, shape: Any, where: str, **names: Any) -> Self:
        """From `data`, `indices` and `indptr`, after a check that they fit each other."""
        n, m = (int(size) for size in shape)
        data, indices, indptr = parts["data"], parts["indices"], np.asarray(parts["indptr"][:])
        if min(n, m) < 0 or indptr.shape != (n + 1,):
            raise FormatError(f"{where} is damaged: {n} rows need {n + 1} entries of indptr.")
        kinds = {indptr.dtype.kind, indices.dtype.kind}
        if not kinds <= {"i", "u"} or len(data.shape) != 1 or len(indices.shape) != 1:
            raise FormatError(f"{where} is damaged: its indices are not a list of whole numbers.")
        ends, entries = (int(indptr[0]), int(indptr[-1])), int(data.shape[0])
        if ends != (0, entries) or entries != indices.shape[0]:
            raise FormatError(
                f"{where} is damaged: its indptr runs from {ends[0]} to {ends[1]}, but there are "
                f"{entries} entries and {indices.shape[0]} column numbers."
            )
        if (indptr[1:] < indptr[:-1]).any():
            raise FormatError(f"{where} is damaged: its indptr decreases.")
        check_extent((n, m), entries, where)
        dtype = floating(data.dtype, where)
        return cls(data=data, indices=indices, indptr=indptr, where=where, shape=(n, m),
                   dtype=dtype, **names)  # fmt: skip

    def announce(self, i: int, j: int) -> bool:
        start, stop = int(self.indptr[i]), int(self.indptr[j])
        stored = self.data, self.indices
        return all(isinstance(part, FlatFile) and part.announce(start, stop) for part in stored)

    def rows(self, i: int, j: int) -> Any:
        part = self._between(i, j, self.dtype)
        part.sum_duplicates()  # also sorts; no work for a matrix in canonical form
        return part

    def matrix(self) -> Any:
        return self._between(0, self.shape[0], self.data.dtype.newbyteorder("="))

    def _between(self, i: int, j: int, dtype: np.dtype[Any]) -> Any:
        start, stop = int(self.indptr[i]), int(self.indptr[j])
        indices = np.ascontiguousarray(_between(self.indices, start, stop, self.where))
        columns = self.shape[1]
        if len(indices) and not 0 <= int(indices.min()) <= int(indices.max()) < columns:
            raise FormatError(
                f"{self.where} is damaged: rows {i} to {j - 1} have column numbers outside 0 to "
                f"{columns - 1}."
            )
        data = np.array(_between(self.data, start, stop, self.where), dtype)
        return sp.csr_array((data, indices, self.indptr[i : j + 1] - start), (j - i, columns))

    def unpacked(self) -> Source:
        return replace(self, data=_unpacked(self.data), indices=_unpacked(self.indices))


@dataclass(frozen=True, kw_only=True, eq=False)
class NotByRows(Source):
    """A sparse matrix by columns or entries (CSC, COO), which is read as a whole."""

    kind: str  # "csc"
    entries: int
    read: Callable[[], Any]

    @property
    def size(self) -> int:
        return self.entries

    def matrix(self) -> Any:
        return sp.csr_array(self.read())

    def rows(self, i: int, j: int) -> Any:
        return self.unpacked()

    def unpacked(self) -> Source:
        raise FormatError(
            f"{self.where} is a {self.kind} matrix, which cannot be read by rows: save it as CSR "
            "(`X.tocsr()`)."
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class InMemoryTable(Source):
    """Rows of a file that was read as a whole."""

    X: Any

    @classmethod
    def of(cls, table: Table, where: str) -> Self:
        X, samples, names, labels = table
        return cls(X=X, where=where, shape=X.shape, dtype=X.dtype, samples=samples, names=names,
                   indptr=getattr(X, "indptr", None), labels=labels)  # fmt: skip

    @property
    def nbytes(self) -> int:
        return 0  # already in memory

    def rows(self, i: int, j: int) -> Any:
        return self.X[i:j]

    def matrix(self) -> Any:
        return self.X


@dataclass(frozen=True, kw_only=True, eq=False)
class Changed(Source):
    """Rows of another source, changed as they are read."""

    source: Source
    change: Callable[[Any], Any]

    def announce(self, i: int, j: int) -> bool:
        return self.source.announce(i, j)

    def rows(self, i: int, j: int) -> Any:
        return self.change(self.source.rows(i, j)).astype(self.dtype, copy=False)

    def matrix(self) -> Any:
        return self.rows(0, self.shape[0])


def stack_rows(parts: Sequence[Any]) -> Any:
    """Blocks of rows as one matrix."""
    if len(parts) == 1:
        return parts[0]
    return sp.vstack(parts, "csr") if sp.issparse(parts[0]) else np.concatenate(parts)


def _between(array: Any, start: int, stop: int, where: str) -> Any:
    """A slice; an error of the library below becomes a sentence that names the file."""
    try:
        return array[start:stop]
    except (FileNotFoundError, ConnectionError, NoRoomError):
        raise
    except (OSError, RuntimeError, TypeError, LookupError, ArithmeticError) as error:
        raise FormatError(
            f"{where} is damaged: entries {start} to {stop - 1} cannot be read: {one_line(error)}."
        ) from error


def _unpacked(array: Any) -> Any:
    """An array of which any slice is quick to read."""
    return array.unpacked() if hasattr(array, "unpacked") else array


def floating(dtype: Any, where: str) -> np.dtype[Any]:
    """Single and double precision stay; other numbers become double precision."""
    dtype = np.dtype(dtype)
    if dtype.kind not in NUMERIC_KINDS:
        raise FormatError(f"{where} has entries of type {dtype}, not numbers.")
    return dtype.newbyteorder("=") if dtype in (np.float32, np.float64) else np.dtype(np.float64)
