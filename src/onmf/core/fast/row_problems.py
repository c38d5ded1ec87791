"""What is done row by row: three functions, in NumPy here and in machine code in `kernels`.

`solve_rows`, the row problem of the penalty path,

    min_{h >= 0}  h'Qh - 2 c'h,      Q (k, k) positive semidefinite with unit diagonal,

exactly, by principal pivoting: guess the support, solve the linear system on it, move the
coordinates that break a sign condition in or out, repeat. `images`, the step of the exact
alternation; `swap_gains`, what a swap of prototypes would explain. The compiled twins are used when
numba is installed; they follow the same rules and give the same answers.
"""

import sys
from functools import cache
from typing import Any

import numpy as np

from onmf.core.assign import nearest, one_sparse
from onmf.core.rows import Array

RIDGE = 1e-10  # on the diagonal: prototypes may coincide
SLACK = 1e-9  # relative: a multiplier below it is zero
FULL_EXCHANGES = 3  # without progress, before single exchanges, which cannot cycle
MOST_EXCHANGES = 50
CHUNK = 1 << 21  # entries of the stacked systems


def solve_rows(Q: Array, C: Array, support: Array) -> Array:
    """H (n, k) for the rows of C (n, k), from a guess of the supports (n, k, boolean)."""
    n, k = C.shape
    H = np.empty_like(C)
    step = max(1, CHUNK // (k * k))
    for i in range(0, n, step):
        H[i : i + step] = _pivot(Q, C[i : i + step], support[i : i + step].copy())
    return H


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
    """Q_SS h_S = c_S for each row's own support S; zero elsewhere."""
    k = len(Q)
    both = inside[:, :, None] & inside[:, None, :]
    systems = np.where(both, Q, 0)
    systems[:, np.arange(k), np.arange(k)] = np.where(inside, Q.diagonal() + RIDGE, 1)
    return np.linalg.solve(systems, np.where(inside, c, 0)[..., None])[..., 0]


def images(A: Array, Y: Array) -> tuple[Array, Array]:
    """sum_i a_ib y_i at b = argmax_k a_ik, and sum_i a_ib^2, for scores A (n, R, k)."""
    n, R, k = A.shape
    H = one_sparse(*nearest(A.reshape(n * R, k)), k)
    P = (H.reshape(n, R * k).T @ Y).reshape(R, k, -1)
    return P, np.einsum("nrk,nrk->r", H.reshape(A.shape), H.reshape(A.shape))


def swap_gains(A: Array, scores: Array) -> Array:
    """V (k, candidates): change of sum_i max_k [a_ik]_+^2 when one leaves and another enters."""
    n, k = A.shape
    ranked = np.sort(np.square(np.maximum(A, 0)), axis=1)
    first, second = ranked[:, -1], ranked[:, -2] if k > 1 else np.zeros(n)
    offer = np.square(np.maximum(scores, 0))
    with_all = np.maximum(offer, first[:, None])
    member = np.zeros((n, k))
    member[np.arange(n), A.argmax(axis=1)] = 1
    loss = member.T @ (np.maximum(offer, second[:, None]) - with_all)
    return with_all.sum(axis=0) - first.sum() + loss


@cache
def kernels() -> Any:
    """The module to take these functions from: the compiled one if numba is there, or this one."""
    try:
        from onmf.core.fast import kernels as compiled
    except ImportError:
        return sys.modules[__name__]
    return compiled
