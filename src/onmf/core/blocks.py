"""Where the samples live. Solvers reach X only through `sweep`.

    rows_b, stats_b = move(block_b, rows_b)  for every block b of samples;   stats = sum_b stats_b

`rows` is what a solver keeps for each sample (memberships, or nothing), cut like X. A block is
small enough to stay in the processor's cache between the two products that need it, so a sweep
reads X once. Consecutive blocks form groups, the unit of parallel work. Cuts and the order of
summation depend on the data alone, never on the number of threads: any number gives the same bits.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from copy import copy
from functools import cache, cached_property, reduce
from itertools import pairwise
from operator import iadd
from threading import Lock
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

Array: TypeAlias = NDArray[Any]
Matrix: TypeAlias = Any  # a C-ordered array or a csr_array: what both can do is all we ask

BLOCK_ENTRIES = 96_000  # of X: fits a second-level cache, and OpenBLAS's path for small products
WIDE = 4  # times as many where threads share the work, or a product has many columns
ENOUGH_BLOCKS = 64  # of a dense X, for threads to be worth their while
FEWEST_ROWS = 32  # with fewer, a block's products are all overhead
MOST_GROUPS = 16


class Block(NamedTuple):
    """Some samples and their weights (b, 1)."""

    X: Matrix
    weight: Array


Move: TypeAlias = Callable[..., tuple[Any, Any]]  # (block, rows) -> (rows, stats)


class Data(Protocol):
    """A place for rows. Solvers ask for nothing else."""

    shape: tuple[int, int]
    dtype: np.dtype[Any]
    sqnorm: float  # ||X||^2
    weight: Array  # d_i
    energy: Any  # ||x_i||^2, cut like the rows

    @property
    def mean(self) -> float: ...  # of |X|
    def take(self, rows: Array) -> Matrix: ...
    def scatter(self, H: Array) -> Any: ...
    def gather(self, rows: Any) -> Array: ...
    def each(self, change: Callable[[Any], Any], rows: Any) -> Any: ...
    def total(self, function: Callable[..., float], *rows: Any) -> float: ...
    def sweep(self, move: Move, rows: Any = None) -> tuple[Any, Any]: ...
    def wide(self) -> "Data": ...


class InMemory:
    """The rows of one array or CSR matrix. Weights count: `sqnorm` and `mean` are weighted."""

    def __init__(self, X: Matrix, weight: Array | None = None, n_threads: int = 1) -> None:
        self.X, self.shape, self.dtype = X, X.shape, X.dtype
        self.weight = np.ones(X.shape[0], X.dtype) if weight is None else weight.astype(X.dtype)
        self._threads: Callable[..., Any] = (
            ThreadPoolExecutor(n_threads).map if n_threads > 1 else map
        )
        large = sp.issparse(X) or X.size > ENOUGH_BLOCKS * BLOCK_ENTRIES
        self._cut(WIDE * BLOCK_ENTRIES if large else BLOCK_ENTRIES, self._threads if large else map)
        self.energy, total = self.sweep(measure)
        self.sqnorm = total.sqnorm

    def _cut(self, entries: int, visit_all: Callable[..., Any]) -> None:
        self.cuts, self._map = cuts(self.X, entries), visit_all
        self.blocks = [
            Block(rows_between(self.X, i, j), self.weight[i:j, None])
            for i, j in pairwise(self.cuts)
        ]
        self.groups = np.array_split(range(len(self.blocks)), MOST_GROUPS)[: len(self.blocks)]

    def wide(self) -> "InMemory":
        """The same rows in larger blocks: for products with many columns, in threads."""
        other = copy(self)
        other._cut(WIDE * BLOCK_ENTRIES, self._threads)
        other.energy = other.scatter(self.gather(self.energy))
        return other

    @cached_property
    def mean(self) -> float:
        _, total = self.sweep(weigh)
        return total.mass / (total.weight * self.shape[1])

    def take(self, rows: Array) -> Matrix:
        """A few samples, by number."""
        return self.X[rows]

    def scatter(self, H: Array) -> list[Array]:
        return [H[i:j] for i, j in pairwise(self.cuts)]

    def gather(self, rows: Sequence[Array]) -> Array:
        return np.concatenate(rows)

    def each(self, change: Callable[[Any], Any], rows: Sequence[Any]) -> list[Any]:
        """Change what is kept for each block, without reading X."""
        return [change(row) for row in rows]

    def total(self, function: Callable[..., float], *rows: Sequence[Any]) -> float:
        """Sum of `function(weight, *rows)` over the blocks, without reading X."""
        weights = (block.weight for block in self.blocks)
        return sum(map(function, weights, *rows))

    def sweep(self, move: Move, rows: Sequence[Any] | None = None) -> tuple[list[Any], Any]:
        """Apply `move(block, rows) -> (rows, stats)` to every block and add the stats."""
        kept = [None] * len(self.blocks) if rows is None else rows

        def visit(group: Sequence[int]) -> tuple[list[Any], Any]:
            moved, stats = zip(*(move(self.blocks[b], kept[b]) for b in group), strict=True)
            return list(moved), reduce(add, stats)

        done = list(self._map(visit, self.groups))
        return [row for moved, _ in done for row in moved], reduce(add, [s for _, s in done])


def add(total: Any, part: Any) -> Any:
    """Sum of two named tuples of arrays and numbers; the arrays of the first are reused."""
    return type(total)(*map(iadd, total, part))


def cuts(X: Matrix, entries: int) -> list[int]:
    """First rows of the blocks of about so many entries, and the end."""
    n, m = X.shape
    if sp.issparse(X):
        # Each block pays for a dense m x k summary: give it eight times as many non-zeros.
        size = max(8 * m, entries // WIDE)  # a sparse entry is a lot of work
        inner = np.searchsorted(X.indptr, np.arange(size, X.nnz - size // 2, size))
    else:
        inner = np.arange(0, n, max(FEWEST_ROWS, entries // m))
    return np.unique([0, *inner, n]).tolist()


def rows_between(X: Matrix, i: int, j: int) -> Matrix:
    """X[i:j] without a copy, for CSR too."""
    if not sp.issparse(X):
        return X[i:j]
    start, stop = X.indptr[i], X.indptr[j]
    part = sp.csr_array((j - i, X.shape[1]), dtype=X.dtype)
    # Set by hand: the constructor copies a slice that is less than half of its base.
    part.data, part.indices = X.data[start:stop], X.indices[start:stop]
    part.indptr = X.indptr[i : j + 1] - start
    return part


def row_sqnorm(X: Matrix) -> Array:
    """||x_i||^2, in double precision."""
    if not sp.issparse(X):
        return np.einsum("ij,ij->i", X, X, dtype=np.float64)
    squares = np.append(np.square(X.data, dtype=np.float64), 0)  # reduceat needs one beyond the end
    sums = np.add.reduceat(squares, np.minimum(X.indptr[:-1], len(squares) - 1))
    return np.where(np.diff(X.indptr) > 0, sums, 0)


class Size(NamedTuple):
    """Weighted ||X||^2."""

    sqnorm: float


class Mass(NamedTuple):
    """Weighted sum of |X|, and of the weights."""

    mass: float
    weight: float


def measure(block: Block, rows: Any) -> tuple[Array, Size]:
    """||x_i||^2 of the rows."""
    energy = row_sqnorm(block.X)
    return energy, Size(float(block.weight[:, 0].astype(np.float64) @ energy))


def weigh(block: Block, rows: Any) -> tuple[None, Mass]:
    weight = block.weight[:, 0].astype(np.float64)
    mass = np.asarray(abs(block.X).sum(axis=1, dtype=np.float64)).ravel()
    return None, Mass(float(weight @ mass), float(weight.sum()))


@cache
def blas() -> ThreadpoolController:
    return ThreadpoolController()


class SingleThreadedBLAS:
    """Products inside use one thread each: blocks are what runs in parallel.

    The limit belongs to the process. Of fits that overlap in several threads the first sets it and
    lifts it again when it leaves; were each to restore what it found, the last would restore 1.
    """

    def __init__(self) -> None:
        self.lock, self.held = Lock(), False

    @contextmanager
    def __call__(self) -> Iterator[None]:
        with self.lock:
            mine, self.held = not self.held, True
        try:
            with blas().limit(limits=1, user_api="blas") if mine else nullcontext():
                yield
        finally:
            if mine:
                self.held = False


single_threaded_blas = SingleThreadedBLAS()


def openmp_threads(n_threads: int) -> Any:
    """A context in which scikit-learn's own loops run in so many threads."""
    return blas().limit(limits=n_threads, user_api="openmp")


def blas_threads() -> int:
    """How many threads a product may use here and now: what the caller's limits leave."""
    counts = [pool["num_threads"] for pool in blas().info() if pool["user_api"] == "blas"]
    return max(counts, default=1)
