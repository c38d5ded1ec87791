"""`partial_fit`: a model that continues batch by batch, and clusters that keep their ids."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onmf.estimators.bases import available_if
from onmf.estimators.fitting import Solution
from onmf.estimators.initialization import is_model
from onmf.estimators.progress import caller_level
from onmf.estimators.solvers import solver_of
from onmf.estimators.warmup import WarmUpMixin
from onmf.exceptions import SignedDataWarning
from onmf.losses.batches import BatchSums
from onmf.losses.edits import Edits, flat_edits, forget_edits
from onmf.losses.support import refusal
from onmf.rows import Placement
from onmf.rows.sweep import Array
from onmf.rows.threads import single_threaded_blas


def _has_partial_fit(model: "PartialFitMixin") -> bool:
    """Whether the loss and the solver of a model have `partial_fit`."""
    loss, solver = model._loss, solver_of(model.solver)
    return not refusal(loss.name, loss.supports, solver.name, {"streams"})


class PartialFitMixin(WarmUpMixin):
    """`partial_fit`, and clusters with ids that outlive a fit."""

    solver: Any
    _has_ids = True

    @property
    def cluster_ids_(self) -> NDArray[np.intp]:
        """The id of each cluster: 0, 1, ... unless the fit started from another model."""
        k = len(self.cluster_centers_)  # an AttributeError before the fit, as of any attribute
        known = getattr(self, "lineage_", None)
        return np.arange(k) if known is None else np.array(known.ids, np.intp)

    def __sklearn_clone__(self) -> Self:
        """A clone starts from the same model; scikit-learn would clone that too, and unfit it."""
        if not is_model(self.init):
            return super().__sklearn_clone__()
        light = copy(self)
        light.init = "random"
        again: Self = super(PartialFitMixin, light).__sklearn_clone__()
        again.init = self.init
        return again

    @available_if(_has_partial_fit)
    def partial_fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Update the clusters with one batch of a stream.

        A model that is not fitted clusters the first batch as `fit` does; a fitted one continues
        from its centroids. The first 280 samples per cluster are kept, and clustered again whenever
        there are twice as many batches, for a single batch is too little to start from; a model
        that was fitted before needs none. From then on each batch is read once: its samples go to
        their nearest centroids, and every centroid moves towards the mean, over all batches, of its
        samples, by steps that shrink as t^(-3/4). The centroids converge to a fixed point of the
        alternation that ends `fit`, for the distribution of the batches, or for the data set if its
        batches are given again and again.

        Clusters keep their ids. `labels_`, `membership_` and `relative_error_` are those of the
        last batch, with the centroids before it, or with the present ones as long as the first
        samples are kept. `save` stores the state of the stream, with the samples that are kept. For
        new clusters in a stream see `StreamONMF`.

        Parameters
        ----------
        X : array, sparse matrix or DataFrame of shape (n_samples, n_features)
            The first batch should have many samples of every cluster.
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
        with self._all_or_nothing():
            if not hasattr(self, "cluster_centers_"):
                return self._begin_stream(X, sample_weight)
            with single_threaded_blas():
                rows = self._place_batch(X, sample_weight)
                if (self.cluster_centers_ >= 0).all():
                    self._warn_if_signed(rows)
                with self._rays_as_clusters() as sizes:
                    if not hasattr(self, "_stream"):
                        self._continue_fit(rows.data.shape[0], sizes)
                    known = getattr(self, "_stream_history", None)
                    if known is not None and known.warmup.shape[0]:
                        self._fit_again(rows)
                    else:
                        self._take_in(rows)
            self.__dict__.pop("tree_", None)  # of the samples and centroids before
        return self

    def fit_predict(self, X: Any, y: Any = None, **options: Any) -> NDArray[np.intp]:
        """Cluster the samples of X, and return the cluster of each.

        With ``Fast(passes=1)``, which leaves no `labels_`, X is read once more, by `predict`.

        Parameters
        ----------
        X, y, **options : as for `fit`

        Returns
        -------
        ndarray of shape (n_samples,)

        Examples
        --------
        >>> from onmf import ONMF, Fast
        >>> model = ONMF(n_clusters=2, random_state=0, solver=Fast(passes=1))
        >>> model.fit_predict([[3, 0], [2, 0.1], [0, 1]])
        array([0, 0, 1])
        """
        self.fit(X, y, **options)
        return self.labels_ if hasattr(self, "labels_") else self.predict(X)

    def _begin_stream(self, X: Any, sample_weight: ArrayLike | None) -> Self:
        """Cluster the first batch, and remember its sums."""
        self.fit(X, sample_weight=sample_weight)
        with single_threaded_blas():
            self._remember(self._place_batch(X, sample_weight))
        return self

    @contextmanager
    def _rays_as_clusters(self) -> Iterator[Array | None]:
        """Inside, every ray of a merged cluster is a cluster; their sizes, if there are any."""
        before, edits = getattr(self, "lineage_", None), flat_edits(self)
        if edits is None or before is None:
            yield None
            return
        forget_edits(self)
        rays = before._replace(ids=edits.ids, drift=(np.nan,) * len(edits.ids))
        self.cluster_centers_, self.lineage_ = edits.rays, rays
        yield np.array(edits.sizes, np.float64)
        owner = {own: after[0] for group, after in edits.steps for own in group}
        now = self.lineage_
        made = Edits.of_owners(self.cluster_centers_, now.ids, (1,) * len(now.ids), owner)
        self.__dict__.update(made.as_attributes())
        ids, place = made.rays_of_clusters(), made.place()
        self.lineage_ = before._replace(ids=tuple(ids)) if now is rays else now.joined(ids, before)
        self.cluster_centers_ = self._centroids_of(place)
        self.labels_ = np.append(place, -1)[self.labels_]
        self.membership_ = join_columns(self.membership_, place)

    def _centroids_of(self, place: Array, sizes: Array | None = None) -> Array:
        """Of clusters whose rays are in these places: that of all its samples, if it has several.

        The present centroids are the rays, and the stream knows their sums.
        """
        W, k = self.cluster_centers_, int(place.max()) + 1
        first = np.array([np.flatnonzero(place == own)[0] for own in range(k)])
        sums = self._present_sums(sizes).merged(place, k)
        joint = sums.centroids(W[first], bool(W.min() < 0))
        return np.where((np.bincount(place) > 1)[:, None], joint, W[first])

    def _present_sums(self, sizes: Array | None = None) -> BatchSums:
        """Of the stream; of the samples of the fit, if there is none."""
        if hasattr(self, "_stream"):
            return self._stream
        W = self.cluster_centers_
        if sizes is None:
            labels = getattr(self, "labels_", np.arange(len(W)))
            sizes = np.bincount(labels[labels >= 0], minlength=len(W)).astype(np.float64)
        return self._loss.batch_of_centroids(W, sizes)

    def _continue_fit(self, batch_size: int, sizes: Array | None) -> None:
        """Sums as if the samples of the fit had come in batches of this size."""
        sums, n = self._present_sums(sizes), len(getattr(self, "labels_", self.cluster_centers_))
        self._stream = sums.as_mean_of(max(1, round(n / max(batch_size, 1))))

    def _take_in(self, rows: Placement) -> None:
        """One more batch."""
        W = self._centers_beside(rows.data)
        comparison = self._comparison(rows.data)
        state, self._stream, W = comparison.take_in(rows.data, W, self._stream, self._limit)
        self._show_batch(rows.data, state)
        self.cluster_centers_ = W

    def _warn(self, solution: Solution, rows: Placement) -> None:
        super()._warn(solution, rows)
        self._warn_if_signed(rows)

    def _warn_if_signed(self, rows: Placement) -> None:
        """Say that the centroids are free, where nobody asked for it."""
        bounds = getattr(self.solver, "center_bounds", "auto")
        if isinstance(bounds, str) and bounds == "auto" and rows.data.extremes[0] < 0:
            warnings.warn(
                "X has negative entries: the centroids are directions of any sign.",
                SignedDataWarning,
                stacklevel=caller_level(),
            )


def join_columns(H: Array, place: Array) -> Array:
    """Memberships in which column j is added to column place[j]."""
    return H @ np.eye(int(place.max()) + 1, dtype=H.dtype)[place]
