"""The six rivals of the paper, and exact alternation, from the start that all methods share.

    s = sqrt(mean(X) / k),    W = s U(m, k)',    H = s U(n, k)       (uniform draws, in this order)

An iterative method is a generator of (H, W); it is stopped by the paper's rule, a normalised
residual

    eps_NR = ||W - W_before|| / ||W_before|| + ||H - H_before|| / ||H_before||

below `tol`, or after `max_iter` iterations. Products and quotients are entry by entry where the
formulas say so, and nothing of size n x n is ever made.
"""

import warnings
from collections.abc import Callable, Iterator
from itertools import count, islice
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import KMeans, kmeans_plusplus
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array

Array = NDArray[Any]
__all__ = ["METHODS", "Rival"]

Iterates = Iterator[tuple[Array, Array]]

TINY = np.finfo(float).tiny
HALS_FLOOR = 1e-30  # what HALS clips at, instead of 0
ONP_RHO, ONP_GROWTH, DUAL_STEP = 0.01, 1.01, 100.0
ARMIJO_FACTOR, ARMIJO_SLOPE = 0.1, 1e-5  # of the line search
MAX_ARMIJO_TRIALS = 24  # steps below 1e-24 are lost in rounding
K_MEANS_TOL = 1e-6


class Rival(ClusterMixin, BaseEstimator):
    """A method that orthogonal NMF is compared with.

    Parameters
    ----------
    method : str
        A key of `METHODS`, or "k-means" or "k-means++" (one draw a seed, as its authors have it).
    n_clusters : int
    max_iter : int, default=2000
    tol : float, optional
        The residual that ends the iterations: 1e-5; for K-means 1e-6 by scikit-learn's rule.
    random_state : int
        The seed of the start.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        The largest membership of each sample, the nearest ray's if it has none; -1 for a sample of
        zeros.
    membership_, cluster_centers_ : ndarray
        H (n, k), as the method leaves it, and W (k, m).
    residuals_ : list of float
        eps_NR of each iteration; K-means has none.
    n_iter_ : int
    converged_ : bool

    Examples
    --------
    >>> import numpy as np
    >>> from onmf_paper.rivals import Rival
    >>> X = np.array([[1, 0], [2, 0.1], [0, 1], [0.1, 3], [0, 2]])
    >>> labels = Rival("hals", 2, random_state=0).fit_predict(X)
    >>> bool(labels[0] == labels[1] != labels[2] == labels[3] == labels[4])
    True
    """

    def __init__(
        self,
        method: str,
        n_clusters: int = 8,
        *,
        max_iter: int = 2000,
        tol: float | None = None,
        random_state: int = 0,
    ) -> None:
        self.method = method
        self.n_clusters = n_clusters
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Cluster the samples of X, an array or a CSR matrix without negative entries."""
        X = check_array(X, accept_sparse="csr", dtype=np.float64)
        inside = row_sqnorms(X) > 0
        H, W = shared_draws(X, self.n_clusters, self.random_state)
        if self.method in K_MEANS:
            return self._fit_k_means(X, W, inside)
        if (X.data if sp.issparse(X) else X).min(initial=0) < 0:
            raise ValueError(f"{self.method} takes no negative entries; only K-means does.")
        H[~inside] = 0  # nothing to explain, hence no cluster
        tol, self.residuals_ = 1e-5 if self.tol is None else self.tol, []
        self.converged_ = False
        for H_next, W_next in islice(METHODS[self.method](X, H, W), self.max_iter):
            self.residuals_.append(change(W_next, W) + change(H_next, H))
            H, W = H_next, W_next
            if self.residuals_[-1] < tol:
                self.converged_ = True
                break
        self.n_iter_ = len(self.residuals_)
        H = np.maximum(H, 0) * inside[:, None]
        nearest = np.asarray(X @ unit_rows(W).T).argmax(axis=1)
        labels = np.where(H.any(axis=1), H.argmax(axis=1), nearest)
        self.labels_ = np.where(inside, labels, -1)
        self.membership_, self.cluster_centers_ = H, W
        return self

    def _fit_k_means(self, X: Any, W: Array, inside: Array) -> Self:
        """By scikit-learn, from the centroids of the start or from seeds that are far apart."""
        k, seed, weight = self.n_clusters, self.random_state, inside.astype(float)
        if self.method == "k-means++":
            draw = {"sample_weight": weight, "random_state": seed, "n_local_trials": 1}
            W, _ = kmeans_plusplus(X, k, **draw)
        tol = K_MEANS_TOL if self.tol is None else self.tol
        means = KMeans(
            k, init=W, n_init=1, max_iter=self.max_iter, tol=tol, random_state=seed,
            algorithm="lloyd",
        )  # fmt: skip
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # empty clusters are counted
            means.fit(X, sample_weight=weight)  # a sample of zeros belongs to no cluster
        self.labels_ = np.where(inside, means.labels_, -1)
        self.membership_ = np.eye(k)[means.labels_] * inside[:, None]
        self.cluster_centers_, self.n_iter_ = means.cluster_centers_, means.n_iter_
        self.residuals_, self.converged_ = [], means.n_iter_ < self.max_iter
        return self


def shared_draws(X: Any, k: int, seed: int) -> tuple[Array, Array]:
    """The raw start (H, W) of a seed; for data with negative entries by the size of entries."""
    (n, m), rng = X.shape, np.random.RandomState(seed)
    values = X.data if sp.issparse(X) else X
    signed = values.min(initial=0) < 0
    mean = np.sqrt(np.square(values).sum() / (n * m)) if signed else values.sum() / (n * m)
    s = np.sqrt(mean / k)
    W = s * rng.random_sample((m, k)).T
    return s * rng.random_sample((n, k)), np.ascontiguousarray(W)


def dtpp(X: Any, H: Array, W: Array) -> Iterates:
    """W <- W * (H'X) / (H'H W),      H <- H * sqrt( XW' / (H H'XW') ).

    C. Ding, T. Li, W. Peng and H. Park, "Orthogonal nonnegative matrix tri-factorizations for
    clustering", KDD 2006.
    """
    while True:
        cross = H.T @ X
        W = multiply_by_ratio(W, cross, H.T @ H @ W)
        H = multiply_by_ratio(H, np.sqrt(X @ W.T), np.sqrt(H @ (cross @ W.T)))
        yield H, W


def onmf_s(X: Any, H: Array, W: Array) -> Iterates:
    """W <- W * (H'X) / (H'H W),   H <- H * (XW') / (H WX'H),   columns of H divided by their sum.

    S. Choi, "Algorithms for orthogonal nonnegative matrix factorization", IJCNN 2008.
    """
    while True:
        cross = H.T @ X
        W = multiply_by_ratio(W, cross, H.T @ H @ W)
        H = multiply_by_ratio(H, X @ W.T, H @ (W @ cross.T))
        H = H / divisor(H.sum(axis=0))
        yield H, W


def hals(X: Any, H: Array, W: Array) -> Iterates:
    """One column after the other, kept orthogonal to the sum of the others.

        A = XW',  B = WW':     g = sum_{l != j} h_l,   v = A_j - H B_j + B_jj h_j
                               h_j <- [v - (g'v / g'g) g]_+  to unit length,        j = 1, ..., k
        C = H'X,  D = H'H:     w_j <- [C_j - D_j W + D_jj w_j]_+,                   j = 1, ..., k

    K. Kimura, Y. Tanaka and M. Kudo, "A fast hierarchical alternating least squares algorithm for
    orthogonal nonnegative matrix factorization", ACML 2014.
    """
    while True:
        H, W = np.array(H, order="F"), W.copy()
        A, B = np.asarray(X @ W.T), W @ W.T
        total = H.sum(axis=1)
        for j in range(len(W)):
            others = total - H[:, j]
            v = A[:, j] - H @ B[:, j] + B[j, j] * H[:, j]
            if (length := others @ others) > 0:
                v -= (others @ v / length) * others
            v = np.maximum(v, HALS_FLOOR)
            v /= np.linalg.norm(v)
            total, H[:, j] = others + v, v
        C, D = H.T @ X, H.T @ H
        for j in range(len(W)):
            W[j] = np.maximum(C[j] - D[j] @ W + D[j, j] * W[j], HALS_FLOOR)
        yield H, W


def onp_mf(X: Any, H: Array, W: Array) -> Iterates:
    """Orthogonal from the first iteration on, non-negative at the end.

        min  1/2 ||X - HW||^2 - <Z, H> + rho/2 ||min(H, 0)||^2    over W >= 0 and H with H'H = I

        W <- argmin_{W >= 0} ||X - HW||^2 = max(0, H'X)
        H <- polar factor of H - s (HWW' - XW' - Z + rho min(H, 0)),   s = 1, 0.1, ... (Armijo)
        Z <- max(0, Z - (100 / t) H),   rho <- 1.01 rho            after iteration t = 1, 2, ...

    The polar factor needs the thin decomposition only, O(n k^2), and on the manifold the objective
    is a constant less <XW' + Z, H> plus the penalty: the line search never reads X.

    F. Pompili, N. Gillis, P.-A. Absil and F. Glineur, "Two algorithms for orthogonal nonnegative
    matrix factorization with application to clustering", Neurocomputing 141, 2014.
    """
    labels = np.where(H.any(axis=1), H.argmax(axis=1), -1)
    H = one_sparse(labels, np.ones(len(H)), len(W))
    H = H / divisor(np.linalg.norm(H, axis=0))
    Z, rho = np.zeros_like(H), ONP_RHO
    for t in count(1):
        W = np.maximum(H.T @ X, 0)
        H = descend_memberships(H, np.asarray(X @ W.T), W @ W.T, Z, rho)
        yield H, W
        Z, rho = np.maximum(0, Z - DUAL_STEP / t * H), ONP_GROWTH * rho


def descend_memberships(H: Array, A: Array, B: Array, Z: Array, rho: float) -> Array:
    """One projected gradient step on H, A being XW' and B being WW'."""

    def objective(Y: Array) -> float:
        negative = np.minimum(Y, 0)
        return float(rho / 2 * np.vdot(negative, negative) - np.vdot(A + Z, Y))

    gradient = H @ B - A - Z + rho * np.minimum(H, 0)
    value, step = objective(H), 1.0
    for _ in range(MAX_ARMIJO_TRIALS):
        U, _, Vt = np.linalg.svd(H - step * gradient, full_matrices=False)
        new = U @ Vt
        if objective(new) <= value + ARMIJO_SLOPE * np.vdot(gradient, new - H):
            return new
        step *= ARMIJO_FACTOR
    return H


def alternation(X: Any, H: Array, W: Array) -> Iterates:
    """label_i = argmax_k <w_k, x_i> / ||w_k||,   w_k <- sum over its samples of <w_k, x_i> x_i.

    Weighted spherical K-means. The update is a step of the power method towards the leading
    singular vector of the samples, so that the error never rises; an empty cluster takes the
    sample that is explained worst.
    """
    sqnorms = row_sqnorms(X)
    W = unit_rows(W)
    while True:
        scores = np.asarray(X @ W.T)
        labels = np.where(sqnorms > 0, scores.argmax(axis=1), -1)
        best = scores.max(axis=1)
        H = one_sparse(labels, np.maximum(best, 0), len(W))
        W = unit_rows(H.T @ X)
        left = sqnorms - np.square(best)
        for j in np.flatnonzero(~H.any(axis=0)):
            worst = int(left.argmax())
            left[worst] = 0
            row = X[[worst]]
            W[j] = unit_rows(row.toarray() if sp.issparse(row) else row)[0]
        yield H, W


def one_sparse(labels: Array, values: Array, k: int) -> Array:
    """H (n, k) with these values where the labels are; label -1 is a row of zeros."""
    H = np.zeros((len(labels), k))
    inside = labels >= 0
    H[inside, labels[inside]] = values[inside]
    return H


def row_sqnorms(X: Any) -> Array:
    squares = X.multiply(X) if sp.issparse(X) else np.square(X)
    return np.asarray(squares.sum(axis=1)).ravel()


def unit_rows(W: Array) -> Array:
    return W / divisor(np.linalg.norm(W, axis=1))[:, None]


def divisor(size: Array) -> Array:
    """What to divide by, so that zero over zero is zero."""
    return np.where(size == 0, 1, size)


def multiply_by_ratio(A: Array, up: Array, down: Array) -> Array:
    """A * up / down entry by entry; what is zero stays zero, even over zero."""
    return A * np.asarray(up) / np.maximum(down, TINY)


def change(new: Array, old: Array) -> float:
    """||new - old|| / ||old||."""
    return float(np.linalg.norm(new - old) / max(np.linalg.norm(old), TINY))


METHODS: dict[str, Callable[[Any, Array, Array], Iterates]] = {
    "dtpp": dtpp,
    "onmf-s": onmf_s,
    "hals": hals,
    "onp-mf": onp_mf,
    "alternation": alternation,
}
K_MEANS = ("k-means", "k-means++")
