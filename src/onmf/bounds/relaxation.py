"""A tighter bound: memberships are not negative, and neither is Z = HH' for unit columns of H.

    max <G, Z>   over   0 <= Z <= I (as matrices),   trace Z = K,   Z >= 0 (each entry),

with G = D^(1/2) XX' D^(1/2), is at least what the best clustering explains. Its dual is the least,
over matrices N >= 0, of the sum of the K largest eigenvalues of G + N: whatever N is, that sum is a
bound. N = 0 is the spectral one; better ones come from the multipliers of ADMM on

    Z  <-  nearest to Y - U + G / r  with eigenvalues in [0, 1] of sum K,
    Y  <-  [Z + U]_+,       U  <-  U + Z - Y <= 0,       N = -r U.

Many samples are cut into parts: no clustering leaves less of X than the sum of what the best one of
each part leaves of it, as its clusters, restricted to a part, are clusters of that part.
"""

from collections.abc import Callable, Iterator

import numpy as np
from scipy.linalg import eigh

from onmf.bounds.spectral import ULP, gram_of_samples, rounding, top_sum
from onmf.rows.sweep import Array, Data

PART = 500  # samples that are looked at together
BALANCE = 5.0  # ratio of the two residuals of ADMM beyond which r changes
LOOK = 10  # iterations between two evaluations of the bound
SOLVED = 1e-9  # both residuals


def tighten_part(G: Array, labels: Array, k: int) -> Iterator[float]:
    """Ever better bounds of the share that k rays explain; ends when the relaxation is solved."""
    Z = guess(G, labels, k)
    r, Y, U = 0.01, Z, np.zeros_like(G)
    while True:
        for _ in range(LOOK):
            Z = nearest_projector(Y - U + G / r, k)
            T, before = Z + U, Y
            Y = np.maximum(T, 0)
            U = T - Y
        primal, dual = np.linalg.norm(Z - Y), np.linalg.norm(Y - before)
        yield largest(G - r * U, k)
        if max(primal, dual) < SOLVED:
            return
        factor = 1.5 if primal > BALANCE * dual else 1 / 1.5 if dual > BALANCE * primal else 1.0
        r, U = r * factor, U / factor


def largest(S: Array, k: int) -> float:
    """The sum of the k largest positive eigenvalues, rounded up."""
    values = eigh(S, eigvals_only=True, check_finite=False)
    return top_sum(values, k) + 8 * len(S) * ULP * float(np.abs(values).max())


def nearest_projector(S: Array, k: int) -> Array:
    """The matrix nearest to S with eigenvalues between 0 and 1 whose sum is k."""
    values, vectors = eigh((S + S.T) / 2, check_finite=False)
    low, high = values[0] - 1, values[-1]
    for _ in range(60):
        middle = (low + high) / 2
        more = np.clip(values - middle, 0, 1).sum() > k
        low, high = (middle, high) if more else (low, middle)
    shares = np.clip(values - high, 0, 1)
    root = vectors[:, shares > 0] * np.sqrt(shares[shares > 0])
    return root @ root.T


def guess(G: Array, labels: Array, k: int) -> Array:
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
    """Numbers of the samples of each part, at most PART, with its share of every cluster."""
    count = -(-len(labels) // PART)
    order = np.argsort(labels, kind="stable")
    return [np.sort(order[first::count]) for first in range(count)]


def relaxed_floors(
    data: Data, labels: Array, k: int, go_on: Callable[[float], bool]
) -> Iterator[float]:
    """Ever higher bounds of the relative error, while the next part may `go_on` with its share."""
    pieces, lost = parts(labels), rounding(*data.shape)
    left = np.zeros(len(pieces))
    for number, own in enumerate(pieces):
        gram, sqnorms = part_gram(data, own)
        left[number] = sqnorms * max(1 - largest(gram, k), 0.0)
        if not go_on(1.0):
            break
    yield max(float(left.sum()) - lost, 0.0)
    for number, own in enumerate(pieces):
        if not go_on((number + 1) / len(pieces)):
            continue
        gram, sqnorms = part_gram(data, own)
        for most in tighten_part(gram, labels[own], k):
            left[number] = max(left[number], sqnorms * (1 - most))
            yield max(float(left.sum()) - lost, 0.0)
            if not go_on((number + 1) / len(pieces)):
                break


def part_gram(data: Data, numbers: Array) -> tuple[Array, float]:
    """The Gram matrix of some samples, of trace 1, and how much of ||X||^2 they are."""
    gram = gram_of_samples(data.take(numbers))
    trace = float(np.trace(gram))
    return (gram / trace if trace else gram), trace / data.sqnorm if data.sqnorm else 0.0
