"""How well clusters explain data they have not seen, and how far apart they lie.

Given labels and codes h_i found on the features A, the other features B of a cluster are fitted by

    w = sum_i h_i x_iB / g,    g = sum_i h_i^2,    over its samples,

and the error with which the *other* samples of its cluster predict sample i is

    ||x_iB - h_i w^(-i)||^2 = ||x_iB - h_i w||^2 / (1 - h_i^2 / g)^2,

the leave-one-out residual of least squares; a sample alone in its cluster is predicted by zero. So
an entry of X is always predicted from other features of its sample and from other samples. A
cluster that is only noise in A costs accuracy in B, and the error rises; that of samples kept out
alone falls with every cluster. Codes are scores along a ray, or all one: then w is a mean.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onmf.core.rows import Block, Data, row_sqnorm

Array = NDArray[Any]

POWER_STEPS = 3  # from the mean of a cluster to its ray


class Clustering(NamedTuple):
    """Labels (n,), -1 for no cluster, codes (n,) and the number of clusters."""

    labels: Array
    codes: Array
    k: int


def held_out_errors(
    data: Data, clusterings: Sequence[Clustering], groups: Array, n_groups: int
) -> Array:
    """Leave-one-out squared errors on `data`, added up by clustering and group of samples."""
    edges = [0, *np.cumsum([c.k for c in clusterings]).tolist()]
    rows = data.scatter(_pack(clusterings, groups))
    _, sums = data.sweep(AddUp(edges), rows)
    W = sums.cross / np.where(sums.gram > 0, sums.gram, 1)[:, None]
    move = LeaveOneOut(np.ascontiguousarray(W.T.astype(data.dtype)), sums.gram, edges, n_groups)
    _, total = data.sweep(move, rows)
    return total.errors


def _pack(clusterings: Sequence[Clustering], groups: Array) -> Array:
    """What the sweeps need of each sample, as one array: its group, its labels, its codes."""
    columns = [groups, *(c.labels for c in clusterings), *(c.codes for c in clusterings)]
    return np.stack(columns, axis=1).astype(np.float64)


class ClusterSums(NamedTuple):
    """sum_i h_i x_i and sum_i h_i^2 of every cluster of every clustering."""

    cross: Array
    gram: Array


@dataclass(frozen=True)
class AddUp:
    """The sums of a block; clustering c has the rows edges[c] to edges[c + 1]."""

    edges: Sequence[int]

    def __call__(self, block: Block, rows: Array) -> tuple[Array, ClusterSums]:
        H = np.zeros((len(rows), self.edges[-1]), block.X.dtype)
        n_runs = len(self.edges) - 1
        for c in range(n_runs):
            labels, codes = rows[:, 1 + c].astype(np.intp), rows[:, 1 + n_runs + c]
            inside = np.flatnonzero(labels >= 0)
            H[inside, self.edges[c] + labels[inside]] = codes[inside]
        squares = np.einsum("ij,ij->j", H, H, dtype=np.float64)
        return rows, ClusterSums(np.asarray(H.T @ block.X, np.float64), squares)


class GroupErrors(NamedTuple):
    """Squared errors by clustering and group."""

    errors: Array


@dataclass(frozen=True)
class LeaveOneOut:
    """Leave-one-out errors of a block for centroids W (m, sum of all k)."""

    W: Array
    gram: Array
    edges: Sequence[int]
    n_groups: int

    def __call__(self, block: Block, rows: Array) -> tuple[Array, GroupErrors]:
        products = np.asarray(block.X @ self.W, np.float64)
        energy = row_sqnorm(block.X)
        sizes = np.einsum("mk,mk->k", self.W, self.W, dtype=np.float64)
        groups, n_runs = rows[:, 0].astype(np.intp), len(self.edges) - 1
        errors = np.empty((n_runs, self.n_groups))
        for c in range(n_runs):
            labels, codes = rows[:, 1 + c].astype(np.intp), rows[:, 1 + n_runs + c]
            h = np.where(labels >= 0, codes, 0)
            k = self.edges[c] + np.maximum(labels, 0)
            left = energy - 2 * h * products[np.arange(len(k)), k] + h * h * sizes[k]
            others = 1 - h * h / np.where(self.gram[k] > 0, self.gram[k], 1)
            alone = others < 1e-9
            errors[c] = np.bincount(
                groups,
                np.where(alone, energy, np.maximum(left, 0) / np.where(alone, 1, others) ** 2),
                self.n_groups,
            )
        return rows, GroupErrors(errors)


class Centres(NamedTuple):
    """Centroids (k, m) of given labels, and the share of ||X||^2 they leave unexplained."""

    W: Array
    relative_error: float


def centres(data: Data, labels: Array, k: int, rays: bool) -> Centres:
    """Means of the clusters, or their rays by a few power steps from the means."""
    means = Clustering(labels, np.ones(len(labels)), k)
    rows = data.scatter(_pack([means], labels))
    W, sums = _least_squares(data, rows, k)
    for _ in range(POWER_STEPS if rays else 0):
        rows, _ = data.sweep(Score(W), rows)
        W, sums = _least_squares(data, rows, k)
    explained = np.sum(sums.gram * np.einsum("km,km->k", W, W, dtype=np.float64))
    return Centres(W, float(max(1 - explained / data.sqnorm, 0.0)))


def _least_squares(data: Data, rows: Any, k: int) -> tuple[Array, ClusterSums]:
    """Least squares centroids for given codes, and the sums they come from."""
    _, sums = data.sweep(AddUp([0, k]), rows)
    return (sums.cross / np.where(sums.gram > 0, sums.gram, 1)[:, None]).astype(data.dtype), sums


class NoSums(NamedTuple):
    """No statistics."""


@dataclass(frozen=True)
class Score:
    """Codes of a block: least squares multiples of the own centroid."""

    W: Array

    def __call__(self, block: Block, rows: Array) -> tuple[Array, NoSums]:
        labels = np.maximum(rows[:, 1].astype(np.intp), 0)
        products = np.asarray(block.X @ self.W.T, np.float64)[np.arange(len(rows)), labels]
        sizes = np.einsum("km,km->k", self.W, self.W, dtype=np.float64)[labels]
        codes = np.maximum(products, 0) / np.where(sizes > 0, sizes, 1)
        return np.column_stack([rows[:, :2], codes]), NoSums()


class Widths(NamedTuple):
    """Sum of silhouette widths, and how many samples they belong to."""

    total: float
    samples: int


@dataclass(frozen=True)
class Silhouette:
    """Sum over a block of (b - a) / max(a, b): a and b the distances to own and next centroid."""

    W: Array
    rays: bool

    def __call__(self, block: Block, labels: Array) -> tuple[None, Widths]:
        inside = np.flatnonzero(labels >= 0)
        own = labels[inside]
        products = np.asarray(block.X @ self.W.T, np.float64)[inside]
        sizes = np.einsum("km,km->k", self.W, self.W, dtype=np.float64)
        energy = row_sqnorm(block.X)[inside, None]
        if self.rays:
            apart = energy - np.maximum(products, 0) ** 2 / np.where(sizes > 0, sizes, 1)
        else:
            apart = energy - 2 * products + sizes
        apart = np.sqrt(np.maximum(apart, 0))
        each = np.arange(len(inside))
        a = apart[each, own]
        apart[each, own] = np.inf
        b = apart.min(axis=1)
        top = np.maximum(a, b)
        return None, Widths(float(np.sum((b - a) / np.where(top > 0, top, 1))), len(inside))


def silhouette(data: Data, labels: Array, W: Array, rays: bool) -> float:
    """Mean centroid-based silhouette width, one sweep; NaN for a single cluster."""
    if len(W) < 2:
        return float("nan")
    _, widths = data.sweep(Silhouette(W, rays), data.scatter(labels))
    return widths.total / max(widths.samples, 1)
