"""Two looks at a sample of few features: itself plus and minus the error of one of its cluster.

    x_i + h_i r_j  and  x_i - h_i r_j,      r_j = x_j / h_j - u_k,   h = u_k^T x,

with u_k the unit ray of the cluster and j one of its samples, at random. If the errors of a cluster
are alike and as often up as down, the two looks are independent, each twice as noisy as the sample:
what two halves of many features are. A half of few features may not show the clusters at all.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp

from onmf.explain.halves import OWN, some_samples
from onmf.rows.sweep import Array, Data

FEW_FEATURES = 16  # below which halves say less than this does


def noisy_agreement(
    data: Data, labels: Array, rays: Array, looks: int, seed: int
) -> tuple[Array, Array]:
    """Numbers of some samples without holes, and the share of the pairs of looks that agreed."""
    rng = np.random.default_rng((OWN, FEW_FEATURES, seed))
    some = some_samples(data, len(rays), rng)
    X = _dense(data.take(some).X)
    length = np.linalg.norm(rays, axis=1, keepdims=True)
    U = rays / np.where(length > 0, length, 1)
    h = np.einsum("ij,ij->i", X, U[labels[some]])  # NaN in samples with holes
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
    """For each sample one of the same label: a random order within every cluster."""
    others = np.empty(len(labels), np.intp)
    others[np.argsort(labels, kind="stable")] = np.lexsort((rng.random(len(labels)), labels))
    return others


def _dense(X: Any) -> Array:
    return np.asarray(X.toarray() if sp.issparse(X) else X, np.float64)
