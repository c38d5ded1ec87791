"""What a fitted model says of samples: clusters, memberships, and how sure it is of them."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array

from onmf.estimators.bases import (
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
)
from onmf.estimators.data import DataMixin
from onmf.rows import is_dask
from onmf.rows.assign import Nearness, labels_of, nearness
from onmf.rows.sweep import Array
from onmf.rows.threads import single_threaded_blas


class PredictMixin(ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin, DataMixin):
    """Predict, transform, score and nearness, all by the centroids of a fit."""

    def predict(self, X: Any) -> NDArray[np.intp]:
        """Cluster of each sample: the nearest ray; -1 if none is nearer than 90 degrees.

        A model that was fitted with `outliers` says -1 of them as well, by the limit of its fit.
        With ``loss="kl"`` the centroid under which its counts are likeliest.

        Parameters
        ----------
        X : as for `fit`
            New samples, with the same features.

        Returns
        -------
        ndarray of shape (n_samples,)
            For a Dask collection a Dask array that is not computed yet.

        Examples
        --------
        >>> from onmf import ONMF
        >>> model = ONMF(n_clusters=2, random_state=0).fit([[3, 0], [2, 0.1], [0, 1]])
        >>> model.predict([[0.2, 5.0], [1.0, 0.0]])
        array([1, 0])
        """
        if is_dask(X):
            return self._lazily("predict", X, np.intp)
        data, _, rows, _ = self._assign(X)
        return data.gather(data.map_blocks(labels_of, rows))

    def transform(self, X: Any) -> Array:
        """Memberships of each sample: the best non-negative multiple of one centroid.

        Parameters
        ----------
        X : as for `fit`
            New samples, with the same features.

        Returns
        -------
        ndarray of shape (n_samples, n_clusters)
            At most one non-zero entry a row. For rows on disk a memory map, if large; for a Dask
            collection a Dask array that is not computed yet.

        Examples
        --------
        >>> from onmf import ONMF
        >>> model = ONMF(n_clusters=2, random_state=0).fit([[3, 0], [2, 0.1], [0, 1]])
        >>> model.transform([[0.2, 5.0], [1.0, 0.0]]) > 0
        array([[False, True], [ True, False]])
        """
        self._check_fitted()
        k, dtype = self._n_features_out, self.cluster_centers_.dtype
        if is_dask(X):
            return self._lazily("transform", X, dtype, k)
        data, rule, rows, _ = self._assign(X)
        return data.dense(k, rule.memberships, rows)

    def inverse_transform(self, X: Any) -> Array:
        """Samples with these memberships: X W, so that ``inverse_transform(transform(X))`` is the
        multiple of its centroid that stands for each sample, also where it has NaN.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_clusters)
            Memberships, as `transform` gives them.

        Returns
        -------
        ndarray of shape (n_samples, n_features)

        Examples
        --------
        >>> from onmf import ONMF
        >>> model = ONMF(n_clusters=2, random_state=0).fit([[3, 0], [2, 0], [0, 1]])
        >>> model.inverse_transform(model.transform([[5.0, 0.5]])).round(6)
        array([[5., 0.]])
        """
        self._check_fitted()
        W = self.cluster_centers_
        H = X if is_dask(X) else check_array(X, accept_sparse="csr", dtype=W.dtype, input_name="X")
        if H.shape[1] != len(W):
            raise ValueError(
                f"X has {H.shape[1]} columns, but {type(self).__name__} has {len(W)} clusters: "
                "pass memberships, as transform gives them."
            )
        return H @ W

    def decision_function(self, X: Any) -> Array:
        """Score of each sample for every cluster: its cosine with the centroid.

        The largest is that of the label that `predict` gives, and `margin` compares the two
        largest. Unlike the memberships of `transform`, all of them speak: they are the coordinates
        for neighbours, maps and a second model. For `Baseline` with K-means the score is the share
        of the sample that the centroid explains, 1 - ||x - w||^2 / ||x||^2; with ``loss="kl"`` it
        is 1 / (1 + KL), of the shares of the sample and of the centroid: 1 on the centroid.

        Parameters
        ----------
        X : as for `fit`

        Returns
        -------
        ndarray of shape (n_samples, n_clusters)
            Between 0 and 1 for data that are not negative; a row of zeros for a sample of zeros.
            Two clusters have two columns.

        Examples
        --------
        >>> from onmf import ONMF
        >>> model = ONMF(n_clusters=2, random_state=0).fit([[3, 0], [2, 0], [0, 1]])
        >>> model.decision_function([[3.0, 4.0]]).round(6)
        array([[0.6, 0.8]])
        """
        self._check_fitted()
        k, dtype = self._n_features_out, self.cluster_centers_.dtype
        if is_dask(X):
            return self._lazily("decision_function", X, dtype, k)
        data, assignment, _ = self._with_assignment(X)
        with single_threaded_blas():
            rows, _ = data.sweep(lambda block, _: (assignment.scores(block), ()))
            return data.dense(k, lambda scores: scores, rows)

    def score(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> float:
        """Share of ``||X||^2`` that the clusters explain: 1 - relative error of `transform`.

        With ``loss="kl"`` 1 - KL(X || HW) / KL of a single cluster for all samples of this X.

        Parameters
        ----------
        X : as for `fit`
        y : ignored
        sample_weight : array of shape (n_samples,), optional

        Returns
        -------
        float
            At most 1, for samples that lie on the rays.

        Examples
        --------
        >>> from onmf import ONMF
        >>> model = ONMF(n_clusters=2, random_state=0).fit([[3, 0], [2, 0.1], [0, 1]])
        >>> model.score([[0.0, 5.0], [0.0, 7.0]])
        1.0
        """
        fit = self._assign(X, sample_weight).fit
        return fit.explained / fit.sqnorm if fit.sqnorm > 0 else 1.0

    def outlier_score(self, X: Any) -> NDArray[np.float64]:
        """How far each sample is from all clusters: above 1 for outliers, and higher is worse.

        What the nearest ray leaves of a sample, as a multiple of what may be left of one of its
        length: for new samples what `outlier_score_` is for those of the fit.

        Parameters
        ----------
        X : as for `fit`

        Returns
        -------
        ndarray of shape (n_samples,)

        Examples
        --------
        >>> from onmf import ONMF
        >>> from onmf.datasets import make_rays
        >>> X, y = make_rays(200, 30, 3, outliers=0.1, random_state=0)
        >>> model = ONMF(n_clusters=3, outliers="auto", random_state=0).fit(X)
        >>> ((model.outlier_score(X) > 1) == (y == -1)).all()
        np.True_
        """
        self._check_fitted()
        limit = self._limit
        if limit is None:
            raise ValueError("the model knows no outliers: fit it with outliers='auto'.")
        if is_dask(X):
            return self._lazily("outlier_score", X, np.float64)
        data, assignment, scale = self._with_assignment(X)
        limit = limit.scaled(scale, self._loss.degree)
        with single_threaded_blas():
            rows, _ = data.sweep(assignment)
            pairs = data.map_blocks(assignment.total_and_score, data.row_sqnorms, rows)
            return data.gather(data.map_blocks(lambda pair: limit.excess(*pair), pairs))

    def margin(self, X: Any) -> NDArray[np.float64]:
        """By how much the cosine of each sample with its centroid exceeds that with the next.

        A negative cosine counts as zero; 0 for label -1. What a margin is worth depends on the
        data: `onmf.explain.clusters` turns it into a probability. With ``loss="kl"`` by how much
        the score of `decision_function` exceeds the next.

        Parameters
        ----------
        X : as for `fit`

        Returns
        -------
        ndarray of shape (n_samples,)

        Examples
        --------
        >>> from onmf import ONMF
        >>> model = ONMF(n_clusters=2, random_state=0).fit([[3, 0], [2, 0.1], [0, 1]])
        >>> model.margin([[0.0, 5.0], [1.0, 1.0]]).round(2)
        array([0.98, 0.01])
        """
        if is_dask(X):
            return self._lazily("margin", X, np.float64)
        return self.nearness(X).margin

    def distance(self, X: Any) -> NDArray[np.float64]:
        """Sine of the angle between each sample and its centroid: sqrt(1 - c1^2); 1 for label -1.

        Its square is the share of the sample that the cluster leaves unexplained. With
        ``loss="kl"`` sqrt(1 - s), s being the largest score of `decision_function`.

        Parameters
        ----------
        X : as for `fit`

        Returns
        -------
        ndarray of shape (n_samples,)

        Examples
        --------
        >>> from onmf import ONMF
        >>> model = ONMF(n_clusters=2, random_state=0).fit([[3, 0], [2, 0.1], [0, 1]])
        >>> model.distance([[0.0, 5.0], [1.0, 1.0]]).round(2)
        array([0. , 0.7])
        """
        if is_dask(X):
            return self._lazily("distance", X, np.float64)
        return self.nearness(X).distance

    def nearness(self, X: Any) -> Nearness:
        """`margin` and `distance` at once: X is read a single time.

        Parameters
        ----------
        X : as for `fit`

        Returns
        -------
        (margin, distance)
            Named tuple of two arrays of shape (n_samples,).

        Examples
        --------
        >>> from onmf import ONMF
        >>> model = ONMF(n_clusters=2, random_state=0).fit([[3, 0], [2, 0.1], [0, 1]])
        >>> model.nearness([[0.0, 5.0]]).distance
        array([0.])
        """
        if is_dask(X):
            return Nearness(self.margin(X), self.distance(X))
        data, _, scale = self._with_assignment(X)
        assignment = self._assignment_by_loss(data, scale)
        with single_threaded_blas():
            return nearness(data, assignment)

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)
