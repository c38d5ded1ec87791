"""Rows in memory: a block is a view of the array, and threads share the groups of blocks.

Consecutive blocks form groups, the unit of parallel work. Their cuts and the order of summation
depend on the data alone, so that any number of threads gives the same bits.
"""

import math
import operator
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from functools import cached_property, reduce
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp

from onmf.rows.sweep import Array, Block, Matrix, Move, Traffic, row_sqnorm

BLOCK_ENTRIES = 96_000  # of X: fits a second-level cache, and OpenBLAS's path for small products
LARGE_BLOCK_FACTOR = 4  # times as many where threads share the work, or a product has many columns
MIN_BLOCKS_FOR_THREADS = 64  # of a dense X, for threads to be worth their while
MIN_BLOCK_ROWS = 32  # with fewer, a block's products are all overhead
MAX_GROUPS = 16


class InMemory:
    """The rows of one array or CSR matrix. Weights count: `sqnorm` and `mean` are weighted."""

    traffic = Traffic()
    _empty: Callable[..., Array] = staticmethod(np.empty)  # where memberships go

    def __init__(
        self, X: Matrix, weight: Array | None = None, n_threads: int = 1, n_missing: int = 0
    ) -> None:
        self.X, self.shape, self.dtype, self._holes = X, X.shape, X.dtype, n_missing
        self.weight = np.ones(X.shape[0], X.dtype) if weight is None else weight
        self._threads: Callable[..., Any] = (
            ThreadPoolExecutor(n_threads).map if n_threads > 1 else map
        )
        # In a large block, twice as many entries in single precision.
        self._wide = LARGE_BLOCK_FACTOR * BLOCK_ENTRIES * 8 // np.dtype(X.dtype).itemsize
        sparse = getattr(X, "indptr", None) is not None
        large = sparse or np.prod(X.shape, dtype=float) > MIN_BLOCKS_FOR_THREADS * BLOCK_ENTRIES
        edges = block_edges(X, self._wide if large else BLOCK_ENTRIES)
        self._cut_at(edges, self._threads if large else map)

    def _cut_at(self, edges: list[int], visit_all: Callable[..., Any] = map) -> None:
        """Blocks between these rows; `visit_all` goes through their groups."""
        self.cuts, self.first, self._map = edges, edges[:-1], visit_all
        count = min(len(self.first), MAX_GROUPS)
        size, more = divmod(len(self.first), count)  # the first groups have one block more
        ends = [size * part + min(part, more) for part in range(count + 1)]
        self.groups = [self._group(range(*pair)) for pair in pairwise(ends)]

    def _group(self, numbers: Sequence[int]) -> Iterable[tuple[int, Block]]:
        """Consecutive blocks with their numbers, to be gone through in every sweep."""
        return [(b, block_of(self.X, self.weight, *self.cuts[b : b + 2])) for b in numbers]

    def with_larger_blocks(self) -> Self:
        """The same rows in larger blocks: for products with many columns, in threads."""
        other = copy(self)
        other._cut_at(block_edges(self.X, self._wide), self._threads)
        other.norms = other.scatter(self.gather(self.row_sqnorms)), self.norms[1]
        return other

    def in_double(self) -> Self:
        """The same rows in double precision: a copy, unless they are."""
        if self.dtype == np.float64:
            return self
        other = copy(self)
        other.X, other.dtype = self._doubled(), np.dtype(np.float64)
        other.weight = self.weight.astype(np.float64)
        other._cut_at(self.cuts, self._map)
        return other

    def _doubled(self) -> Matrix:
        return self.X.astype(np.float64)

    @property
    def n_stored(self) -> int:
        """Entries that a sweep reads."""
        begins = getattr(self.X, "indptr", None)
        return math.prod(self.shape) if begins is None else int(begins[-1])

    @cached_property
    def norms(self) -> tuple[Any, "Size"]:
        """||x_i||^2 and ||X||^2."""
        return self.sweep(measure)

    @property
    def row_sqnorms(self) -> Any:
        return self.norms[0]

    @property
    def sqnorm(self) -> float:
        return self.norms[1].sqnorm

    @property
    def n_missing(self) -> int:
        """How many entries of X are NaN: not observed."""
        return self._holes

    @cached_property
    def mean(self) -> float:
        _, total = self.sweep(weigh)
        return total.mass / (total.weight * self.shape[1])

    @cached_property
    def extremes(self) -> tuple[float, float]:
        ends = np.array([ends_of(block.X) for group in self.groups for _, block in group])
        return float(np.fmin.reduce(ends[:, 0])), float(np.fmax.reduce(ends[:, 1]))

    def take(self, numbers: Array) -> Block:
        """A few samples, by number."""
        return Block(self.X[numbers], self.weight[numbers, None])

    def scatter(self, H: Array) -> list[Array]:
        return [H[i:j] for i, j in pairwise(self.cuts)]

    def gather(self, rows: Sequence[Array]) -> Array:
        return np.concatenate(rows)

    def dense(self, k: int, change: Callable[..., Array], *rows: Sequence[Any]) -> Array:
        """(n, k) with `change(*rows)` of every block, where the place keeps what is that large."""
        whole = self._empty((self.shape[0], k), self.dtype)
        for i, j, *parts in zip(self.cuts, self.cuts[1:], *rows, strict=False):
            whole[i:j] = change(*parts)
        return whole

    def map_blocks(self, change: Callable[..., Any], *rows: Sequence[Any]) -> list[Any]:
        """Change what is kept for each block, without reading X."""
        return list(map(change, *rows))

    def reduce_blocks(self, function: Callable[..., Any], *rows: Sequence[Any]) -> Any:
        """Sum of `function(weight, *rows)` over the blocks, without reading X."""
        weights = (np.ascontiguousarray(self.weight[i:j, None]) for i, j in pairwise(self.cuts))
        return reduce(operator.add, map(function, weights, *rows))

    def sweep(self, move: Move, rows: Sequence[Any] | None = None) -> tuple[list[Any], Any]:
        """Apply `move(block, rows) -> (rows, stats)` to every block and add the stats."""
        kept = [None] * len(self.first) if rows is None else rows

        def visit(group: Iterable[tuple[int, Block]]) -> tuple[list[Any], Any]:
            moved, total = [], None
            for b, block in group:
                row, stats = move(block, kept[b])
                moved.append(row)
                total = stats if total is None else add_stats(total, stats)
            return moved, total

        done, sums = [], None
        for moved, stats in self._map(visit, self.groups):  # a sum is as large as a part of it
            done += moved
            sums = stats if sums is None else add_stats(sums, stats)
        return done, sums


def add_stats(total: Any, part: Any) -> Any:
    """Sum of two named tuples of arrays and numbers; the arrays of the first are reused."""
    return type(total)(*map(operator.iadd, total, part))


def block_edges(X: Matrix, entries: int) -> list[int]:
    """First rows of the blocks of about so many entries, and the end."""
    n, m = X.shape
    if (edges := getattr(X, "edges", None)) is not None:  # blocks that are made as a whole
        return list(edges)
    if (begins := getattr(X, "indptr", None)) is None:
        if 0 < n <= MIN_BLOCK_ROWS:
            return [0, n]
        inner = np.arange(0, n, max(MIN_BLOCK_ROWS, entries // m))
    else:  # CSR, here or elsewhere: it knows where its rows begin
        # Each block pays for a dense m x k summary: give it sixteen times as many non-zeros.
        size = max(16 * m, entries // LARGE_BLOCK_FACTOR)  # a sparse entry is a lot of work
        inner = np.searchsorted(begins, np.arange(size, int(begins[-1]) - size // 2, size))
    return np.unique([0, *inner, n]).tolist()


def block_of(X: Matrix, weight: Array, i: int, j: int) -> Block:
    """X[i:j] without a copy, for CSR too, and its weights.

    Weights are copied to a contiguous (b, 1) array, so that sums are bitwise reproducible.
    """
    own = np.ascontiguousarray(weight[i:j, None])
    if not sp.issparse(X):
        return Block(X[i:j], own)
    if j - i == X.shape[0]:
        return Block(X, own)
    start, stop = X.indptr[i], X.indptr[j]
    part = sp.csr_array((j - i, X.shape[1]), dtype=X.dtype)
    # Set by hand: the constructor copies a slice that is less than half of its base.
    part.data, part.indices = X.data[start:stop], X.indices[start:stop]
    part.indptr = X.indptr[i : j + 1] - start
    return Block(part, own)


def ends_of(X: Matrix) -> tuple[float, float]:
    """The smallest and the largest entry of those that are observed; NaN if none is."""
    if sp.issparse(X):
        return float(X.nanmin()), float(X.nanmax())
    return float(np.fmin.reduce(X, axis=None)), float(np.fmax.reduce(X, axis=None))


class Size(NamedTuple):
    """Weighted ||X||^2."""

    sqnorm: float


class Mass(NamedTuple):
    """Weighted sum of the sizes of the entries of X, and of the weights."""

    mass: float
    weight: float


def measure(block: Block, rows: Any) -> tuple[Array, Size]:
    """||x_i||^2 of the rows."""
    sqnorms = row_sqnorm(block.X)
    return sqnorms, Size(weighted_sum(block.weight, sqnorms))


def count_nonzero_samples(weight: Array, sqnorms: Array) -> int:
    """How many samples of a block are not all zero and have weight."""
    return int(np.sum((sqnorms > 0) & (weight[:, 0] > 0)))


class Present(NamedTuple):
    """How many samples have entries and weight, whatever their squares are, which may vanish."""

    samples: int


def count_present(block: Block, rows: Any) -> tuple[Array, Present]:
    """Which samples of a block they are, and their number."""
    present = np.asarray(((block.X > 0) + (block.X < 0)).sum(axis=1)).ravel() > 0
    present &= block.weight[:, 0] > 0
    return present, Present(int(present.sum()))


def weighted_sum(weight: Array, sqnorms: Array) -> float:
    """sum_i d_i ||x_i||^2 of a block."""
    return float(weight[:, 0].astype(np.float64) @ sqnorms)


def weigh(block: Block, rows: Any) -> tuple[None, Mass]:
    """The sizes of the entries, added up."""
    weight = block.weight[:, 0].astype(np.float64)
    mass = np.asarray(abs(block.X).sum(axis=1, dtype=np.float64)).ravel()
    return None, Mass(float(weight @ mass), float(weight.sum()))
