"""What the rivals share: a start, the loop around their iterations, and the products with X.

An iterative rival is a generator that yields its factors after every iteration. `follow` keeps the
books and stops it by the paper's rule, a normalised residual

    eps_NR = ||W - W_before|| / ||W_before|| + ||H - H_before|| / ||H_before||

below `tol`, or after `max_iter` iterations.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onmf.core.paper.palm import change, distance, relative, size
from onmf.core.result import Event, Factorization, Stage, Watch, orthogonality, relative_error
from onmf.core.rows import Block, Data

Array = NDArray[Any]

TOL, MAX_ITER = 1e-5, 2000  # the paper's


class Start(NamedTuple):
    """Where all methods begin: memberships (n, k), centroids (k, m), and the seed they are of."""

    H: Array
    W: Array
    seed: int


class Sums(NamedTuple):
    """What a method must know about H besides H itself; a sample of weight d counts d times."""

    gram: Array  # H'DH (k, k)
    cross: Array  # H'DX (k, m)
    mass: Array  # H'd (k,)


class Iterate(NamedTuple):
    """The factors after an iteration."""

    rows: Any  # H, wherever the rows are
    W: Array
    sums: Sums
    sweeps: int  # so far
    rho: float = 0.0  # weight of a penalty, where there is one
    penalty: float = 0.0


def quiet(event: Event) -> bool:
    """The watcher that lets every method run to its end."""
    return False


def follow(
    data: Data,
    start: tuple[Array, Array],
    iterates: Iterator[Iterate],
    tol: float,
    max_iter: int,
    watch: Watch,
) -> Factorization:
    """Iterate until the factors settle; one row of the history an iteration."""
    rows, W, sweeps = data.scatter(start[0]), start[1], 0
    history: list[Stage] = []
    stop = "max_iter"
    for now in islice(iterates, max_iter):
        moved = relative(data.total(distance, now.rows, rows), data.total(size, rows))
        history.append(stage_of(data, now, moved + change(now.W, W)))
        most = now.sweeps + (now.sweeps - sweeps) * (max_iter - len(history))
        rows, W, sweeps = now.rows, now.W, now.sweeps
        if watch(Event(0, sweeps, most, history[-1], partial(data.gather, rows))):
            stop = "callback"
        elif history[-1].residual < tol:
            stop = "converged"
        else:
            continue
        break
    error, iterations = history[-1].relative_error, len(history)
    return Factorization(data.gather(rows), W, now.rho, history, sweeps, iterations, error, stop)


def ended(
    data: Data, now: Iterate, iterations: int, residual: float, stop: str, watch: Watch
) -> Factorization:
    """The result of a method that ran elsewhere: one row of history, and one look for the watcher.

    `residual` is what one more iteration would change.
    """
    stage = stage_of(data, now, residual)
    watch(Event(0, now.sweeps, now.sweeps, stage, partial(data.gather, now.rows)))
    H, error = data.gather(now.rows), stage.relative_error
    return Factorization(H, now.W, now.rho, [stage], now.sweeps, iterations, error, stop)


def stage_of(data: Data, now: Iterate, residual: float) -> Stage:
    """The measures of the paper after an iteration."""
    gram, cross = now.sums.gram, now.sums.cross
    return Stage(
        rho=now.rho,
        sweeps=now.sweeps,
        relative_error=relative_error(data.sqnorm, gram, cross, now.W),
        penalty=now.penalty,
        orthogonality=orthogonality(gram),
        residual=residual,
        empty_clusters=int(np.sum(gram.diagonal() == 0)),
    )


def summarise(block: Block, H: Array) -> tuple[Array, Sums]:
    """The sums of the memberships as they are."""
    weighted = H * block.weight
    return H, Sums(weighted.T @ H, weighted.T @ block.X, weighted.sum(axis=0))


@dataclass(frozen=True)
class Products:
    """XW', one row a sample."""

    W: Array

    def __call__(self, block: Block, rows: Any) -> tuple[Array, tuple[()]]:
        return block.X @ self.W.T, ()


def products(data: Data, W: Array) -> Array:
    """XW' (n, k); reads X once."""
    rows, _ = data.sweep(Products(W))
    return data.gather(rows)


def multiplied(A: Array, up: Array, down: Array) -> Array:
    """A * up / down entry by entry; what is zero stays zero, even over zero."""
    return A * up / np.maximum(down, np.finfo(A.dtype).tiny)
