"""Batches: whether clusters are batches, and a correction that keeps centroids readable.

    x_ij - mean of feature j in the batch of i + mean of feature j,  at least 0

Meant for logarithms, where a batch multiplies amounts of a gene. It assumes that batches hold about
the same mixture of kinds: a kind that is in one batch only is moved towards the others.
"""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from onmf.prepare.arrays import Array
from onmf.prepare.base import Step

PURE = 0.9  # share of a cluster in one batch, from which on it is that batch
FEWEST_SAMPLES = 5  # of such a cluster; fewer lie in one batch by chance


class CenterBatches(Step):
    """The same mean of every feature in all batches, clipped at zero.

    The means of the batches of the fit are kept. Samples of another batch are moved by their own
    mean, and samples without a batch are left as they are. The result is dense: a zero of one batch
    is no zero after the correction.

    Attributes
    ----------
    names_ : tuple of str
        The batches.
    means_ : ndarray of shape (n_batches, n_features)
    total_ : ndarray of shape (n_features,)
        The mean of all samples.
    signed_ : bool
        Whether the samples had negative entries, and are not clipped.

    Examples
    --------
    >>> import numpy as np
    >>> from onmf.prepare import CenterBatches
    >>> X = np.array([[1.0, 2.0], [3.0, 2.0], [5.0, 0.0], [7.0, 0.0]])
    >>> CenterBatches().fit(X, batch=list("aabb")).transform(X, batch=list("aabb"))
    array([[3., 1.], [5., 1.], [3., 1.], [5., 1.]])
    """

    name = "batches"
    said = "every feature was given the same mean in {0.count} batches"

    @property
    def count(self) -> int:
        return len(self.names_)

    def fit(self, X: Any, y: Any = None, batch: Sequence[Any] | None = None) -> Self:
        """Learn the means of the batches; without them nothing is changed."""
        X = dense(self._checked(X, reset=True))
        batch = ["" for _ in X] if batch is None else batch
        if len(batch) != len(X):
            raise ValueError(
                f"there are {len(batch)} batches for {len(X)} samples: give one for each."
            )
        names = np.array([str(name) for name in batch])
        self.names_ = tuple(np.unique(names).tolist())
        self.means_ = np.array([mean_of(X[names == name]) for name in self.names_])
        self.total_, self.signed_ = mean_of(X), bool((X < 0).any())
        return self

    def transform(self, X: Any, batch: Sequence[Any] | None = None) -> Any:
        """The samples with the mean of all; those without a batch as they are."""
        return self.changed(self._checked(X, reset=False), batch)

    def changed(self, X: Any, batch: Sequence[Any] | None = None) -> Any:
        """The same for samples that were checked before."""
        X = dense(X)
        if batch is None:
            return X
        names = np.array([str(name) for name in batch])
        known = dict(zip(self.names_, self.means_, strict=True))
        for name in np.unique(names).tolist():
            own = names == name
            X[own] += self.total_ - known.get(name, mean_of(X[own]))
        return X if self.signed_ else np.maximum(X, 0)

    def check(self) -> None:
        shape = len(self.names_), self.n_features_in_
        if np.shape(self.means_) != shape or np.shape(self.total_) != shape[1:]:
            raise ValueError("its means are not those of its batches.")


def dense(X: Any) -> Array:
    return np.array(X.toarray() if sp.issparse(X) else X)


def mean_of(X: Array) -> Array:
    """The mean of every feature, without NaN; 0 where nothing is known."""
    known = ~np.isnan(X)
    mean: Array = X.sum(axis=0, where=known) / np.maximum(known.sum(axis=0), 1)
    return mean


def batch_sentence(labels: Any, batch: Sequence[Any]) -> str | None:
    """How many clusters lie in one batch each; None if none do, or if there is one batch only."""
    names = np.array([str(name) for name in batch])
    groups, labels = np.unique(names), np.asarray(labels)
    if len(groups) < 2:
        return None
    inside, clusters = 0, np.unique(labels[labels >= 0])
    for k in clusters:
        own = names[labels == k]
        found, counts = np.unique(own, return_counts=True)
        main = found[counts.argmax()]
        pure = counts.max() >= PURE * len(own) and (names == main).mean() < PURE
        inside += bool(pure and len(own) >= FEWEST_SAMPLES)
    if not inside:
        return None
    verb = "lies in one batch" if inside == 1 else "lie in one batch each"
    return f"{inside} of {len(clusters)} clusters {verb}, so clusters may be batches, not kinds"
