"""Two noisy copies of a sample with few features: plus and minus the error of another sample.

    x_i + h_i r_j  and  x_i - h_i r_j,      r_j = x_j / h_j - u_k,   h = u_k^T x,

with u_k the unit ray of the cluster and j one of its samples, at random. If the errors of a cluster
are alike and symmetric, the two copies are independent, each twice as noisy as the sample, like two
halves of many features. A half of few features may not show the clusters at all.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from onmf.explain.halves import EXPLAIN_STREAM, some_samples
from onmf.rows.sweep import Array, Data, Matrix, divisor

FEW_FEATURES = 16  # below which noisy copies say more than halves


def noisy_agreement(
    data: Data,
    view: Callable[[Matrix], Matrix],
    labels: Array,
    rays: Array,
    looks: int,
    seed: int,
) -> tuple[Array, Array]:
    """Numbers of some complete samples, and the share of the pairs of copies that agreed.

    `view` gives samples in the form in which the loss compares them, which `rays` have.
    """
    rng = np.random.default_rng((EXPLAIN_STREAM, FEW_FEATURES, seed))
    some = some_samples(data, len(rays), rng)
    X = _dense(view(data.take(some).X))
    length = np.linalg.norm(rays, axis=1, keepdims=True)
    U = rays / divisor(length)
    h = np.einsum("ij,ij->i", X, U[labels[some]])  # NaN in samples with missing entries
    good = (labels[some] >= 0) & (h > 0)
    some, X, h = some[good], X[good], h[good, None]
    own = labels[some]
    errors = X / h - U[own]
    agree = np.zeros(len(some))
    for _ in range(looks):
        shift = h * errors[_others(own, rng)]
        agree += ((X + shift) @ U.T).argmax(axis=1) == ((X - shift) @ U.T).argmax(axis=1)
    return some, agree / looks


def _others(labels: Array, rng: np.random.Generator) -> Array:
    """For each sample another one of its cluster: a random permutation within every cluster."""
    others = np.empty(len(labels), np.intp)
    others[np.argsort(labels, kind="stable")] = np.lexsort((rng.random(len(labels)), labels))
    return others


def _dense(X: Any) -> Array:
    return np.asarray(X.toarray() if sp.issparse(X) else X, np.float64)
