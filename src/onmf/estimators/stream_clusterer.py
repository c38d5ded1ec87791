"""A clusterer that takes in a stream, batch by batch."""

from typing import Any, Self

from numpy.typing import ArrayLike
from sklearn.utils.metaestimators import available_if

from onmf.core.rows import Data
from onmf.core.threads import single_threaded_blas
from onmf.data import Placement
from onmf.data.validation import as_it_is
from onmf.estimators.count_stream import CountStream, look_at
from onmf.estimators.divergence import voice_of
from onmf.estimators.evolution import Arrivals, Evolution
from onmf.estimators.evolver import Evolver, own_weight
from onmf.estimators.parameters import bounds_for
from onmf.estimators.stream import Stream, take_in


def _streams(model: "StreamClusterer") -> bool:
    """Whether a model has `partial_fit`."""
    return model.solver == "fast"


class StreamClusterer(Evolver):
    """`partial_fit`, for models whose solver is the default one."""

    solver: str
    _stream: Any  # a Stream, or a CountStream, of `partial_fit`, once it has begun

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
            bounds = bounds_for(self.center_bounds, rows.data)
            state, self._stream, W = take_in(rows.data, W, self._stream, bounds, self._fence)
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
                batch = look_at(rows.data, self.cluster_centers_, voice_of(self.equal_votes))
                self._stream = CountStream.begin(batch.state.cells)
                return self
            state = self._look(rows)
            self._stream = Stream.begin(state.cells)
            if self.max_clusters is not None:
                seen = Arrivals.of(rows.data, state)
                self._evolution = Evolution.begin(seen, own_weight(rows), len(state.W))
        return self

    def _take_in_counts(self, data: Data) -> Self:
        """One batch more of a stream of counts."""
        W = self.cluster_centers_.astype(data.dtype, copy=False)
        batch = look_at(data, W, voice_of(self.equal_votes))
        self.labels_, self.membership_ = batch.state.labels(data), batch.state.membership(data)
        self.relative_error_ = batch.left / batch.whole if batch.whole > 0 else 0.0
        self.inertia_, self._stream = batch.left, self._stream.after(batch.state.cells)
        self.cluster_centers_ = self._stream.centroids(W)
        return self

    def _place_batch(self, X: Any, sample_weight: ArrayLike | None) -> Placement:
        """A batch of the stream: on the scale that all others have."""
        rows = self._place(X, sample_weight, as_it_is, reset=False, equal_votes=self.equal_votes)
        if rows.data.holes:
            raise ValueError(
                f"the batch has {rows.data.holes} NaN, which partial_fit does not take: fill them, "
                "as inverse_transform(transform(X)) of a fitted model has them, or use fit."
            )
        return rows
