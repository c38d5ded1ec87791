"""What is done row by row, in NumPy here and in C in `kernels`.

`solve_rows`, the row problem of the penalty path,

    min_{h >= 0}  h'Qh - 2 c'h,      Q (k, k) positive semidefinite with unit diagonal,

exactly, by principal pivoting: guess the support, solve the linear system on it, move the
coordinates that break a sign condition in or out, repeat. Then the steps on the prototypes
(`pulled`, `images`) and what swaps and moves would gain (`runners_up`, `pair_sums`,
`split_clusters`, `transfers`). Those in C are used if they were compiled when the package was
installed; they follow the same rules and give the same answers.
"""

import os
import sys
from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp

from onmf.rows.assign import first_largest
from onmf.rows.assign import nearest as nearest  # its twin is in `kernels`
from onmf.rows.sweep import Array, Matrix
from onmf.rows.threads import check_stopped
from onmf.search.ray_steps import ray_distance as ray_distance
from onmf.search.ray_steps import ray_steps as ray_steps
from onmf.search.ray_steps import unit as unit

RIDGE = 1e-10  # on the diagonal: prototypes may coincide
SLACK = 1e-9  # relative: a multiplier below it is zero
FULL_EXCHANGES = 3  # without progress, before single exchanges, which cannot cycle
MOST_EXCHANGES = 50
PATIENCE = 2  # times the last gain, that each further one is thought to be at most
GAIN = 2e-7  # relative gain below which an alternation in the sketch has settled
CHUNK = 1 << 21  # entries of the stacked systems


def solve_rows(Q: Array, C: Array, support: Array, Y: Array) -> tuple[Array, Array, Array]:
    """H (n, k) for the rows of C (n, k), from a guess of the supports (n, k, boolean); H'H, H'Y."""
    n, k = C.shape
    H, C = np.empty((n, k)), C.astype(np.float64, copy=False)
    step = max(1, CHUNK // k)
    for i in range(0, n, step):
        H[i : i + step] = _pivot(Q, C[i : i + step], support[i : i + step].copy())
    return H, H.T @ H, H.T @ Y


def _pivot(Q: Array, C: Array, support: Array) -> Array:
    """Principal pivoting on a stack of rows; `support` is overwritten."""
    n, k = C.shape
    scale = np.maximum(C.max(axis=1, keepdims=True), np.finfo(C.dtype).tiny)
    H = np.zeros_like(C)
    fewest, grace = np.full(n, k + 1), np.full(n, FULL_EXCHANGES)
    todo = np.arange(n)
    for _ in range(MOST_EXCHANGES):
        inside, c = support[todo], C[todo]
        h = _solve_on(Q, c, inside)
        wrong = np.where(inside, h < 0, c - h @ Q > SLACK * scale[todo])
        H[todo] = np.where(inside, h, 0)
        bad = wrong.sum(axis=1)
        better = bad < fewest[todo]
        fewest[todo] = np.where(better, bad, fewest[todo])
        grace[todo] = np.where(better, FULL_EXCHANGES, grace[todo] - 1)
        # Murty's rule, the last wrong coordinate alone, ends where full exchanges might cycle.
        last = k - 1 - wrong[:, ::-1].argmax(axis=1)
        single = np.zeros_like(wrong)
        single[np.arange(len(last)), last] = True
        support[todo] ^= np.where(grace[todo, None] >= 0, wrong, wrong & single)
        todo = todo[bad > 0]
        if not len(todo):
            break
    return np.maximum(H, 0)


def _solve_on(Q: Array, c: Array, inside: Array) -> Array:
    """Q_SS h_S = c_S for each row's own support S, those of one size together; zero elsewhere."""
    h, sizes = np.zeros_like(c), inside.sum(axis=1)
    for size in np.unique(sizes[sizes > 0]):
        those = np.flatnonzero(sizes == size)
        for rows in np.array_split(those, 1 + len(those) * size * size // CHUNK):
            S = np.nonzero(inside[rows])[1].reshape(-1, size)
            systems = Q[S[:, :, None], S[:, None, :]]
            systems[:, np.arange(size), np.arange(size)] += RIDGE
            h[rows[:, None], S] = np.linalg.solve(systems, c[rows[:, None], S][..., None])[..., 0]
    return h


def pulled(U: Array, cross: Array, E: Array, passes: int) -> Array:
    """u_k <- (P_k - sum_{l != k} E_kl u_l) / norm, each k in turn: exact block minimisers."""
    U = U.copy()
    for _ in range(passes):
        for k in range(len(U)):
            u = cross[k] - E[k] @ U + E[k, k] * U[k]
            if (size := np.linalg.norm(u)) > 0:
                U[k] = u / size
    return U


def alternations(
    Y: Array,
    U: Array,
    floor: Array,
    passes: int,
    goal: float,
    known: tuple[Array, Array, Array | None] | None = None,
) -> tuple[Array, Array, Array, Array, float]:
    """U after passes of `search.alternate`, the scores of the rows, where each is best, that score,
    and the energy; a floor of no entries stands for none. `known` are rays, their scores and
    memory for others, if there is some."""
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


def merge_losses(C: Array, squares: Array, products: Array, own: Array) -> Array:
    """e_k + e_c less what the best ray in the span of u_k and u_c explains of their rows (k, k).

    C are cosines. In the basis u_k, d = (u_c - c u_k) / s with c = u_k'u_c and s^2 = 1 - c^2 that
    is the larger eigenvalue of a 2 x 2 matrix.
    """
    C = np.clip(C, -1, 1)
    sine = np.sqrt(np.maximum(1 - C * C, 1e-12))
    uu, cc, uc = own[:, None] + squares.T, squares + own, products + products.T
    ud, dd = (uc - C * uu) / sine, (cc - 2 * C * uc + C * C * uu) / sine**2
    loss = own[:, None] + own - (uu + dd) / 2 - np.sqrt(np.square((uu - dd) / 2) + ud**2)
    np.fill_diagonal(loss, np.inf)
    return loss


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


def pair_sums(A: Array, labels: Array, best: Array) -> tuple[Array, Array]:
    """Sums of a_ic^2 and of s_i a_ic over the rows i of each cluster, for every c (k, k)."""
    k = A.shape[1]
    return sums(labels, np.ones(len(A)), np.square(A), k), sums(labels, best, A, k)


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
