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

from onmf.core.memory import Size, ends_of, measure, weigh
from onmf.core.rows import Array, Block, Data, Matrix, Move, Traffic


@dataclass(frozen=True)
class Through:
    """A move of blocks that are changed first."""

    change: Callable[[Matrix], Matrix]
    move: Move

    def __call__(self, block: Block, rows: Any) -> tuple[Any, Any]:
        return self.move(block._replace(X=self.change(block.X)), rows)


class View:
    """The rows of a place, each block of X as `change(X)`; weights and cuts are the place's."""

    def __init__(self, below: Data, change: Callable[[Matrix], Matrix]) -> None:
        self.below, self.change = below, change
        self.shape, self.dtype = below.shape, below.dtype
        self.scatter, self.gather = below.scatter, below.gather
        self.array, self.each, self.total = below.array, below.each, below.total

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
    def energy(self) -> Any:
        return self.norms[0]

    @property
    def voice(self) -> Any:
        return self.energy

    @property
    def own_unit(self) -> Any:
        return self.each(np.ones_like, self.energy)

    @property
    def sqnorm(self) -> float:
        return self.norms[1].sqnorm

    @property
    def holes(self) -> int:
        return self.below.holes

    @cached_property
    def mean(self) -> float:
        _, total = self.sweep(weigh, self.own_unit)
        return float(total.mass / (total.weight * self.shape[1]))

    @cached_property
    def extremes(self) -> tuple[float, float]:
        ends = self.gather(self.sweep(_ends)[0])
        return float(np.fmin.reduce(ends)), float(np.fmax.reduce(ends))

    def take(self, numbers: Array) -> Block:
        block = self.below.take(numbers)
        return block._replace(X=self.change(block.X))

    def sweep(self, move: Move, rows: Any = None) -> tuple[Any, Any]:
        return self.below.sweep(Through(self.change, move), rows)

    def wide(self) -> "View":
        """The same in larger blocks, if the place has them; what is known stays known."""
        below = self.below.wide()
        if below is self.below:
            return self
        other = View(below, self.change)
        other.norms = other.scatter(self.gather(self.energy)), self.norms[1]
        return other


def _ends(block: Block, rows: Any) -> tuple[Array, Size]:
    return np.array(ends_of(block.X), np.float64), Size(0.0)
