"""How low the error of any clustering into K rays can be, by the spectrum.

    relative error  >=  1 - (sigma_1^2 + ... + sigma_K^2) / ||X||^2      (of D^(1/2) X with weights)

because each clustering is an approximation of rank K. The sum f(S) of the K largest eigenvalues of
S = X'DX must be bounded from above, and Ritz values lie below: so, with V orthonormal, A = V'SV,
the residual R = SV - VA, and C the part of S outside of V, for every e > 0

    S  <=  V (A + R'R / e) V'  +  (C + e) outside of V,

as 2 x'By <= x'BB'x / e + e y'y. Hence f(S) is at most the sum of the K largest among the
eigenvalues of A + R'R / e and as many times c + e as need be, c >= ||C||. For the last, s Gaussian
vectors P outside of V: for all polynomials p at once ||p(C) P||_F^2 >= p(||C||)^2 t, t being a
chi-squared number of s degrees of freedom, below its quantile at `DOUBT` only with that
probability. So c is the largest number at which the Christoffel function of the measure that P has
on the spectrum of C, min { ||p(C) P||_F^2 : p(c) = 1, degree <= q }, is not below that quantile; q
steps of Lanczos give it. With few features or samples all eigenvalues of S or XX' are computed.

Everything is computed in double precision, whatever the dtype of X: the error of a fit in single
precision is rounded by more than a sharp bound leaves.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from scipy.sparse.linalg import svds
from scipy.stats import chi2
from sklearn.utils import check_array, check_consistent_length, column_or_1d

Array = NDArray[Any]
__all__ = ["Certificate", "certify", "partition_error", "spectral_bound"]

Operator = Callable[[Array], Array]  # B -> S B for a symmetric S

DOUBT = 1e-6  # the probability that the bound on ||C|| does not hold
PROBES = 4  # s
POWERS = 6  # q
EXTRA_BASIS = 5  # of the basis, in addition to K rays and K random ones
ALL_EIGENVALUES = 100  # features or samples up to which all are computed
MERGE_STEPS = 30  # values of e that are tried
ULP = 2.0**-53
SMALL_GRAM = 64  # samples or features up to which the Gram matrix is fastest


class Certificate(NamedTuple):
    """Relative error of a clustering, a lower bound of all errors, and how far they are apart.

    `gap` is (error - bound) / error: no clustering into as many rays is better by a larger share,
    but for the probability `doubt`.

    Examples
    --------
    >>> from onmf_paper.bounds import certify
    >>> certify([[3.0, 0.0], [0.0, 1.0], [0.0, 2.0]], [0, 1, 1], 2).gap
    0.0
    """

    error: float
    bound: float
    gap: float
    doubt: float


def certify(
    X: Any, labels: ArrayLike, n_clusters: int, *, powers: int = POWERS, random_state: int = 0
) -> Certificate:
    """The most by which another clustering into as many rays could be better.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
        With sample weights d, the rows times sqrt(d).
    labels : array-like of shape (n_samples,)
    n_clusters : int
    powers : int, default=6
        Steps of Lanczos; 16 give a sharper bound.
    random_state : int, default=0

    Returns
    -------
    Certificate

    Examples
    --------
    >>> from onmf import ONMF
    >>> from onmf.datasets import make_rays
    >>> from onmf_paper.bounds import certify
    >>> X, _ = make_rays(200, 30, 3, noise=0.1, random_state=0)
    >>> found = certify(X, ONMF(3, random_state=0).fit_predict(X), 3)
    >>> 0 < found.bound <= found.error, found.gap < 0.2
    (True, True)
    """
    error = partition_error(X, labels)
    bound, doubt = spectral_bound(X, n_clusters, powers, random_state)
    bound = min(bound, error)
    return Certificate(error, bound, (error - bound) / error if error > 0 else 0.0, doubt)


def partition_error(X: Any, labels: ArrayLike) -> float:
    """1 - sum_k sigma_1(X_k)^2 / ||X||_F^2, X_k being the samples of cluster k.

    The relative error of the best rays for given labels, which orthogonal NMF minimises. The labels
    may come from any method. A sample with label -1 is not explained at all. A sparse X stays
    sparse.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
    labels : array-like of shape (n_samples,)
        Integers or strings.

    Returns
    -------
    float
        From 0 (every cluster is one ray) to 1.

    Examples
    --------
    >>> from onmf_paper.bounds import partition_error
    >>> X = [[3.0, 0.0], [0.0, 1.0], [1.0, 1.0], [2.0, 2.0]]
    >>> round(partition_error(X, [0, 0, 1, 1]), 12)
    0.05
    """
    X = scaled(X)
    labels = column_or_1d(labels)
    check_consistent_length(X, labels)
    total = sqnorm(X)
    if total == 0:
        return 0.0
    clusters, place = np.unique(labels, return_inverse=True)
    explained = sum(
        largest_square(X[np.flatnonzero(place == k)])
        for k, name in enumerate(clusters)
        if name != -1
    )
    return max(0.0, 1 - explained / total)


def spectral_bound(
    X: Any, n_clusters: int, powers: int = POWERS, random_state: int = 0
) -> tuple[float, float]:
    """No clustering into so many rays has a lower relative error; and the doubt of that.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
    n_clusters : int
    powers : int, default=6
        Steps of Lanczos.
    random_state : int, default=0

    Returns
    -------
    (float, float)
        The bound, and the probability that it does not hold.

    Examples
    --------
    >>> import numpy as np
    >>> from onmf_paper.bounds import spectral_bound
    >>> bound, doubt = spectral_bound(np.diag([3.0, 2.0, 1.0]), 2)
    >>> round(bound, 6), doubt  # 1 of 14 is left at least
    (0.071429, 0.0)
    """
    X = scaled(X)
    (n, m), k, total = X.shape, n_clusters, sqnorm(X)
    if total == 0 or k >= min(n, m):
        return 0.0, 0.0
    if min(n, m) <= ALL_EIGENVALUES:
        gram = dense(X.T @ X if m <= n else X @ X.T)
        largest, doubt = top_sum(np.linalg.eigvalsh(gram), k), 0.0
    else:
        rng = np.random.default_rng(random_state)
        largest, doubt = ceiling(lambda B: np.asarray(X.T @ (X @ B)), m, k, rng, powers), DOUBT
    rounding = 8 * (n + m) * ULP  # of sums over n samples and m features, as a share of ||X||^2
    return float(np.clip(1 - largest / total - rounding, 0, 1)), doubt


def ceiling(S: Operator, size: int, k: int, rng: np.random.Generator, powers: int) -> float:
    """At least f(S) for k rays, except with probability DOUBT."""
    V = np.linalg.qr(S(S(rng.standard_normal((size, 2 * k + EXTRA_BASIS)))))[0]
    SV = S(V)
    A = V.T @ SV
    most = outer_ceiling(S, V, rng.standard_normal((size, PROBES)), powers)
    return merge(A, SV - V @ A, most, k)


def outer_ceiling(S: Operator, V: Array, P: Array, powers: int) -> float:
    """c: at least the largest eigenvalue of S outside of V, except with probability DOUBT."""
    P = outside(V, P)
    mass = float(np.linalg.norm(P))
    basis, diagonal, beside = [P / mass if mass else P], [], []
    for _ in range(powers):
        image = outside(V, S(basis[-1]))
        diagonal.append(np.vdot(basis[-1], image))
        for _ in range(2):  # a second time against rounding
            for known in basis:
                image = image - np.vdot(known, image) * known
        size = float(np.linalg.norm(image))
        if size <= ULP * max(map(abs, diagonal)):  # the whole spectrum is known
            break
        beside.append(size)
        basis.append(image / size)
    least = float(chi2.ppf(DOUBT, P.shape[1])) / mass**2 if mass else 1.0
    return christoffel(np.array(diagonal), np.array(beside), least)


def christoffel(diagonal: Array, beside: Array, least: float) -> float:
    """The largest x at which 1 / sum_j pi_j(x)^2 >= `least`, pi_j being orthonormal polynomials."""

    def density(x: float) -> float:
        before, now, total = 0.0, 1.0, 1.0
        for j, b in enumerate(beside):
            ahead = ((x - diagonal[j]) * now - (beside[j - 1] * before if j else 0)) / b
            before, now = now, ahead
            total += now * now
        return total

    low = float(np.max(diagonal)) + 2 * float(np.max(beside, initial=0))  # beyond all zeros
    if len(beside) < len(diagonal):  # the whole spectrum is known
        return low
    high = max(low, ULP)
    while density(high) * least < 1:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if density(middle) * least < 1 else (low, middle)
    return high


def merge(A: Array, R: Array, most: float, k: int) -> float:
    """The sum of the k largest of A + R'R / e and k times `most` + e, for the best e."""
    A, spread = (A + A.T) / 2, R.T @ R
    top, sums = np.abs(np.linalg.eigvalsh(A)).max(), []
    for e in np.geomspace(1e-9, 1, MERGE_STEPS) * top:
        inside = np.linalg.eigvalsh(A + spread / e)
        sums.append(top_sum(np.append(inside, [most + e] * k), k))
    return min(sums)


def top_sum(values: Array, k: int) -> float:
    """The sum of the k largest of the values that are positive."""
    return float(np.maximum(np.sort(values)[-k:], 0).sum())


def outside(V: Array, B: Array) -> Array:
    """The part of B that is orthogonal to V; twice, against rounding."""
    for _ in range(2):
        B = B - V @ (V.T @ B)
    return B


def scaled(X: Any) -> Any:
    """X in double precision, its largest entry 1, so that squares do not overflow."""
    X = check_array(X, accept_sparse="csr", dtype=None)
    X = sp.csr_array(X, dtype=np.float64) if sp.issparse(X) else X.astype(np.float64)
    top = float(np.abs(X.data if sp.issparse(X) else X).max(initial=0))
    return X / top if top else X


def dense(gram: Any) -> Array:
    return np.asarray(gram.toarray() if sp.issparse(gram) else gram)


def sqnorm(X: Any) -> float:
    values = X.data if sp.issparse(X) else X
    return float(np.vdot(values, values))


def largest_square(A: Any) -> float:
    """sigma_1(A)^2."""
    n, m = A.shape
    if min(n, m) <= SMALL_GRAM:
        return float(np.linalg.eigvalsh(dense(A @ A.T if n <= m else A.T @ A))[-1])
    start = np.random.default_rng(0).normal(size=min(n, m))  # the same answer every time
    return float(svds(A, k=1, v0=start, return_singular_vectors=False)[0]) ** 2
