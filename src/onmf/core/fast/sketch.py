"""A small picture of the data, in which to search.

    V (m, r) orthonormal, near the leading right singular vectors of D^(1/2) X;   Y = D^(1/2) X V

A ray w = Vu has scores <w, x> = <u, y>, so what clusters the rows of Y clusters those of X, as far
as X lies in the span of V. Two sweeps of subspace iteration give V, one more gives Y. With few
features V is the identity and nothing is lost.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from onmf.core.result import FORGETFUL, Journal
from onmf.core.rows import Block, Data, row_sqnorm

Array = NDArray[Any]

WIDTH, SPARE, EXTRA = 4, 60, 30  # r = min(WIDTH k, k + SPARE) + EXTRA
ITERATIONS = 2
HEAVY = 1e4  # samples of more than this many times the median energy count as if they had that much
MOST_ROWS = 20_000
DIGIT = 16  # bits


class Sketch(NamedTuple):
    """Some rows of the data in a small basis."""

    V: Array | None  # (m, r); None stands for the identity
    Y: Array  # (rows, r), square roots of the weights included
    rows: Array  # their numbers
    share: float  # of the energy of these rows that the basis keeps
    sweeps: int

    def lift(self, U: Array) -> Array:
        """Rays in the space of the features."""
        return U if self.V is None else U @ self.V.T

    def lower(self, W: Array) -> Array:
        """Given rays in the small basis."""
        return W if self.V is None else W @ self.V

    def turned(self) -> Self:
        """The same picture with the strongest direction first, then the next, and so on."""
        turn = np.linalg.eigh(self.Y.T @ self.Y)[1][:, ::-1]
        V = turn if self.V is None else (self.V @ turn).astype(self.V.dtype)
        return self._replace(V=V, Y=np.ascontiguousarray(self.Y @ turn))

    def narrow(self, k: int) -> Self:
        """A turned picture for k clusters: the first columns, as many as a sketch for k has."""
        r = width(k)
        assert self.V is not None  # as `turned` leaves it
        return self._replace(V=self.V[:, :r], Y=np.ascontiguousarray(self.Y[:, :r]))


def width(k: int) -> int:
    """Columns of a sketch for k clusters."""
    return min(WIDTH * k, k + SPARE) + EXTRA


def sketch(
    data: Data,
    k: int,
    rng: np.random.Generator,
    max_sweeps: int,
    tell: Callable[[int], object],
    journal: Journal = FORGETFUL,
) -> Sketch:
    """Basis and picture; reads X three times, once if there are few features or sweeps."""
    data, (n, m) = data.wide(), data.shape
    r, iterations = min(width(k), n), min(ITERATIONS, max_sweeps - 2)
    V = basis(data, r, rng, iterations, tell, journal) if 2 * r < m else None
    wanted = sample(data, rng)
    rows = data.gather(data.each(numbers, data.first, wanted))
    inside = np.eye(m, dtype=data.dtype) if V is None else V
    parts, energy = data.sweep(Project(inside), wanted)
    sweeps = 1 if V is None else iterations + 1
    tell(sweeps)
    return Sketch(V, data.gather(parts), rows, energy.kept / energy.whole, sweeps)


def sample(data: Data, rng: np.random.Generator) -> Any:
    """Which rows to look at, a mask cut like them: MOST_ROWS of those that are not all zero.

    The choice is made by rank among them, so it does not depend on how the rows are cut.
    """
    counts = data.gather(data.each(lambda energy: np.sum(energy != 0, keepdims=True), data.energy))
    total = int(counts.sum())
    if total <= MOST_ROWS:
        return data.each(lambda energy: energy != 0, data.energy)
    ranks = np.sort(rng.choice(total, MOST_ROWS, replace=False))
    before = np.cumsum(counts) - counts
    parts = np.split(ranks, np.searchsorted(ranks, before[1:]))
    own = [part - start for part, start in zip(parts, before, strict=True)]
    return data.each(chosen, data.energy, own)


def chosen(energy: Array, ranks: Array) -> Array:
    """Mask of the rows with these ranks among those that are not all zero."""
    mask = np.zeros(len(energy), bool)
    mask[np.flatnonzero(energy)[ranks]] = True
    return mask


def numbers(first: int, mask: Array) -> Array:
    """Numbers of the rows in a mask."""
    return first + np.flatnonzero(mask)


def basis(
    data: Data,
    r: int,
    rng: np.random.Generator,
    iterations: int,
    tell: Callable[[int], object],
    journal: Journal,
) -> Array:
    """Orthonormal columns near the leading right singular vectors, by subspace iteration."""
    # One enormous sample would hide all others behind its rounding errors.
    bound = heaviest(data)
    damp = data.each(
        lambda energy: np.minimum(1, bound / np.maximum(energy, bound)).astype(data.dtype),
        data.energy,
    )
    V, done = rng.standard_normal((data.shape[1], r)).astype(data.dtype), 0
    if found := journal.recall("basis"):
        V, done = found["V"], found["sweeps"]
    for sweep in range(done + 1, iterations + 1):
        _, image = data.sweep(Power(V), damp)
        V = orthonormal(image.cross).astype(data.dtype)
        journal.note("basis", partial(dict, V=V, sweeps=sweep))
        tell(sweep)
    return V if iterations else orthonormal(V)


def heaviest(data: Data) -> float:
    """HEAVY times the median energy of the samples that are not all zero, or no sample has more."""
    facts = data.gather(data.each(top_and_middle, data.energy))
    # The median of all is not below the least of the medians of the pieces.
    top, middle = facts[:, 0].max(), facts[facts[:, 1] > 0, 1].min()
    return float(top if top <= HEAVY * middle else HEAVY * median(data))


def top_and_middle(energy: Array) -> Array:
    """Largest entry and median of the positive ones, zero if there are none."""
    positive = energy[energy > 0]
    return np.array([[positive.max(), np.median(positive)]] if len(positive) else [[0.0, 0.0]])


def median(data: Data) -> float:
    """Median of the positive energies, exactly, from sums: digit by digit of their bit patterns.

    Positive numbers are ordered as their patterns are. Nothing of the length of X is gathered.
    """
    count = data.total(lambda weight, energy: np.count_nonzero(energy > 0), data.energy)
    return (order_statistic(data, (count - 1) // 2) + order_statistic(data, count // 2)) / 2


def order_statistic(data: Data, rank: int) -> float:
    """The positive energy that has `rank` smaller ones before it."""
    prefix = 0
    for shift in range(64 - DIGIT, -DIGIT, -DIGIT):
        counts = data.total(Digits(prefix, shift), data.energy)
        below = np.cumsum(counts)
        digit = int(np.searchsorted(below, rank, side="right"))
        rank -= int(below[digit] - counts[digit])
        prefix = prefix << DIGIT | digit
    return float(np.array(prefix, np.uint64).view(np.float64))


@dataclass(frozen=True)
class Digits:
    """How often each digit follows `prefix` in the bit patterns of the positive energies."""

    prefix: int
    shift: int

    def __call__(self, weight: Array, energy: Array) -> Array:
        bits = energy[energy > 0].view(np.uint64) >> np.uint64(self.shift)
        bits = bits[bits >> np.uint64(DIGIT) == self.prefix]
        return np.bincount((bits & np.uint64(2**DIGIT - 1)).astype(np.intp), minlength=2**DIGIT)


def orthonormal(B: Array) -> Array:
    """Basis of the columns' span through their Gram matrix, which is faster than QR for tall B."""
    gram = B.T @ B
    size = np.sqrt(gram.diagonal())
    scale = np.where(size > 0, 1 / np.where(size > 0, size, 1), 0)  # columns of unit length
    values, turn = np.linalg.eigh(scale[:, None] * gram * scale)
    kept = values > 1e-11 * values[-1]
    return B @ (scale[:, None] * turn[:, kept] / np.sqrt(values[kept]))


class Image(NamedTuple):
    """What subspace iteration needs of a block."""

    cross: Array  # X'DXV (m, r)


@dataclass(frozen=True)
class Power:
    """X'DXV of a block; `damp` (b,) multiplies the weights if given."""

    V: Array

    def __call__(self, block: Block, damp: Array | None) -> tuple[Array | None, Image]:
        weight = block.weight if damp is None else block.weight * damp[:, None]
        return damp, Image(np.asarray(block.X.T @ ((block.X @ self.V) * weight), np.float64))


class Energy(NamedTuple):
    """Weighted ||Y||^2 and ||X||^2 of the wanted rows."""

    kept: float
    whole: float


@dataclass(frozen=True)
class Project:
    """D^(1/2) X V of the wanted rows of a block."""

    V: Array

    def __call__(self, block: Block, wanted: Array) -> tuple[Array, Energy]:
        X, weight = (
            (block.X, block.weight) if wanted.all() else (block.X[wanted], block.weight[wanted])
        )
        Y = np.asarray(X @ self.V) * np.sqrt(weight)
        whole = float(row_sqnorm(X) @ weight[:, 0].astype(np.float64))
        return Y, Energy(float(np.vdot(Y, Y)), whole)
