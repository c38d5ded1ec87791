"""ONP-MF: orthogonal from the first iteration on, non-negative at the end.

    min  1/2 ||X - HW||^2 - <Z, H> + rho/2 ||min(H, 0)||^2    over W >= 0 and H with H'H = I

    W <- argmin_{W >= 0} ||X - HW||^2
    H <- polar factor of H - s (HWW' - XW' - Z + rho min(H, 0)),   s = 1, 0.1, 0.01, ... (Armijo)
    Z <- max(0, Z - (100 / t) H),   rho <- 1.01 rho                after iteration t = 1, 2, ...

As H'H = I, the least squares problem falls apart into single entries: W = max(0, H'X) is its exact
solution. The polar factor UV' of H = USV' needs the thin decomposition only, O(n k^2), and on the
manifold the objective is a constant less <XW' + Z, H> plus the penalty: the line search never
reads X. W must be complete before XW', and H before H'X: two sweeps an iteration.

F. Pompili, N. Gillis, P.-A. Absil and F. Glineur, "Two algorithms for orthogonal nonnegative matrix
factorization with application to clustering", Neurocomputing 141, 2014.
"""

from collections.abc import Iterator
from itertools import count

import numpy as np

from onmf.baselines.iterate import MAX_ITER, TOL, Iterate, Start, iterate, products, summarise
from onmf.result import Factorization, Watch, unwatched
from onmf.rows.assign import one_sparse
from onmf.rows.sweep import Array, Data, divisor

ONP_RHO, ONP_GROWTH, DUAL_STEP = 0.01, 1.01, 100.0
ARMIJO_FACTOR, ARMIJO_SLOPE = 0.1, 1e-5  # of the line search
MAX_ARMIJO_TRIALS = 24  # steps below 1e-24 are lost in rounding


def onp_mf(
    data: Data,
    start: Start,
    *,
    tol: float = TOL,
    max_iter: int = MAX_ITER,
    watch: Watch = unwatched,
) -> Factorization:
    """From the largest entries of the start's H; two sweeps an iteration, one before the first."""
    labels = np.where(start.H.any(axis=1), start.H.argmax(axis=1), -1)
    root = np.sqrt(data.weight)[:, None]
    G = one_sparse(labels, root[:, 0], len(start.W))
    G = G / divisor(np.linalg.norm(G, axis=0))
    begin = unweigh(G, root), start.W
    found = iterate(data, begin, updates(data, G, root), tol, max_iter, watch)
    return found._replace(H=np.maximum(found.H, 0))


def updates(data: Data, G: Array, root: Array) -> Iterator[Iterate]:
    """With G = D^1/2 H, weighted samples are as good as repeated ones: G'G = H'DH = I."""
    Z, rho = np.zeros_like(G), ONP_RHO
    _, sums = data.sweep(summarise, data.scatter(unweigh(G, root)))
    for t in count(1):
        W = np.maximum(sums.cross, 0)
        G = descend_memberships(G, root * products(data, W), W @ W.T, Z, rho)
        rows, sums = data.sweep(summarise, data.scatter(unweigh(G, root)))
        negative = np.minimum(G, 0)
        penalty = float(np.vdot(negative, negative)) / 2
        yield Iterate(rows, W, sums, 1 + 2 * t, rho, penalty)
        Z, rho = np.maximum(0, Z - G.dtype.type(DUAL_STEP / t) * G), ONP_GROWTH * rho


def descend_memberships(H: Array, A: Array, B: Array, Z: Array, rho: float) -> Array:
    """One projected gradient step on H, A being XW' and B being WW'."""
    gradient = H @ B - A - Z + H.dtype.type(rho) * np.minimum(H, 0)
    value, step = objective(H, A + Z, rho), 1.0
    for _ in range(MAX_ARMIJO_TRIALS):
        new = polar(H - H.dtype.type(step) * gradient)
        if objective(new, A + Z, rho) <= value + ARMIJO_SLOPE * np.vdot(gradient, new - H):
            return new
        step *= ARMIJO_FACTOR
    return H


def objective(H: Array, pull: Array, rho: float) -> float:
    """The augmented Lagrangian on the manifold, up to a constant."""
    negative = np.minimum(H, 0)
    return float(rho / 2 * np.vdot(negative, negative) - np.vdot(pull, H))


def polar(Y: Array) -> Array:
    """The nearest matrix with orthonormal columns."""
    U, _, Vt = np.linalg.svd(Y, full_matrices=False)
    return U @ Vt


def unweigh(G: Array, root: Array) -> Array:
    """H = D^-1/2 G; samples without weight have no membership."""
    return G / divisor(root)
