"""A chunk of rows on a worker: what is done to it, without knowing who asks."""

import operator
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import cloudpickle
import numpy as np
import scipy.sparse as sp

from onmf.rows.memory import InMemory
from onmf.rows.sweep import Array, Block, Move
from onmf.rows.threads import single_threaded_blas


class PartialSum(NamedTuple):
    """A sum over some chunks, where it is, and which bytes had to move for it."""

    stats: Any
    where: str | None
    received: int
    places: frozenset[str | None]


def as_block(chunk: Any, weight: Array | None, dtype: Any, index: int, size: int) -> Block:
    """A chunk as solvers expect it, in the least number of copies."""
    check_length(chunk, index, size)
    if sp.issparse(chunk):
        chunk = sp.csr_array(chunk, dtype=dtype)
        if not chunk.has_canonical_format:
            chunk = chunk.copy()
            chunk.sum_duplicates()
    else:
        try:
            chunk = np.ascontiguousarray(chunk, dtype)
        except (TypeError, ValueError) as error:
            raise ValueError(f"chunk {index} cannot be read as numbers: {error}") from error
    weight = np.ones(chunk.shape[0], dtype) if weight is None else weight
    return Block(chunk, weight[:, None])


def check_length(chunk: Any, index: int, size: int) -> None:
    """A chunk has as many rows as the array says: all that follow it would be others."""
    if chunk.shape[0] != size:
        raise ValueError(
            f"chunk {index} has {chunk.shape[0]} rows, but the Dask array says {size}: make its "
            "chunks as long as they are (`X.compute_chunk_sizes()`)."
        )


def scale_by(factor: float) -> Callable[[Block], Block]:
    return lambda block: block._replace(X=block.X * block.X.dtype.type(factor))


def doubled(block: Block) -> Block:
    """In double precision."""
    return Block(*(part.astype(np.float64) for part in block))


def as_place(chunk: Block) -> InMemory:
    """The chunk as a place of its own."""
    return InMemory(chunk.X, chunk.weight[:, 0])


def take_rows(chunk: Block, numbers: Array) -> Block:
    return Block(chunk.X[numbers], chunk.weight[numbers])


def split_into_blocks(place: InMemory, kept: Any) -> Any:
    """What is kept for a chunk, for each of its blocks."""
    if kept is None:
        return None
    if isinstance(kept, list | tuple):
        parts = zip(*(split_into_blocks(place, part) for part in kept), strict=True)
        return [same_kind(kept, own) for own in parts]
    return place.scatter(kept)


def join_blocks(rows: list[Any]) -> Any:
    """What is kept for the blocks of a chunk, for all of it."""
    if rows[0] is None:
        return None
    if isinstance(rows[0], list | tuple):
        return same_kind(rows[0], map(join_blocks, map(list, zip(*rows, strict=True))))
    return np.concatenate(rows)


def same_kind(kept: list[Any] | tuple[Any, ...], parts: Iterable[Any]) -> Any:
    """A list, or a named tuple of the same kind, of these parts."""
    return list(parts) if isinstance(kept, list) else type(kept)(*parts)


def call(function: Callable[..., Any], *rows: Any) -> Any:
    return function(*rows)


def call_with_weight(function: Callable[..., Any], chunk: Block, *rows: Any) -> Any:
    return function(chunk.weight, *rows)


def sweep_chunk(chunk: Block, move: Move, kept: Any, number: int) -> tuple[Any, PartialSum]:
    """One chunk as if it were alone in memory."""
    with single_threaded_blas():
        place = as_place(chunk)
        rows, stats = place.sweep(move, split_into_blocks(place, kept))
    return join_blocks(rows), sum_here(stats)


def look_at_chunk(chunk: Block, move: Move, first: int, number: int) -> tuple[Any, PartialSum]:
    """The first look; what is wrong is said of rows of X, not of the chunk."""
    place = as_place(chunk)
    try:
        rows, stats = place.sweep(move, [first + start for start in place.first])
    except ValueError as error:
        raise ValueError(f"in chunk {number}: {error}") from error
    return join_blocks(rows), sum_here(stats)


def sum_here(stats: Any) -> PartialSum:
    """The sum over one chunk, where it is."""
    address = worker_address()
    return PartialSum(stats, address, 0, frozenset([address]))


def add_sums(a: PartialSum, b: PartialSum) -> PartialSum:
    """The sum of two. Neither is changed: a task may have to run twice."""
    came = sum(size_of(part.stats) for part in (a, b) if part.where != worker_address())
    stats = type(a.stats)(*map(operator.add, a.stats, b.stats))
    received = a.received + b.received + came
    return PartialSum(stats, worker_address(), received, a.places | b.places)


def worker_address() -> str | None:
    """The address of this worker; None in the process that drives."""
    try:
        from distributed import get_worker

        return str(get_worker().address)
    except (ImportError, ValueError):
        return None


def size_of(value: Any) -> int:
    """Bytes of a value on its way to another process."""
    return len(cloudpickle.dumps(value))


def on_chunk(
    chunk: Any, method: Callable[[Any], Array], empty: Array, block_info: Any = None
) -> Array:
    """What a method says of the rows of a chunk."""
    place = block_info[0]
    index, (first, last) = place["chunk-location"][0], place["array-location"][0]
    if not np.isnan(last):
        check_length(chunk, index, last - first)
    try:
        return method(chunk) if chunk.shape[0] else empty
    except ValueError as error:
        raise ValueError(f"in chunk {index}, its rows counted from 0: {error}") from error
