"""NMF by scikit-learn (coordinate descent); each sample goes to its largest membership.

    min ||X - HW||^2   over H, W >= 0

Nothing makes the rows of H one-sparse: this is what people do who have no orthogonal NMF. As a
column of H may grow while its row of W shrinks, memberships are compared along rays of unit length.
The history has one row, for the end, and the callback is called once: scikit-learn reports no more.
"""

import warnings

import numpy as np
import scipy.sparse as sp
from sklearn.decomposition import non_negative_factorization
from sklearn.exceptions import ConvergenceWarning

from onmf.baselines.iterate import MAX_ITER, Iterate, Start, WholeRows, one_stage_result, summarise
from onmf.palm.palm import relative_change
from onmf.result import Factorization, Watch, unwatched
from onmf.rows.sweep import Array, Matrix, divisor

NMF_TOL = 1e-4  # scikit-learn's own: the violation of optimality, relative to that at the start


def nmf(
    data: WholeRows,
    start: Start,
    *,
    tol: float = NMF_TOL,
    max_iter: int = MAX_ITER,
    watch: Watch = unwatched,
) -> Factorization:
    """From the raw start; two sweeps an iteration, and three to measure the result."""
    root = np.sqrt(data.weight)[:, None]
    X = data.X if (root == 1).all() else weigh_rows(data.X, root)
    G, W, iterations = factors(X, root * start.H, start.W, tol, max_iter)
    G_next, W_next, _ = factors(X, G, W, 0, 1)
    residual = relative_change(G_next, G) + relative_change(W_next, W)
    length = np.linalg.norm(W, axis=1)
    H, W = G * length / divisor(root), W / divisor(length)[:, None]
    rows, sums = data.sweep(summarise, data.scatter(H))
    now = Iterate(rows, W, sums, 2 * iterations + 3)
    stop = "converged" if iterations < max_iter else "max_iter"
    return one_stage_result(data, now, iterations, residual, stop, watch)


def weigh_rows(X: Matrix, root: Array) -> Matrix:
    """D^1/2 X: the squared error of a sample counts by its weight."""
    return sp.csr_array(X.multiply(root)) if sp.issparse(X) else X * root


def factors(X: Matrix, H: Array, W: Array, tol: float, max_iter: int) -> tuple[Array, Array, int]:
    """H, W and the number of iterations; the given factors are left alone."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # `stop` says so
        found: tuple[Array, Array, int] = non_negative_factorization(
            X, H.copy(), W.copy(), n_components=len(W), init="custom", tol=tol, max_iter=max_iter
        )
    return found
