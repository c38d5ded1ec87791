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
likewise. Both are convex in each row of H for
every tau, homogeneous in the length of a sample, and leave one entry in every row at tau = 1.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from onmf.core.fast.row_problems import kernels, one_sparse_scores, sums, unit

Array = NDArray[Any]

BATCH = 10  # seeds there must be for one more to be chosen at a time
ONE_SPARSE = 1e-4  # share of H'H off its diagonal below which the path has done its work
GAIN = 1e-6  # relative gain below which an alternation in the sketch has settled


class RowPenalty(Protocol):
    """The penalty at one tau: what it does to the row problem and to the step on U."""

    def rows(self, C: Array, A: Array, tau: float) -> tuple[Array, Array]:
        """(Q, c) of the row problems min h'Qh - 2c'h."""

    def pull(self, gram: Array, H: Array, A: Array, tau: float) -> Array:
        """E with dJ/du_k = 2 sum_l E_kl u_l - 2 (H'Y)_k."""


class SmoothRows:
    """Q = (1 - tau) C + tau 11',  c = a;  E = (1 - tau) H'H."""

    def rows(self, C: Array, A: Array, tau: float) -> tuple[Array, Array]:
        return (1 - tau) * C + tau, A

    def pull(self, gram: Array, H: Array, A: Array, tau: float) -> Array:
        return (1 - tau) * gram


class NonSmoothRows:
    """Q = C,  c_k = a_k - tau s (1 - C_bk);  E = H'H - tau (M + M'),  M_b = sum of s_i h_i at b."""

    def rows(self, C: Array, A: Array, tau: float) -> tuple[Array, Array]:
        top = A.argmax(axis=1)
        s = np.maximum(A[np.arange(len(A)), top], 0)
        return C, A - tau * s[:, None] * np.maximum(1 - C, 0)[top]

    def pull(self, gram: Array, H: Array, A: Array, tau: float) -> Array:
        s = one_sparse_scores(A)
        M = s.T @ H
        return gram - tau * (M + M.T)


ROW_PENALTIES: dict[str, RowPenalty] = {"sncp": SmoothRows(), "nsncp": NonSmoothRows()}


class Point(NamedTuple):
    """The path at one tau, on the rows it sees."""

    tau: float
    U: Array
    error: float  # ||Y - HU||^2 / ||Y||^2
    penalty: float  # share of H'H off the diagonal
    gram: Array
    moved: float


def follow(Y: Array, U: Array, penalty: RowPenalty, taus: Array) -> Iterator[Point]:
    """The growing penalty from the prototypes U: at each tau H exactly, then two passes over U."""
    solve, sqnorm = kernels().solve_rows, float(np.vdot(Y, Y))
    A = scores(Y, U)
    support = np.zeros(A.shape, bool)
    support[np.arange(len(A)), A.argmax(axis=1)] = True
    for tau in taus:
        C = U @ U.T
        H, gram, cross = solve(*penalty.rows(C, A, tau), support, Y)
        error = 1 - (2 * np.vdot(cross, U) - np.vdot(gram, C)) / sqnorm
        before, U = U, kernels().pulled(U, cross, penalty.pull(gram, H, A, tau), 2)
        overlap = 1 - np.trace(gram) / max(gram.sum(), np.finfo(float).tiny)
        moved = float(np.linalg.norm(U - before) / np.sqrt(len(U)))
        yield Point(float(tau), U, float(error), float(overlap), gram, moved)
        if overlap < ONE_SPARSE:
            return  # the rest of the path is plain alternation
        A, support = scores(Y, U), H > 0


def spread(Y: Array, energy: Array, k: int, rng: np.random.Generator) -> Array:
    """Greedy k-means++ on the energy left unexplained; prototypes are means of the cells.

    Beyond the first few, seeds are chosen some at a time: a share of those there are.
    """
    best, cells, c = np.zeros(len(Y)), np.zeros(len(Y), np.intp), 0
    while c < k:
        batch = min(1 + c // BATCH, k - c)
        picks = draw(energy - best, (2 + int(np.log(k)) if batch == 1 else 3 * batch), rng)
        explained = np.square(np.maximum(scores(Y, unit(Y[picks])), 0))
        for _ in range(batch):
            j = np.maximum(explained, best[:, None]).sum(axis=0).argmax()
            closer = explained[:, j] > best
            cells[closer], best[closer] = c, explained[closer, j]
            c += 1
    U = sums(cells, np.ones(len(Y)), Y, k)
    return unit(U, otherwise=unit(Y[draw(energy, k, rng)]))


def draw(weight: Array, size: int, rng: np.random.Generator) -> Array:
    """Row numbers with probability proportional to `weight` (negative counts as zero)."""
    total = np.cumsum(np.maximum(weight, 0))
    if total[-1] <= 0:
        return rng.integers(0, len(weight), size)
    return np.searchsorted(total, rng.random(size) * total[-1], side="right").clip(
        max=len(total) - 1
    )


class Clustering(NamedTuple):
    """Prototypes (k, r), scores (n, k), the largest of each row and where it is, and its energy."""

    U: Array
    scores: Array
    labels: Array
    best: Array
    energy: float


def scores(Y: Array, U: Array) -> Array:
    """<y_i, u_k>, in the precision of Y."""
    return Y @ U.T.astype(Y.dtype, copy=False)


def alternate(Y: Array, U: Array, passes: int) -> Clustering:
    """Exact alternation: nearest ray, then the sum of its rows by weight."""
    before = -1.0
    for left in range(passes, -1, -1):
        A = scores(Y, U)
        labels, best, P = kernels().images(A, Y)
        energy = float(best @ best)
        if not left or energy <= before * (1 + GAIN):
            return Clustering(U, A, labels, best, energy)
        before, U = energy, unit(P, otherwise=U)
    raise AssertionError("not reached")


def relocate(Y: Array, energy: Array, now: Clustering, rounds: int) -> Clustering:
    """Single rows move to another cluster where both rays, fitted anew, explain more together.

    With b^2 = ||y||^2 - a^2, a cluster of energy e has at least

        (e + a^2 + b^2 + sqrt((e + a^2 - b^2)^2 + 4 a^2 b^2)) / 2   once row y has come,
        (e - a^2 + sqrt((e - a^2)^2 + 4 a^2 b^2)) / 2               once it has left.

    The alternation stops short of such moves (Hartigan's).
    """
    k = len(now.U)
    for _ in range(rounds if k > 1 else 0):
        own = np.bincount(now.labels, np.square(now.best), k)
        target, gain = kernels().transfers(now.scores, now.labels, energy, own)
        going = np.flatnonzero(gain > GAIN * now.energy / len(Y))
        going = going[np.argsort(-gain[going], kind="stable")]
        while len(going):
            new = refitted(Y, now, going, target[going])
            if new.energy > now.energy * (1 + GAIN):
                break
            going = going[: len(going) // 2]
        if not len(going):
            break
        now = new
    return now


def refitted(Y: Array, now: Clustering, going: Array, target: Array) -> Clustering:
    """The alternation goes on after these rows have moved."""
    labels, U = now.labels.copy(), now.U
    labels[going] = target
    for _ in range(3):
        U = unit(sums(labels, np.einsum("ij,ij->i", Y, U[labels]), Y, len(U)), otherwise=U)
    return alternate(Y, U, 5)
