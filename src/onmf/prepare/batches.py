"""Batches: whether clusters are batches, and a correction that keeps centroids readable.

    x_ij - mean of feature j in the batch of i + mean of feature j,  at least 0

Meant for logarithms, where a batch multiplies amounts of a gene. It assumes that batches hold about
the same mixture of kinds: a kind that is in one batch only is moved towards the others.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from onmf.rows.table import Array

PURE = 0.9  # share of a cluster in one batch, from which on it is that batch
FEWEST_SAMPLES = 5  # of such a cluster; fewer lie in one batch by chance


def center_batches(X: Any, batch: Sequence[Any]) -> Array:
    """X with the same mean of every feature in all batches, clipped at zero.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
        Logarithms of amounts. NaN stays.
    batch : sequence of n_samples labels

    Returns
    -------
    array
        Dense: a zero of one batch is no zero after the correction.

    Examples
    --------
    >>> import numpy as np
    >>> from onmf.prepare import center_batches
    >>> center_batches(np.array([[1.0, 2.0], [3.0, 2.0], [5.0, 0.0], [7.0, 0.0]]), list("aabb"))
    array([[3., 1.], [5., 1.], [3., 1.], [5., 1.]])
    """
    X = np.array(X.toarray() if sp.issparse(X) else X, dtype=np.result_type(X.dtype, np.float32))
    if len(batch) != len(X):
        raise ValueError(f"there are {len(batch)} batches for {len(X)} samples: give one for each.")
    signed = bool((X < 0).any())
    known = ~np.isnan(X)
    total = X.sum(axis=0, where=known) / np.maximum(known.sum(axis=0), 1)
    for rows in _rows_of(batch):
        own = known[rows]
        mean = X[rows].sum(axis=0, where=own) / np.maximum(own.sum(axis=0), 1)
        X[rows] += total - mean
    return X if signed else np.maximum(X, 0)


def batch_sentence(labels: Any, batch: Sequence[Any]) -> str | None:
    """How many clusters lie in one batch each; None if none do, or if there is one batch only."""
    names = np.array([str(name) for name in batch])
    groups, labels = np.unique(names), np.asarray(labels)
    if len(groups) < 2:
        return None
    sizes = [int(np.sum(labels == k)) for k in np.unique(labels[labels >= 0])]
    inside = 0
    for k in np.unique(labels[labels >= 0]):
        own = names[labels == k]
        found, counts = np.unique(own, return_counts=True)
        main = found[counts.argmax()]
        pure = counts.max() >= PURE * len(own) and (names == main).mean() < PURE
        inside += bool(pure and len(own) >= FEWEST_SAMPLES)
    if not inside:
        return None
    verb = "lies in one batch" if inside == 1 else "lie in one batch each"
    return f"{inside} of {len(sizes)} clusters {verb}, so clusters may be batches, not kinds"


def _rows_of(batch: Sequence[Any]) -> list[Array]:
    """The numbers of the samples of each batch."""
    names = np.array([str(name) for name in batch])
    return [np.flatnonzero(names == name) for name in np.unique(names)]
