"""`StreamONMF`: a stream in which clusters are born and removed."""

from collections.abc import Callable
from typing import Any, Literal, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from onmf.estimators.onmf import ONMF
from onmf.estimators.parameters import Init, RandomSeed
from onmf.estimators.solvers import Fast
from onmf.losses.edits import flat_edits
from onmf.losses.support import EVERY_FEATURE, refusal
from onmf.result import Event
from onmf.rows import Placement
from onmf.rows.sweep import Array
from onmf.streams.births import BatchRows, StreamHistory, StreamState
from onmf.streams.lineage import Lineage


class StreamONMF(ONMF):
    """`ONMF` for a stream in which new kinds of samples appear and old ones end.

    `partial_fit` takes the batches. The first samples, seventy per cluster and 280 where none can
    be born, are kept and clustered again now and then until they are all there. From then on a
    sample that is novel to every centroid waits for two batches. Where six of them agree on a
    direction of their own, a cluster is born. A cluster without samples for ten times its mean
    interval is removed. `lineage_` says what the batch changed, `cluster_ids_` gives the ids,
    `n_novel_` is the number of samples of the last batch that are in no new cluster and wait. `fit`
    starts a new stream.

    Parameters
    ----------
    n_clusters : int, optional
        Number of clusters to start with, as for `ONMF`.
    max_clusters : int, optional
        The largest number of clusters at a time; None: `n_clusters`, none is born.
    loss, init, n_init, solver, tol, max_iter, random_state, \
n_jobs, verbose, callback
        As for `ONMF`. `outliers` is not available: samples that fit no cluster wait.

    Examples
    --------
    >>> from onmf import StreamONMF
    >>> from onmf.datasets import make_rays
    >>> X, _ = make_rays(900, 30, 4, random_state=0)
    >>> model = StreamONMF(3, max_clusters=6, random_state=0)
    >>> for start in range(0, 900, 300):
    ...     model = model.partial_fit(X[start : start + 300])
    >>> len(model.cluster_ids_) <= 6
    True
    """

    _stream_history: StreamHistory

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        max_clusters: int | None = None,
        loss: Literal["frobenius", "kl"] = "frobenius",
        init: Init = "random",
        n_init: int | Literal["auto"] = "auto",
        solver: Literal["fast"] | Fast = "fast",
        tol: float | None = None,
        max_iter: int | None = None,
        random_state: RandomSeed = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Callable[[Event], bool] | None = None,
    ) -> None:
        super().__init__(
            n_clusters,
            loss=loss,
            init=init,
            n_init=n_init,
            solver=solver,
            tol=tol,
            max_iter=max_iter,
            random_state=random_state,
            n_jobs=n_jobs,
            verbose=verbose,
            callback=callback,
        )
        self.max_clusters = max_clusters

    def fit(
        self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None, *, soft: bool = False
    ) -> Self:
        """Cluster the first batch of a stream; `partial_fit` takes the next ones.

        Parameters
        ----------
        X, y, sample_weight, soft : as for `ONMF.fit`

        Returns
        -------
        self

        Examples
        --------
        >>> from onmf import StreamONMF
        >>> StreamONMF(2, random_state=0).fit([[3, 0], [2, 0.1], [0, 1]]).labels_
        array([0, 0, 1])
        """
        with self._all_or_nothing():
            super().fit(X, y, sample_weight, soft=soft)
            self._remember(self._place_batch(X, sample_weight))
        return self

    @classmethod
    def from_fit(cls, model: ONMF, labels: Array, distance: Array, n_batches: int) -> Self:
        """A stream that continues a fitted model, whose samples need not be at hand.

        Parameters
        ----------
        model : ONMF
        labels, distance : arrays of shape (n_samples,)
            Clusters of the samples of the fit and their distances, as `distance` gives them.
        n_batches : int
            How many batches the samples of the fit are worth.

        Returns
        -------
        StreamONMF

        Examples
        --------
        >>> from onmf import ONMF, StreamONMF
        >>> X = [[3, 0], [2, 0.1], [0, 1]]
        >>> model = ONMF(2, random_state=0).fit(X)
        >>> StreamONMF.from_fit(model, model.labels_, model.distance(X), 1).partial_fit(X).labels_
        array([0, 0, 1])
        """
        values = model._parameters()
        if values["outliers"] is not None:
            raise ValueError(refusal(model.loss, EVERY_FEATURE, "fast", {"outliers", "births"}))
        stream = cls(**{name: value for name, value in values.items() if name != "outliers"})
        fitted = {name: value for name, value in vars(model).items() if name not in values}
        stream.__dict__.update(fitted)
        edits, W = flat_edits(stream), stream.cluster_centers_
        sizes = np.bincount(labels[labels >= 0], minlength=len(W)).astype(np.float64)
        if edits is not None:
            W, sizes = edits.rays, np.array(edits.sizes, np.float64)
        sums = stream._loss.batch_of_centroids(W, sizes)
        stream._stream = sums.as_mean_of(n_batches)
        X = sp.csr_array((0, W.shape[1]), dtype=W.dtype)
        known = BatchRows(X, np.empty(0), labels, stream._loss.cosine(distance))
        first = StreamHistory.begin(known, np.empty(0), len(stream.cluster_centers_))
        if edits is not None:  # a merged cluster has several rays
            place = edits.place()
            shares = sizes / np.maximum(np.bincount(place, sizes)[place], 1)
            first = first.split(place, shares)
        stream._stream_history = first._replace(batch=n_batches, last=first.last + n_batches - 1)
        return stream

    def _begin_stream(self, X: Any, sample_weight: ArrayLike | None) -> Self:
        return self.fit(X, sample_weight=sample_weight)

    @property
    def n_waiting_(self) -> int:
        """Samples that wait for a cluster of their own."""
        return len(self._stream_history.since)

    def _take_in(self, rows: Placement) -> None:
        """A batch by which clusters may be born and removed."""
        W = self._centers_beside(rows.data)
        before = self.lineage_ or Lineage.first(len(W))
        now = StreamState(self._stream, self._stream_history, W, before)
        now = now.after(rows.data, self._comparison(rows.data), self._most_clusters())
        self._stream, self._stream_history = now.sums, now.history
        self.cluster_centers_, self.lineage_ = now.W, now.lineage
        self.n_novel_ = now.n_novel
        self._show_batch(rows.data, self._state_of(rows))

    def _most_clusters(self) -> int:
        """At a time."""
        return self.max_clusters or self.n_clusters or len(self.cluster_centers_)

    def _check_support(self, *others: str) -> None:
        super()._check_support("births", *others)
