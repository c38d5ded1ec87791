"""Starting factors.

`paper_start` is what all methods of the paper share for a seed; the others are for everyday use.
Each returns H, cut like the rows, with unit columns, and W (k, m).
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from onmf.rows.assign import Rays, labels_of, one_sparse
from onmf.rows.sweep import Array, Block, Data, Matrix, divisor, row_sqnorm

SAMPLED_PER_CLUSTER = 50  # rows, for k-means++
SVD_EXTRA, SVD_SWEEPS = 10, 12
DRAWN_ROWS = 1 << 16  # samples drawn for at a time


def paper_start(data: Data, k: int, seed: int) -> tuple[Any, Array]:
    """s = sqrt(mean(X) / k);  W = s U(m, k)';  H marks the largest of U(n, k) in each row.

    U are uniform draws, in this order; the columns of H have unit norm.
    """
    (n, m), rng = data.shape, np.random.RandomState(seed)
    s = np.sqrt(data.mean / k)
    W = np.ascontiguousarray(s * rng.random_sample((m, k)).T, data.dtype)
    labels = np.concatenate(  # some rows at a time: an array (n, k) may be too large
        [
            (s * rng.random_sample((min(DRAWN_ROWS, n - i), k))).astype(data.dtype).argmax(axis=1)
            for i in range(0, n, DRAWN_ROWS)
        ]
    )
    return indicator(data, data.scatter(labels), k), W


def k_means_plus_plus_start(data: Data, k: int, seed: int) -> tuple[Any, Array]:
    """Centroids: rows of a sample, each far in angle from those before it."""
    rng = np.random.RandomState(seed)
    n = data.shape[0]
    sample = data.take(np.sort(rng.permutation(n)[: SAMPLED_PER_CLUSTER * k])).X
    W = spread_rays(sample, k, rng)
    return from_centroids(data, W), W


def spread_rays(X: Matrix, k: int, rng: np.random.RandomState, given: Array | None = None) -> Array:
    """Greedy k-means++ on the energy ||x||^2 (1 - cos^2) that the chosen rays leave unexplained,
    and those given."""
    sqnorms = row_sqnorm(X)
    left, trials = sqnorms.copy(), 2 + int(np.log(k))
    if given is not None:
        explained = np.square(np.maximum(X @ Rays.of(given).units, 0)).max(axis=1)
        left = np.maximum(sqnorms - explained, 0)
    chosen = []
    for _ in range(k):
        shares = left if left.sum() > 0 else sqnorms
        picks = rng.choice(X.shape[0], trials, p=shares / shares.sum())
        rays = np.asarray(X[picks].toarray() if sp.issparse(X) else X[picks], np.float64)
        scale = np.sqrt(sqnorms[picks])
        explained = np.square(np.maximum(X @ (rays / scale[:, None]).T, 0))
        after = np.minimum(left[:, None], np.maximum(sqnorms[:, None] - explained, 0))
        best = after.sum(axis=0).argmin()
        left = after[:, best]
        chosen.append(rays[best])
    return np.array(chosen, X.dtype)


def from_centroids(data: Data, W: Array) -> Any:
    """H that gives each sample to its nearest ray; columns of unit norm."""
    rows, _ = data.sweep(Rays.of(W))
    return indicator(data, data.map_blocks(labels_of, rows), len(W))


def indicator(data: Data, labels: Any, k: int) -> Any:
    """0/1 memberships, each column divided by its 2-norm; label -1 is a zero row."""
    sizes = data.reduce_blocks(lambda weight, own: np.bincount(own[own >= 0], minlength=k), labels)
    dtype = data.dtype  # what is sent to the rows must not hold the place they are in
    height = (1 / np.sqrt(np.maximum(sizes, 1))).astype(dtype)
    return data.map_blocks(lambda own: one_sparse(own, height[own], k), labels)


def nndsvd_start(data: Data, k: int, seed: int) -> tuple[Any, Array]:
    """Non-negative parts of the leading singular triplets (Boutsidis and Gallopoulos 2008).

    The same for every seed: the triplets come from subspace iteration with a fixed start.
    """
    V = leading_directions(data, k)
    rows, parts = data.sweep(SignedParts(V))
    halves = np.array([np.maximum(V, 0), np.maximum(-V, 0)])  # (2, m, k)
    lengths = np.linalg.norm(halves, axis=1), np.sqrt([parts.plus, parts.minus])
    side, each = (lengths[0] * lengths[1]).argmax(axis=0), np.arange(k)
    ray, image = lengths[0][side, each], lengths[1][side, each]
    weight = np.sqrt(ray * image)
    W = halves[side, :, each] * (weight / divisor(ray))[:, None]
    scale = (1 - 2 * side) * weight / divisor(image)
    dtype = data.dtype
    H = data.map_blocks(lambda U: np.maximum(U * scale, 0).astype(dtype), rows)
    return H, np.ascontiguousarray(W, dtype)


class SignedEnergy(NamedTuple):
    """Of the two signs of each direction."""

    plus: Array  # sum_i d_i [u_i]_+^2 per direction
    minus: Array


@dataclass(frozen=True)
class SignedParts:
    """U = XV of a block and the energy of its two signs."""

    V: Array

    def __call__(self, block: Block, rows: Any) -> tuple[Array, SignedEnergy]:
        U = np.asarray(block.X @ self.V, np.float64)
        weight = block.weight[:, 0].astype(np.float64)
        return U, SignedEnergy(weight @ np.maximum(U, 0) ** 2, weight @ np.maximum(-U, 0) ** 2)


class Image(NamedTuple):
    """What subspace iteration needs of a block."""

    cross: Array  # X'DXV (m, r)


@dataclass(frozen=True)
class Power:
    """X'DXV of a block; `damp` (b,) multiplies the weights if given."""

    V: Array

    def __call__(self, block: Block, damp: Array | None) -> tuple[Array | None, Image]:
        weight = block.weight if damp is None else block.weight * damp[:, None]
        return damp, Image(np.asarray(block.X.T @ ((block.X @ self.V) * weight), np.float64))


def leading_directions(data: Data, k: int) -> Array:
    """Leading right singular vectors (m, k) by subspace iteration; one sweep an iteration."""
    m = data.shape[1]
    V = np.linalg.qr(np.random.RandomState(0).normal(size=(m, min(m, k + SVD_EXTRA))))[0]
    for _ in range(SVD_SWEEPS):
        _, image = data.sweep(Power(V.astype(data.dtype)))
        _, turn = np.linalg.eigh(V.T @ image.cross)
        V = np.linalg.qr(image.cross @ turn[:, ::-1])[0]
    return np.pad(V[:, :k], ((0, 0), (0, max(0, k - V.shape[1]))))  # fewer features than clusters


STARTS = {
    "random": paper_start,
    "k-means++": k_means_plus_plus_start,
    "nndsvd": nndsvd_start,
}
