"""What is done row by row and ray by ray, in NumPy here and in C in `kernels`.

Those in C are used if they were compiled when the package was installed; they follow the same rules
and give the same answers. Steps on short rows serve the search (`alternations`, `alternate_few`,
`split_clusters`, `fit_rays`, `runners_up`, `transfers`). The steps of rays from one sweep over X to
the next are

    p = Sw / ||Sw||,    v = 2p - w,    or the best vector in span(u, w)

with u and w the last two rays and Su and Sw their images (`ray_steps`; see
`losses.ray_alternation`).
"""

import os
import sys
from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp

from onmf.rows.assign import first_largest
from onmf.rows.assign import nearest as nearest  # its twin is in `kernels`
from onmf.rows.scale import rows_to_safe_range
from onmf.rows.sweep import Array, Matrix, divisor
from onmf.rows.threads import check_stopped

PATIENCE = 2  # times the last gain, that each further one is thought to be at most
GAIN = 2e-7  # relative gain below which an alternation in the sketch has settled
SHORTEST = 1e-140  # the squares of shorter rows may be lost


def alternations(
    Y: Array,
    U: Array,
    floor: Array,
    passes: int,
    goal: float,
    known: tuple[Array, Array] | None = None,
) -> tuple[Array, Array, Array, Array, float]:
    """U after passes of `search.alternate`, the scores of the rows, where each is best, that score,
    and the energy; a floor of no entries stands for none. `known` are rays and their scores."""
    before, moved = -1.0, np.ones(len(U), bool)
    A = np.empty((len(Y), len(U) + (len(floor) > 0)), Y.dtype)
    if known is not None:
        A, moved = known[1].copy(), (known[0] != U).any(axis=1)
    if len(floor):
        A[:, len(U)] = floor
    for left in range(passes, -1, -1):
        some = np.flatnonzero(moved)
        A[:, some] = Y @ U[some].T.astype(Y.dtype)
        labels, best, P = images(A, Y, U)
        sqnorms = float(best @ best)
        gain, before = sqnorms - before, sqnorms
        if not left or gain <= GAIN * (sqnorms - gain) or sqnorms + PATIENCE * left * gain < goal:
            break
        U, moved = redirected(U, P[: len(U)], GAIN * sqnorms / len(U))
        if not moved.any():
            break
    return U, A, labels, best, sqnorms


def redirected(U: Array, P: Array, least: float) -> tuple[Array, Array]:
    """Rays along the rows of P where that gains 2 (norm(p) - p'u) > least, and where it does."""
    size = np.linalg.norm(P, axis=1)
    moved = 2 * (size - np.einsum("kr,kr->k", U, P)) > least
    return np.where(moved[:, None], unit(P, otherwise=U), U), moved


def images(A: Array, Y: Array, U: Array) -> tuple[Array, Array, Array]:
    """b_i = argmax_k a_ik, s_i = [a_ib]_+, and the sum of s_i y_i over the rows of each cluster.

    Of scores <y_i, u_b> the digits beyond single precision count: one row may outweigh all others.
    """
    labels, best = first_largest(A), A.max(axis=1).astype(np.float64)
    inside = labels < len(U)
    best[inside] = np.einsum("ij,ij->i", Y[inside], U[labels[inside]])
    best = np.maximum(best, 0)
    return labels, best, sums(labels, best, Y, A.shape[1])


def alternate_few(
    Z: Array, edges: Array, places: Array, U: Array, floor: Array, passes: int, goal: float
) -> tuple[Array, float]:
    """`alternations` on the rows of some places alone: U, and what is explained.

    The rows of place p are those from edges[p] to edges[p + 1].
    """
    rows = np.concatenate([np.arange(edges[p], edges[p + 1]) for p in places])
    floor = floor[rows] if len(floor) else floor
    U, *_, explained = alternations(Z[rows], U, floor, passes, goal)
    return U, explained


def products(X: Matrix, V: Array) -> Array:
    """XV."""
    return np.asarray(X @ V)


def image(X: Matrix, V: Array) -> Array:
    """X'XV."""
    return np.asarray(X.T @ (X @ V))


def nearest_rays(X: Matrix, units: Array) -> tuple[Array, Array]:
    """`nearest` of the products of rows X with unit rays (m, k)."""
    return nearest(X @ units)


def sums(labels: Array, factors: Array, Y: Matrix, k: int) -> Array:
    """The sum of f_i y_i over the rows of each of k clusters."""
    parts, shape = (factors, labels, np.arange(len(labels) + 1)), (len(labels), k)
    P = sp.csr_array(parts, shape=shape).T @ Y
    return np.asarray(P.toarray() if sp.issparse(P) else P)


def fit_rays(Y: Array, labels: Array, U: Array, steps: int) -> tuple[Array, float]:
    """U after power steps of each ray on the rows of its cluster alone, and what it explains."""
    for _ in range(steps):
        U = unit(sums(labels, np.einsum("ij,ij->i", Y, U[labels]), Y, len(U)), otherwise=U)
    return U, float(np.square(np.maximum(np.einsum("ij,ij->i", Y, U[labels]), 0)).sum())


def runners_up(A: Array, labels: Array) -> tuple[Array, Array]:
    """The second best ray of each row and its score, not below zero."""
    others, rows = A.copy(), np.arange(len(A))
    others[rows, labels] = -np.inf
    second = first_largest(others)
    return second, np.maximum(others[rows, second], 0).astype(np.float64)


def split_clusters(Y: Array, labels: Array, pair: Array, passes: int) -> tuple[Array, Array]:
    """Two rays (2, k, r) for the rows of each cluster after alternations, and their energy (k,)."""
    k = pair.shape[1]
    for left in range(passes, -1, -1):
        scores = np.maximum([np.einsum("ij,ij->i", Y, rays[labels]) for rays in pair], 0)
        second = scores[1] > scores[0]
        best = np.where(second, scores[1], scores[0])
        if left:
            pair = unit(sums(labels + k * second, best, Y, 2 * k).reshape(pair.shape), pair)
    return pair, np.bincount(labels, np.square(best), k)


def transfers(A: Array, labels: Array, sqnorms: Array, own: Array) -> tuple[Array, Array]:
    """The best other cluster of each row, and what its move there gains at least.

    `energy` (n,) is that of the rows, `own` (k,) what each cluster explains; see `relocate`.
    """
    rows, a = np.arange(len(A)), np.square(np.maximum(A, 0), dtype=np.float64)
    off = np.maximum(sqnorms[:, None] - a, 0)
    join = (off - own + a + np.sqrt(np.square(own + a - off) + 4 * a * off)) / 2
    join[A <= 0], join[rows, labels] = -np.inf, -np.inf
    target, a, off, mine = first_largest(join), a[rows, labels], off[rows, labels], own[labels]
    rest = np.maximum(mine - a, 0)
    stay = mine - (rest + np.sqrt(rest * rest + 4 * a * off)) / 2
    return target, join[rows, target] - stay


def ray_steps(
    W: Array, cross: Array, last_W: Array, last_cross: Array, kept: Array, signed: bool
) -> Array:
    """Unit rays from those along W and last_W and their images: the steps of `settle`."""
    u, w = unit(last_W.astype(np.float64)), unit(W.astype(np.float64))
    p = unit(cross, otherwise=w)
    back = np.einsum("km,km->k", p - w, w - u)[:, None] < 0
    U = np.where(back, p, 2 * p - w)
    U = unit(U if signed else np.maximum(U, 0), otherwise=p)
    kept = np.flatnonzero(kept)
    best = ritz(u[kept], last_cross[kept], w[kept], cross[kept])
    inside = np.full(len(kept), signed) | (best >= 0).all(axis=1)
    U[kept[inside]] = best[inside]
    return U


def ritz(u: Array, Su: Array, w: Array, Sw: Array) -> Array:
    """For each row, the image of the vector in span(u, w) with the largest v'Sv, of unit length."""
    c = np.einsum("km,km->k", u, w)[:, None]
    d = w - c * u  # orthogonal to u
    size = np.linalg.norm(d, axis=1, keepdims=True)
    apart = size > 1e-9  # else the two rays are one
    size = np.where(apart, size, 1)
    d, Sd = d / size, (Sw - c * Su) / size
    uu, ud, dd = (np.einsum("km,km->k", a, b)[:, None] for a, b in ((u, Su), (d, Su), (d, Sd)))
    angle = 0.5 * np.arctan2(2 * ud, uu - dd)
    best = np.cos(angle) * Su + np.sin(angle) * Sd
    return unit(np.where(apart, best, Sw), otherwise=w)


def ray_distance(W: Array, V: Array) -> float:
    """Root mean square distance of the rays along the rows of W and V."""
    apart = unit(W.astype(np.float64)) - unit(V.astype(np.float64))
    return float(np.linalg.norm(apart) / np.sqrt(len(W)))


def unit(U: Array, otherwise: Array | None = None) -> Array:
    """Rows divided by their norms; a row of zeros becomes that of `otherwise`, or stays."""
    with np.errstate(over="ignore", under="ignore"):
        size = np.sqrt(np.einsum("...i,...i->...", U, U))[..., None]
    if not ((size > SHORTEST) & (size < np.inf)).all():
        U, _ = rows_to_safe_range(U)
        size = np.sqrt(np.einsum("...i,...i->...", U, U))[..., None]
    scaled = U / divisor(size)
    if otherwise is None or size.all():
        return scaled
    return np.where(size > 0, scaled, otherwise)


def kernels() -> Any:
    """The module to take these functions from; ends a task that was stopped (`check_stopped`)."""
    check_stopped()
    return kernel_module()


@cache
def kernel_module() -> Any:
    """The compiled module if it was built, or this one.

    The environment variable ONMF_KERNELS=numpy asks for this one, ONMF_KERNELS=plain for compiled
    ones without the newer instructions of the processor.
    """
    wanted = os.environ.get("ONMF_KERNELS")
    if wanted == "numpy":
        return sys.modules[__name__]
    try:
        from onmf.search import kernels as compiled
    except ImportError:
        return sys.modules[__name__]
    if wanted:
        compiled.use(wanted)
    return compiled


def is_compiled() -> bool:
    """Whether these functions run in C."""
    return kernel_module() is not sys.modules[__name__]


def kernel_sentence() -> str:
    """Which kernels run, and if they are those in NumPy, why."""
    if is_compiled():
        return "compiled kernels"
    asked = os.environ.get("ONMF_KERNELS") == "numpy"
    return f"NumPy kernels ({'ONMF_KERNELS=numpy' if asked else 'no compiler at installation'})"
