"""A clusterer whose clusters are born and closed while a stream goes on."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from onmf.core.fast.settle import SettleSquares, State
from onmf.data import Placement
from onmf.estimators.evolution import Arrivals, Evolution, Living, enough
from onmf.estimators.lineage import Lineage
from onmf.estimators.parameters import bounds_for
from onmf.estimators.refit import Refitter
from onmf.estimators.stream import Stream
from onmf.io import Table

Array = NDArray[Any]


class Evolver(Refitter):
    """What `partial_fit` does with `max_clusters`."""

    max_clusters: int | None
    _stream: Any  # of `partial_fit`, once it has begun
    _evolution: Evolution  # the same, if clusters may be born and closed

    def _place_batch(self, X: Any, sample_weight: ArrayLike | None) -> Placement:
        """A batch of the stream."""
        raise NotImplementedError

    def _show(self, rows: Placement, state: State) -> None:
        """The batch as it looks with the centroids of a state."""
        self.labels_, self.membership_ = state.labels(rows.data), state.membership(rows.data)
        explained, sqnorm = float(state.cells.energy.sum()), rows.data.sqnorm
        self.relative_error_ = max(1 - explained / sqnorm, 0.0) if sqnorm > 0 else 0.0
        self.inertia_ = self.relative_error_ * sqnorm

    def _look(self, rows: Placement) -> State:
        """A batch with the centroids there are, by one sweep."""
        bounds = bounds_for(self.center_bounds, rows.data)
        W = self.cluster_centers_.astype(rows.data.dtype, copy=False)
        return SettleSquares(rows.data, bounds, tol=0.0, fence=self._fence).begin(W)

    def _evolve(self, rows: Placement) -> None:
        """Take in a batch by which clusters may be born and closed."""
        state = self._look(rows)
        batch = Arrivals.of(rows.data, state)
        if self._evolution.early.shape[0]:
            self._begin_again(batch, own_weight(rows))
        else:
            before = self.lineage_ or Lineage.first(len(state.W))
            now = Living(self._stream, self._evolution, state.W, before)
            bounds = bounds_for(self.center_bounds, rows.data)
            now = now.after(batch, bounds, self.max_clusters or 0)
            self._stream, self._evolution = now.stream, now.evolution
            self.cluster_centers_, self.lineage_ = now.W, now.lineage
        self._show(rows, self._look(rows))

    def _go_on(self, labels: Array, distance: Array, batches: int) -> None:
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
        begun = Evolution.begin(Arrivals(X, np.empty(0), labels, near), np.empty(0), len(W))
        self._evolution = begun._replace(batch=batches, last=begun.last + batches - 1)

    def _begin_again(self, batch: Arrivals, weight: Array) -> None:
        """Cluster all samples so far, from the rays that they have: there were too few before.

        That is done whenever there are twice as many batches, and once there are enough samples.
        """
        known, k = self._evolution, len(self.cluster_centers_)
        X = sp.vstack([known.early, batch.X], format="csr")
        weight, t = np.append(known.early_weight, weight), known.batch + 1
        if enough(X, weight, k)[0].shape[0] and t & (t - 1):
            W, before = self.cluster_centers_, self.lineage_ or Lineage.first(k)
            self._evolution = known._replace(batch=t, early=X, early_weight=weight)
            self.lineage_ = Lineage.between(W, before, W)[0]
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
        begun = Evolution.begin(Arrivals.of(rows.data, state), weight, len(state.W))
        self._evolution = begun._replace(batch=t, last=begun.last + known.batch)


def own_weight(rows: Placement) -> Array:
    """The weights of samples as they were given."""
    return np.ones(rows.data.shape[0]) if rows.weight is None else np.asarray(rows.weight)
