"""The steps of rays from one sweep over X to the next, in NumPy; in C in `kernels`.

    p = Sw / ||Sw||,    v = 2p - w,    or the best vector in span(u, w)

with u and w the last two rays and Su and Sw their images (see `losses.ray_alternation`).
"""

import numpy as np

from onmf.rows.scale import rows_to_safe_range
from onmf.rows.sweep import Array, divisor

SHORTEST = 1e-140  # the squares of shorter rows may be lost


def ray_steps(
    W: Array, cross: Array, last_W: Array, last_cross: Array, kept: Array, signed: bool
) -> Array:
    """Unit rays from those along W and last_W and their images: the steps of `settle`."""
    u, w = unit(last_W.astype(np.float64)), unit(W.astype(np.float64))
    p = unit(cross, otherwise=w)
    back = np.einsum("km,km->k", p - w, w - u)[:, None] < 0
    U = np.where(back, p, 2 * p - w)
    U = unit(U if signed else np.maximum(U, 0), otherwise=p)
    kept = np.flatnonzero(kept)
    best = ritz(u[kept], last_cross[kept], w[kept], cross[kept])
    inside = np.full(len(kept), signed) | (best >= 0).all(axis=1)
    U[kept[inside]] = best[inside]
    return U


def ritz(u: Array, Su: Array, w: Array, Sw: Array) -> Array:
    """For each row, the image of the vector in span(u, w) with the largest v'Sv, of unit length."""
    c = np.einsum("km,km->k", u, w)[:, None]
    d = w - c * u  # orthogonal to u
    size = np.linalg.norm(d, axis=1, keepdims=True)
    apart = size > 1e-9  # else the two rays are one
    size = np.where(apart, size, 1)
    d, Sd = d / size, (Sw - c * Su) / size
    uu, ud, dd = (np.einsum("km,km->k", a, b)[:, None] for a, b in ((u, Su), (d, Su), (d, Sd)))
    angle = 0.5 * np.arctan2(2 * ud, uu - dd)
    best = np.cos(angle) * Su + np.sin(angle) * Sd
    return unit(np.where(apart, best, Sw), otherwise=w)


def ray_distance(W: Array, V: Array) -> float:
    """Root mean square distance of the rays along the rows of W and V."""
    apart = unit(W.astype(np.float64)) - unit(V.astype(np.float64))
    return float(np.linalg.norm(apart) / np.sqrt(len(W)))


def unit(U: Array, otherwise: Array | None = None) -> Array:
    """Rows divided by their norms; a row of zeros becomes that of `otherwise`, or stays."""
    with np.errstate(over="ignore", under="ignore"):
        size = np.sqrt(np.einsum("...i,...i->...", U, U))[..., None]
    if not ((size > SHORTEST) & (size < np.inf)).all():
        U, _ = rows_to_safe_range(U)
        size = np.sqrt(np.einsum("...i,...i->...", U, U))[..., None]
    scaled = U / divisor(size)
    if otherwise is None or size.all():
        return scaled
    return np.where(size > 0, scaled, otherwise)
