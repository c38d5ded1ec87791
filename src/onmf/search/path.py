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

from onmf.palm.penalties import RowPenalty
from onmf.rows.assign import first_largest
from onmf.rows.sweep import Array, row_sqnorm
from onmf.search.row_problems import kernels, unit

MAX_OVERLAP = 3e-3  # share of H'H off its diagonal below which the path has done its work
SKIP_TAU_MOVE = (
    0.008  # root mean square move of the prototypes below which the next tau is left out
)
SEEDS_PER_EXTRA_PICK = 10  # seeds there must be for each more that is chosen at a time
UNEXPLAINED_ROUNDING = 1e-12  # share of a row's energy below which what is left of it is rounding


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
    solve, sqnorm = kernels().solve_rows, row_sqnorm(Y).sum()
    A = scores(Y, U)
    support = np.zeros(A.shape, bool)
    support[np.arange(len(A)), first_largest(A)] = True
    calm = False
    for tau in taus:
        if calm:
            calm = False
            continue
        C = U @ U.T
        H, gram, cross = solve(*penalty.row_problem(C, A, tau), support, Y)
        error = 1 - (2 * np.vdot(cross, U) - np.vdot(gram, C)) / sqnorm
        before, U = U, kernels().pulled(U, cross, penalty.pull(gram, H, A, tau), 2)
        overlap = 1 - np.trace(gram) / max(gram.sum(), np.finfo(float).tiny)
        moved = float(np.linalg.norm(U - before) / np.sqrt(len(U)))
        yield Point(float(tau), U, float(error), float(overlap), gram, moved)
        if overlap < MAX_OVERLAP:
            return  # the rest of the path is plain alternation
        A, support, calm = scores(Y, U), H > 0, moved < SKIP_TAU_MOVE


def spread(Y: Array, sqnorms: Array, k: int, rng: np.random.Generator) -> Array:
    """Greedy k-means++ on the energy left unexplained; prototypes are means of the cells.

    Once there are some seeds, more are chosen at a time: a tenth of those there are.
    """
    best, cells, c = np.zeros(len(Y), Y.dtype), np.zeros(len(Y), np.intp), 0
    while c < k:
        batch = min(1 + c // SEEDS_PER_EXTRA_PICK, k - c)
        picks = draw(
            unexplained(sqnorms, best), 2 + int(np.log(k)) if batch == 1 else 3 * batch, rng
        )
        explained = np.square(np.maximum(unit(Y[picks]) @ Y.T, 0))  # by each pick, of each row
        total = np.maximum(explained, best).sum(axis=1, dtype=np.float64)
        for _ in range(batch):
            j = total.argmax()
            closer = np.flatnonzero(explained[j] > best + UNEXPLAINED_ROUNDING * sqnorms)
            there, before = explained[:, closer], best[closer]
            cells[closer], best[closer] = c, there[j]
            more = np.maximum(there, there[j]) - np.maximum(there, before)
            total += more.sum(axis=1, dtype=np.float64)
            c += 1
    U = kernels().sums(cells, np.ones(len(Y)), Y, k)
    return unit(U, otherwise=unit(Y[draw(sqnorms, k, rng)]))


def unexplained(sqnorms: Array, explained: Array) -> Array:
    """What is left of the energy of each row; zero where that is rounding."""
    left = sqnorms - explained
    return np.where(left > UNEXPLAINED_ROUNDING * sqnorms, left, 0)


def draw(weight: Array, size: int, rng: np.random.Generator) -> Array:
    """Row numbers with probability proportional to `weight` >= 0; all alike if there is none."""
    total = np.cumsum(weight)
    if total[-1] <= 0:
        return rng.integers(0, len(weight), size)
    return np.searchsorted(total, rng.random(size) * total[-1], side="right").clip(
        max=len(total) - 1
    )


def drawn(Y: Array, sqnorms: Array, size: int, rng: np.random.Generator) -> Array:
    """All rows, or `size` of them, by chance p_i: half uniform, half by energy; y_i / sqrt(p_i)
    keeps every sum of squares unbiased. Rows of more than their share are always there."""
    n = len(Y)
    if n <= size:
        return Y
    chance, sure = 0.5 / n + 0.5 * sqnorms / sqnorms.sum(), np.zeros(n, bool)
    while True:
        p = np.where(sure, 1.0, chance * (size - sure.sum()) / chance[~sure].sum())
        if (p <= 1).all():
            break
        sure |= p >= 1
    picks = np.searchsorted(np.cumsum(p), rng.random() + np.arange(size), side="right")
    picks = picks.clip(max=n - 1)
    return (Y[picks] / np.sqrt(p[picks])[:, None]).astype(Y.dtype, copy=False)


def scores(Y: Array, U: Array, floor: Array | None = None) -> Array:
    """<y_i, u_k> (n, k), in the precision of Y; with a floor, that of no cluster is one more."""
    A = np.asarray(Y @ U.T.astype(Y.dtype, copy=False))
    return A if floor is None else np.column_stack([A, floor.astype(Y.dtype, copy=False)])


class Clustering(NamedTuple):
    """Prototypes (k, r), scores (n, k), where each row scores best, that score, and the energy.

    Where rows may be outliers there is one score more, and label k is that of no cluster.
    """

    U: Array
    scores: Array
    labels: Array
    best: Array
    explained: float


def every_place(now: Clustering) -> Array:
    """A ray for each label: zero for that of the outliers."""
    return np.vstack([now.U, np.zeros((now.scores.shape[1] - len(now.U), now.U.shape[1]))])


def alternate(
    Y: Array,
    U: Array,
    passes: int,
    goal: float = 0.0,
    floor: Array | None = None,
    known: Clustering | None = None,
    memory: list[Array] | None = None,
) -> Clustering:
    """Exact alternation: nearest ray, then the sum of its rows by weight.

    Its gains fall as a rule: it ends where more of them, somewhat larger than the last, would not
    reach the goal. A row that scores below its `floor` on every ray is an outlier and pulls none.
    Only rays that move are scored again: a ray stays where less than its share of GAIN is to be
    gained, and those of a `known` clustering of the same rows have scores already. `memory` are
    arrays of scores that nobody needs any more: new ones of many rows and rays cost as much as a
    pass.
    """
    floor = np.empty(0, Y.dtype) if floor is None else floor.astype(Y.dtype, copy=False)
    U, rows = U.astype(np.float64, copy=False), np.ascontiguousarray(Y)
    scored = None
    if known is not None:
        scored = known.U, known.scores, memory.pop() if memory else None
    return Clustering(*kernels().alternations(rows, U, floor, passes, goal, scored))
