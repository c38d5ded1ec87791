"""How samples come in: checked, put into their place, laid beside the centroids of the fit."""

from dataclasses import replace
from typing import Any, NamedTuple

from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted, validate_data

from onmf.baselines import Means
from onmf.estimators.divergence import shares_rule
from onmf.losses.missing import check_no_missing, rays_beside
from onmf.losses.profiles import CountProfiles, Divergence
from onmf.rows import Check, Features, Placement, PlacementRequest, place
from onmf.rows.assign import ExplainedShare, Rays
from onmf.rows.sweep import Data
from onmf.rows.threads import single_threaded_blas
from onmf.rows.validation import Scale, rescale_to_safe_range, safe_scale
from onmf.search.outliers import LimitedRays, OutlierLimit

Array = NDArray[Any]
Rule = Rays | Means | CountProfiles  # what gives a sample to a cluster


class Assignment(NamedTuple):
    """Codes of samples, where the samples are, by which rule, and how much they explain."""

    data: Data
    rule: Rule
    rows: Any
    fit: ExplainedShare | Divergence


class DataMixin(BaseEstimator):
    """What an estimator does with samples before it says anything of them."""

    n_clusters: int | None
    n_features_in_: int
    cluster_centers_: Array
    outlier_limit_: tuple[float, float]
    equal_votes = False  # whether the length of a sample has no say
    loss = "frobenius"
    _put = staticmethod(place)  # where the samples go

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
        equal_votes: bool = False,
        **summary: Any,
    ) -> Placement:
        """Checked samples, where they are; their features become those of the fit, or are."""
        known = None if reset else self._features
        check = replace(self._check, allow_missing=False) if summary else self._check
        votes = equal_votes and self.loss == "frobenius"  # else the rule itself gives one each
        request = PlacementRequest(check, scale, known, n_threads, votes, **summary)
        rows = self._put(X, sample_weight, request)
        if rows.features is None:
            validate_data(self, X, reset=reset, skip_check_array=True)
        elif reset:
            self.__dict__.pop("feature_names_in_", None)
            self.n_features_in_ = rows.features.count
            if rows.features.names is not None:
                self.feature_names_in_ = rows.features.names
        return rows

    def _assign(
        self, X: Any, sample_weight: ArrayLike | None = None, equal_votes: bool = False
    ) -> Assignment:
        """The cluster of every sample; reads X once."""
        data, centers, unit, scale = self._beside_centers(X, sample_weight, equal_votes)
        rule = self._with_limit(data, self._rule(data, centers, unit), scale)
        with single_threaded_blas():
            return Assignment(data, rule, *data.sweep(rule))

    def _beside_centers(
        self, X: Any, sample_weight: ArrayLike | None = None, equal_votes: bool = False
    ) -> tuple[Data, Array, Any, float]:
        """Samples and centroids, both of moderate size, the unit that their codes are in, and what
        the samples were multiplied by."""
        check_is_fitted(self)
        rows = self._place(X, sample_weight, safe_scale, reset=False, equal_votes=equal_votes)
        W = self.cluster_centers_.astype(rows.data.dtype, copy=False)
        centers, size = rescale_to_safe_range(W)
        return rows.data, centers, W.dtype.type(size / rows.scale), rows.scale

    def _rule(self, data: Data, centers: Array, unit: Any) -> Rule:
        """What gives a sample to a cluster."""
        if self.loss == "kl":
            return shares_rule(centers, unit, self.equal_votes)
        rays = rays_beside(data, centers)
        return replace(rays, lengths=rays.lengths / unit)

    @property
    def _outlier_limit(self) -> OutlierLimit | None:
        """Beyond which samples are outliers, if they may be."""
        known = getattr(self, "outlier_limit_", None)
        return None if known is None else OutlierLimit(*known)

    def _with_limit(self, data: Data, rule: Rule, scale: float) -> Rule:
        """The rule for samples multiplied by `scale`, and label -1 for the outliers among them."""
        if self._outlier_limit is None or not isinstance(rule, Rays):
            return rule
        check_no_missing(data)
        return LimitedRays.beyond(rule, self._outlier_limit.scaled(scale))

    def _lazily(self, method: str, X: Any, dtype: Any, columns: int | None = None) -> Any:
        """A Dask array of what `method` says of each chunk of X."""
        check_is_fitted(self)
        from onmf.rows.dask import lazily

        light = clone(self).set_params(callback=None)
        light.cluster_centers_, light.n_features_in_ = self.cluster_centers_, self.n_features_in_
        if self._outlier_limit is not None:
            light.outlier_limit_ = self._outlier_limit
        answer = getattr(light, method)
        return lazily(answer, X, dtype, columns, self._features, type(self).__name__)
