"""Samples that every loss can have, and its figures by the definitions of `reference`."""

import numpy as np

from reference import LOSS_DEFINITIONS

K, M = 3, 10


def planted(n, seed=0, noise=0.15, k=K, lengths=0.5):
    """Positive samples of k kinds, of many lengths, each entry with noise in proportion."""
    rng = np.random.default_rng(seed)
    profiles, y = 0.1 + rng.gamma(0.7, size=(k, M)), np.arange(n) % k
    X = 5 * rng.lognormal(0, lengths, (n, 1)) * profiles[y]
    return X * rng.lognormal(0, noise, X.shape), y


def definition(loss):
    return LOSS_DEFINITIONS[loss.name]


def table_of_losses(loss, X, W):
    """Least loss(x_i, h w_k) over h >= 0, and the best h, (n, k) each."""
    pairs = [[definition(loss).best(x, w) for w in W.tolist()] for x in X.tolist()]
    return tuple(np.moveaxis(np.array(pairs), -1, 0))


def total_loss(loss, X, W, weight):
    return float(weight @ table_of_losses(loss, X, W)[0].min(axis=1))


def whole(loss, X, weight, only=None):
    """The loss without clusters, of all rows or of some."""
    nothing = [definition(loss).nothing(column) for column in (X * weight[:, None]).T.tolist()]
    some = slice(None) if only is None else only
    return total_loss(loss, X[some], np.array([nothing]), weight[some])
