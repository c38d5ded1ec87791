"""Rows of counts for tests of the Kullback-Leibler divergence, and its definition."""

import numpy as np

from onmf.losses.kl_search import Counts
from onmf.rows.sweep import Block


def left(X, labels, k):
    """sum_i KL(x_i || t_i S_k / sum(S_k)), sample by sample; S_k from the labels."""
    total = 0.0
    for c in range(k):
        own = X[labels == c]
        if not len(own):
            continue
        shares = own.sum(axis=0) / own.sum()
        for x in own:
            inside = x > 0
            total += (x[inside] * np.log(x[inside] / (x.sum() * shares[inside]))).sum()
    return total


def some(n=40, m=12, k=3, seed=0, size=30):
    rng = np.random.default_rng(seed)
    P = rng.dirichlet(np.full(m, 0.3), k)
    X = np.array([rng.poisson(rng.integers(5, size) * P[c]) for c in rng.integers(0, k, n)])
    X[:, 0] += 1  # no sample is empty
    return X * rng.uniform(0.5, 2, (n, 1))


def counts_of(X):
    return Counts.of(Block(X, np.ones((len(X), 1))))
