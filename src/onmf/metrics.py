"""How good a clustering is, and how close its factors come to the data.

The scores that scikit-learn has (ARI, NMI, AMI) are its own, re-exported here. The paper's "NMI"
is adjusted mutual information.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment
from scipy.sparse.linalg import svds
from sklearn.metrics import (
    adjusted_mutual_info_score,
    adjusted_rand_score,
    normalized_mutual_info_score,
)
from sklearn.metrics.cluster import contingency_matrix
from sklearn.pipeline import Pipeline
from sklearn.utils import check_array, check_consistent_length, column_or_1d, gen_batches

from onmf.core.assign import Rays, nearest
from onmf.core.memory import InMemory
from onmf.core.paper.palm import PALM
from onmf.core.paper.penalties import PENALTIES, Penalty
from onmf.core.result import orthogonality as core_orthogonality

__all__ = [
    "adjusted_mutual_info_score",
    "adjusted_rand_score",
    "clustering_accuracy",
    "held_out_score",
    "normalized_mutual_info_score",
    "orthogonality",
    "partition_error",
    "purity",
    "relative_error",
    "stationarity",
]

_BLOCK = 2**21  # entries of the residual held at a time: 16 MB
_SMALL = 64  # samples or features up to which the Gram matrix is the quickest way


def clustering_accuracy(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    """Share of samples that agree under the best one-to-one matching of clusters and classes.

    The matching is found by the Hungarian method. There may be more clusters than classes or
    fewer; what stays unmatched counts as wrong. Label -1 means "in no cluster": it is never
    matched with a class, and agrees only with -1.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        Integers or strings.

    Returns
    -------
    float
        From 0 to 1.

    Examples
    --------
    >>> from onmf.metrics import clustering_accuracy
    >>> clustering_accuracy(["cat", "cat", "dog", "dog"], [1, 1, 0, 1])
    0.75
    """
    counts, n_nowhere, n = _contingency(y_true, y_pred)
    matched = counts[linear_sum_assignment(counts, maximize=True)].sum()
    return float((matched + n_nowhere) / n)


def purity(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    """Share of samples that belong to the commonest class of their cluster.

    Many small clusters are pure for no good reason: compare purities at equal numbers of clusters
    only. Label -1 means "in no cluster" and agrees only with -1.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        Integers or strings.

    Returns
    -------
    float
        From 0 to 1.

    Examples
    --------
    >>> from onmf.metrics import purity
    >>> purity(["cat", "cat", "dog", "dog"], [0, 0, 1, 2])
    1.0
    """
    counts, n_nowhere, n = _contingency(y_true, y_pred)
    return float((counts.max(axis=0, initial=0).sum() + n_nowhere) / n)


def _contingency(y_true: ArrayLike, y_pred: ArrayLike) -> tuple[NDArray, int, int]:
    """Samples per (class, cluster); samples both sides call -1; samples in all."""
    true, pred = column_or_1d(y_true), column_or_1d(y_pred)
    check_consistent_length(true, pred)
    if not true.size:
        raise ValueError("y_true and y_pred are empty: there is nothing to score.")
    in_cluster = (true != -1) & (pred != -1)
    n_nowhere = int(np.sum((true == -1) & (pred == -1)))
    if not in_cluster.any():
        return np.zeros((0, 0), dtype=int), n_nowhere, true.size
    return contingency_matrix(true[in_cluster], pred[in_cluster]), n_nowhere, true.size


def orthogonality(H: ArrayLike) -> float:
    """||Q H'H Q - I||_F / k^2, where Q scales each column of H to unit norm.

    Zero exactly when no two clusters share a sample and none is empty: the paper's eps_orth. An
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
    H = H / np.where(top > 0, top, 1)  # lest the squares overflow or vanish
    return core_orthogonality(H.T @ H)


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
    return PALM(mu_h=mu_h, mu_w=mu_w).stationarity(data, data.scatter(H), W, phi, rho)


def relative_error(X: Any, H: ArrayLike, W: ArrayLike) -> float:
    """||X - HW||_F^2 / ||X||_F^2.

    A dense X is compared entry by entry. A sparse X is never made dense: the error is then
    ||X||^2 - 2 <H'X, W> + <H'H, WW'>, right to about fifteen decimal places.

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
            f"X {X.shape} cannot be compared with the product of H {H.shape} and W {W.shape}: "
            "X must be (n, m), H (n, k) and W (k, m)."
        )
    if sp.issparse(X):
        size = float(np.sum(X.data.astype(np.float64) ** 2))
        fit = np.vdot((X.T @ H).T, W)
        error = max(0.0, size - 2 * fit + np.vdot(H.T @ H, W @ W.T))
    else:
        rows = max(1, _BLOCK // X.shape[1])
        parts = list(gen_batches(len(X), rows))
        size = sum(_sqnorm(X[part].astype(np.float64)) for part in parts)
        error = sum(_sqnorm(X[part] - H[part] @ W) for part in parts)
    if size == 0:
        return 0.0 if error == 0 else float("inf")
    return error / size


def held_out_score(model: Any, X: Any, y: Any = None) -> float:
    """Share of X that a model predicts, each half of the features from the other half.

    With A and B the halves of the features, in both roles, and k the ray nearest to x on A,

        1 - sum_i ||x_iB - h_i w_kB||^2 / ||X||^2,     h_i = <x_iA, w_kA> / ||w_kA||^2.

    For ``GridSearchCV(ONMF(), {"n_clusters": ...}, scoring=held_out_score)``: the samples are those
    of the fold that was kept out. `ONMF.score` looks at all features to place a sample, so that it
    rises with nearly every cluster more, even on new samples; here a cluster that is only noise on
    A predicts B worse. `choose_k` does the same without refitting, and says how sure it is.

    Parameters
    ----------
    model : ONMF, Baseline, or a Pipeline that ends with one
    X : array or sparse matrix of shape (n_samples, n_features)
    y : ignored

    Returns
    -------
    float
        At most 1; the same halves every time.

    Examples
    --------
    >>> from sklearn.model_selection import GridSearchCV
    >>> from onmf import ONMF
    >>> from onmf.datasets import make_rays
    >>> from onmf.metrics import held_out_score
    >>> X, _ = make_rays(200, 30, 4, noise=0.5, random_state=0)
    >>> grid = {"n_clusters": [2, 3, 4, 5, 6]}
    >>> GridSearchCV(ONMF(random_state=0), grid, scoring=held_out_score).fit(X).best_params_
    {'n_clusters': 4}
    """
    if isinstance(model, Pipeline):
        X, model = model[:-1].transform(X), model[-1]
    X, W = check_array(X, accept_sparse="csr"), np.asarray(model.cluster_centers_, np.float64)
    if X.shape[1] != W.shape[1] or X.shape[1] < 2:
        raise ValueError(
            f"X has {X.shape[1]} features and the centroids {W.shape[1]}: held_out_score needs the "
            "features of the fit, and two or more."
        )
    order = np.random.default_rng(0).permutation(W.shape[1])
    A, B = np.sort(order[::2]), np.sort(order[1::2])
    total = float(X.multiply(X).sum() if sp.issparse(X) else np.vdot(X, X))
    left = _predicted_error(X, W, A, B) + _predicted_error(X, W, B, A)
    return 1 - left / total if total > 0 else 1.0


def _predicted_error(X: Any, W: NDArray[Any], A: NDArray[Any], B: NDArray[Any]) -> float:
    """||x_B - h w_B||^2 over all samples, label and h from A: expanded, so that X stays sparse."""
    rays = Rays.of(W[:, A])
    code = nearest(X[:, A] @ rays.units)
    H = rays.memberships(code)
    XB = X[:, B]
    energy = float(XB.multiply(XB).sum() if sp.issparse(XB) else np.vdot(XB, XB))
    products, sizes = XB @ W[:, B].T, np.einsum("km,km->k", W[:, B], W[:, B])
    return energy - 2 * float(np.sum(H * products)) + float(np.sum(H**2 @ sizes))


def partition_error(X: Any, labels: ArrayLike) -> float:
    """1 - sum_k sigma_1(X_k)^2 / ||X||_F^2, X_k being the samples of cluster k.

    The relative error of the best rays for given labels: what orthogonal NMF minimises, whichever
    method the labels come from. A sample labelled -1 is in no cluster, and nothing of it is
    explained. A sparse X is never made dense.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
    labels : array-like of shape (n_samples,)
        Integers or strings.

    Returns
    -------
    float
        From 0, every cluster being one ray, to 1.

    Examples
    --------
    >>> from onmf.metrics import partition_error
    >>> X = [[3.0, 0.0], [0.0, 1.0], [1.0, 1.0], [2.0, 2.0]]
    >>> round(partition_error(X, [0, 0, 1, 1]), 12)
    0.05
    """
    X = sp.csr_array(X) if sp.issparse(X) else np.asarray(X)
    labels = column_or_1d(labels)
    check_consistent_length(X, labels)
    top = float(abs(X).max())
    if top == 0:
        return 0.0
    clusters, place = np.unique(labels, return_inverse=True)
    total = explained = 0.0
    for k, name in enumerate(clusters):
        part = X[np.flatnonzero(place == k)].astype(np.float64) / top  # lest squares overflow
        total += _sqnorm(part.data if sp.issparse(part) else part)
        explained += _leading_energy(part) if name != -1 else 0.0
    return max(0.0, 1 - explained / total)


def _leading_energy(A: Any) -> float:
    """sigma_1(A)^2."""
    n, m = A.shape
    if min(n, m) <= _SMALL:
        gram = A @ A.T if n <= m else A.T @ A
        return float(np.linalg.eigvalsh(gram.toarray() if sp.issparse(gram) else gram)[-1])
    start = np.random.default_rng(0).normal(size=min(n, m))  # the same answer every time
    return float(svds(A, k=1, v0=start, return_singular_vectors=False)[0]) ** 2


def _sqnorm(A: NDArray) -> float:
    return float(np.vdot(A, A))
