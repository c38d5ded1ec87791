"""Slow loops straight from the paper's equations, in the paper's orientation. Only tests use them.

X is M x N (features x samples), W is M x K, H is K x N; the fit term is relative.
"""

import numpy as np


def objective(X, W, H, phi, rho, mu_w=0.0, mu_h=0.0):
    error = sum(
        (X[i, j] - sum(W[i, k] * H[k, j] for k in range(len(H)))) ** 2
        for i in range(X.shape[0])
        for j in range(X.shape[1])
    )
    penalty = sum(phi(H[:, j]) for j in range(H.shape[1]))
    return error / np.sum(X**2) + rho * penalty + mu_w / 2 * np.sum(W**2) + mu_h / 2 * np.sum(H**2)


def smooth(h):
    return (sum(h) ** 2 - sum(x * x for x in h)) / 2


def nonsmooth(h):
    return sum(h) - max(h)


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
