"""Steps of rays in machine code, by the rules of `row_problems`.

Centroids may have many features: nothing is copied on the way.
"""

import numpy as np

from onmf.rows.sweep import Array
from onmf.search.machine import compiled


@compiled
def pulled(U: Array, cross: Array, E: Array, passes: int) -> Array:
    """u_k <- (P_k - sum_{l != k} E_kl u_l) / norm, each k in turn: exact block minimisers."""
    k, width = U.shape
    U, u = U.copy(), np.empty(width)
    for _ in range(passes):
        for j in range(k):
            u[:] = cross[j]
            for other in range(k):
                weight = E[j, other]
                if weight != 0 and other != j:
                    for z in range(width):
                        u[z] -= weight * U[other, z]
            size = 0.0
            for z in range(width):
                size += u[z] * u[z]
            if size > 0:
                U[j] = u / np.sqrt(size)
    return U


@compiled
def redirect(U: Array, P: Array) -> None:
    """Rays U along the rows of P, where they are not zero."""
    for j in range(len(U)):
        size = _shrink(P[j])
        if size > 0:
            U[j] = P[j] * size


@compiled
def ray_steps(
    W: Array, cross: Array, last_W: Array, last_cross: Array, kept: Array, signed: bool
) -> Array:
    """Unit rays from those along W and last_W and their images: the steps of `settle`."""
    U = np.empty(W.shape)
    for j in range(len(W)):
        best = kept[j] and _ritz(last_W[j], last_cross[j], W[j], cross[j], U[j])
        if not best or (not signed and U[j].min() < 0):
            _step(last_W[j], W[j], cross[j], signed, U[j])
    return U


@compiled
def _step(last: Array, now: Array, image: Array, signed: bool, new: Array) -> None:
    """The step along the image, doubled unless it turns back, into `new`."""
    if not image.any():
        image = now.astype(np.float64)
    u, w, p = _shrink(last), _shrink(now), _shrink(image)
    turn, size = 0.0, 0.0
    for z in range(len(new)):
        turn += (p * image[z] - w * now[z]) * (w * now[z] - u * last[z])
    w, p = (0.0, p) if turn < 0 else (w, 2 * p)
    for z in range(len(new)):
        value = p * image[z] - w * now[z]
        new[z] = value if signed else max(value, 0.0)
        size += new[z] * new[z]
    if size == 0:
        new[:] = image
    new *= _shrink(new)


@compiled
def _ritz(last: Array, Su: Array, now: Array, Sw: Array, new: Array) -> bool:
    """As `row_problems.ritz`, for one ray, into `new`; False if its image is zero."""
    u, w, c = _shrink(last), _shrink(now), 0.0
    for z in range(len(new)):
        c += u * last[z] * w * now[z]
    apart, uu, ud, dd = 0.0, 0.0, 0.0, 0.0
    for z in range(len(new)):
        d = w * now[z] - c * u * last[z]
        apart += d * d
        uu += u * last[z] * Su[z]
        ud += d * Su[z]
        dd += d * (Sw[z] - c * Su[z])
    apart = np.sqrt(apart)
    along, aside = c, 1.0  # the image of now: the two rays are one
    if apart > 1e-9:
        angle = 0.5 * np.arctan2(2 * ud / apart, uu - dd / apart**2)
        along, aside = np.cos(angle), np.sin(angle) / apart
    for z in range(len(new)):
        new[z] = along * Su[z] + aside * (Sw[z] - c * Su[z])
    size = _shrink(new)
    new *= size
    return size > 0


@compiled
def _shrink(row: Array) -> float:
    """One over the length of the row, 0 if it has none."""
    size = 0.0
    for z in range(len(row)):
        size += np.float64(row[z]) * np.float64(row[z])
    return 1 / np.sqrt(size) if size > 0 else 0.0


@compiled
def ray_distance(W: Array, V: Array) -> float:
    """Root mean square distance of the rays along the rows of W and V."""
    total = 0.0
    for j in range(len(W)):
        w, v = _shrink(W[j]), _shrink(V[j])
        for z in range(W.shape[1]):
            total += (w * W[j, z] - v * V[j, z]) ** 2
    return np.sqrt(total / len(W))
