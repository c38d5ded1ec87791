"""Outliers: found among planted rays and in the paper's data, and what that costs."""

import numpy as np
import scipy.sparse as sp

SEEDS = (1801, 1802, 1803, 1804, 1805)  # never used while the rule was made
SHARES = (0.0, 0.01, 0.05, 0.2)
N, M, K = 2000, 100, 8


def rays(rng):
    """Dense: noise of one size beside rays of any length."""
    W = rng.exponential(size=(K, M))
    y = rng.integers(0, K, N)
    length = rng.lognormal(0, 0.5, (N, 1))
    return W, y, length, np.maximum(length * W[y] + 0.3 * rng.standard_normal((N, M)), 0)


def counts(rng):
    """Sparse: Poisson counts of 50 to 1000 words."""
    W = rng.exponential(size=(K, 5 * M)) ** 2
    W *= 300 / W.sum(axis=1, keepdims=True)
    y, length = rng.integers(0, K, N), rng.lognormal(0, 0.5, (N, 1))
    return W, y, length, rng.poisson(length * W[y]).astype(float)


def uniform(rng, W, length, size):
    """No feature is preferred."""
    return length * W.mean() * rng.uniform(0, 2, (size, W.shape[1]))


def far(rng, W, length, size):
    """A direction of its own, five times as long."""
    own = rng.exponential(size=(size, W.shape[1]))
    return 5 * length * own * W.mean()


def near(rng, W, length, size):
    """Halfway between two rays."""
    pair = np.array([rng.choice(len(W), 2, replace=False) for _ in range(size)]).reshape(-1, 2)
    return length * (W[pair[:, 0]] + W[pair[:, 1]]) / 2


def planted(make, kind, share, seed):
    """Samples, their rays, and which are outliers: the first ones."""
    rng = np.random.default_rng(seed)
    W, y, length, X = make(rng)
    size = round(share * N)
    strange = kind(rng, W, length[:size], size)
    noise = (
        rng.poisson(strange)
        if make is counts
        else strange + 0.3 * rng.standard_normal(strange.shape)
    )
    X[:size] = np.maximum(noise, 0)
    truth = np.arange(N) < size
    return sp.csr_array(X) if make is counts else X, np.where(truth, -1, y), truth
