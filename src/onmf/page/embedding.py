"""A map of the samples in two dimensions: t-SNE of the samples, scaled to unit length.

Clusters are directions, so the lengths of samples are ignored. The layout does not use the labels.
t-SNE of ten thousand samples takes a minute, longer than most fits. Of many samples, therefore, a
stratified choice is laid out (the landmarks), in the leading singular directions of all samples
that are shown; each other sample is placed between the landmarks nearest to it.
"""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.manifold import TSNE
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import normalize
from sklearn.utils import gen_batches
from sklearn.utils.extmath import randomized_svd
from threadpoolctl import threadpool_limits

from onmf.rows.sweep import Array

MAX_MAP_SAMPLES = 10_000
MAX_TSNE_SAMPLES = 2_000  # up to which t-SNE lays out all samples, in some seconds
LANDMARKS = 1_000  # that t-SNE lays out of more samples
PERPLEXITY = 5, 30  # smallest and largest: a sixtieth of the samples between
TSNE_ITERATIONS = 300, 1_000  # fewest and most
TSNE_STEPS = 300_000  # iterations times samples, between these limits
FIRST_PER_CLUSTER = 10  # samples that come first, so that small clusters are seen
ENOUGH, ENOUGH_OF_CLUSTER = 4, 100  # times as many as are shown; at least, of a cluster
MAP_DIRECTIONS = 30  # singular vectors in which distances are measured
MAP_ENTRIES = 5e7  # of a dense X, from which the directions are computed: 400 MB
MAP_NEIGHBOURS = 3  # landmarks between which another sample is placed
MAP_BATCH = 1_000  # samples copied at a time


class Embedding(NamedTuple):
    """Positions of some samples in the plane."""

    samples: Array  # their numbers
    points: Array  # (len(samples), 2)
    interpolated: Array  # whether a sample was placed between landmarks
    note: str  # how the map was made


def embed(X: Any, labels: Array, random_state: int = 0) -> Embedding:
    """A map of X (array or CSR): the same for the same data, on any number of cores."""
    samples = stratified_order(labels, np.random.default_rng(random_state), MAX_MAP_SAMPLES)
    n = len(samples) if len(samples) <= MAX_TSNE_SAMPLES else LANDMARKS
    # OpenMP's threads wait for each other at every step: ten times as long on a busy machine.
    with threadpool_limits(1):
        basis = singular_directions(X, samples, random_state)
        Y = coordinates(X, samples, basis)
        landmarks = lay_out(Y[:n], random_state)
        points = np.concatenate([landmarks, interpolate(Y[n:], Y[:n], landmarks)])
    interpolated = np.arange(len(samples)) >= n
    note = describe_map(X.shape[0], n, len(samples), basis is not None)
    return Embedding(samples, points, interpolated, note)


def stratified_order(labels: Array, rng: np.random.Generator, most: int) -> Array:
    """The first samples of an order in which every beginning has each cluster in proportion.

    Within its cluster a sample has a random rank; the order is by rank / size. The first
    `FIRST_PER_CLUSTER` of each cluster come first.
    """
    place, sizes = labels - labels.min(initial=0), np.bincount(labels - labels.min(initial=0))
    random, share = rng.random(len(labels)), ENOUGH * most / len(labels)
    # Of each cluster the smallest random numbers; where these would be few, all.
    some = np.flatnonzero((random < share) | (sizes * share < ENOUGH_OF_CLUSTER)[place])
    cluster, count = place[some], np.bincount(place[some], minlength=len(sizes))
    shuffled = np.lexsort((random[some], cluster))
    rank = np.empty(len(some), dtype=np.intp)
    rank[shuffled] = np.arange(len(some)) - np.repeat(np.cumsum(count) - count, count)
    order = np.where(rank < FIRST_PER_CLUSTER, -1.0, rank / sizes[cluster])
    return some[np.lexsort((rank, order))][:most]


def singular_directions(X: Any, samples: Array, random_state: int) -> Array | None:
    """Leading right singular vectors (m, MAP_DIRECTIONS) of unit samples; None if X has fewer."""
    if min(len(samples), X.shape[1]) <= MAP_DIRECTIONS:
        return None
    if not sp.issparse(X):
        samples = samples[: max(LANDMARKS, int(MAP_ENTRIES / X.shape[1]))]
    units = normalize(X[samples])
    return randomized_svd(units, MAP_DIRECTIONS, n_iter=1, random_state=random_state)[2].T


def coordinates(X: Any, samples: Array, basis: Array | None) -> Array:
    """Unit samples in the basis, at least two columns, in single precision."""
    parts = []
    for batch in gen_batches(len(samples), MAP_BATCH):
        units = normalize(X[samples[batch]])
        if basis is not None:
            units = units @ basis
        parts.append(units.toarray() if sp.issparse(units) else units)
    Y = np.concatenate(parts).astype(np.float32)
    return np.pad(Y, ((0, 0), (0, max(2 - Y.shape[1], 0))))


def lay_out(Y: Array, random_state: int) -> Array:
    """t-SNE of the rows of Y; three samples or fewer stay where they are."""
    n = len(Y)
    if n <= 3:
        return Y[:, :2]
    spread = np.ptp(Y, axis=0).max() > 1e-6  # else there are no principal components
    tsne = TSNE(
        perplexity=min(np.clip(n / 60, *PERPLEXITY), (n - 1) / 3),
        init="pca" if spread else "random",
        max_iter=int(np.clip(TSNE_STEPS / n, *TSNE_ITERATIONS)),
        angle=0.8,
        random_state=random_state,
        n_jobs=1,
    )
    return tsne.fit_transform(Y)


def interpolate(Y: Array, landmarks: Array, points: Array) -> Array:
    """Mean of the points of the nearest landmarks, weighted by inverse squared distance."""
    if not len(Y):
        return np.empty((0, 2), points.dtype)
    search = NearestNeighbors(n_neighbors=MAP_NEIGHBOURS, algorithm="brute").fit(landmarks)
    distance, nearest = search.kneighbors(Y)
    weight = 1 / (distance**2 + 1e-9)
    weight /= weight.sum(axis=1, keepdims=True)
    return np.einsum("ij,ijd->id", weight, points[nearest])


def describe_map(n: int, n_landmarks: int, n_shown: int, reduced: bool) -> str:
    """How the map was made."""
    part = "all" if n_shown == n else f"{n_shown:,} of the {n:,}"
    choice = "" if n_shown == n else ", chosen at random in proportion to their clusters"
    space = f" in their {MAP_DIRECTIONS} leading singular directions" if reduced else ""
    text = f"t-SNE of {part} samples{choice}, scaled to unit length{space}."
    if n_landmarks < n_shown:
        text += (
            f" {n_landmarks:,} of them were laid out; the other {n_shown - n_landmarks:,}, drawn "
            f"fainter, were placed between their {MAP_NEIGHBOURS} nearest neighbours among these."
        )
    return text + " The layout does not use the clusters, which only colour the points."
