"""How samples come in: validated, put into their place, compared with the centroids of the fit."""

from dataclasses import replace
from inspect import signature
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted, validate_data

from onmf.estimators.bases import DocumentedEstimator
from onmf.losses import Loss, loss_of
from onmf.prepare.steps import apply
from onmf.prepare.texts import as_texts
from onmf.result import Stage
from onmf.rows import Check, Features, Placement, PlacementRequest, place
from onmf.rows.assign import Assignment, ClustersOfRays
from onmf.rows.scale import Scale, rescale_to_safe_range, safe_scale
from onmf.rows.sweep import Array, Data
from onmf.rows.table import Table
from onmf.rows.threads import single_threaded_blas
from onmf.search.outliers import OutlierLimit


class Assigned(NamedTuple):
    """Codes of samples, where the samples are, by which assignment, and how much they explain."""

    data: Data
    assignment: Any
    rows: Any
    fit: Any


def own_class(model: Any) -> type:
    """The class of the model, or the one of this package that it is a subclass of."""
    ours = (kind for kind in type(model).__mro__ if kind.__module__.partition(".")[0] == "onmf")
    return next(ours)


class KnownAssignment(NamedTuple):
    """What was made of these centroids times `size`, for the next call."""

    how: tuple[Any, ...]  # loss, missing values, dtype
    centers: Array
    size: float
    assignment: Any

    def holds(self, how: tuple[Any, ...], centers: Array) -> bool:
        """Centroids are compared by value: they can be changed in place."""
        return self.how == how and np.array_equal(self.centers, centers)


# What is kept for each model, centroids and rays, has so many entries at most: 32 MB each.
MAX_KNOWN_ENTRIES = 1 << 22
ASSIGNMENTS: WeakKeyDictionary[Any, KnownAssignment] = WeakKeyDictionary()


class DataMixin(DocumentedEstimator):
    """What an estimator does with samples before it says anything about them."""

    n_clusters: int | None
    n_features_in_: int  # and what else a fit leaves
    feature_names_in_: NDArray[Any]
    labels_: NDArray[np.intp]
    cluster_centers_: NDArray[Any]
    membership_: NDArray[Any]
    relative_error_: float
    inertia_: float
    n_iter_: int
    history_: list[Stage]
    stationarity_: float
    converged_: bool
    n_disagreements_: int
    n_missing_: int
    outlier_limit_: tuple[float, float]
    preprocessing_: tuple[Any, ...]
    reason_: str
    tree_: Any  # of `onmf.build_tree`
    certainty_curve_: NDArray[Any]
    loss = "frobenius"
    _rays: tuple[NDArray[Any], NDArray[np.intp]] | None = None  # of clusters with several

    @property
    def rays_(self) -> NDArray[Any]:
        """The rays (R, m): the centroids, unless clusters were merged."""
        return self.cluster_centers_ if self._rays is None else self._rays[0]

    @property
    def cluster_of_ray_(self) -> NDArray[np.intp]:
        """The number of the cluster of each ray (R,)."""
        return np.arange(len(self.cluster_centers_)) if self._rays is None else self._rays[1]

    @property
    def _loss(self) -> Loss:
        return loss_of(self)

    def _parameters(self) -> dict[str, Any]:
        """All by name, also those that a subclass sets in an `__init__` of its own."""
        return {name: getattr(self, name) for name in signature(own_class(self)).parameters}

    @property
    def _check(self) -> Check:
        """What the entries of X must be."""
        return Check(type(self).__name__)

    @property
    def _features(self) -> Features:
        """Those of the fit."""
        return Features(self.n_features_in_, getattr(self, "feature_names_in_", None))

    def _place(
        self,
        X: Any,
        sample_weight: Any,
        scale: Scale,
        *,
        reset: bool,
        n_threads: int = 1,
        **sampling: Any,
    ) -> Placement:
        """Validated samples, where they are; their features become those of the fit, or are."""
        known = None if reset else self._features
        if not reset and (counts := self._prepared(X)) is not X:  # texts
            names = None if known is None else known.names
            X = counts if names is None else Table(counts, [], [str(name) for name in names])
        rows = place(
            X, sample_weight, PlacementRequest(self._check, scale, known, n_threads, **sampling)
        )
        if rows.features is None:
            validate_data(self, X, reset=reset, skip_check_array=True)
        elif reset:
            self.__dict__.pop("feature_names_in_", None)
            self.n_features_in_ = rows.features.count
            if rows.features.names is not None:
                self.feature_names_in_ = rows.features.names
        return rows

    def _prepared(self, X: Any) -> Any:
        """Texts as the counts that the model was fitted to, if it was; other samples as they are.

        Texts cannot be samples already prepared, so nothing is prepared twice.
        """
        steps = getattr(self, "preprocessing_", ())
        if not steps or not steps[0].of_texts or (texts := as_texts(X)) is None:
            return X
        return apply(steps, texts)

    def _check_fitted(self) -> None:
        """scikit-learn asks for the tags first, which takes longer than the rest of `predict`."""
        if "cluster_centers_" not in vars(self):
            check_is_fitted(self)

    def _assign(self, X: Any, sample_weight: ArrayLike | None = None) -> Assigned:
        """The cluster of every sample; reads X once."""
        data, assignment, scale = self._with_assignment(X, sample_weight)
        assignment = self._limited(assignment, scale)
        with single_threaded_blas():
            return Assigned(data, assignment, *data.sweep(assignment))

    def _with_assignment(
        self, X: Any, sample_weight: ArrayLike | None = None
    ) -> tuple[Data, Any, float]:
        """Samples in a safe range, what gives them to clusters, and the factor of X."""
        self._check_fitted()
        rows = self._place(X, sample_weight, safe_scale, reset=False)
        return rows.data, self._assignment(rows.data, rows.scale), rows.scale

    def _assignment(self, data: Data, scale: float) -> Any:
        """What gives samples times `scale` to clusters, in the units of the user."""
        return self._assignment_by_loss(data, scale)

    def _assignment_by_loss(self, data: Data, scale: float) -> Any:
        """As `_assignment`; what the centroids become is known from the last call."""
        W = self.rays_
        W = W.astype(np.promote_types(W.dtype, data.dtype), copy=False)  # all digits of both
        known = ASSIGNMENTS.get(self)
        how = self.loss, data.n_missing > 0, W.dtype
        if known is None or not known.holds(how, W):
            centers, size = rescale_to_safe_range(W)
            made = self._loss.assignment(centers, data.n_missing)
            known = KnownAssignment(how, W, size, made)
            if W.size <= MAX_KNOWN_ENTRIES:
                ASSIGNMENTS[self] = known._replace(centers=W.copy())
        made = known.assignment.rescaled(W.dtype.type(known.size / scale))
        return made if self._rays is None else ClustersOfRays(made, self.cluster_of_ray_)

    @property
    def _limit(self) -> OutlierLimit | None:
        """Beyond which samples are outliers, if they may be."""
        known = getattr(self, "outlier_limit_", None)
        return None if known is None else OutlierLimit(*known)

    def _limited(self, assignment: Any, scale: float) -> Assignment:
        """The assignment for samples times `scale`, with label -1 for outliers."""
        if self._limit is None:
            return assignment
        return replace(assignment, limit=self._limit.scaled(scale, self._loss.degree))

    def _lazily(
        self, method: str, X: Any, dtype: Any, columns: int | None = None, **known: Any
    ) -> Any:
        """A Dask array of what `method`, which needs `known`, says of each chunk of X."""
        self._check_fitted()
        from onmf.rows.dask import lazily

        light = clone(self)
        light.callback = None
        light.cluster_centers_, light.n_features_in_ = self.cluster_centers_, self.n_features_in_
        light._rays = self._rays
        if self._limit is not None:
            light.outlier_limit_ = self._limit
        light.__dict__.update(known)
        answer = getattr(light, method)
        return lazily(answer, X, dtype, columns, self._features, type(self).__name__)
