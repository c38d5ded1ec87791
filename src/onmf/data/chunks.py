"""A chunk of rows on a worker: what is done to it, without knowing who asks."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from onmf.core.rows import Block, InMemory

Array = NDArray[Any]


def prepared(chunk: Any, weight: Array | None, dtype: Any, index: int) -> Block:
    """A chunk as solvers expect it, in the least number of copies."""
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


def scaled_by(factor: float) -> Callable[[Block], Block]:
    return lambda block: block._replace(X=block.X * block.X.dtype.type(factor))


def alone(chunk: Block) -> InMemory:
    """The chunk as a place of its own."""
    return InMemory(chunk.X, chunk.weight[:, 0])


def taken(chunk: Block, numbers: Array) -> Block:
    return Block(chunk.X[numbers], chunk.weight[numbers])


def cut(local: InMemory, kept: Any) -> Any:
    """What is kept for a chunk, for each of its blocks."""
    if kept is None:
        return None
    if isinstance(kept, list | tuple):
        parts = zip(*(cut(local, part) for part in kept), strict=True)
        return [like(kept, own) for own in parts]
    return local.scatter(kept)


def join(rows: list[Any]) -> Any:
    """What is kept for the blocks of a chunk, for all of it."""
    if rows[0] is None:
        return None
    if isinstance(rows[0], list | tuple):
        return like(rows[0], map(join, map(list, zip(*rows, strict=True))))
    return np.concatenate(rows)


def like(kept: list[Any] | tuple[Any, ...], parts: Iterable[Any]) -> Any:
    """A list, or a named tuple of the same kind, of these parts."""
    return list(parts) if isinstance(kept, list) else type(kept)(*parts)


def on_chunk(
    chunk: Any, method: Callable[[Any], Array], empty: Array, block_id: Any = None
) -> Array:
    """What a method says of the rows of a chunk."""
    try:
        return method(chunk) if chunk.shape[0] else empty
    except ValueError as error:
        raise ValueError(f"in chunk {block_id[0]}, its rows counted from 0: {error}") from error
