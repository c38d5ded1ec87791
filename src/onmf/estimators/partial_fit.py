"""`partial_fit`: a model continues batch by batch, and its clusters keep their ids.

A model is a sum of what it has seen: a ray and the weight of its samples stand for their sum. The
samples of a batch are given to their rays and added to these sums, and to the rows that are kept
(`stream`). When there is a quarter more, these rows are fitted again from the present rays, and the
sums are corrected for the samples that went to another ray. A ray that turned no further than half
way to the next one is the same ray (`lineage`).
"""

import warnings
from copy import copy
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onmf.estimators.bases import available_if
from onmf.estimators.clusterer import Clusterer
from onmf.estimators.fitting import Solution
from onmf.estimators.initialization import is_model
from onmf.estimators.kept import LEARNT
from onmf.estimators.lineage import Lineage, degrees, ids_of_rays
from onmf.estimators.progress import caller_level, watcher
from onmf.estimators.solvers import solver_of
from onmf.estimators.stream import Refit, Stream, corrected
from onmf.exceptions import SignedDataWarning
from onmf.losses.support import refusal
from onmf.result import Event, Stage
from onmf.rows import Placement
from onmf.rows.assign import Rays, labels_of, rays_of
from onmf.rows.scale import check_squares
from onmf.rows.sweep import Array
from onmf.rows.threads import single_threaded_blas

# Of what was seen, until it is fitted again; 1.5: up to 3 % more error if batches come ordered by
# kind (benchmarks/stream.py).
GROWTH = 1.25
OF_A_FIT = ("history_", "n_iter_", "converged_", "stationarity_", "_kept")


def _has_partial_fit(model: "PartialFitMixin") -> bool:
    """Whether the loss and the solver of a model have `partial_fit`."""
    loss, solver = model._loss, solver_of(model.solver)
    return not refusal(loss.name, loss.supports, solver.name, {"streams"})


class PartialFitMixin(Clusterer):
    """`partial_fit`, and clusters with ids that outlive a fit."""

    solver: Any
    outliers: Any
    random_state: Any
    ray_weight_: NDArray[np.float64]
    _stream: Stream
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

        A model that is not fitted clusters the first batch as `fit` does. A fitted one keeps what
        it has seen as one row per ray, with the weight of its samples. Batches are added to these
        rows, of which a weighted sample is kept (600 per cluster). When a quarter more was seen,
        they are clustered again from the present centroids; in between, each centroid becomes that
        of all samples that it was given so far. What was seen before is not forgotten: clusters of
        which a batch has no samples stay.

        Clusters keep their ids. `labels_`, `membership_` and `relative_error_` are those of the
        last batch. `save` stores the rows that are kept.

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
            begins = not hasattr(self, "cluster_centers_")
            if begins:
                self.fit(X, sample_weight=sample_weight)
            with single_threaded_blas():
                rows = self._place(X, sample_weight, check_squares, reset=False)
                if not begins and (self.cluster_centers_ >= 0).all():
                    self._warn_if_signed(rows)
                self._take_in(rows, begins)
                stage = self._describe(rows)
            watch = watcher(self.verbose, self.callback, None)
            watch(Event(0, 1, 1, stage, lambda: self.membership_))
            self.__dict__.pop("tree_", None)  # of the samples and centroids before
        return self

    def _take_in(self, rows: Placement, begins: bool) -> None:
        """Add a batch to what was seen, and fit again if that has grown enough."""
        data, loss, W = rows.data, self._loss, self.rays_
        R, stream = len(W), self.__dict__.get("_stream")
        X, weight = data.take(np.arange(data.shape[0])).X, own_weight(rows)
        codes, _ = data.sweep(self._limited(self._assignment(data, rows.scale), rows.scale))
        near = data.gather(data.map_blocks(rays_of, codes))
        if begins:
            self._stream = Stream.of(X, weight, near, R, loss, True)
            return
        known = loss.typical_samples(W, self.ray_weight_)
        if stream is None:
            stream = Stream.of(known, self.ray_weight_, np.arange(R), R, loss, False)
        if not stream.samples_only and self._limit is not None:
            weight = np.where(near >= 0, weight, 0)  # rows of rays say nothing of what is far
        self._stream = stream.after(X, weight, near, loss)
        S = loss.sums(known, self.ray_weight_, np.arange(R), W) + loss.sums(X, weight, near, W)
        whole = self.ray_weight_ + np.bincount(near[near >= 0], weight[near >= 0], R)
        if self._stream.summary.weight >= GROWTH * stream.fitted:
            self._fit_again(S, whole)
        else:
            new = loss.centroids_of_sums(S, whole, W)
            self._go_on(new, whole, np.array(self._lineage.ids)[self.cluster_of_ray_])

    def _fit_again(self, S: Array, whole: Array) -> None:
        """Fit the rows that are kept, from the present rays, each of which is a cluster by itself.

        S and `whole` are the sums and weights of all that was seen.
        """
        from onmf.estimators.onmf import ONMF

        stream, W, view = self._stream, self.rays_, self._loss.view_rows
        rows, weight = stream.summary.chosen()
        names = ("loss", "tol", "max_iter", "random_state", "n_jobs")
        before = ONMF()
        before.cluster_centers_ = W
        again = ONMF(len(W), init=before, **{name: getattr(self, name) for name in names})
        again.outliers = self.outliers if stream.samples_only else None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SignedDataWarning)
            again.fit(rows.X, sample_weight=weight)
        for name in LEARNT:
            self.__dict__.pop(name, None)
        self.__dict__.update({name: getattr(again, name) for name in OF_A_FIT})
        if again._limit is not None:
            self.outlier_limit_ = again.outlier_limit_
        assert again.lineage_ is not None  # it started from a model
        new, n, heirs = again.cluster_centers_, again.ray_weight_, again.lineage_.ids
        if not stream.whole:
            fit = Refit(new, n, again.labels_, heirs)
            new, n = corrected(fit, stream, S, whole, W, self._loss)
        ids = np.array(self._lineage.ids)[self.cluster_of_ray_]
        self._stream = stream.refitted(again.predict)
        self._go_on(new, n, ids_of_rays(view(W), ids, view(new), heirs, self._lineage.next_id))

    @property
    def _lineage(self) -> Lineage:
        return self.lineage_ or Lineage.first(len(self.cluster_centers_))

    def _go_on(self, rays: Array, weight: Array, ids: Any) -> None:
        """With new rays, the clusters of which have these ids."""
        before, W, view = self._lineage, self.cluster_centers_, self._loss.view_rows
        now, cluster_of_ray = np.unique(ids, return_inverse=True)
        order = self._set_rays(rays, weight, cluster_of_ray)
        self._stream = self._stream.renumbered(np.argsort(order))
        turned = [
            turn(W[before.ids.index(own)], w, view) if own in before.ids else np.nan
            for own, w in zip(now.tolist(), self.cluster_centers_, strict=True)
        ]
        self.lineage_ = before.followed_by(now.tolist(), turned)

    def _set_rays(self, rays: Array, weight: Array, cluster_of_ray: Array) -> Array:
        """Rays, the weights of their samples and their clusters, sorted by these; the order."""
        order = np.argsort(cluster_of_ray, kind="stable")
        rays, weight, owner = rays[order], weight[order], cluster_of_ray[order]
        k = int(owner.max()) + 1
        self.ray_weight_, self._rays = weight, None if len(rays) == k else (rays, owner)
        self.cluster_centers_ = rays
        if self._rays is not None:
            rows = self._loss.typical_samples(rays, weight)
            joint = self._loss.joint_centroids(rows, weight, owner, k)
            first = rays[np.searchsorted(owner, np.arange(k))]
            self.cluster_centers_ = np.where((np.bincount(owner) > 1)[:, None], joint, first)
        return order

    def _describe(self, rows: Placement) -> Stage:
        """The attributes that say something of samples, of these."""
        data, k = rows.data, len(self.cluster_centers_)
        assignment = self._limited(self._assignment(data, rows.scale), rows.scale)
        codes, fit = data.sweep(assignment)
        self.labels_ = data.gather(data.map_blocks(labels_of, codes))
        self.membership_ = data.dense(k, assignment.memberships, codes)
        left = max(fit.sqnorm - fit.explained, 0.0)
        self.relative_error_ = left / fit.sqnorm if fit.sqnorm > 0 else 0.0
        self.inertia_ = float(np.ldexp(left / rows.scale**self._loss.degree, rows.weight_exponent))
        self.n_disagreements_ = 0
        empty = k - len(np.unique(self.labels_[self.labels_ >= 0]))
        return Stage(0.0, 1, self.relative_error_, 0.0, 0.0, 0.0, empty)

    def _set_attributes(self, solution: Solution, rows: Placement, n_missing: int) -> None:
        super()._set_attributes(solution, rows, n_missing)
        self.ray_weight_ = self._weight_of_rays(rows)

    def _weight_of_rays(self, rows: Placement) -> Array:
        """sum_i d_i of the samples of each ray; where a centroid is no typical sample, of
        d_i h_i^degree, with which it stands for them all the same."""
        k = len(self.cluster_centers_)
        if not hasattr(self, "labels_"):  # X was read once
            assert rows.summary is not None
            block = rows.summary.rows()
            near = rays_of(self._assignment(rows.data, rows.scale)(block, None)[0])
            return np.bincount(near[near >= 0], block.weight[near >= 0, 0], k)
        weight, inside = own_weight(rows), self.labels_ >= 0
        if solver_of(self.solver).name == "palm":
            H = np.asarray(self.membership_)
            h = H[np.arange(len(H)), self.labels_].astype(np.float64)
            weight = weight * h**self._loss.degree
        return np.bincount(self.labels_[inside], weight[inside], k)

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


def own_weight(rows: Placement) -> Array:
    """The weights of samples as they were given."""
    if rows.weight is None:
        return np.ones(rows.data.shape[0])
    return np.ldexp(np.asarray(rows.weight, np.float64), rows.weight_exponent)


def turn(old: Array, new: Array, view: Any) -> float:
    """By how many degrees a centroid turned."""
    pair = Rays.of(view(np.vstack([old, new]).astype(np.float64))).units
    return float(np.round(degrees(pair[:, 0] @ pair[:, 1]), 6))
