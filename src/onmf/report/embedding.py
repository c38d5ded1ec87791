"""Two dimensions to look at: t-SNE of the samples, scaled to unit length.

Length does not matter to rays, so it does not matter here. The layout knows nothing of the
clusters: what it shows of them is evidence. t-SNE of ten thousand samples takes a minute, which is
much longer than most fits. Therefore, of many samples a stratified choice is laid out, in the
leading singular directions of all that are shown, and each other one is put among the landmarks
nearest to it.
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

SHOWN = 10_000  # samples on the map at most
WHOLE = 2_000  # so many are all laid out by t-SNE: its time is the map's
LANDMARKS = 1_000  # of more than that
PERPLEXITY = 5, 30  # least and most: a sixtieth of the samples between
ITERATIONS = 300, 1_000  # least and most: fewer for more samples,
STEPS = 300_000  # so that iterations times samples is about this
FEWEST = 10  # samples of each cluster come first, however small it is
DIRECTIONS = 30
DENSE_ENTRIES = 5e7  # of a dense X, in which the directions are sought: 400 MB
NEIGHBOURS = 3
BATCH = 1_000  # samples copied at a time


class Embedding(NamedTuple):
    """Places of some samples in the plane."""

    samples: Array  # their numbers
    points: Array  # (len(samples), 2)
    interpolated: Array  # whether a sample was put among its neighbours instead of laid out
    note: str  # how the map was made, in a sentence


def embed(X: Any, labels: Array, random_state: int = 0) -> Embedding:
    """A map of X (array or CSR): the same for the same data, on any number of cores."""
    samples = stratified_order(labels, np.random.default_rng(random_state))[:SHOWN]
    n = len(samples) if len(samples) <= WHOLE else LANDMARKS
    # OpenMP's threads wait for each other at every step: ten times as long on a busy machine.
    with threadpool_limits(1):
        basis = singular_directions(X, samples, random_state)
        Y = coordinates(X, samples, basis)
        landmarks = lay_out(Y[:n], random_state)
        points = np.concatenate([landmarks, interpolate(Y[n:], Y[:n], landmarks)])
    interpolated = np.arange(len(samples)) >= n
    note = describe_map(X.shape[0], n, len(samples), basis is not None)
    return Embedding(samples, points, interpolated, note)


def stratified_order(labels: Array, rng: np.random.Generator) -> Array:
    """All samples in an order whose every beginning holds each cluster in proportion.

    Within its cluster a sample has a random rank; the order is by rank / size. The first `FEWEST`
    of each cluster precede all others, so that small clusters are seen.
    """
    _, cluster, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    shuffled = np.lexsort((rng.random(len(labels)), cluster))
    rank = np.empty(len(labels), dtype=np.intp)
    rank[shuffled] = np.arange(len(labels)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    share = np.where(rank < FEWEST, -1.0, rank / sizes[cluster])
    return np.lexsort((rank, share))


def singular_directions(X: Any, samples: Array, random_state: int) -> Array | None:
    """Leading right singular vectors (m, DIRECTIONS) of unit samples; None if there are no more."""
    if min(len(samples), X.shape[1]) <= DIRECTIONS:
        return None
    if not sp.issparse(X):
        samples = samples[: max(LANDMARKS, int(DENSE_ENTRIES / X.shape[1]))]
    units = normalize(X[samples])
    return randomized_svd(units, DIRECTIONS, n_iter=1, random_state=random_state)[2].T


def coordinates(X: Any, samples: Array, basis: Array | None) -> Array:
    """Unit samples in the basis, at least two columns, in single precision."""
    parts = []
    for batch in gen_batches(len(samples), BATCH):
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
    spread = np.ptp(Y, axis=0).max() > 1e-6  # else there are no principal components to begin with
    tsne = TSNE(
        perplexity=min(np.clip(n / 60, *PERPLEXITY), (n - 1) / 3),
        init="pca" if spread else "random",
        max_iter=int(np.clip(STEPS / n, *ITERATIONS)),
        angle=0.8,
        random_state=random_state,
        n_jobs=1,
    )
    return tsne.fit_transform(Y)


def interpolate(Y: Array, landmarks: Array, points: Array) -> Array:
    """Mean of the points of the nearest landmarks, weighted by inverse squared distance."""
    if not len(Y):
        return np.empty((0, 2), points.dtype)
    search = NearestNeighbors(n_neighbors=NEIGHBOURS, algorithm="brute").fit(landmarks)
    distance, nearest = search.kneighbors(Y)
    weight = 1 / (distance**2 + 1e-9)
    weight /= weight.sum(axis=1, keepdims=True)
    return np.einsum("ij,ijd->id", weight, points[nearest])


def describe_map(n: int, n_landmarks: int, n_shown: int, reduced: bool) -> str:
    """How the map was made, in a few sentences."""
    part = "all" if n_shown == n else f"{n_shown:,} of the {n:,}"
    choice = "" if n_shown == n else ", chosen at random in proportion to their clusters"
    space = f" in their {DIRECTIONS} leading singular directions" if reduced else ""
    text = f"t-SNE of {part} samples{choice}, scaled to unit length{space}."
    if n_landmarks < n_shown:
        text += (
            f" {n_landmarks:,} of them, in proportion to their clusters, were laid out; the other "
            f"{n_shown - n_landmarks:,}, drawn fainter, were placed among their "
            f"{NEIGHBOURS} nearest of these."
        )
    return text + " The layout knows nothing of the clusters: they only colour the points."
