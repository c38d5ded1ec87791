"""The first look at rows that are elsewhere: block by block, where they are."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import scipy.sparse as sp
from numpy.typing import NDArray

from onmf.core.rows import Block, measure

Array = NDArray[Any]
Check = Callable[[Any, int], tuple[float, float]]  # (rows, number of the first) -> extremes


class Span:
    """Smallest and largest entry; sums take in both."""

    def __init__(self, low: float, high: float) -> None:
        self.low, self.high = low, high

    def __add__(self, other: "Span") -> "Span":
        return Span(min(self.low, other.low), max(self.high, other.high))


class Found(NamedTuple):
    """Weighted ||X||^2, and the range of the entries."""

    sqnorm: float
    span: Span

    @property
    def extremes(self) -> tuple[float, float]:
        return self.span.low, self.span.high


@dataclass(frozen=True)
class Inspect:
    """||x_i||^2 of a block that passes the check."""

    check: Check

    def __call__(self, block: Block, first: int) -> tuple[Array, Found]:
        span = Span(*self.check(block.X, first))
        if sp.issparse(block.X) and block.X.nnz < block.X.shape[0] * block.X.shape[1]:
            span += Span(0, 0)  # the entries that are not stored
        energy, size = measure(block, None)
        return energy, Found(size.sqnorm, span)
