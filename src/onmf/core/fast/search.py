"""Search for good rays among some short rows: the part of the default solver that needs no X.

The rows Y (n, r) are the samples in a small basis (see `sketch`), weights already in their length.
Prototypes are unit vectors u_k, the rows of U (k, r). With scores a = U y, the quality of a
clustering is the energy it explains,

    sum_i max_k [a_ik]_+^2          (relative error = 1 - that / ||X||^2).

`follow` is the paper's growing penalty, without units: with cosines C = UU' minimise

    smooth       ||Y - HU||^2 +   tau sum_i sum_{k != l} (1 - C_kl) h_ik h_il
    non-smooth   ||Y - HU||^2 + 2 tau sum_i s_i sum_{k != b} (1 - C_kb) h_ik

over H >= 0 and unit U, where b = argmax_k a_ik and s_i = a_ib, with tau growing towards 1. The
smooth one is the paper's penalty with each pair of clusters weighted by how different they are; the
non-smooth one is 1'h - ||h||_inf with the largest entry where the score is largest, weighted
likewise. What a penalty makes of the rows of H and of U is part of it: see `penalties.RowPenalty`.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from onmf.core.assign import first_largest
from onmf.core.fast.row_problems import kernels
from onmf.core.paper.penalties import RowPenalty
from onmf.core.rows import Array

ONE_SPARSE = 1e-4  # share of H'H off its diagonal below which the path has done its work
GAIN = 1e-6  # relative gain below which an alternation in the sketch has settled
EXPLAINED = 1e-12  # share of a row's energy below which what is left of it is rounding


class Point(NamedTuple):
    """The path at one tau, on the rows it works on."""

    tau: float
    U: Array
    error: float  # ||Y - HU||^2 / ||Y||^2
    overlap: float  # share of H'H off the diagonal
    gram: Array
    moved: float


def follow(Y: Array, U: Array, penalty: RowPenalty, taus: Array) -> Iterator[Point]:
    """The growing penalty from the prototypes U: at each tau H exactly, then two passes over U."""
    solve, sqnorm = kernels().solve_rows, np.vdot(Y, Y)
    A = Y @ U.T
    support = np.zeros(A.shape, bool)
    support[np.arange(len(A)), first_largest(A)] = True
    for tau in taus:
        C = U @ U.T
        H = solve(*penalty.row_problem(C, A, tau), support)
        gram, cross = H.T @ H, H.T @ Y
        error = 1 - (2 * np.vdot(cross, U) - np.vdot(gram, C)) / sqnorm
        before, U = U, pulled(U, cross, penalty.pull(gram, H, A, tau))
        overlap = 1 - np.trace(gram) / max(gram.sum(), np.finfo(float).tiny)
        moved = float(np.linalg.norm(U - before) / np.sqrt(len(U)))
        yield Point(float(tau), U, float(error), float(overlap), gram, moved)
        if overlap < ONE_SPARSE:
            return  # the rest of the path is plain alternation
        A, support = Y @ U.T, H > 0


def pulled(U: Array, cross: Array, E: Array, passes: int = 2) -> Array:
    """u_k <- (P_k - sum_{l != k} E_kl u_l) / norm, each k in turn: exact block minimisers."""
    U = U.copy()
    for _ in range(passes):
        for k in range(len(U)):
            u = cross[k] - E[k] @ U + E[k, k] * U[k]
            if (size := np.linalg.norm(u)) > 0:
                U[k] = u / size
    return U


def spread(Y: Array, energy: Array, k: int, rng: np.random.Generator) -> Array:
    """Greedy k-means++ on the energy left unexplained; prototypes are means of the cells."""
    best, cells = np.zeros(len(Y)), np.zeros(len(Y), np.intp)
    for c in range(k):
        picks = draw(unexplained(energy, best), 2 + int(np.log(k)), rng)
        explained = np.square(np.maximum(Y @ unit(Y[picks]).T, 0))
        j = np.maximum(explained, best[:, None]).sum(axis=0).argmax()
        closer = explained[:, j] > best + EXPLAINED * energy
        cells[closer], best[closer] = c, explained[closer, j]
    U = np.zeros((k, Y.shape[1]))
    np.add.at(U, cells, Y)
    return unit(U, otherwise=unit(Y[draw(energy, k, rng)]))


def unexplained(energy: Array, explained: Array) -> Array:
    """What is left of the energy of each row; zero where that is rounding."""
    left = energy - explained
    return np.where(left > EXPLAINED * energy, left, 0)


def draw(weight: Array, size: int, rng: np.random.Generator) -> Array:
    """Row numbers with probability proportional to `weight` >= 0; all alike if there is none."""
    total = np.cumsum(weight)
    if total[-1] <= 0:
        return rng.integers(0, len(weight), size)
    return np.searchsorted(total, rng.random(size) * total[-1], side="right").clip(
        max=len(total) - 1
    )


class Stack(NamedTuple):
    """Several clusterings side by side: prototypes (R, k, r), energies (R,), scores (n, R, k)."""

    U: Array
    energy: Array
    scores: Array


def alternate(Y: Array, U: Array, passes: int) -> Stack:
    """Exact alternation of stacked clusterings: nearest ray, then the sum of its rows by weight."""
    energy = np.full(len(U), -1.0)
    for left in range(passes, -1, -1):
        R, k, r = U.shape
        A = (Y @ U.reshape(R * k, r).T).reshape(len(Y), R, k)
        before, (P, energy) = energy, kernels().images(A, Y)
        if not left or (energy <= before * (1 + GAIN)).all():
            return Stack(U, energy, A)
        U = unit(P, otherwise=U)
    raise AssertionError("not reached")


def unit(U: Array, otherwise: Array | None = None) -> Array:
    """Rows divided by their norms; a row of zeros becomes that of `otherwise`, or stays."""
    size = np.linalg.norm(U, axis=-1, keepdims=True)
    scaled = U / np.where(size > 0, size, 1)
    return scaled if otherwise is None else np.where(size > 0, scaled, otherwise)
