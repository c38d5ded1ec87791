"""From the rays of an earlier fit to those of this one, in the sketch: none moves without need.

    U <- alternate(Y, U)        rays to their samples, from where they were
    k more, k fewer             the cluster that gains most by it is split, the one that loses least
                                given up, one after the other
    swaps                       one is given up and another split where that explains DEMAND / k of
                                what is explained more: a share of what one cluster does

No path of a growing penalty: at its beginning rows belong to many rays, and the rays would forget
where they were. What the swaps of a search would gain beyond DEMAND is left: a refit that renames
clusters for it is worth less than one that does not.
"""

import numpy as np

from onmf.rows.sweep import Array, row_sqnorm
from onmf.search.path import Clustering, Point, alternate
from onmf.search.row_problems import kernels, unit
from onmf.search.swaps import improve, members, splits

DEMAND = 0.3  # of the energy that a cluster explains on average
HARD = 0.5  # weight of a penalty at which rows have one cluster
PASSES, LOCAL = 20, 5  # alternations of all rows: at the end, and after a cluster more or fewer


def refit_from(Y: Array, U: Array, k: int, rng: np.random.Generator) -> tuple[Clustering, Point]:
    """k rays for the rows Y, from the old ones U, however many; and as the one point of a path."""
    sqnorms = row_sqnorm(Y)
    Y, sqnorms = Y[sqnorms > 0], sqnorms[sqnorms > 0]
    scale = sqnorms.mean()  # squares in single precision must neither vanish nor overflow
    Y, sqnorms = (Y / np.sqrt(scale)).astype(Y.dtype, copy=False), sqnorms / scale
    U = U[U.any(axis=1)]  # a ray whose features are all gone is no ray
    now = alternate(Y, U if len(U) else unit(Y[[sqnorms.argmax()]]), PASSES)
    while len(now.U) > k:
        now = alternate(Y, np.delete(now.U, least_loss(now), axis=0), LOCAL)
    while len(now.U) < k:
        now = alternate(Y, with_split(Y, sqnorms, now, rng), LOCAL)
    now = alternate(Y, improve(Y, sqnorms, now, rng, least=DEMAND / k).U, PASSES)
    error, gram = 1 - now.explained / sqnorms.sum(), np.diag(members(now)[2])
    return now, Point(HARD, now.U, float(error), 0.0, gram, 0.0)


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
