"""What a model predicts of entries that it was not shown."""

from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from sklearn.utils import check_array

from onmf.rows.assign import Rays, nearest


class FittedRays(Protocol):
    """What must be known of a fitted model."""

    cluster_centers_: Any


def held_out_score(model: FittedRays | Pipeline, X: Any, y: Any = None) -> float:
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
    >>> X, _ = make_rays(100, 30, 4, noise=0.5, random_state=0)
    >>> grid = {"n_clusters": [3, 4, 5]}
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
    sqnorms = float(XB.multiply(XB).sum() if sp.issparse(XB) else np.vdot(XB, XB))
    products, sizes = XB @ W[:, B].T, np.einsum("km,km->k", W[:, B], W[:, B])
    return sqnorms - 2 * float(np.sum(H * products)) + float(np.sum(H**2 @ sizes))
