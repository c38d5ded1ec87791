"""How well a model predicts entries that it was not shown."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.pipeline import Pipeline
from sklearn.utils import check_array

from onmf.losses import Loss, loss_of
from onmf.result import FittedModel
from onmf.rows.sweep import Array, Block, Matrix


def held_out_score(model: FittedModel | Pipeline, X: Any, y: Any = None) -> float:
    """Share of X that a model predicts, each half of the features from the other half.

    With A and B the halves of the features, in both roles, and k and h_i the cluster and the
    membership of x_i by its features in A alone,

        1 - sum_i loss(x_iB, h_i w_kB) / loss of X,

    with the loss of the model. The loss of X is ||X||^2 for squares; for "kl" it is the divergence
    of a single cluster.

    For ``GridSearchCV(ONMF(), {"n_clusters": ...}, scoring=held_out_score)``, which gives the
    samples of the held-out fold. `ONMF.score` uses all features to place a sample and rises with
    nearly every additional cluster, even on new samples. Here a cluster that is only noise on A
    predicts B worse. `choose_k` needs no refits and says how much comes back.

    Parameters
    ----------
    model : ONMF, or a Pipeline that ends with one
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
    X = check_array(X, accept_sparse="csr", dtype=np.float64)
    X, W = sp.csr_array(X) if sp.issparse(X) else X, np.asarray(model.cluster_centers_, np.float64)
    if X.shape[1] != W.shape[1] or X.shape[1] < 2:
        raise ValueError(
            f"X has {X.shape[1]} features and the centroids {W.shape[1]}: held_out_score needs the "
            "features of the fit, and two or more."
        )
    loss = loss_of(model)
    order = np.random.default_rng(0).permutation(W.shape[1])
    A, B = np.sort(order[::2]), np.sort(order[1::2])
    _, whole = loss.assignment(W)(_block(X), None)
    left = _predicted_loss(loss, X, W, A, B) + _predicted_loss(loss, X, W, B, A)
    return 1 - left / whole.sqnorm if whole.sqnorm > 0 else 1.0


def _predicted_loss(loss: Loss, X: Matrix, W: Array, A: Array, B: Array) -> float:
    """The loss on the features B of what is predicted from the features A."""
    rule = loss.assignment(np.ascontiguousarray(W[:, A]))
    code, _ = rule(_block(X[:, A]), None)
    return loss.value(X[:, B], rule.memberships(code), W[:, B])


def _block(X: Matrix) -> Block:
    return Block(X, np.ones((X.shape[0], 1)))
