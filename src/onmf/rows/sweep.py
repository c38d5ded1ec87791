"""Where the samples live. Solvers reach X only through `sweep`.

    rows_b, stats_b = move(block_b, rows_b)  for every block b of samples;   stats = sum_b stats_b

`rows` is what a solver keeps for each sample (memberships, or nothing), cut like X: a list of
pieces, one for each entry of `first`. The place decides where the pieces are; a list of pieces made
here works as well. A block is small enough to stay in the processor's cache between the two
products that need it, so a sweep reads X once. Cuts and the order of summation depend on the data
alone, never on the number of threads: any number gives the same bits. `memory.InMemory` is
the place of an array; rows on disk and on Dask are places of ``onmf.rows``.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
Matrix: TypeAlias = Any  # a C-ordered array or a csr_array: what both can do is all we ask


class Block(NamedTuple):
    """Some samples and their weights (b, 1)."""

    X: Matrix
    weight: Array


Move: TypeAlias = Callable[..., tuple[Any, Any]]  # (block, rows) -> (rows, stats)


class Traffic(NamedTuple):
    """Bytes that left this process for the places of the rows, and came back."""

    sent: int = 0
    received: int = 0


class Data(Protocol):
    """Rows, wherever they are. Solvers ask for nothing else.

    Only `weight`, `scatter` and `gather` deal with arrays as long as X in this process; the default
    solver gathers nothing so long but the labels and, to find outliers, the scores.
    """

    shape: tuple[int, int]
    dtype: np.dtype[Any]

    @property
    def n_stored(self) -> int: ...  # entries that a sweep reads: those stored in a sparse matrix
    @property
    def traffic(self) -> Traffic: ...  # so far
    @property
    def weight(self) -> Array: ...  # d_i
    @property
    def first(self) -> list[int]: ...  # number of the first sample of each piece
    @property
    def norms(self) -> Any: ...  # (||x_i||^2 of the rows as a sweep shows them, sums over them)
    @property
    def row_sqnorms(self) -> Any: ...  # ||x_i||^2, cut like the rows
    @property
    def sqnorm(self) -> float: ...  # ||X||^2
    @property
    def n_missing(self) -> int: ...  # how many entries of X are NaN: not observed
    @property
    def mean(self) -> float: ...  # of |X|
    @property
    def extremes(self) -> tuple[float, float]: ...  # smallest and largest entry
    def take(self, numbers: Array) -> Block: ...
    def scatter(self, H: Array) -> Any: ...
    def gather(self, rows: Any) -> Array: ...
    def dense(self, k: int, change: Callable[..., Array], *rows: Any) -> Any: ...
    def map_blocks(self, change: Callable[..., Any], *rows: Any) -> Any: ...
    def reduce_blocks(self, function: Callable[..., Any], *rows: Any) -> Any: ...
    def sweep(self, move: Move, rows: Any = None) -> tuple[Any, Any]: ...
    def with_larger_blocks(self) -> "Data": ...
    def in_double(self) -> "Data": ...  # the same rows in double precision


def row_sqnorm(X: Matrix) -> Array:
    """||x_i||^2 of what is observed, in double precision."""
    if sp.issparse(X):
        with np.errstate(over="ignore"):  # as einsum does: rows on disk are rescaled later
            squares = np.append(np.square(X.data, dtype=np.float64), 0)  # reduceat needs one beyond
            sums = np.add.reduceat(squares, np.minimum(X.indptr[:-1], len(squares) - 1))
        sqnorms = np.where(np.diff(X.indptr) > 0, sums, 0)
    else:
        sqnorms = np.einsum("ij,ij->i", X, X, dtype=np.float64)
    return row_sqnorm(zero_missing(X)) if np.isnan(sqnorms).any() else sqnorms


def divisor(size: Array) -> Array:
    """size, or 1 where it is 0: what is divided by it is 0 there as well, or is not used."""
    return np.where(size > 0, size, 1)


def count_missing(X: Matrix) -> int:
    """How many entries are NaN."""
    values = X.data if sp.issparse(X) else X
    return int(np.isnan(values).sum()) if values.dtype.kind == "f" else 0


def zero_missing(X: Matrix) -> Matrix:
    """A copy with zeros in the place of NaN, which stands for entries that were not observed."""
    values = X.data if sp.issparse(X) else X
    seen = np.fmax(values, 0)  # the number of the two: ten times as fast as a choice by a mask
    if np.fmin.reduce(values, axis=None, initial=0) < 0:
        seen += np.fmin(values, 0)
    return same_pattern(X, seen) if sp.issparse(X) else seen


def same_pattern(X: Matrix, values: Array) -> Matrix:
    """A CSR matrix with other values in the places of X."""
    return sp.csr_array((values, X.indices, X.indptr), shape=X.shape)
