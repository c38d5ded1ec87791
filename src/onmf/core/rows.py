"""The row problem of the penalty path, solved exactly.

    min_{h >= 0}  h'Qh - 2 c'h,      Q (k, k) positive semidefinite with unit diagonal

by principal pivoting: guess the support, solve the linear system on it, move the coordinates that
break a sign condition in or out, repeat. `solve_rows` is plain NumPy and solves all rows at once;
`compiled.solve_rows`, used when numba is installed, treats one row at a time and is much faster.
Both follow the same rule, so they give the same answer.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

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
        H[i : i + step] = pivot(Q, C[i : i + step], support[i : i + step].copy())
    return H


def pivot(Q: Array, C: Array, support: Array) -> Array:
    """Principal pivoting on a stack of rows; `support` is overwritten."""
    n, k = C.shape
    scale = np.maximum(C.max(axis=1, keepdims=True), np.finfo(C.dtype).tiny)
    H = np.zeros_like(C)
    fewest, grace = np.full(n, k + 1), np.full(n, FULL_EXCHANGES)
    todo = np.arange(n)
    for _ in range(MOST_EXCHANGES):
        inside, c = support[todo], C[todo]
        h = solve_on(Q, c, inside)
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


def solve_on(Q: Array, c: Array, inside: Array) -> Array:
    """Q_SS h_S = c_S for each row's own support S; zero elsewhere."""
    k = len(Q)
    both = inside[:, :, None] & inside[:, None, :]
    systems = np.where(both, Q, 0)
    systems[:, np.arange(k), np.arange(k)] = np.where(inside, Q.diagonal() + RIDGE, 1)
    return np.linalg.solve(systems, np.where(inside, c, 0)[..., None])[..., 0]


@cache
def row_solver() -> Callable[[Array, Array, Array], Array]:
    """The compiled solver if numba is there, else the NumPy one."""
    try:
        from onmf.core import compiled
    except ImportError:
        return solve_rows
    return compiled.solve_rows
