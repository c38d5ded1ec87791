"""Known classes as a start: `init=class_means(y)`.

    w_c = mean of x_i / ||x_i|| over the samples i of class c,   then k-means++ for the other starts

Nothing keeps a sample in its class: the fit begins with these centroids, and minimises its loss.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp

from onmf.explain.known_groups import numbered_groups
from onmf.palm.start import spread_rays
from onmf.rows.sweep import Array, divisor, row_sqnorm, zero_missing

SAMPLED = 5000  # samples in which starts beside the classes are searched


def class_means(y: Any) -> "ClassMeans":
    """A start for clusters from classes that are known for some samples.

    Parameters
    ----------
    y : array of shape (n_samples,)
        The class of each sample; -1, None, NaN or "" where it is not known.

    Returns
    -------
    callable
        To give as `init`. Cluster 0 starts from the mean of the first class, and so on in their
        order (every sample having length 1), and has its name in `cluster_names_`. Clusters beyond
        the classes start from samples that these leave unexplained.

    Examples
    --------
    >>> from onmf import ONMF, class_means
    >>> X = [[3, 0, 0], [2, 0, 0.1], [0, 1, 0], [0, 0.1, 1], [0, 0, 1]]
    >>> y = ["tea", None, "coffee", None, None]
    >>> model = ONMF(n_clusters=3, init=class_means(y), random_state=0).fit(X)
    >>> model.cluster_names_, model.labels_
    ({0: 'coffee', 1: 'tea', 2: 'cluster 2'}, array([1, 1, 0, 2, 2]))
    """
    names, numbers = numbered_groups(np.asarray(y) if hasattr(y, "__array__") else y)
    if not names:
        raise ValueError("y has no known class: give the class of some samples, or leave out init.")
    return ClassMeans(names, numbers)


class ClassMeans:
    """Starting centroids from known classes, for data of as many samples."""

    def __init__(self, names: list[Any], numbers: Array) -> None:
        self.names, self.numbers = names, numbers

    def __call__(self, X: Any, n_clusters: int, random_state: np.random.RandomState) -> Array:
        n, k = len(self.numbers), len(self.names)
        if not (isinstance(X, np.ndarray) or sp.issparse(X)):
            raise ValueError("class_means needs X in memory: give centroids as init.")
        if X.shape[0] != n:
            raise ValueError(f"y has {n} labels, X {X.shape[0]} samples: give one for each.")
        if k > n_clusters:
            raise ValueError(
                f"y has {k} classes, more than n_clusters={n_clusters}: ask for at least as many."
            )
        X, known = zero_missing(X), np.flatnonzero(self.numbers >= 0)
        size = np.sqrt(row_sqnorm(X[known]))
        shape, place = (k, len(known)), (self.numbers[known], np.arange(len(known)))
        means = sp.csr_array((1 / divisor(size), place), shape=shape) @ X[known]
        W = np.asarray(means.toarray() if sp.issparse(means) else means, np.float64)
        W /= np.bincount(self.numbers[known], minlength=k)[:, None]
        if n_clusters == k:
            return W
        some = np.sort(random_state.permutation(n)[:SAMPLED])
        return np.vstack([W, spread_rays(X[some], n_clusters - k, random_state, W)])
