"""A tighter bound: memberships are not negative, and neither is Z = HH' for unit columns of H.

    max <G, Z>   over   0 <= Z <= I (as matrices),   trace Z = K,   Z >= 0 (each entry),

with G = D^(1/2) XX' D^(1/2), is at least what the best clustering explains. Its dual is the least,
over matrices N >= 0, of the sum of the K largest eigenvalues of G + N: for every N that sum is a
bound. N = 0 is the spectral one; better ones come from the multipliers of ADMM on

    Z  <-  nearest to Y - U + G / r  with eigenvalues in [0, 1] of sum K,
    Y  <-  [Z + U]_+,       U  <-  U + Z - Y <= 0,       N = -r U.

Many samples are cut into parts: no clustering leaves less of X than the sum of what the best one of
each part leaves of it, as its clusters, restricted to a part, are clusters of that part.
"""

from collections.abc import Callable, Iterator

import numpy as np
from scipy.linalg import eigh

from onmf.bounds.spectral import ULP, gram_of_samples, rounding, top_sum, weight_rounding
from onmf.rows.sweep import Array, Data

SAMPLES_PER_PART = 500
ADMM_WEIGHT, ADMM_FACTOR = 0.01, 1.5  # the first r, and by how much it changes
ADMM_BALANCE = 5.0  # ratio of the two residuals beyond which r changes
ADMM_ITERATIONS = 10  # between two evaluations of the bound
ADMM_TOL = 1e-9  # of both residuals
BISECTIONS = 60  # to the last digit


def tighten_part(G: Array, labels: Array, k: int) -> Iterator[float]:
    """Better and better bounds of the share that k rays explain, until the problem is solved."""
    Z = clustering_projector(G, labels, k)
    r, Y, U = ADMM_WEIGHT, Z, np.zeros_like(G)
    while True:
        for _ in range(ADMM_ITERATIONS):
            Z = nearest_projector(Y - U + G / r, k)
            T, before = Z + U, Y
            Y = np.maximum(T, 0)
            U = T - Y
        primal, dual = np.linalg.norm(Z - Y), np.linalg.norm(Y - before)
        yield largest_sum(G - r * U, k)
        if max(primal, dual) < ADMM_TOL:
            return
        more, less = primal > ADMM_BALANCE * dual, dual > ADMM_BALANCE * primal
        factor = ADMM_FACTOR if more else 1 / ADMM_FACTOR if less else 1.0
        r, U = r * factor, U / factor


def largest_sum(S: Array, k: int) -> float:
    """The sum of the k largest positive eigenvalues, rounded up."""
    values = eigh(S, eigvals_only=True, check_finite=False)
    return top_sum(values, k) + 8 * len(S) * ULP * float(np.abs(values).max())


def nearest_projector(S: Array, k: int) -> Array:
    """The matrix nearest to S with eigenvalues between 0 and 1 whose sum is k."""
    values, vectors = eigh((S + S.T) / 2, check_finite=False)
    low, high = values[0] - 1, values[-1]
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        more = np.clip(values - middle, 0, 1).sum() > k
        low, high = (middle, high) if more else (low, middle)
    shares = np.clip(values - high, 0, 1)
    root = vectors[:, shares > 0] * np.sqrt(shares[shares > 0])
    return root @ root.T


def clustering_projector(G: Array, labels: Array, k: int) -> Array:
    """Z of a clustering: for each cluster the projector on the leading eigenvector of its block."""
    Z = np.zeros_like(G)
    for cluster in range(k):
        own = np.flatnonzero(labels == cluster)
        if len(own):
            top = [len(own) - 1] * 2
            u = eigh(G[np.ix_(own, own)], subset_by_index=top, check_finite=False)[1][:, 0]
            Z[np.ix_(own, own)] = np.outer(u, u)
    return Z


def parts(labels: Array) -> list[Array]:
    """Numbers of the samples of each part, with its share of every cluster."""
    count = -(-len(labels) // SAMPLES_PER_PART)
    order = np.argsort(labels, kind="stable")
    return [np.sort(order[first::count]) for first in range(count)]


def relaxed_bounds(
    data: Data, labels: Array, k: int, has_time: Callable[[float], bool]
) -> Iterator[float]:
    """Better and better bounds of the relative error; each part gets its share of the time."""
    pieces, lost, kept = parts(labels), rounding(*data.shape), weight_rounding(data)
    left = np.zeros(len(pieces))
    for number, own in enumerate(pieces):
        gram, share = part_gram(data, own)
        left[number] = share * max(1 - largest_sum(gram, k), 0.0)
        if not has_time(1.0):
            break
    yield max(kept * float(left.sum()) - lost, 0.0)
    for number, own in enumerate(pieces):
        until = (number + 1) / len(pieces)
        if not has_time(until):
            continue
        gram, share = part_gram(data, own)
        for explained in tighten_part(gram, labels[own], k):
            left[number] = max(left[number], share * (1 - explained))
            yield max(kept * float(left.sum()) - lost, 0.0)
            if not has_time(until):
                break


def part_gram(data: Data, numbers: Array) -> tuple[Array, float]:
    """The Gram matrix of some samples, of trace 1, and their share of ||X||^2."""
    gram = gram_of_samples(data.take(numbers))
    trace = float(np.trace(gram))
    return (gram / trace if trace else gram), trace / data.sqnorm if data.sqnorm else 0.0
