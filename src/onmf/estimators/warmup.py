"""The first samples of a stream: kept, and clustered again as there are more of them."""

from copy import copy
from dataclasses import replace
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.base import clone

from onmf.estimators.clusterer import Clusterer
from onmf.estimators.progress import watcher
from onmf.io import Table
from onmf.losses.batches import BatchSums
from onmf.result import Event, Stage
from onmf.rows import Placement
from onmf.rows.scale import check_squares
from onmf.rows.sweep import Array, Data
from onmf.search.starts import Settings
from onmf.streams.births import Comparison, StreamHistory, unless_enough
from onmf.streams.lineage import Lineage

PLAIN_SEARCH = {"n_init": "auto", "solver": "fast"}  # from a model
LEARNT_AGAIN = "cluster_centers_", "lineage_", "outlier_limit_"


class WarmUpMixin(Clusterer):
    """A stream that has begun: its batches as the loss sees them, and its warm-up."""

    _stream: BatchSums  # once the stream has begun
    _stream_history: StreamHistory  # of a stream that did not begin with a fit

    def _remember(self, rows: Placement) -> None:
        """Start the sums with a batch, as the centroids see it, and keep it for the warm-up."""
        state = self._state_of(rows)
        self._stream = self._loss.batch(state)
        batch, k = self._comparison(rows.data).batch(rows.data, state, self._stream), len(state.W)
        births = self._most_clusters() > k
        self._stream_history = StreamHistory.begin(batch, own_weight(rows), k, births)

    def _state_of(self, rows: Placement) -> Any:
        """A batch with the present centroids, by one sweep."""
        W = self._centers_beside(rows.data)
        alternation = self._loss.alternation(rows.data, self._comparison(rows.data).settings)
        return replace(alternation, limit=self._limit).begin(W)

    def _most_clusters(self) -> int:
        """At a time."""
        return len(self.cluster_centers_)

    def _fit_again(self, rows: Placement) -> None:
        """Cluster all samples so far, from the centroids of fewer.

        That is done whenever there are twice as many batches, and once there are enough samples.
        """
        before, k = self._stream_history, len(self.cluster_centers_)
        now, weight = rows.data.take(np.arange(rows.data.shape[0]))[0], own_weight(rows)
        X = sp.vstack([before.warmup, sp.csr_array(now)], format="csr")
        weight, t = np.append(before.warmup_weight, weight), before.batch + 1
        births = self._most_clusters() > k
        self._stream_history = before._replace(batch=t, warmup=X, warmup_weight=weight)
        if unless_enough(X, weight, k, births)[0].shape[0] and t & (t - 1):
            view = self._loss.view_rows(self.cluster_centers_)
            self.lineage_ = Lineage.between(view, self.lineage_ or Lineage.first(k), view)[0]
        else:
            again = self._fitted_to(X, weight)
            self.__dict__.update(
                {name: getattr(again, name) for name in LEARNT_AGAIN if hasattr(again, name)}
            )
            self._stream = again._stream.as_mean_of(t)
            first = again._stream_history
            self._stream_history = first._replace(batch=t, last=first.last + before.batch)
        self._show_batch(rows.data, self._state_of(rows))

    def _fitted_to(self, X: sp.csr_array, weight: Array) -> Self:
        """A model of this kind, fitted to samples from the centroids of this one."""
        light = copy(self)
        light.set_params(init="random", callback=None, verbose=0, **PLAIN_SEARCH)
        again = clone(light).set_params(init=self, n_clusters=None)
        names = getattr(self, "feature_names_in_", None)
        every = X if names is None else Table(X, [], [str(name) for name in names])
        return again._begin_stream(every, weight)

    def _show_batch(self, data: Data, state: Any) -> None:
        """The attributes that describe the last batch; the callback hears of it."""
        alternation = self._loss.alternation(data, self._comparison(data).settings)
        self.labels_, self.membership_ = state.labels(data), alternation.membership(state)
        self.relative_error_ = alternation.error(state)
        self.inertia_ = alternation.loss(state)
        if (excess := alternation.excess(state)) is not None:
            self.outlier_score_ = excess
        clusters = 0.0, 0.0, state.residual, len(state.empty)
        stage = Stage(1.0, 1, self.relative_error_, *clusters)
        watch = watcher(self.verbose, self.callback, None)
        watch(Event(0, 1, 1, stage, lambda: self.membership_))

    def _place_batch(self, X: Any, sample_weight: ArrayLike | None) -> Placement:
        """A batch of the stream: on the scale that all others have."""
        return self._place(X, sample_weight, check_squares, reset=False)

    def _comparison(self, data: Data) -> Comparison:
        """How a batch is compared with the centroids."""
        signed = min(data.extremes[0], float(self.cluster_centers_.min())) < 0  # of all batches
        return Comparison(self._loss, Settings(tol=0.0, signed=signed))


def own_weight(rows: Placement) -> Array:
    """The weights of samples as they were given."""
    return np.ones(rows.data.shape[0]) if rows.weight is None else np.asarray(rows.weight)
