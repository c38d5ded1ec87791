"""Centroids of given labels, by sweeps over the data.

With codes h_i of the samples of a cluster and their weights d_i its centroid by least squares is

    w = sum_i d_i h_i x_i / sum_i d_i h_i^2.

Codes that are all one give a mean; a few power steps from there, h_i <- <w, x_i> / ||w||^2, its
ray.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onmf.rows.sweep import Block, Data

Array = NDArray[Any]

CENTRE_POWER_STEPS = 3  # from the mean of a cluster to its ray


def _pack(labels: Array, codes: Array) -> Array:
    """What the sweeps need of each sample, as one array: its label and its code."""
    return np.stack([labels, codes], axis=1).astype(np.float64)


class ClusterSums(NamedTuple):
    """sum_i d_i h_i x_i and sum_i d_i h_i^2 of every cluster."""

    cross: Array
    gram: Array


@dataclass(frozen=True)
class AddUp:
    """The sums of a block."""

    k: int

    def __call__(self, block: Block, rows: Array) -> tuple[Array, ClusterSums]:
        H, labels = np.zeros((len(rows), self.k), block.X.dtype), rows[:, 0].astype(np.intp)
        inside = np.flatnonzero(labels >= 0)
        H[inside, labels[inside]] = rows[inside, 1]
        weighted = H * block.weight
        squares = np.einsum("ij,ij->j", weighted, H, dtype=np.float64)
        return rows, ClusterSums(np.asarray(weighted.T @ block.X, np.float64), squares)


def centres(data: Data, labels: Array, k: int, rays: bool) -> Array:
    """Means (k, m) of the clusters, or their rays by a few power steps from the means."""
    rows = data.scatter(_pack(labels, np.ones(len(labels))))
    W = _least_squares(data, rows, k)
    for _ in range(CENTRE_POWER_STEPS if rays else 0):
        rows, _ = data.sweep(Score(W), rows)
        W = _least_squares(data, rows, k)
    return W


def _least_squares(data: Data, rows: Any, k: int) -> Array:
    """Least squares centroids for given codes."""
    _, sums = data.sweep(AddUp(k), rows)
    W = sums.cross / np.where(sums.gram > 0, sums.gram, 1)[:, None]
    return np.asarray(W, data.dtype)


class NoSums(NamedTuple):
    """No statistics."""


@dataclass(frozen=True)
class Score:
    """Codes of a block: least squares multiples of the own centroid."""

    W: Array

    def __call__(self, block: Block, rows: Array) -> tuple[Array, NoSums]:
        labels = np.maximum(rows[:, 0].astype(np.intp), 0)
        products = np.asarray(block.X @ self.W.T, np.float64)[np.arange(len(rows)), labels]
        sizes = np.einsum("km,km->k", self.W, self.W, dtype=np.float64)[labels]
        codes = np.maximum(products, 0) / np.where(sizes > 0, sizes, 1)
        return np.column_stack([rows[:, 0], codes]), NoSums()
