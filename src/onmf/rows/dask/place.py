"""The rows of a Dask array as a place.

A chunk of rows is a piece. A sweep is one round: the move goes to every worker once, each chunk is
swept where it is, as if it were alone in memory, and the sums meet in a binary tree over the
chunks. What is kept for each sample stays beside its chunk. All of it are tasks: what a worker that
dies takes with it is computed again.
"""

import math
import operator
from asyncio import CancelledError
from collections.abc import Callable
from copy import copy
from functools import cached_property, partial, wraps
from itertools import accumulate, pairwise
from typing import Any, ParamSpec, TypeVar

import dask.array as da
import numpy as np
import scipy.sparse as sp
from dask.base import compute, persist
from dask.delayed import delayed

from onmf.rows.check import Check, CheckBlock
from onmf.rows.dask import chunks as work
from onmf.rows.dask.workers import Rows, current_client, on_workers, run_on, sum_neighbours
from onmf.rows.memory import weigh
from onmf.rows.scale import Scale
from onmf.rows.source import floating
from onmf.rows.sweep import Array, Block, Move, Traffic
from onmf.rows.validation import Features, as_weights

P = ParamSpec("P")
T = TypeVar("T")


def rows_on_dask(
    X: Any,
    sample_weight: Any,
    scale: Scale,
    check: Check,
    known: Features | None,
    look: Move | None = None,
) -> tuple["OnDask", float, Array | None, int, Features]:
    """A Dask array or DataFrame as a place, with its factor; the weights with theirs; names."""
    X, names = as_array(X)
    if np.isnan(X.shape[0]):
        X = X.compute_chunk_sizes()
    dtype = floating(X.dtype, "the Dask array")
    features = Features.of(X.shape, names)
    features.check(known, check.name)
    weight, exponent = as_weights(compute(sample_weight)[0], X.shape, dtype, scale)
    data = OnDask(X, dtype, weight, check, look)
    factor = scale(*data.extremes, dtype, X.shape)
    return data.times(factor), factor, weight, exponent, features


def as_array(X: Any) -> tuple[Any, list[str] | None]:
    """A Dask array whose chunks hold whole rows, and the names of its columns."""
    names = None
    if hasattr(X, "to_dask_array"):
        names, X = [str(name) for name in X.columns], X.to_dask_array()
    if X.ndim != 2:
        raise ValueError(f"the Dask array has {X.ndim} dimension(s) instead of 2.")
    return X if X.numblocks[1] == 1 else X.rechunk({1: -1}), names


def needs_client(method: Callable[P, T]) -> Callable[P, T]:
    """The same method of `OnDask`, which says so if its client is closed."""

    @wraps(method)
    def call_or_say_why(*args: P.args, **options: P.kwargs) -> T:
        try:
            return method(*args, **options)
        except (Exception, CancelledError) as error:
            client: Any = args[0].client  # type: ignore[attr-defined]
            if client is None or client.status == "running":
                raise
            raise ConnectionError(
                "the Dask client that holds the rows was closed while they were read: connect "
                "again, and fit again."
            ) from error

    return call_or_say_why


class OnDask:
    """The rows of a Dask array."""

    def __init__(
        self, X: Any, dtype: Any, weight: Array | None, check: Check, look: Move | None = None
    ) -> None:
        self.shape, self.dtype, self.look = X.shape, dtype, look or CheckBlock(check)
        self.n_stored = math.prod(X.shape)  # what the chunks store is not known here
        self.traffic, self._weight = Traffic(), weight
        sizes = [(index, size) for index, size in enumerate(X.chunks[0]) if size]
        self.cuts = [0, *accumulate(size for _, size in sizes)]
        blocks = X.to_delayed(optimize_graph=True)[:, 0]
        weights = [None] * len(sizes) if weight is None else self.scatter(weight)
        ready = [
            delayed(work.as_block)(blocks[index], own, dtype, index, size)
            for (index, size), own in zip(sizes, weights, strict=True)
        ]
        self.client = current_client()
        self.chunks, self.homes = on_workers(self.client, X, ready)

    @property
    def first(self) -> list[int]:
        return self.cuts[:-1]

    @property
    def weight(self) -> Array:
        return np.ones(self.shape[0], self.dtype) if self._weight is None else self._weight

    def with_larger_blocks(self) -> "OnDask":
        return self

    def times(self, factor: float) -> "OnDask":
        """The same rows times a power of two."""
        if factor == 1:
            return self
        other = copy(self)
        other.chunks = self.map_blocks(work.scale_by(factor), self.chunks)
        del other.norms
        return other

    def in_double(self) -> "OnDask":
        """The same rows in double precision."""
        if self.dtype == np.float64:
            return self
        other = copy(self)
        other.dtype, other.chunks = np.dtype(np.float64), self.map_blocks(work.doubled, self.chunks)
        other._weight = None if self._weight is None else self._weight.astype(np.float64)
        return other

    @cached_property
    def norms(self) -> tuple[Rows, Any]:
        return self._round(work.look_at_chunk, self.look, self.first)

    @property
    def row_sqnorms(self) -> Rows:
        return self.norms[0]

    @property
    def sqnorm(self) -> float:
        return float(self.norms[1].sqnorm)

    @property
    def extremes(self) -> tuple[float, float]:
        low, high = self.norms[1].extremes
        return low, high

    @property
    def n_missing(self) -> int:
        """How many entries of X are NaN: not observed."""
        return self.norms[1].span.n_missing

    @cached_property
    def mean(self) -> float:
        _, total = self.sweep(weigh)
        return float(total.mass / (total.weight * self.shape[1]))

    @needs_client
    def take(self, numbers: Array) -> Block:
        """A few samples, by number."""
        places = np.searchsorted(numbers, self.cuts)
        wanted = [
            delayed(work.take_rows)(chunk, numbers[i:j] - first)
            for chunk, first, (i, j) in zip(self.chunks, self.cuts, pairwise(places), strict=False)
            if i < j
        ]
        parts = compute(*wanted)
        stack = sp.vstack if sp.issparse(parts[0].X) else np.concatenate
        return Block(stack([part.X for part in parts]), np.concatenate([p.weight for p in parts]))

    def scatter(self, H: Any) -> Rows:
        if isinstance(H, da.Array):  # it came from `array`
            return list(H.to_delayed().ravel())
        return [H[i:j] for i, j in pairwise(self.cuts)]

    @needs_client
    def gather(self, rows: Rows) -> Array:
        return np.concatenate(compute(*rows))

    def dense(self, k: int, change: Callable[..., Array], *rows: Rows) -> Any:
        """(n, k) with `change(*rows)` of every chunk: a Dask array whose blocks are where X is."""
        parts = zip(self._tasks(change, *rows), pairwise(self.cuts), strict=True)
        return da.concatenate(
            [da.from_delayed(part, (j - i, k), self.dtype) for part, (i, j) in parts]
        )

    @needs_client
    def map_blocks(self, change: Callable[..., Any], *rows: Rows) -> Rows:
        """Change what is kept for each chunk, without reading X."""
        return persist(*self._tasks(change, *rows))

    def _tasks(self, function: Callable[..., Any], *rows: Rows) -> list[Any]:
        """`function(*rows)` of every chunk; the function itself goes to every worker once."""
        shared = delayed(function, traverse=False)
        return [delayed(work.call)(shared, *parts) for parts in zip(*rows, strict=True)]

    @needs_client
    def reduce_blocks(self, function: Callable[..., Any], *rows: Rows) -> Any:
        """Sum of `function(weight, *rows)` over the chunks, without reading X."""
        parts = self._tasks(partial(work.call_with_weight, function), self.chunks, *rows)
        return compute(sum_neighbours(delayed(operator.add), parts, self.homes))[0]

    def sweep(self, move: Move, rows: Rows | None = None) -> tuple[Rows, Any]:
        """Apply `move(block, rows) -> (rows, stats)` to every block and add the stats."""
        return self._round(
            work.sweep_chunk, move, [None] * len(self.chunks) if rows is None else rows
        )

    @needs_client
    def _round(self, task: Callable[..., Any], move: Any, rows: Rows) -> tuple[Rows, Any]:
        """W goes out, sums come back; what is kept for the samples stays."""
        shared, visit = delayed(move, traverse=False), delayed(task)
        item, moved, parts = delayed(operator.getitem), [], []
        for number, home in enumerate(self.homes):
            with run_on(home):
                done = visit(self.chunks[number], shared, rows[number], number)
                moved.append(item(done, 0))
                parts.append(item(done, 1))
        *kept, root = persist(*moved, sum_neighbours(delayed(work.add_sums), parts, self.homes))
        total: work.PartialSum = compute(root)[0]
        if total.where is not None:  # another process
            sent, received = self.traffic
            sent += len(total.places) * work.size_of(move)
            self.traffic = Traffic(sent, received + total.received + work.size_of(total.stats))
        return kept, total.stats


def lazily(
    answer: Callable[[Any], Array],
    X: Any,
    dtype: Any,
    columns: int | None,
    known: Features,
    name: str,
) -> Any:
    """`answer` of every chunk when its turn comes: a Dask array of one or `columns` columns.

    The features must be those `known` to the estimator of this `name`.
    """
    X, names = as_array(X)
    Features.of(X.shape, names).check(known, name)
    form: dict[str, Any] = {"drop_axis": 1}
    if columns is not None:
        form = {"chunks": (X.chunks[0], (columns,))}
    empty = np.empty((0,) if columns is None else (0, columns), dtype)
    return X.map_blocks(work.on_chunk, answer, empty, dtype=dtype, meta=empty, **form)
