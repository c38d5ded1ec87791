"""The functions of `numpy_kernels` in C, by the same rules.

The loops are in `c/`. Here arrays are made for what they return and brought into the form that they
take: contiguous, labels in 64 bits, rows and scores of one type, which is single or double
precision. Work of more than a moment is done in parts: between them an interrupt is noticed.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp

from onmf.rows.assign import PRODUCT_ROUNDING
from onmf.rows.sweep import Array, Matrix
from onmf.search import _kernels, numpy_kernels
from onmf.search._kernels import use as use
from onmf.search.numpy_kernels import GAIN, PATIENCE

FLOATS = np.dtype(np.float32), np.dtype(np.float64)
LABELS, PLACES = np.dtype(np.int64), np.dtype(np.int32)
ALIGNED: Any = ("C", "A")  # which an array that came over a network may not be
EQUAL_SCORES = {kind: float(PRODUCT_ROUNDING * np.finfo(kind).eps) for kind in FLOATS}
TINIEST = {kind: float(np.finfo(kind).tiny / np.finfo(kind).eps) for kind in FLOATS}
MAX_FEW_RAYS = 16  # rays that are alternated without BLAS, as in C
FEW_FEATURES = 8  # up to which products of whole blocks are slower than those of a row
MOVED_SHARE = 3  # scores of some rays alone cost so many times as much for each
CACHED_ENTRIES = 1 << 17  # of scores and rows that stay in a cache between two steps
MOMENT = 1 << 24  # products between two looks for an interrupt: a few hundredths of a second


def floats(*arrays: Array) -> list[Array]:
    """Contiguous, all in single precision or all in double."""
    kind = FLOATS[not all(array.dtype == FLOATS[0] for array in arrays)]
    return [in_form(array, kind) for array in arrays]


def doubles(*arrays: Array) -> list[Array]:
    return [in_form(array, FLOATS[1]) for array in arrays]


def whole(labels: Array) -> Array:
    return in_form(labels, LABELS)


def in_form(array: Array, kind: np.dtype[Any]) -> Array:
    """The same, if there is nothing to change: `np.require` takes as long as a small kernel."""
    flags = array.flags
    if array.dtype == kind and flags.c_contiguous and flags.aligned:
        return array
    return np.require(array, kind, ALIGNED)


def nearest(products: Array) -> tuple[Array, Array]:
    """The ray with the largest product, for each row, and the product; none if lost in rounding."""
    (A,) = floats(products)
    labels, scores = np.empty(len(A), np.int64), np.empty(len(A), A.dtype)
    _kernels.nearest(A, labels, scores, EQUAL_SCORES[A.dtype], TINIEST[A.dtype])
    return labels, scores


def products(X: Matrix, V: Array) -> Array:
    """XV."""
    if (parts := sparse_parts(X, V)) is None:
        return np.asarray(X @ V)
    out = np.empty((X.shape[0], V.shape[1]), V.dtype)
    _kernels.sparse_products(*parts, out)
    return out


def image(X: Matrix, V: Array) -> Array:
    """X'XV."""
    if (parts := sparse_parts(X, V)) is None:
        return numpy_kernels.image(X, V)
    out = np.zeros(V.shape, V.dtype)
    _kernels.sparse_image(*parts, out, np.empty(V.shape[1], V.dtype))
    return out


def sparse_parts(X: Matrix, V: Array) -> list[Array] | None:
    """Values, places and edges of the rows X, and V; None if the kernels do not take them."""
    if not sp.issparse(X) or X.dtype != V.dtype or not has_few_entries(X):
        return None
    values, V = floats(X.data, V)
    return [values, in_form(X.indices, PLACES), in_form(X.indptr, PLACES), V]


def has_few_entries(X: Matrix) -> bool:
    """Whether 32 bits number them, whatever X has: results must not depend on that."""
    return bool(max(X.nnz, X.shape[1]) <= np.iinfo(PLACES).max)


def nearest_rays(X: Matrix, units: Array) -> tuple[Array, Array]:
    """`nearest` of the products of rows X with unit rays (m, k)."""
    if sp.issparse(X) or X.shape[1] > FEW_FEATURES:
        return nearest(products(X, units))
    X, units = floats(X, units)
    labels, scores = np.empty(len(X), np.int64), np.empty(len(X), X.dtype)
    scratch, rules = np.empty(units.shape[1], X.dtype), (EQUAL_SCORES[X.dtype], TINIEST[X.dtype])
    _kernels.nearest_few(X, units, labels, scores, scratch, *rules)
    return labels, scores


def images(A: Array, Y: Array, U: Array) -> tuple[Array, Array, Array]:
    """b_i = argmax_k a_ik, s_i = [a_ib]_+, and the sum of s_i y_i over the rows of each cluster."""
    A, Y = floats(A, Y)
    labels, best = np.empty(len(A), np.int64), np.empty(len(A))
    P = np.zeros((A.shape[1], Y.shape[1]))
    _kernels.images(A, Y, *doubles(U), labels, best, P, EQUAL_SCORES[A.dtype])
    return labels, best, P


def alternations(
    Y: Array,
    U: Array,
    floor: Array,
    passes: int,
    goal: float,
    known: tuple[Array, Array] | None = None,
) -> tuple[Array, Array, Array, Array, float]:
    """U after passes of `rays.alternate`, the scores of the rows, where each is best, that score,
    and the energy; a floor of no entries stands for none."""
    (Y,), U = floats(Y), np.array(U, np.float64, order="C")
    (n, width), k = Y.shape, len(U)
    if known is None:
        A, moved = np.empty((n, k + (len(floor) > 0)), Y.dtype), np.ones(k, np.bool_)
    else:
        moved, A = (known[0] != U).any(axis=1), known[1].astype(Y.dtype)
    if len(floor):
        A[:, k] = floor
    labels, best, P = np.empty(n, np.int64), np.empty(n), np.empty((A.shape[1], width))
    step, before = max(1, CACHED_ENTRIES // (k + width)), -1.0
    parts = [tuple(part[i : i + step] for part in (A, Y, labels, best)) for i in range(0, n, step)]
    for left in range(passes, -1, -1):
        P[:] = 0
        rays, energy, some = U.T.astype(Y.dtype), 0.0, np.flatnonzero(moved)
        few = rays[:, some] if MOVED_SHARE * len(some) < k else None
        for scores, rows, where, best_there in parts:
            if few is None:
                np.matmul(rows, rays, out=scores[:, :k])
            elif len(some):
                scores[:, some] = rows @ few
            energy += _kernels.images(scores, rows, U, where, best_there, P, EQUAL_SCORES[Y.dtype])
        gain, before = energy - before, energy
        if not left or gain <= GAIN * (energy - gain) or energy + PATIENCE * left * gain < goal:
            break
        if not _kernels.redirect(U, P[:k], moved, GAIN * energy / k):
            break
    return U, A, labels, best, energy


def alternate_few(
    Z: Array, edges: Array, places: Array, U: Array, floor: Array, passes: int, goal: float
) -> tuple[Array, float]:
    """`alternations` on the rows of some places alone: U, and what is explained."""
    Z, floor = floats(Z, floor)
    if len(U) + (len(floor) > 0) > MAX_FEW_RAYS:
        return numpy_kernels.alternate_few(Z, edges, places, U, floor, passes, goal)
    U = np.array(U, np.float64, order="C")
    scratch = np.empty_like(U), np.empty((U.shape[1], MAX_FEW_RAYS), Z.dtype)
    rules = EQUAL_SCORES[Z.dtype], passes, goal, GAIN, PATIENCE
    return U, _kernels.alternate_few(Z, whole(edges), whole(places), U, floor, *scratch, *rules)


def sums(labels: Array, factors: Array, Y: Matrix, k: int) -> Array:
    """The sum of f_i y_i over the rows of each of k clusters."""
    P = np.zeros((k, Y.shape[1]))
    if sp.issparse(Y):
        if not has_few_entries(Y):
            return numpy_kernels.sums(labels, factors, Y, k)
        (values,), places = floats(Y.data), (in_form(Y.indices, PLACES), in_form(Y.indptr, PLACES))
        _kernels.sparse_sums(whole(labels), *doubles(factors), values, *places, P)
        return P
    (Y,) = floats(Y)
    _kernels.sums(whole(labels), *doubles(factors), Y, P)
    return P


def fit_rays(Y: Array, labels: Array, U: Array, steps: int) -> tuple[Array, float]:
    """U after power steps of each ray on the rows of its cluster alone, and what it explains."""
    (Y,), U = floats(Y), np.array(U, np.float64, order="C")
    explained = _kernels.fit_rays(Y, whole(labels), U, np.empty_like(U), steps)
    return U, explained


def runners_up(A: Array, labels: Array) -> tuple[Array, Array]:
    """The second best ray of each row and its score, not below zero."""
    (A,) = floats(A)
    second, score, row = np.empty(len(A), np.int64), np.empty(len(A)), np.empty(A.shape[1], A.dtype)
    _kernels.runners_up(A, whole(labels), second, score, row, EQUAL_SCORES[A.dtype])
    return second, score


def split_clusters(Y: Array, labels: Array, pair: Array, passes: int) -> tuple[Array, Array]:
    """Two rays (2, k, r) for the rows of each cluster after alternations, and their energy (k,)."""
    (Y,), pair = floats(Y), np.array(pair, np.float64, order="C")
    energy = np.empty(pair.shape[1])
    _kernels.split_clusters(Y, whole(labels), pair, np.empty_like(pair), energy, passes)
    return pair, energy


def transfers(A: Array, labels: Array, energy: Array, own: Array) -> tuple[Array, Array]:
    """The best other cluster of each row, and what its move there gains at least."""
    (A,), (energy, own) = floats(A), doubles(energy, own)
    target, gain, equal = np.empty(len(A), np.int64), np.empty(len(A)), EQUAL_SCORES[own.dtype]
    _kernels.transfers(A, whole(labels), energy, own, np.empty_like(own), target, gain, equal)
    return target, gain


def ray_steps(
    W: Array, cross: Array, last_W: Array, last_cross: Array, kept: Array, signed: bool
) -> Array:
    """Unit rays from those along W and last_W and their images: the steps of `settle`."""
    (W, last_W), (cross, last_cross) = floats(W, last_W), doubles(cross, last_cross)
    U, kept = np.empty(W.shape), np.ascontiguousarray(kept, np.bool_)
    _kernels.ray_steps(W, cross, last_W, last_cross, kept, U, int(signed))
    return U


def ray_distance(W: Array, V: Array) -> float:
    """Root mean square distance of the rays along the rows of W and V."""
    return float(_kernels.ray_distance(*floats(W, V)))
