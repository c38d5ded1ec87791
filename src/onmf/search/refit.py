"""Rays for new rows from those of an earlier fit, in the sketch. No ray moves more than needed.

    U <- alternate(Y, U)        from the old rays
    more or fewer than k        split the cluster that gains most, remove the one that loses least
    swaps                       only those that gain MIN_SWAP_GAIN / k of what is explained

There is no path of a growing penalty: at its start rows belong to many rays, and the rays would
lose their places. Swaps that gain less are not made: a refit should not rename clusters for them.
"""

import numpy as np

from onmf.rows.sweep import Array, row_sqnorm
from onmf.search.path import Clustering, Point, alternate
from onmf.search.row_problems import kernels, unit
from onmf.search.swaps import improve, members, splits

MIN_SWAP_GAIN = 0.3  # share of what a cluster explains on average
HARD_TAU = 0.5  # tau at which rows have one cluster
REFIT_ALTERNATIONS, RESIZE_ALTERNATIONS = (
    20,
    5,
)  # alternations of all rows: at the end, and after a cluster more or fewer


def refit_from(Y: Array, U: Array, k: int, rng: np.random.Generator) -> tuple[Clustering, Point]:
    """k rays for the rows Y, from the old ones U, however many; and as the one point of a path."""
    sqnorms = row_sqnorm(Y)
    Y, sqnorms = Y[sqnorms > 0], sqnorms[sqnorms > 0]
    scale = sqnorms.mean()  # squares in single precision must neither vanish nor overflow
    Y, sqnorms = (Y / np.sqrt(scale)).astype(Y.dtype, copy=False), sqnorms / scale
    U = U[U.any(axis=1)]  # a ray whose features are all gone is no ray
    now = alternate(Y, U if len(U) else unit(Y[[sqnorms.argmax()]]), REFIT_ALTERNATIONS)
    while len(now.U) > k:
        now = alternate(Y, np.delete(now.U, least_loss(now), axis=0), RESIZE_ALTERNATIONS)
    while len(now.U) < k:
        now = alternate(Y, with_split(Y, sqnorms, now, rng), RESIZE_ALTERNATIONS)
    now = alternate(Y, improve(Y, sqnorms, now, rng, least=MIN_SWAP_GAIN / k).U, REFIT_ALTERNATIONS)
    error, gram = 1 - now.explained / sqnorms.sum(), np.diag(members(now)[2])
    return now, Point(HARD_TAU, now.U, float(error), 0.0, gram, 0.0)


def least_loss(now: Clustering) -> int:
    """The cluster whose rows explain least less with their second best rays."""
    _, runner = kernels().runners_up(now.scores, now.labels)
    loss = np.square(now.best) - np.square(np.maximum(runner, 0))
    return int(np.bincount(now.labels, loss, len(now.U)).argmin())


def with_split(Y: Array, sqnorms: Array, now: Clustering, rng: np.random.Generator) -> Array:
    """One ray more: the best of two halves for a cluster; the one nearer to it keeps its place."""
    order, edges, own = members(now)
    gain, halves = splits(Y, sqnorms, now, own, order, edges, rng)
    split = int(gain.argmax())
    pair = halves[:, split]
    heir = int((pair @ now.U[split]).argmax())
    U = now.U.copy()
    U[split] = pair[heir]
    return np.vstack([U, pair[1 - heir]])
