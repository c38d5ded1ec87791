"""Synthetic data with known clusters.

Every generator follows the model of orthogonal NMF: a sample lies on the ray of its cluster, at its
own distance from the origin, plus noise:

    x_i = s_i w_{y_i} + e_i,    w >= 0, s_i > 0, x_i >= 0.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike, NDArray

Array = NDArray[Any]

__all__ = ["make_paper_synthetic", "make_rays", "make_three_rays"]


def make_paper_synthetic(
    snr_db: float = -3.0,
    *,
    n_clusters: int = 10,
    smallest: int = 1,
    outliers: int = 50,
    random_state: int = 1,
) -> tuple[Array, Array]:
    """Synthetic data of the paper: 1000 samples on ten rays in 2000 dimensions, with outliers.

    The numbers are those of the paper, draw by draw. About fifty samples are replaced by outliers
    that keep their labels: this limits the accuracy of any method. The other parameters draw other
    data in the same way.

    Parameters
    ----------
    snr_db : float, default=-3.0
        Signal-to-noise ratio in decibels without the outliers, from -40 to 40. The paper uses -5,
        -3, -1, 1, 3 and 5.
    n_clusters : int, default=10
        Number of rays, at most 100. Cluster sizes are uniform between `smallest` and
        1400 / n_clusters (140 in the paper); the last cluster has the remaining samples.
    smallest : int, default=1
        Smallest cluster size, at most 500 / n_clusters.
    outliers : int, default=50
        Number of replacements; a sample may be replaced twice.
    random_state : int, default=1
        Random seed.

    Returns
    -------
    X : ndarray of shape (1000, 2000)
    y : ndarray of shape (1000,)
        The cluster of each sample, 0 to n_clusters - 1.

    Examples
    --------
    >>> from onmf.datasets import make_paper_synthetic
    >>> X, y = make_paper_synthetic(snr_db=-3)
    >>> X.shape
    (1000, 2000)
    """
    if not -40 <= snr_db <= 40:
        raise ValueError(f"snr_db must lie between -40 and 40, got {snr_db!r}.")
    n, m, k = 1000, 2000, n_clusters
    if not (1 <= k <= 100 and 1 <= smallest <= n // (2 * k) and outliers >= 0):
        raise ValueError(
            "n_clusters must lie between 1 and 100, smallest between 1 and 500 / n_clusters, and "
            f"outliers must not be negative, got {k}, {smallest} and {outliers}."
        )
    rs = np.random.RandomState(random_state)
    W = rs.uniform(0, 1, (m, k)).T
    sizes = rs.randint(smallest, 1400 // k, k - 1)
    while n - sizes.sum() < smallest:  # never in the paper's draw
        sizes = rs.randint(smallest, 1400 // k, k - 1)
    y = np.repeat(np.arange(k), [*sizes, n - sizes.sum()])
    # One draw gives the same numbers as the paper's draw per cluster: all sizes x m are even.
    E = rs.standard_normal((n, m))
    order = rs.choice(n, n, replace=False)
    y = y[order]

    X = _with_snr(W[y], E[order], 10 ** (snr_db / 10))
    where = rs.randint(0, n, outliers)  # of equal indices the last one counts
    X[where] = rs.uniform(size=(m, outliers)).T * 5
    return X, y


def _with_snr(S: Array, E: Array, target: float) -> Array:
    """X = max(0, S + E), with E scaled until ||S||^2 / ||X - S||^2 is `target`."""
    signal = np.sum(S * S)
    while True:
        X = np.maximum(0, S + E)
        E = X - S
        snr = signal / np.sum(E * E)
        if abs(snr - target) <= 1e-10:
            return X
        E *= np.sqrt(snr / target)  # clipping at zero changes the noise, so repeat


def make_three_rays(random_state: int | None = 0) -> tuple[Array, Array, Array]:
    """Three clusters in the plane, and starting centroids that mislead K-means.

    The two-dimensional example of the paper's supplement: 200, 300 and 500 points around (8, 20),
    (10, 15) and (15, 7.5). All three starting centroids are points of the largest cluster.

    Parameters
    ----------
    random_state : int or None, default=0
        Random seed.

    Returns
    -------
    X : ndarray of shape (1000, 2)
    y : ndarray of shape (1000,)
    centroids : ndarray of shape (3, 2)
        The starting centroids.

    Examples
    --------
    >>> from onmf.datasets import make_three_rays
    >>> X, y, centroids = make_three_rays()
    >>> X.shape, centroids.shape
    ((1000, 2), (3, 2))
    """
    rng = np.random.default_rng(random_state)
    y = rng.permutation(np.repeat([0, 1, 2], [200, 300, 500]))
    W = np.array([[8.0, 20.0], [10.0, 15.0], [15.0, 7.5]])
    X = np.maximum(0, W[y] + rng.standard_normal((y.size, 2)))
    centroids = X[rng.choice(np.flatnonzero(y == 2), 3, replace=False)]
    return X, y, centroids


def make_rays(
    n_samples: int = 1000,
    n_features: int = 50,
    n_clusters: int = 5,
    *,
    noise: float = 0.1,
    imbalance: float = 1.0,
    outliers: float = 0.0,
    sparsity: float = 0.0,
    random_state: int | np.random.Generator | None = None,
    dtype: DTypeLike = np.float64,
) -> tuple[Any, Array]:
    """Samples on noisy rays: ``x_i = s_i (w_{y_i} + noise |e_i|)``.

    The entries of a ray w are exponential with mean 1, e is standard normal, and the scale s is
    uniform between 1/2 and 2. No sample is all zeros.

    Parameters
    ----------
    n_samples, n_features, n_clusters : int
        Every cluster has at least one sample.
    noise : float, default=0.1
        Size of the noise, relative to the mean entry of a ray.
    imbalance : float, default=1.0
        Ratio of the largest to the smallest cluster size; sizes decrease geometrically.
    outliers : float, default=0.0
        Share of samples on no ray; they are about five times as large and have label -1.
    sparsity : float, default=0.0
        Expected share of zeros, at most 1 - 1 / n_features, because every sample keeps an entry.
        Above zero X is a `scipy.sparse.csr_array`; as in documents, a feature is more often present
        where its ray is large.
    random_state : int, numpy.random.Generator or None, default=None
    dtype : float64 or float32, default=float64

    Returns
    -------
    X : ndarray or csr_array of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,)
        Clusters 0, 1, ... from the largest to the smallest; -1 for outliers.

    Examples
    --------
    >>> from onmf.datasets import make_rays
    >>> X, y = make_rays(200, 1000, 4, sparsity=0.95, random_state=0)
    >>> X.shape, X.format
    ((200, 1000), 'csr')
    """
    _check_rays(n_samples, n_features, n_clusters, noise, imbalance, outliers, sparsity)
    rng = np.random.default_rng(random_state)
    n_out = round(outliers * n_samples)
    sizes = _cluster_sizes(n_samples - n_out, n_clusters, imbalance)
    y = rng.permutation(np.repeat([*range(n_clusters), -1], [*sizes, n_out]))
    # The last row is a flat ray, for label -1: an outlier has no preferred feature.
    W = np.vstack([rng.exponential(size=(n_clusters, n_features)), np.ones(n_features)])

    if sparsity == 0:
        rows, cols = np.ix_(range(n_samples), range(n_features))
    else:
        rows, cols = _present(W, y, sparsity, rng)
    values = W[y[rows], cols]
    values = values + noise * np.abs(rng.standard_normal(values.shape))
    lost = np.broadcast_to(y[rows] < 0, values.shape)
    values[lost] = 5 * rng.exponential(size=lost.sum())
    values = (values * rng.uniform(0.5, 2, n_samples)[rows]).astype(dtype, copy=False)
    if sparsity == 0:
        return values, y
    return sp.csr_array((values, (rows, cols)), shape=(n_samples, n_features)), y


def _present(W: Array, y: Array, sparsity: float, rng: np.random.Generator) -> Any:
    """Rows and columns of the stored entries, in row-major order; O(nnz) time and memory.

    Feature j of a sample with ray w is drawn Poisson(t w_j) times and is present if drawn at all,
    so it is missing with probability exp(-t w_j). Its mean over exponential w_j is 1 / (1 + t).
    """
    k, m = len(W) - 1, W.shape[1]
    cells = []
    for label in range(-1, k):
        members = np.flatnonzero(y == label)
        t = -np.log(sparsity) if label < 0 else (1 - sparsity) / sparsity
        mass = W[label].sum()
        draws = rng.poisson(t * mass, members.size).clip(min=1)
        cols = rng.choice(m, draws.sum(), p=W[label] / mass)
        cells.append(np.repeat(members, draws) * m + cols)
    rows, cols = np.divmod(np.unique(np.concatenate(cells)), m)
    # scikit-learn's K-means refuses 64-bit indices.
    small = max(len(y), m, rows.size) <= np.iinfo(np.int32).max
    index = np.int32 if small else np.int64
    return rows.astype(index), cols.astype(index)


def _cluster_sizes(n: int, k: int, imbalance: float) -> Array:
    """k positive sizes with sum n that decrease geometrically by `imbalance`."""
    share = np.geomspace(imbalance, 1, k)
    ends = np.rint(np.cumsum(share) / share.sum() * (n - k)).astype(int)
    return 1 + np.diff(ends, prepend=0)


def _check_rays(
    n: int, m: int, k: int, noise: float, imbalance: float, outliers: float, sparsity: float
) -> None:
    if m < 1 or k < 1:
        raise ValueError(f"n_features and n_clusters must be at least 1, got {m} and {k}.")
    if noise < 0 or imbalance < 1:
        raise ValueError(
            f"noise must be at least 0 and imbalance at least 1, got {noise} and {imbalance}."
        )
    if not (0 <= outliers < 1 and 0 <= sparsity < 1):
        raise ValueError(
            f"outliers and sparsity are shares from 0 to below 1, got {outliers} and {sparsity}."
        )
    if n - round(outliers * n) < k:
        raise ValueError(
            f"n_samples={n} leaves {n - round(outliers * n)} samples that are no outliers, too few "
            f"for n_clusters={k}."
        )
