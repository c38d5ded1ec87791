"""Samples that every loss can have, and its figures by the definitions of `reference`."""

import math
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from onmf import ONMF
from onmf.losses import LOSSES
from onmf.rows.memory import InMemory
from onmf.rows.sweep import count_missing
from onmf.search.starts import Settings
from reference import LOSS_DEFINITIONS

K, M = 3, 10


def planted(n, seed=0, noise=0.15, k=K, lengths=0.5):
    """Positive samples of k kinds, of many lengths, each entry with noise in proportion."""
    rng = np.random.default_rng(seed)
    profiles, y = 0.1 + rng.gamma(0.7, size=(k, M)), np.arange(n) % k
    X = 5 * rng.lognormal(0, lengths, (n, 1)) * profiles[y]
    return X * rng.lognormal(0, noise, X.shape), y


def three_kinds(n, seed):
    """Kinds of samples that have little in common, and the same entries for all but a few."""
    rng = np.random.default_rng(seed)
    profiles = np.full((3, 24), 0.05)
    for kind in range(3):
        profiles[kind, 8 * kind : 8 * kind + 8] = np.linspace(1, 3, 8)
    y = rng.integers(0, 3, n)
    return 20 * rng.lognormal(0, 0.2, (n, 1)) * profiles[y] * rng.lognormal(0, 0.2, (n, 24)), y


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


def model_of(loss, k=K, **params):
    return ONMF(k, loss=loss.name, random_state=0, n_jobs=1, **params)


N = 45
WEIGHT = np.random.default_rng(1).integers(1, 4, N).astype(float)
KINDS = {  # of samples -> whether a loss may have them
    "positive": lambda loss: True,
    "sparse": lambda loss: True,
    "zeros": lambda loss: math.isfinite(definition(loss).entry(0.0, 1.0)),
    "signed": lambda loss: "signed" in loss.supports,
    "missing": lambda loss: "missing" in loss.supports,
}
CASES = [(loss, kind) for loss in LOSSES.values() for kind, may in KINDS.items() if may(loss)]


class Case(NamedTuple):
    """Samples, poor centroids for them, and loss and best multiple of each pair, by trying."""

    loss: Any
    X: Any
    W: Any
    losses: Any
    multiples: Any


@cache
def case_of(loss, kind="positive"):
    rng = np.random.default_rng(2)
    X, _ = planted(N)
    W = X.mean(axis=0) * rng.lognormal(0, 0.5, (K, X.shape[1]))
    if kind == "zeros":
        X[rng.random(X.shape) < 0.2] = 0
        X[5] = 0
    elif kind == "signed":
        X, W = X - X.mean(), W - W.mean()
        X[5] = -W.sum(axis=0) - 10 * W[1]
    elif kind == "missing":
        X[rng.random(X.shape) < 0.2] = np.nan
    tables = table_of_losses(loss, X, W)
    return Case(loss, sp.csr_array(X) if kind == "sparse" else X, W, *tables)


def dense(X):
    return X.toarray() if sp.issparse(X) else X


def assignment_of(loss, X, W, limit=None):
    return replace(loss.assignment(W, count_missing(X)), limit=limit)


def alternation_of(loss, X, weight=None, outliers=None):
    data = InMemory(X, weight, n_missing=count_missing(X))
    return loss.alternation(data, Settings(signed=data.extremes[0] < 0, outliers=outliers))


def own(table, labels):
    """The entry of each row at its label."""
    return table[np.arange(len(labels)), labels]
