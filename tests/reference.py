"""Slow loops straight from the paper's equations, in the paper's orientation. Only tests use them.

X is M x N (features x samples), W is M x K, H is K x N; the fit term is relative.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.optimize


def smooth(h):
    return (sum(h) ** 2 - sum(x * x for x in h)) / 2


def nonsmooth(h):
    return sum(h) - max(h)


# What each penalty is, entry by entry: a new one is added here and has all its promises tested.
PENALTY_DEFINITIONS = {"sncp": smooth, "nsncp": nonsmooth}


class LossDefinition(NamedTuple):
    """A loss, for one row: the sum of `entry(x, y)` over what is observed of it.

    size : of a row, what its noise grows with, and what it counts for.
    nothing : of a column of X times the weights; multiples of this centroid explain nothing. Their
        loss is what the relative error is a share of, and that of an outlier.
    """

    entry: Callable[[float, float], float]
    size: Callable[[list[float]], float]
    nothing: Callable[[list[float]], float]

    def loss(self, x, y):
        return sum(self.entry(a, b) for a, b in zip(x, y, strict=True) if a == a)

    def best(self, x, w):
        """Least loss(x, h w) over h >= 0, and h, by trying. It is a mean of the x_j / w_j."""
        nothing = self.loss(x, [0.0 for _ in w])
        most = max((a / b for a, b in zip(x, w, strict=True) if a == a and b), default=0.0)
        if most <= 0:
            return nothing, 0.0
        found = scipy.optimize.minimize_scalar(
            lambda h: self.loss(x, [h * b for b in w]),
            bounds=(0, most),
            method="bounded",
            options={"xatol": 1e-10 * most},
        )
        return (found.fun, found.x) if found.fun < nothing else (nothing, 0.0)


def squares(x, y):
    return (x - y) ** 2


def kullback_leibler(x, y):
    if x == 0:
        return y
    return x * math.log(x / y) - x + y if y > 0 else math.inf


# What each loss is, entry by entry: a new one is added here and has all its promises tested.
LOSS_DEFINITIONS = {
    "frobenius": LossDefinition(squares, lambda y: sum(v * v for v in y), lambda column: 0.0),
    "kl": LossDefinition(kullback_leibler, sum, sum),
}


def palm_pass(X, W, H, rho, kind, mu_h=1e-10, share=0.51):
    """One iteration of Algorithm 2 (kind "sncp") or 3 ("nsncp")."""
    n, K = np.sum(X**2), len(H)
    hessian = 2 * W.T @ W / n + mu_h * np.eye(K)
    if kind == "sncp":
        hessian = hessian + rho * (np.ones((K, K)) - np.eye(K))
    t = share * np.linalg.eigvalsh(hessian).max()
    B = H - (hessian @ H - 2 * W.T @ X / n + (rho if kind == "nsncp" else 0)) / t
    if kind == "nsncp":
        for j in range(B.shape[1]):
            B[np.argmax(B[:, j]), j] += rho / t
    H = np.maximum(B, 0)
    c = share * np.linalg.eigvalsh(H @ H.T).max()
    W = np.maximum(W - (W @ (H @ H.T) - X @ H.T) / c, 0)
    return W, H


def normalised_residual(W, H, W_before, H_before):
    return np.linalg.norm(W - W_before) / np.linalg.norm(W_before) + np.linalg.norm(
        H - H_before
    ) / np.linalg.norm(H_before)


def best_one_sparse_error(X, W):
    """Least ||X - HW||^2 over H >= 0 with one non-zero a row, X (n, m), W (k, m), by trying all."""
    total = 0.0
    for x in X:
        total += min(np.sum((x - max(x @ w, 0) / max(w @ w, 1e-300) * w) ** 2) for w in W)
    return total


def entries(rows, columns, formula):
    """A matrix by a formula for each entry."""
    return np.array([[formula(i, j) for j in range(columns)] for i in range(rows)])


def multiplicative_w(X, W, H):
    """W <- W * (XH') / (WHH'), entry by entry."""
    (M, K), N = W.shape, H.shape[1]

    def entry(i, k):
        up = sum(X[i, j] * H[k, j] for j in range(N))
        down = sum(W[i, a] * H[a, j] * H[k, j] for a in range(K) for j in range(N))
        return W[i, k] * up / down

    return entries(M, K, entry)


def dtpp_pass(X, W, H):
    """W; then H <- H * sqrt( (W'X) / ((W'X)(H'H)) ), with the N x N matrix H'H."""
    W = multiplicative_w(X, W, H)
    V, Q = W.T @ X, H.T @ H

    def entry(k, j):
        return H[k, j] * np.sqrt(V[k, j] / sum(V[k, i] * Q[i, j] for i in range(len(Q))))

    return W, entries(*H.shape, entry)


def onmf_s_pass(X, W, H):
    """W; then H' <- H' * (X'W) / (H'(W'XH')); rows of H divided by their sum."""
    W = multiplicative_w(X, W, H)
    V = X.T @ W
    G = W.T @ X @ H.T

    def entry(k, j):
        return H[k, j] * V[j, k] / sum(H[a, j] * G[a, k] for a in range(len(H)))

    H = entries(*H.shape, entry)
    return W, np.array([row / sum(row) for row in H])


def hals_pass(X, W, H, floor=1e-30):
    """The columns f_j of F = H' in turn, each orthogonal to the sum of the others; then W."""
    W, F = W.copy(), H.T.copy()
    N, K = F.shape
    A, B = X.T @ W, W.T @ W
    for j in range(K):
        others = [sum(F[i, a] for a in range(K) if a != j) for i in range(N)]
        h = [A[i, j] - sum(F[i, a] * B[a, j] for a in range(K) if a != j) for i in range(N)]
        along = sum(g * x for g, x in zip(others, h, strict=True)) / sum(g * g for g in others)
        f = [max(x - along * g, floor) for g, x in zip(others, h, strict=True)]
        F[:, j] = np.array(f) / np.sqrt(sum(x * x for x in f))
    C, D = X @ F, F.T @ F
    for j in range(K):
        rest = sum(W[:, a] * D[a, j] for a in range(K) if a != j)
        W[:, j] = [max(x, floor) for x in C[:, j] - rest]
    return W, F.T


def onp_mf_lagrangian(X, W, H, Z, rho):
    negative = np.minimum(H, 0)
    return np.sum((X - W @ H) ** 2) / 2 - np.sum(Z * H) + rho / 2 * np.sum(negative**2)


def onp_mf_pass(X, H, Z, rho, t):
    """W row by row, H by Armijo steps with a full N x N decomposition each, then Z and rho."""
    W = np.array([scipy.optimize.nnls(H.T, x)[0] for x in X])
    gradient = W.T @ (W @ H - X) - Z + rho * np.minimum(H, 0)
    before, step = onp_mf_lagrangian(X, W, H, Z, rho), 1.0
    while True:
        U, _, Vt = np.linalg.svd(H - step * gradient, full_matrices=True)
        new = U @ np.eye(*H.shape) @ Vt
        value = onp_mf_lagrangian(X, W, new, Z, rho)
        if value <= before + 1e-5 * np.sum(gradient * (new - H)):
            return W, new, np.maximum(0, Z - 100 / t * new), 1.01 * rho
        step *= 0.1
