"""Error of factors, and how far they are from orthogonal and from stationary."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.utils import gen_batches

from onmf.palm.palm import PalmSettings
from onmf.palm.penalties import PENALTIES, Penalty
from onmf.result import gram_orthogonality
from onmf.rows.memory import InMemory
from onmf.rows.sweep import Array, divisor

RESIDUAL_ENTRIES = 2**21  # held at a time: 16 MB


def orthogonality(H: ArrayLike) -> float:
    """||Q H'H Q - I||_F / k^2, where Q scales each column of H to unit norm.

    The paper's eps_orth. It is zero exactly if no two clusters share a sample and none is empty. An
    empty cluster, a column of zeros, adds 1 to the squared norm.

    Parameters
    ----------
    H : array-like of shape (n_samples, n_clusters)
        Memberships.

    Returns
    -------
    float

    Examples
    --------
    >>> from onmf.metrics import orthogonality
    >>> orthogonality([[2.0, 0.0], [0.0, 3.0], [1.0, 0.0]])
    0.0
    """
    H = np.asarray(H, dtype=np.float64)
    top = np.abs(H).max(axis=0)
    H = H / divisor(top)  # so that squares neither overflow nor vanish
    return gram_orthogonality(H.T @ H)


def stationarity(
    X: Any,
    H: ArrayLike,
    W: ArrayLike,
    penalty: str | Penalty = "sncp",
    rho: float = 0.0,
    *,
    mu_h: float = 0.0,
    mu_w: float = 0.0,
) -> float:
    """Relative change of H and W by one gradient step of length 1/L on the penalised problem.

    Zero exactly at a d-stationary point of
    ||X - HW||^2 / ||X||^2 + rho sum_i phi(h_i) + mu_h/2 ||H||^2 + mu_w/2 ||W||^2 over H, W >= 0.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
    H : array-like of shape (n_samples, n_clusters)
    W : array-like of shape (n_clusters, n_features)
    penalty : {"sncp", "nsncp"} or penalty object, default="sncp"
    rho : float, default=0.0
        Weight of the penalty.
    mu_h, mu_w : float, default=0.0
        Ridges.

    Returns
    -------
    float

    Examples
    --------
    >>> from onmf.metrics import stationarity
    >>> stationarity([[2.0, 0.0], [0.0, 3.0]], [[1.0, 0.0], [0.0, 1.0]], [[2.0, 0.0], [0.0, 3.0]])
    0.0
    """
    data = InMemory(sp.csr_array(X) if sp.issparse(X) else np.asarray(X, dtype=np.float64))
    H, W = np.asarray(H, dtype=data.dtype), np.asarray(W, dtype=data.dtype)
    phi = PENALTIES[penalty] if isinstance(penalty, str) else penalty
    return PalmSettings(mu_h=mu_h, mu_w=mu_w).stationarity(data, data.scatter(H), W, phi, rho)


def relative_error(X: Any, H: ArrayLike, W: ArrayLike) -> float:
    """||X - HW||_F^2 / ||X||_F^2.

    A dense X is compared entry by entry. A sparse X stays sparse: the error is then
    ||X||^2 - 2 <H'X, W> + <H'H, WW'>, correct to about fifteen decimal places.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
    H : array-like of shape (n_samples, n_clusters)
    W : array-like of shape (n_clusters, n_features)

    Returns
    -------
    float
        Zero for a perfect fit; infinite if X is all zeros and HW is not.

    Examples
    --------
    >>> from onmf.metrics import relative_error
    >>> relative_error([[1.0, 1.0], [0.0, 2.0]], [[1.0], [0.0]], [[1.0, 1.0]])
    0.6666666666666666
    """
    H, W = np.asarray(H, dtype=np.float64), np.asarray(W, dtype=np.float64)
    X = sp.csr_array(X) if sp.issparse(X) else np.asarray(X)
    if X.shape != H.shape[:1] + W.shape[1:] or H.shape[1:] != W.shape[:1]:
        raise ValueError(
            f"X {X.shape}, H {H.shape} and W {W.shape} do not match: X must be (n, m), H (n, k) "
            "and W (k, m)."
        )
    if sp.issparse(X):
        size = float(np.sum(X.data.astype(np.float64) ** 2))
        fit = np.vdot((X.T @ H).T, W)
        error = max(0.0, size - 2 * fit + np.vdot(H.T @ H, W @ W.T))
    else:
        rows = max(1, RESIDUAL_ENTRIES // X.shape[1])
        parts = list(gen_batches(len(X), rows))
        size = sum(_sqnorm(X[part].astype(np.float64)) for part in parts)
        error = sum(_sqnorm(X[part] - H[part] @ W) for part in parts)
    if size == 0:
        return 0.0 if error == 0 else float("inf")
    return error / size


def _sqnorm(A: Array) -> float:
    return float(np.vdot(A, A))
