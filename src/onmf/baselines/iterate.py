"""What the rivals share: a start, the loop around their iterations, and the products with X.

An iterative rival is a generator that yields its factors after every iteration. `iterate` records
them and stops it by the paper's rule, a normalised residual

    eps_NR = ||W - W_before|| / ||W_before|| + ||H - H_before|| / ||H_before||

below `tol`, or after `max_iter` iterations.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial, wraps
from itertools import islice
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from onmf.palm.palm import (
    relative_change,
    root_ratio,
    sqdistance_of_rows,
    sqnorm_of_rows,
)
from onmf.result import Factorization, Recorder, Stage, Watch, stage_from_sums, unwatched
from onmf.rows.sweep import Array, Block, Data, Matrix, divisor

TOL, MAX_ITER = 1e-5, 2000  # the paper's
Method: TypeAlias = Callable[..., Factorization]  # (data, start, *, tol, max_iter, watch)


class WholeRows(Data, Protocol):
    """Rows in memory, for methods of scikit-learn, which take X as a whole."""

    X: Matrix


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


def shared_draws(data: Data, k: int, seed: int) -> tuple[Array, Array]:
    """s = sqrt(mean(X) / k);  W = s U(m, k)';  H = s U(n, k): the paper's draws, in this order.

    For data with negative entries the mean is that of their sizes.
    """
    (n, m), rng = data.shape, np.random.RandomState(seed)
    signed = data.extremes[0] < 0
    s = np.sqrt((np.sqrt(data.sqnorm / (n * m)) if signed else data.mean) / k)
    W = s * rng.random_sample((m, k)).T
    H = s * rng.random_sample((n, k))
    return H.astype(data.dtype, copy=False), np.ascontiguousarray(W, data.dtype)


def single_codes(data: Data, W: Array) -> Array:
    """h_ik = [<w_k, x_i>]_+ / ||w_k||^2: the best multiple of each centroid alone; reads X once."""
    size = np.einsum("km,km->k", W, W)
    return np.maximum(products(data, W * (1 / divisor(size))[:, None]), 0)


def iterate(
    data: Data,
    start: tuple[Array, Array],
    iterates: Iterator[Iterate],
    tol: float,
    max_iter: int,
    watch: Watch,
) -> Factorization:
    """Iterate until the factors settle; one row of the history an iteration."""
    rows, W = data.scatter(start[0]), start[1]
    recorder, stop = Recorder(watch), "max_iter"
    for now in islice(iterates, max_iter):
        moved = data.reduce_blocks(sqdistance_of_rows, now.rows, rows)
        residual = root_ratio(moved, data.reduce_blocks(sqnorm_of_rows, rows)) + relative_change(
            now.W, W
        )
        left = max_iter - len(recorder.history) - 1
        recorder.max_sweeps = now.sweeps + (now.sweeps - recorder.sweeps) * left
        rows, W = now.rows, now.W
        if recorder.record(_stage(data, now, residual), partial(data.gather, rows)):
            stop = "callback"
        elif residual < tol:
            stop = "converged"
        else:
            continue
        break
    return recorder.result(data.gather(rows), W, now.rho, stop, len(recorder.history))


def iterative(updates: Callable[[Data, Array, Array], Iterator[Iterate]]) -> Method:
    """The method whose iterates these are, from the raw factors of the start."""

    @wraps(updates)
    def method(
        data: Data,
        start: Start,
        *,
        tol: float = TOL,
        max_iter: int = MAX_ITER,
        watch: Watch = unwatched,
    ) -> Factorization:
        H, W, _ = start
        return iterate(data, (H, W), updates(data, H, W), tol, max_iter, watch)

    return method


def one_stage_result(
    data: Data, now: Iterate, iterations: int, residual: float, stop: str, watch: Watch
) -> Factorization:
    """The result of a method that ran elsewhere: one row of history, and one look for the watcher.

    `residual` is what one more iteration would change.
    """
    recorder, H = Recorder(watch, now.sweeps), data.gather(now.rows)
    recorder.record(_stage(data, now, residual), lambda: H)
    return recorder.result(H, now.W, now.rho, stop, iterations)


def _stage(data: Data, now: Iterate, residual: float) -> Stage:
    return stage_from_sums(
        data, now.W, now.sums.gram, now.sums.cross,
        rho=now.rho, sweeps=now.sweeps, penalty=now.penalty, residual=residual,
    )  # fmt: skip


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


def multiply_by_ratio(A: Array, up: Array, down: Array) -> Array:
    """A * up / down entry by entry; what is zero stays zero, even over zero."""
    return A * up / np.maximum(down, np.finfo(A.dtype).tiny)
