"""How unusual a sample is in its cluster: its distance beside those of samples of the fit.

    q(x) = sum_j a_j^2 r_j^2,     r = x / ||x|| - c u,   c = <x, u> / ||x||
    unusual(x) = share of the kept samples of its cluster with a q of at least q(x)

r is what the nearest unit ray u leaves of a sample (of the roots of its shares, for counts:
`Loss.view_rows`), so lengths do not matter. A feature that hardly varies within clusters counts
more: a_j^2 = 1 / (v_j + mean(v) / 10), v_j being the mean of r_j^2. A sample of the fit is compared
as if it had not been in it: by the v of others, and with r divided by 1 - s, s being its share in
its ray.
"""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from onmf.losses.base import Loss
from onmf.losses.missing import Fill, mask_missing
from onmf.rows.assign import Rays
from onmf.rows.sweep import Array, Matrix, divisor, row_sqnorm

FLOOR = 0.1  # of the mean variance, in that of every feature: of .01, .1, .3 and 1 best on texts,
# cells and tumours (classes left out)
FOLDS = 4  # of the samples, to compare each with what is known without it
MOST_SHARE = 0.5  # of a sample in its ray: alone in its cluster it says nothing of others


class Residuals(NamedTuple):
    """r_i = s_i x_i - c_i u_i of samples and their rays, by products with X alone.

    X : samples as the loss compares them (n, m); what the ray explains where one is missing.
    scale, cosines : s, which is 0 for a sample of zeros, and c (n,).
    rays, units : the number of the ray of each sample (n,), and the unit rays (k, m).
    completion : features per observed entry (n,).
    """

    X: Matrix
    scale: Array
    cosines: Array
    rays: Array
    units: Array
    completion: Array

    def take(self, some: Array) -> "Residuals":
        numbers = self.scale[some], self.cosines[some], self.rays[some]
        return Residuals(self.X[some], *numbers, self.units, self.completion[some])

    def weights(self, weight: Array) -> Array:
        """a^2 (m,), from v, the mean of r_j^2 over samples of these weights."""
        w, k = weight / divisor(weight.sum()), len(self.units)
        parts = np.maximum(self.rays, 0), np.arange(len(w))
        codes = sp.csr_array((w * self.scale * self.cosines, parts), shape=(k, len(w)))
        across = codes @ self.X
        across = across.toarray() if sp.issparse(across) else across
        squares = np.asarray((w * self.scale**2) @ squared(self.X)).ravel()
        own = np.bincount(parts[0], w * self.cosines**2, k) @ np.square(self.units)
        v = np.maximum(squares - 2 * (across * self.units).sum(axis=0) + own, 0)
        return 1 / (v + FLOOR * v.mean()) if v.any() else np.ones(len(v))

    def sums(self, a: Array) -> Array:
        """sum_j a_j r_ij^2 (n,)."""
        X, s, c, rays = self.X, self.scale, self.cosines, self.rays
        beside = np.asarray(X @ (self.units * a).T)[np.arange(len(rays)), rays]
        own = (np.square(self.units) @ a)[rays]
        q = s**2 * np.asarray(squared(X) @ a).ravel() - 2 * s * c * beside + c**2 * own
        return np.maximum(q, 0) * self.completion


def squared(X: Matrix) -> Matrix:
    return X.multiply(X) if sp.issparse(X) else np.square(X)


def residuals(X: Matrix, rays: Array, W: Array, loss: Loss) -> Residuals:
    """Of samples whose rays have these numbers among W; -1 for none."""
    masked = mask_missing(X)
    if masked is not None:
        X = Fill.by(W).within(X, masked)
    X, units = loss.view_rows(X), Rays.of(loss.view_rows(W.astype(np.float64))).units.T
    X = X if sp.issparse(X) else X.astype(np.float64, copy=False)
    size = np.sqrt(row_sqnorm(X))
    scale = np.divide(1, size, out=np.zeros_like(size), where=size > 0)
    cosines = np.asarray(X @ units.T)[np.arange(len(rays)), rays] * scale
    cosines = np.where(rays >= 0, np.clip(cosines, 0, 1), 0)
    completion = np.ones(len(rays)) if masked is None else masked.completion
    return Residuals(X, scale, cosines, rays, units, completion)


def learn_unusual(
    X: Matrix, weight: Array, rays: Array, share: Array, W: Array, loss: Loss
) -> dict[str, Array]:
    """What a model remembers of samples of its fit: their rays, q and weights; and a^2.

    `share` is s of each sample. Its q is by the a of others: a feature may be its own alone.
    """
    inside = np.flatnonzero((rays >= 0) & (weight > 0))
    own = residuals(X[inside], rays[inside], W, loss)
    mass, q = weight[inside], np.zeros(len(inside))
    order = np.random.default_rng(len(inside)).permutation(len(inside))
    for fold in np.array_split(order, min(FOLDS, max(len(inside), 1))):
        others = np.setdiff1d(order, fold)
        q[fold] = own.take(fold).sums(own.take(others).weights(mass[others]))
    q /= np.square(1 - np.minimum(share[inside], MOST_SHARE))
    kept = np.column_stack([rays[inside], q, mass])
    return {"unusual_weights_": own.weights(mass).astype(np.float32), "unusual_kept_": kept}


def share_as_far(q: Array, clusters: Array, kept: Array, cluster_of_ray: Array) -> Array:
    """Of the kept samples of each cluster, or of all if it has none; 0 without a cluster."""
    answer = np.zeros(len(q))
    own = cluster_of_ray[kept[:, 0].astype(np.intp)]
    for cluster in np.unique(clusters[clusters >= 0]).tolist():
        some, asked = own == cluster, clusters == cluster
        far = kept[some if some.any() else slice(None), 1:]
        far = far[np.argsort(far[:, 0], kind="stable")]
        beyond = np.append(np.cumsum(far[::-1, 1])[::-1], 0.0)
        answer[asked] = beyond[np.searchsorted(far[:, 0], q[asked])] / divisor(beyond[:1])
    return answer
