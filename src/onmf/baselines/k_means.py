"""K-means, by scikit-learn: Lloyd's iterations from the centroids of the start.

    label_i = argmin_k ||x_i - w_k||,      w_k = mean of its samples

In the terms of X ~ HW, H has a one where the label is. scikit-learn does not tell what happens
inside, so the history has one row, for the end, and the watcher is asked once.
"""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from onmf.baselines.iterate import MAX_ITER, Iterate, Start, WholeRows, one_stage_result, summarise
from onmf.palm.palm import relative_change
from onmf.result import Factorization, Watch, unwatched
from onmf.rows.assign import Code, ExplainedShare, one_sparse
from onmf.rows.sweep import Array, Block, Matrix, divisor, row_sqnorm

K_MEANS_TOL = 1e-6


def k_means(
    data: WholeRows,
    start: Start,
    *,
    tol: float = K_MEANS_TOL,
    max_iter: int = MAX_ITER,
    watch: Watch = unwatched,
) -> Factorization:
    """From the centroids of the start; a sweep an iteration, and one to measure the result."""
    return lloyd(data, start, start.W, 0, tol, max_iter, watch)


def lloyd(
    data: WholeRows,
    start: Start,
    init: Any,
    before: int,
    tol: float,
    max_iter: int,
    watch: Watch,
) -> Factorization:
    """scikit-learn's K-means from `init`, which takes `before` sweeps by itself."""
    k, inside = len(start.W), data.gather(data.row_sqnorms) > 0
    model = KMeans(
        k, init=init, n_init=1, max_iter=max_iter, tol=tol, random_state=start.seed,
        algorithm="lloyd",
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of empty clusters, which are counted
        # Samples that are all zero belong to no cluster, here as everywhere.
        model.fit(short_indices(data.X), sample_weight=np.where(inside, data.weight, 0))
    W = model.cluster_centers_
    if data.extremes[0] >= 0:
        W = np.maximum(W, 0)  # it works on centred data, hence -1e-17
    H = one_sparse(np.where(inside, model.labels_, -1), np.ones(len(inside), data.dtype), k)
    rows, sums = data.sweep(summarise, data.scatter(H))
    sizes = divisor(sums.mass)[:, None]
    means = np.where(sums.mass[:, None] > 0, sums.cross / sizes, W)
    now = Iterate(rows, W, sums, before + model.n_iter_ + 1)
    residual = relative_change(means, W)
    stop = "converged" if model.n_iter_ < max_iter or residual < tol else "max_iter"
    return one_stage_result(data, now, model.n_iter_, residual, stop, watch)


def short_indices(X: Matrix) -> Matrix:
    """X with 32-bit indices, all that scikit-learn's K-means knows; the values are not copied."""
    if not sp.issparse(X) or X.indices.dtype == np.int32 or X.nnz > np.iinfo(np.int32).max:
        return X
    indices, indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return sp.csr_array((X.data, indices, indptr), shape=X.shape)


@dataclass(frozen=True)
class Means:
    """The nearest centroid itself, as in K-means: argmin_k ||x - w_k||, with code 1.

    A sample that is all zero has label -1 here too.
    """

    W: Array

    def __call__(self, block: Block, rows: Any) -> tuple[Code, ExplainedShare]:
        sqnorms, gains = row_sqnorm(block.X), self.gains(block)
        labels = gains.argmax(axis=1)
        inside, weight = sqnorms > 0, block.weight[:, 0].astype(np.float64)
        best = np.where(inside, gains[np.arange(len(labels)), labels], 0)
        labels[~inside] = -1
        fit = ExplainedShare(float(weight @ best), float(weight @ sqnorms))
        return Code(labels, inside.astype(self.W.dtype)), fit

    def gains(self, block: Block) -> Array:
        """||x||^2 - ||x - w||^2 for each sample of a block and each centroid."""
        return 2 * (block.X @ self.W.T) - np.einsum("km,km->k", self.W, self.W)

    def scores(self, block: Block) -> Array:
        """1 - ||x - w||^2 / ||x||^2 (b, k); 0 for a sample of zeros."""
        sqnorms = row_sqnorm(block.X)[:, None]
        shares = np.where(sqnorms > 0, self.gains(block) / divisor(sqnorms), 0)
        return shares.astype(self.W.dtype)

    def memberships(self, code: Code) -> Array:
        """H (b, k) of a block."""
        return one_sparse(code.labels, code.scores, len(self.W))
