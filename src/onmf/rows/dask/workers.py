"""The workers: who they are, which chunk is on which, and in which order sums meet."""

import operator
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import groupby
from typing import Any

from dask.base import annotate

Rows = Sequence[Any]  # one Delayed, or a value, for each chunk


def current_client() -> Any:
    """The client of the workers, None without workers."""
    try:
        from distributed import get_client

        return get_client()
    except (ImportError, ValueError):
        return None


def on_workers(client: Any, X: Any, chunks: list[Any]) -> tuple[Rows, list[str | None]]:
    """Chunks that stay on workers, and on which; without workers, as they are.

    Blocks that X has on workers stay where they are; others go there in runs of neighbours.
    """
    if client is None:
        return chunks, [None] * len(chunks)
    from distributed import futures_of, wait

    workers = [None] if futures_of(X) else sorted(client.ncores()) or [None]
    wanted = [workers[i * len(workers) // len(chunks)] for i in range(len(chunks))]
    stored: list[Any] = []
    for home, run in groupby(zip(wanted, chunks, strict=True), key=operator.itemgetter(0)):
        where = {} if home is None else {"workers": [home], "allow_other_workers": True}
        stored += client.persist([chunk for _, chunk in run], **where)
    owners = wait(stored) and client.who_has(futures_of(stored))
    return stored, [min(owners.get(chunk.key, ()), default=None) for chunk in stored]


def run_on(home: str | None) -> AbstractContextManager[Any]:
    """Tasks made inside run on this worker while it lives."""
    if home is None:
        return nullcontext()
    return annotate(workers=[home], allow_other_workers=True)


def sum_neighbours(
    add: Callable[[Any, Any], Any], parts: Sequence[Any], homes: Sequence[str | None]
) -> Any:
    """A binary tree, neighbours first: the order of the sums depends on the chunks alone."""
    while len(parts) > 1:
        homes, pairs = homes[::2], []
        for a, b, home in zip(parts[::2], parts[1::2], homes, strict=False):
            with run_on(home):
                pairs.append(add(a, b))
        parts = [*pairs, *parts[len(pairs) * 2 :]]
    return parts[0]
