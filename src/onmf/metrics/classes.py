"""Agreement of clusters with known classes."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment
from sklearn.metrics.cluster import contingency_matrix
from sklearn.utils import check_consistent_length, column_or_1d

from onmf.rows.sweep import Array


def clustering_accuracy(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    """Share of samples that agree under the best one-to-one matching of clusters and classes.

    The matching is found by the Hungarian method. There may be more or fewer clusters than
    classes; what is not matched counts as wrong. Label -1 means "in no cluster": it is never
    matched with a class, and agrees only with -1.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        Integers or strings.

    Returns
    -------
    float
        From 0 to 1.

    Examples
    --------
    >>> from onmf.metrics import clustering_accuracy
    >>> clustering_accuracy(["cat", "cat", "dog", "dog"], [1, 1, 0, 1])
    0.75
    """
    counts, n_outside, n = _contingency(y_true, y_pred)
    matched = counts[linear_sum_assignment(counts, maximize=True)].sum()
    return float((matched + n_outside) / n)


def purity(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    """Share of samples that belong to the most frequent class of their cluster.

    Small clusters are pure by chance: compare purities only at equal numbers of clusters. Label -1
    means "in no cluster" and agrees only with -1.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        Integers or strings.

    Returns
    -------
    float
        From 0 to 1.

    Examples
    --------
    >>> from onmf.metrics import purity
    >>> purity(["cat", "cat", "dog", "dog"], [0, 0, 1, 2])
    1.0
    """
    counts, n_outside, n = _contingency(y_true, y_pred)
    return float((counts.max(axis=0, initial=0).sum() + n_outside) / n)


def _contingency(y_true: ArrayLike, y_pred: ArrayLike) -> tuple[Array, int, int]:
    """Samples per (class, cluster), samples with -1 in both, and number of samples."""
    true, pred = column_or_1d(y_true), column_or_1d(y_pred)
    check_consistent_length(true, pred)
    if not true.size:
        raise ValueError("y_true and y_pred are empty.")
    in_cluster = (true != -1) & (pred != -1)
    n_outside = int(np.sum((true == -1) & (pred == -1)))
    if not in_cluster.any():
        return np.zeros((0, 0), dtype=int), n_outside, true.size
    return contingency_matrix(true[in_cluster], pred[in_cluster]), n_outside, true.size
