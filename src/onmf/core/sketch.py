"""A small picture of the data, in which to search.

    V (m, r) orthonormal, near the leading right singular vectors of D^(1/2) X;   Y = D^(1/2) X V

A ray w = Vu has scores <w, x> = <u, y>, so what clusters the rows of Y clusters those of X, as far
as X lies in the span of V. Two sweeps of subspace iteration give V, one more gives Y. With few
features V is the identity and nothing is lost.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from onmf.core.blocks import Block, Data, row_sqnorm

Array = NDArray[Any]

WIDTH, EXTRA = 4, 30  # r = WIDTH k + EXTRA
ITERATIONS = 2
HEAVY = 1e4  # samples of more than this many times the median energy count as if they had that much
MOST_ROWS = 20_000


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
    return WIDTH * k + EXTRA


def sketch(
    data: Data, k: int, rng: np.random.Generator, max_sweeps: int, tell: Callable[[int], object]
) -> Sketch:
    """Basis and picture; reads X three times, once if there are few features or sweeps."""
    data, (n, m) = data.wide(), data.shape
    r, iterations = min(width(k), n), min(ITERATIONS, max_sweeps - 2)
    V = basis(data, r, rng, iterations, tell) if r < m else None
    rows = np.flatnonzero(data.gather(data.energy))
    if len(rows) > MOST_ROWS:
        rows = np.sort(rng.choice(rows, MOST_ROWS, replace=False))
    wanted = np.zeros(n, bool)
    wanted[rows] = True
    inside = np.eye(m, dtype=data.dtype) if V is None else V
    parts, energy = data.sweep(Project(inside), data.scatter(wanted))
    sweeps = 1 if V is None else iterations + 1
    tell(sweeps)
    return Sketch(V, data.gather(parts), rows, energy.kept / energy.whole, sweeps)


def basis(
    data: Data, r: int, rng: np.random.Generator, iterations: int, tell: Callable[[int], object]
) -> Array:
    """Orthonormal columns near the leading right singular vectors, by subspace iteration."""
    energy = data.gather(data.energy)
    # One enormous sample would hide all others behind its rounding errors.
    bound = HEAVY * np.median(energy[energy > 0])
    damp = data.scatter(np.minimum(1, bound / np.maximum(energy, bound)).astype(data.dtype))
    V = rng.standard_normal((data.shape[1], r)).astype(data.dtype)
    for sweep in range(1, iterations + 1):
        _, image = data.sweep(Power(V), damp)
        V = orthonormal(image.cross).astype(data.dtype)
        tell(sweep)
    return V if iterations else orthonormal(V)


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
        Y = np.asarray(X @ self.V, np.float64) * np.sqrt(weight)
        whole = float(row_sqnorm(X) @ weight[:, 0].astype(np.float64))
        return Y, Energy(float(np.vdot(Y, Y)), whole)
