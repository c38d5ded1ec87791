"""Rows on disk: the blocks of `InMemory`, each read when its turn comes.

The next piece is fetched while this one is used: by the system, if it takes hints, or by a
thread. Cuts and sums are those of the same rows in memory, so the answer is the same to the last
bit.
"""

import operator
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cached_property, partial
from itertools import chain, pairwise
from pathlib import Path
from threading import Lock
from typing import Any, Self, TypeVar

import numpy as np
import scipy.sparse as sp

from onmf.rows.check import Check, CheckBlock
from onmf.rows.formats import open_arrays
from onmf.rows.memory import InMemory, block_of
from onmf.rows.npy import open_mapped
from onmf.rows.source import Source
from onmf.rows.sweep import Array, Block, Move

T = TypeVar("T")

READ_BYTES = 4 << 20  # bytes that are read at once: still in a cache when they are worked on
MAX_MAP_AS_ARRAY_BYTES = 64 << 20  # bytes: a map of fewer is taken as an array
MAX_MEMBERSHIP_BYTES = 256 << 20  # bytes of memberships that are kept in memory


def open_rows(X: Any, few: bool = False) -> Source | None:
    """Rows to be read block by block, or None if X is in memory.

    Parameters
    ----------
    X : str, Path, memory map, CSR matrix of memory maps, data set of HDF5, or Source
        A path ends in .npy, .npz, .parquet or .h5ad.
    few : bool
        Whether they will be read only a few times, so that unpacking them first does not pay.

    Returns
    -------
    Source or None

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> path = pathlib.Path(tempfile.mkdtemp(), "X.npy")
    >>> np.save(path, np.arange(6.0).reshape(3, 2))
    >>> open_rows(path).rows(1, 3)
    array([[2., 3.],
           [4., 5.]])
    """
    if type(X) is np.ndarray:
        return None
    if isinstance(X, Source):
        return X
    if isinstance(X, str | Path):
        source = open_arrays(X)
        return source.in_order() if few else source.unpacked()
    if isinstance(X, np.memmap) or sp.issparse(X):
        return open_mapped(X, MAX_MAP_AS_ARRAY_BYTES)
    X = getattr(X, "group", X)  # anndata's view of a sparse matrix on disk
    if type(X).__module__.split(".")[0] == "h5py":
        from onmf.rows.h5ad import open_matrix  # needs h5py, which is there

        return open_matrix(X, f"the data set {getattr(X, 'name', '')}")
    return None


def empty_array(shape: tuple[int, int], dtype: Any) -> Array:
    """An empty array: in memory, or in a temporary file if it is too large for memory."""
    if np.prod(shape, dtype=float) * np.dtype(dtype).itemsize <= MAX_MEMBERSHIP_BYTES:
        return np.empty(shape, dtype)
    with tempfile.TemporaryFile(prefix="onmf-") as file:  # the map keeps it alive, without a name
        return np.memmap(file, dtype, "w+", shape=shape)


class OnDisk(InMemory):
    """The rows of a source. The first look at each block checks it, and may refuse it."""

    _empty = staticmethod(empty_array)

    def __init__(
        self,
        source: Source,
        weight: Array | None,
        check: Check,
        n_threads: int = 1,
        look: Move | None = None,
    ) -> None:
        self.check, self.n_threads, self.look = check, n_threads, look or CheckBlock(check)
        if weight is None:  # as long as the rows, and of no size
            weight = np.broadcast_to(np.ones(1, source.dtype), source.shape[0])
        super().__init__(source, weight, n_threads)

    def _group(self, numbers: Sequence[int]) -> Iterable[tuple[int, Block]]:
        return GroupReader(self, numbers)

    @cached_property
    def norms(self) -> tuple[Any, Any]:
        return self.sweep(self.look, self.first)

    @cached_property
    def extremes(self) -> tuple[float, float]:
        return self.norms[1].extremes

    @property
    def n_missing(self) -> int:
        return int(self.norms[1].span.n_missing)

    def _doubled(self) -> Source:
        """Each block as it is read."""
        double = np.dtype(np.float64)
        return replace(self.X.changed(operator.methodcaller("astype", double)), dtype=double)

    def times(self, factor: float) -> Self:
        """The same rows times a power of two."""
        if factor == 1:
            return self
        multiply = partial(operator.mul, self.dtype.type(factor))
        return type(self)(self.X.changed(multiply), self.weight, self.check, self.n_threads)

    def sweep(self, move: Any, rows: Sequence[Any] | None = None) -> tuple[list[Any], Any]:
        """As in memory; memberships that are too large for memory go to a temporary file."""
        kept = [None] * len(self.first) if rows is None else rows
        return super().sweep(ToOneArray(move, self), list(zip(self.first, kept, strict=True)))


class GroupReader:
    """The blocks of a group with their numbers, read whenever it is gone through.

    Several are read at once: a block fits a cache, which is little for a disk.
    """

    def __init__(self, data: OnDisk, numbers: Sequence[int]) -> None:
        self.source, self.weight, self.cuts = data.X, data.weight, data.cuts
        size = data.X.size * data.dtype.itemsize
        several = max(1, READ_BYTES * len(data.first) // max(size, 1))
        self.pieces = [numbers[s : s + several] for s in range(0, len(numbers), several)]

    def __iter__(self) -> Iterator[tuple[int, Block]]:
        read = map(self._read, self.pieces, [*self.pieces[1:], None])
        announced = self.source.announce(*self._span(self.pieces[0]))
        return chain.from_iterable(read if announced else fetched_ahead(read))

    def _span(self, piece: Sequence[int]) -> tuple[int, int]:
        return self.cuts[piece[0]], self.cuts[piece[-1] + 1]

    def _read(
        self, piece: Sequence[int], following: Sequence[int] | None
    ) -> list[tuple[int, Block]]:
        """The blocks of a piece; the piece that follows is fetched while they are worked on."""
        first, last = self._span(piece)
        X, weight = self.source.rows(first, last), self.weight[first:last]
        if following is not None:
            self.source.announce(*self._span(following))
        edges = [self.cuts[b] - first for b in (*piece, piece[-1] + 1)]
        pairs = zip(piece, pairwise(edges), strict=True)
        return [(b, block_of(X, weight, i, j)) for b, (i, j) in pairs]


class ToOneArray:
    """A move whose memberships, one row a sample, go where there is room for all of them."""

    def __init__(self, move: Any, data: OnDisk) -> None:
        self.move, self.n = move, data.shape[0]
        self.whole: Array | None = None
        self.lock = Lock()

    def __call__(self, block: Block, numbered: tuple[int, Any]) -> tuple[Any, Any]:
        first, kept = numbered
        memberships, stats = self.move(block, kept)
        n, shape = len(block.weight), tuple[int, ...](getattr(memberships, "shape", ()))
        if len(shape) != 2 or shape[0] != n:
            return memberships, stats
        with self.lock:
            if self.whole is None:
                self.whole = empty_array((self.n, shape[1]), memberships.dtype)
        part = self.whole[first : first + n]
        part[:] = memberships
        return part, stats


def fetched_ahead(items: Iterable[T]) -> Iterator[T]:
    """The same items, each made in a thread while the one before it is worked on."""
    source = iter(items)
    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(next, source, None)
        while (item := coming.result()) is not None:
            coming = pool.submit(next, source, None)
            yield item
