"""A summary of rows: a weighted sample that does not grow with the number of rows.

Row i gets a number u_i in (0, 1) by hashing its index. With d_i its weight and v_i its influence
(||x_i||^2, or its total) two sets of rows are kept: the s + 1 of smallest
u_i / d_i and the s + 1 of smallest u_i / (d_i v_i). Whatever c is, the s + 1 rows of smallest
u_i / z_i with

    z_i = d_i max(c, v_i)

are among them: a row with s + 1 rows before it in both orders has as many before it in this one. So
c can be chosen after all rows have been read, as the mean influence. The summary is the s rows of
smallest u_i / z_i, and with t that of the next one, the s + 1-th,

    p_i = min(1, t z_i),      weight d_i / p_i,

so that every sum over the rows is unbiased (bottom-k sketches: Cohen and Kaplan 2007, Ting 2017).
The summary does not depend on how rows are cut into blocks, on their order or on who reads them.
If there are no more than s rows, it is all of them.
"""

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp

from onmf.rows.sweep import Array, Block, Matrix, Move, row_sqnorm

MAX_SUMMARY_ENTRIES = 100_000_000  # of dense rows; a summary is reduced for it by at most
MAX_SUMMARY_SHRINK = 10
SPARE_ROWS_FACTOR = 1  # times the rows to keep may be collected before the others are dropped
SPLITMIX_STEP = 0x9E3779B97F4A7C15  # step and factors of the generator SplitMix64
SPLITMIX_ROUNDS = (30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)


def uniform_hash(numbers: Array, seed: int) -> Array:
    """Numbers in (0, 1), each a hash of the seed and the index of a sample."""
    begin = np.uint64((seed * SPLITMIX_STEP ^ SPLITMIX_ROUNDS[1][1]) % 2**64)
    with np.errstate(over="ignore"):
        z = begin + (numbers.astype(np.uint64) + np.uint64(1)) * np.uint64(SPLITMIX_STEP)
        for shift, factor in SPLITMIX_ROUNDS:
            z = (z ^ (z >> np.uint64(shift))) * np.uint64(factor)
        z ^= z >> np.uint64(31)
    return ((z >> np.uint64(12)).astype(np.float64) + 0.5) / 2**52


def quick_sqnorm(X: Matrix) -> Array:
    """||x_i||^2, with the digits that X itself has; of the observed entries."""
    if sp.issparse(X):
        return row_sqnorm(X)
    sqnorms = np.vecdot(X, X).astype(np.float64)
    return row_sqnorm(X) if np.isnan(sqnorms).any() else sqnorms


def two_digits(values: Array) -> Array:
    """To eight bits: the last ones depend on the order of a sum, and must not decide."""
    mantissa, exponent = np.frexp(values)
    return np.ldexp(np.round(256 * mantissa), exponent - 8)


class Candidates(NamedTuple):
    """Rows that may be in the summary, with index, hash, weight and influence."""

    X: Matrix
    numbers: Array
    uniform_hash: Array
    weight: Array
    influence: Array

    def take(self, which: Array) -> "Candidates":
        return Candidates(*(part[which] for part in self))

    @property
    def by_weight(self) -> Array:
        """u_i / d_i."""
        return self.uniform_hash / self.weight

    @property
    def by_influence(self) -> Array:
        """u_i / (d_i v_i)."""
        return self.uniform_hash / (self.weight * self.influence)


def stack(candidates: Sequence[Candidates]) -> Candidates:
    """All of them."""
    X, *facts = zip(*candidates, strict=True)
    rows = sp.csr_array(sp.vstack(X, "csr")) if sp.issparse(X[0]) else np.concatenate(X)
    return Candidates(rows, *map(np.concatenate, facts))


@dataclass
class Summary:
    """What is kept of some rows. Sums keep what must be kept of both; the first may be reused."""

    size: int  # s
    candidates: list[Candidates]
    count: int  # of the rows that are not all zero and have weight
    weight: float  # sum_i d_i of these
    influence: float  # sum_i d_i v_i
    totals: Any = None  # what the loss measures of all rows
    most: tuple[float, float] = field(default=(np.inf, np.inf))  # that a row to keep can have

    def __iadd__(self, other: Self) -> Self:
        self.count += other.count
        self.weight += other.weight
        self.influence += other.influence
        if self.totals is not None:
            self.totals = type(self.totals)(*map(operator.add, self.totals, other.totals))
        self.candidates += [self._wanted(part) for part in other.candidates]
        if sum(len(part.numbers) for part in self.candidates) > (2 + SPARE_ROWS_FACTOR) * (
            self.size + 1
        ):
            self._drop()
        return self

    def __add__(self, other: Self) -> Self:
        total = replace(self, candidates=list(self.candidates))
        total += other
        return total

    def __getstate__(self) -> dict[str, Any]:
        """On its way to another process it takes no more than it must."""
        self._drop()
        return vars(self)

    def _wanted(self, part: Candidates) -> Candidates:
        """Those that are not known to have s + 1 others before them in both orders."""
        kept = (part.by_weight <= self.most[0]) | (part.by_influence <= self.most[1])
        return part if kept.all() else part.take(np.flatnonzero(kept))

    def _drop(self) -> None:
        """Leave out what cannot be in the summary."""
        whole = stack(self.candidates)
        if len(whole.numbers) <= self.size + 1:
            return
        one, other = (np.partition(q, self.size) for q in (whole.by_weight, whole.by_influence))
        self.most = float(one[self.size]), float(other[self.size])
        self.candidates = [self._wanted(whole)]

    def rows(self) -> Block:
        """The summary, in the order of the samples, with the weights d_i / p_i."""
        chosen, weight = self.chosen()
        return Block(chosen.X, weight[:, None])

    def chosen(self) -> tuple[Candidates, Array]:
        """The rows of the summary with their numbers, and the weights d_i / p_i."""
        whole = stack(self.candidates)
        whole = whole.take(np.argsort(whole.numbers))
        if self.count <= self.size:
            return whole, whole.weight
        typical = two_digits(np.array(self.influence / self.weight))
        z = whole.weight * np.maximum(typical, whole.influence)
        order = np.argsort(whole.uniform_hash / z, kind="stable")
        chosen, following = np.sort(order[: self.size]), order[self.size]
        p = np.minimum(1, whole.uniform_hash[following] / z[following] * z[chosen])
        return whole.take(chosen), whole.weight[chosen] / p


@dataclass(frozen=True)
class BottomKSampler:
    """Which rows are kept: about `size`."""

    size: int
    seed: int = 0
    weight_of: Callable[[Matrix], Array] = quick_sqnorm  # what a row counts for
    measure: Move | None = None  # what else is measured of the rows

    def draw(self, block: Block, first: int) -> Summary:
        """The summary of a block, whose samples are numbered from `first`."""
        influence, weight = self.weight_of(block.X), block.weight[:, 0].astype(np.float64)
        useful = np.flatnonzero((influence > 0) & (weight > 0))
        numbers = first + np.arange(len(influence))
        total = float(weight[useful].sum()), float(weight[useful] @ influence[useful])
        part = Candidates(
            block.X, numbers, uniform_hash(numbers, self.seed), weight, two_digits(influence)
        )
        part = part if len(useful) == len(influence) else part.take(useful)
        totals = None if self.measure is None else self.measure(block, None)[1]
        return Summary(self.room(block.X), [part], len(useful), *total, totals)

    def room(self, X: Matrix) -> int:
        """How many rows like these a summary has: fewer if they are dense and very long."""
        if sp.issparse(X):
            return self.size
        return min(
            self.size, max(MAX_SUMMARY_ENTRIES // X.shape[1], self.size // MAX_SUMMARY_SHRINK, 1)
        )
