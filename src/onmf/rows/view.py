"""Rows as something else: a place whose blocks are changed on their way to the move.

    sweep(move)  =  sweep of the rows below with  (block, rows) -> move(change(block), rows)

Square roots of counts, rows with their holes filled: what is seen is made of each block when its
turn comes, on whatever place the rows are, and forgotten after it. No copy of X is made.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from onmf.rows.memory import Size, ends_of, measure, weigh
from onmf.rows.sweep import Array, Block, Data, Matrix, Move, Traffic


@dataclass(frozen=True)
class TransformedMove:
    """A move of blocks that are changed first."""

    change: Callable[[Matrix], Matrix]
    move: Move

    def __call__(self, block: Block, rows: Any) -> tuple[Any, Any]:
        return self.move(block._replace(X=self.change(block.X)), rows)


class View:
    """The rows of a place, each block of X as `change(X)`; weights and cuts are the place's."""

    def __init__(self, below: Data, change: Callable[[Matrix], Matrix]) -> None:
        self.below, self.change = below, change
        self.shape, self.dtype, self.n_stored = below.shape, below.dtype, below.n_stored
        self.scatter, self.gather = below.scatter, below.gather
        self.dense, self.map_blocks, self.reduce_blocks = (
            below.dense,
            below.map_blocks,
            below.reduce_blocks,
        )

    @property
    def traffic(self) -> Traffic:
        return self.below.traffic

    @property
    def weight(self) -> Array:
        return self.below.weight

    @property
    def first(self) -> list[int]:
        return self.below.first

    @cached_property
    def norms(self) -> tuple[Any, Size]:
        """||x_i||^2 and ||X||^2, of what is seen."""
        return self.sweep(measure)

    @property
    def row_sqnorms(self) -> Any:
        return self.norms[0]

    @property
    def sqnorm(self) -> float:
        return self.norms[1].sqnorm

    @property
    def n_missing(self) -> int:
        return self.below.n_missing

    @cached_property
    def mean(self) -> float:
        _, total = self.sweep(weigh)
        return float(total.mass / (total.weight * self.shape[1]))

    @cached_property
    def extremes(self) -> tuple[float, float]:
        ends = self.gather(self.sweep(_ends)[0])
        return float(np.fmin.reduce(ends)), float(np.fmax.reduce(ends))

    def take(self, numbers: Array) -> Block:
        block = self.below.take(numbers)
        return block._replace(X=self.change(block.X))

    def sweep(self, move: Move, rows: Any = None) -> tuple[Any, Any]:
        return self.below.sweep(TransformedMove(self.change, move), rows)

    def in_double(self) -> "View":
        """The same of rows in double precision."""
        return self if self.dtype == np.float64 else type(self)(self.below.in_double(), self.change)

    def with_larger_blocks(self) -> "View":
        """The same in larger blocks, if the place has them; what is known stays known."""
        below = self.below.with_larger_blocks()
        if below is self.below:
            return self
        other = View(below, self.change)
        other.norms = other.scatter(self.gather(self.row_sqnorms)), self.norms[1]
        return other


def _ends(block: Block, rows: Any) -> tuple[Array, Size]:
    return np.array(ends_of(block.X), np.float64), Size(0.0)
