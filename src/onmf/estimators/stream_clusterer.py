"""A clusterer that goes on: from another model, or batch by batch through a stream."""

from copy import copy
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils.metaestimators import available_if

from onmf.estimators.clusterer import Clusterer
from onmf.estimators.divergence import influence_of
from onmf.estimators.initialization import is_model
from onmf.estimators.parameters import CenterBounds, as_bounds
from onmf.io import Table
from onmf.losses.ray_alternation import RayAlternation, RayState
from onmf.paper.palm import Bounds
from onmf.rows import Placement
from onmf.rows.sweep import Data
from onmf.rows.threads import single_threaded_blas
from onmf.rows.validation import no_rescaling
from onmf.streams.births import BatchRows, StreamHistory, StreamState, enough
from onmf.streams.lineage import Lineage
from onmf.streams.sums import CountStream, Stream, look_at, take_in

Array = NDArray[Any]


def _streams(model: "StreamClusterer") -> bool:
    """Whether a model has `partial_fit`."""
    return model.solver == "fast"


class StreamClusterer(Clusterer):
    """`partial_fit`, for models whose solver is the default one, and clusters that keep ids."""

    solver: str
    center_bounds: CenterBounds
    max_clusters: int | None
    feature_names_in_: NDArray[Any]
    _stream: Any  # a Stream, or a CountStream, of `partial_fit`, once it has begun
    _stream_history: StreamHistory  # the same, if clusters may be born and closed
    _has_ids = True

    @property
    def cluster_ids_(self) -> NDArray[np.intp]:
        """The id of each cluster, in their order: 0, 1, ... unless the fit went on from another."""
        k = len(self.cluster_centers_)  # an AttributeError before the fit, as of any attribute
        known = getattr(self, "lineage_", None)
        return np.arange(k) if known is None else np.array(known.ids, np.intp)

    def __sklearn_clone__(self) -> Self:
        """A clone goes on from the same model; scikit-learn would clone that, too, and unfit it."""
        if not is_model(self.init):
            return super().__sklearn_clone__()
        light = copy(self)
        light.init = "random"
        again: Self = super(StreamClusterer, light).__sklearn_clone__()
        again.init = self.init
        return again

    @available_if(_streams)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Take in one batch of a stream; the first batch is clustered as `fit` does.

        Each later batch is read once: its samples go to their nearest rays, and every ray moves
        towards the mean, over all batches, of what its samples say, by steps that shrink as
        t^(-3/4). The rays converge to a fixed point of the exact alternation that ends `fit`, for
        the distribution the batches are drawn from, or for the data set if its batches are given
        again and again: every sample with its nearest ray, every ray the leading singular vector
        of its samples. A distribution that changes is followed ever more slowly.

        Clusters keep their ids. `labels_` and `membership_` are those of the last batch, found with
        the centroids before it, `relative_error_` as well. `save` stores how far the stream is.
        Only for ``solver="fast"``.

        With `max_clusters` the clusters themselves may change. The first samples, seventy for each
        cluster, are kept and clustered again now and then until they are all there. From then on a
        sample that is strange to every ray waits for two batches, and where eight of them agree on
        a ray of their own, a cluster is born; one that has had nothing for ten times as long as
        usual is closed. `lineage_` tells what the batch changed, `cluster_ids_` who is who, and
        what is shown of the batch is found with the centroids after it.

        Parameters
        ----------
        X : array, sparse matrix or DataFrame of shape (n_samples, n_features)
            The first batch should have many samples of every cluster. NaN is refused.
        y : ignored
        sample_weight : array of shape (n_samples,), optional

        Returns
        -------
        self

        Examples
        --------
        >>> from onmf import ONMF
        >>> from onmf.datasets import make_rays
        >>> X, _ = make_rays(600, 30, 4, random_state=0)
        >>> model = ONMF(n_clusters=4, random_state=0)
        >>> for start in range(0, 600, 200):
        ...     model = model.partial_fit(X[start : start + 200])
        >>> model.predict(X).shape
        (600,)
        """
        if not hasattr(self, "_stream"):
            with self._all_or_nothing():
                return self._begin_stream(X, sample_weight)
        with single_threaded_blas(), self._all_or_nothing():
            rows = self._place_batch(X, sample_weight)
            if self.loss == "kl":
                return self._take_in_counts(rows.data)
            if self.max_clusters is not None:
                self._evolve(rows)
                return self
            W = self.cluster_centers_.astype(rows.data.dtype, copy=False)
            bounds = self._bounds(rows.data)
            state, self._stream, W = take_in(
                rows.data, W, self._stream, bounds, self._outlier_limit
            )
            self._show(rows, state)
            self.cluster_centers_ = W
        return self

    def fit_predict(self, X: Any, y: Any = None, **options: Any) -> Any:
        """Cluster the samples of X, and give the cluster of each.

        With ``passes=1``, which leaves no `labels_`, X is read once more, by `predict`.

        Parameters
        ----------
        X, y, **options : as for `fit`

        Returns
        -------
        ndarray of shape (n_samples,)

        Examples
        --------
        >>> from onmf import ONMF
        >>> ONMF(n_clusters=2, random_state=0, passes=1).fit_predict([[3, 0], [2, 0.1], [0, 1]])
        array([0, 0, 1])
        """
        self.fit(X, y, **options)
        return self.labels_ if hasattr(self, "labels_") else self.predict(X)

    def _begin_stream(self, X: Any, sample_weight: ArrayLike | None) -> Self:
        """Cluster the first batch, and remember what it says of the rays."""
        self.fit(X, sample_weight=sample_weight)
        with single_threaded_blas():
            rows = self._place_batch(X, sample_weight)
            if self.loss == "kl":
                batch = look_at(rows.data, self.cluster_centers_, influence_of(self.equal_votes))
                self._stream = CountStream.begin(batch.state.cells)
                return self
            state = self._look(rows)
            self._stream = Stream.begin(state.cells)
            if self.max_clusters is not None:
                arrivals = BatchRows.of(rows.data, state)
                self._stream_history = StreamHistory.begin(arrivals, own_weight(rows), len(state.W))
        return self

    def _take_in_counts(self, data: Data) -> Self:
        """One batch more of a stream of counts."""
        W = self.cluster_centers_.astype(data.dtype, copy=False)
        batch = look_at(data, W, influence_of(self.equal_votes))
        self.labels_, self.membership_ = batch.state.labels(data), batch.state.membership(data)
        self.relative_error_ = batch.left / batch.whole if batch.whole > 0 else 0.0
        self.inertia_, self._stream = batch.left, self._stream.after(batch.state.cells)
        self.cluster_centers_ = self._stream.centroids(W)
        return self

    def _place_batch(self, X: Any, sample_weight: ArrayLike | None) -> Placement:
        """A batch of the stream: on the scale that all others have."""
        rows = self._place(
            X, sample_weight, no_rescaling, reset=False, equal_votes=self.equal_votes
        )
        if rows.data.n_missing:
            raise ValueError(
                f"the batch has {rows.data.n_missing} NaN, which partial_fit does not take: fill "
                "them, as inverse_transform(transform(X)) of a fitted model has them, or use fit."
            )
        return rows

    def _show(self, rows: Placement, state: RayState) -> None:
        """The batch as it looks with the centroids of a state."""
        self.labels_, self.membership_ = state.labels(rows.data), state.membership(rows.data)
        explained, sqnorm = float(state.cells.explained.sum()), rows.data.sqnorm
        self.relative_error_ = max(1 - explained / sqnorm, 0.0) if sqnorm > 0 else 0.0
        self.inertia_ = self.relative_error_ * sqnorm

    def _look(self, rows: Placement) -> RayState:
        """A batch with the centroids there are, by one sweep."""
        bounds = self._bounds(rows.data)
        W = self.cluster_centers_.astype(rows.data.dtype, copy=False)
        return RayAlternation(rows.data, bounds, tol=0.0, limit=self._outlier_limit).begin(W)

    def _evolve(self, rows: Placement) -> None:
        """Take in a batch by which clusters may be born and closed."""
        state = self._look(rows)
        batch = BatchRows.of(rows.data, state)
        if self._stream_history.early.shape[0]:
            self._begin_again(batch, own_weight(rows))
        else:
            before = self.lineage_ or Lineage.first(len(state.W))
            now = StreamState(self._stream, self._stream_history, state.W, before)
            bounds = self._bounds(rows.data)
            now = now.after(batch, bounds, self.max_clusters or 0)
            self._stream, self._stream_history = now.stream, now.history
            self.cluster_centers_, self.lineage_ = now.W, now.lineage
        self._show(rows, self._look(rows))

    def _start_stream_from_fit(self, labels: Array, distance: Array, batches: int) -> None:
        """As if the samples of the fit, known by labels and distances, had come in `batches`.

        At the fixed point that a fit ends with, the image of a ray is along it and as long as the
        energy that the cluster explains; the centroid is as long as a typical sample.
        """
        W = self.cluster_centers_.astype(np.float64)
        weight = np.bincount(labels[labels >= 0], minlength=len(W)).astype(np.float64)
        sqnorm = np.einsum("km,km->k", W, W)
        image = np.ascontiguousarray(W * (weight * np.sqrt(sqnorm))[:, None])
        some = (weight > 0).astype(np.intp)
        self._stream = Stream(some, image, weight * sqnorm, weight).as_mean_of(batches)
        X = sp.csr_array((0, W.shape[1]), dtype=self.cluster_centers_.dtype)
        near = np.sqrt(np.maximum(1 - np.square(distance), 0))
        first = StreamHistory.begin(BatchRows(X, np.empty(0), labels, near), np.empty(0), len(W))
        self._stream_history = first._replace(batch=batches, last=first.last + batches - 1)

    def _begin_again(self, batch: BatchRows, weight: Array) -> None:
        """Cluster all samples so far, from the rays that they have: there were too few before.

        That is done whenever there are twice as many batches, and once there are enough samples.
        """
        before, k = self._stream_history, len(self.cluster_centers_)
        X = sp.vstack([before.early, batch.X], format="csr")
        weight, t = np.append(before.early_weight, weight), before.batch + 1
        if enough(X, weight, k)[0].shape[0] and t & (t - 1):
            W, lineage = self.cluster_centers_, self.lineage_ or Lineage.first(k)
            self._stream_history = before._replace(batch=t, early=X, early_weight=weight)
            self.lineage_ = Lineage.between(W, lineage, W)[0]
            return
        again = clone(self).set_params(
            init=self, n_clusters=None, max_clusters=None, callback=None, checkpoint=None
        )
        names = getattr(self, "feature_names_in_", None)
        every = X if names is None else Table(X, [], [str(name) for name in names])
        again.fit(every, sample_weight=weight)
        self.cluster_centers_, self.lineage_ = again.cluster_centers_, again.lineage_
        rows = self._place_batch(every, weight)
        state = self._look(rows)
        self._stream = Stream.begin(state.cells).as_mean_of(t)
        first = StreamHistory.begin(BatchRows.of(rows.data, state), weight, len(state.W))
        self._stream_history = first._replace(batch=t, last=first.last + before.batch)

    def _bounds(self, data: Data) -> Bounds:
        return as_bounds(self.center_bounds) or Bounds(*data.extremes)


def own_weight(rows: Placement) -> Array:
    """The weights of samples as they were given."""
    return np.ones(rows.data.shape[0]) if rows.weight is None else np.asarray(rows.weight)
