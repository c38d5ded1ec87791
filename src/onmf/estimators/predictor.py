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
from onmf.estimators.kept import OF_UNUSUAL, learnt
from onmf.explain.certainty import Calibration
from onmf.explain.probabilities import probabilities
from onmf.explain.unusual import residuals, share_as_far
from onmf.rows import is_dask
from onmf.rows.assign import labels_of, nearness, rays_of
from onmf.rows.sweep import Array, Block
from onmf.rows.threads import single_threaded_blas


class PredictMixin(ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin, DataMixin):
    """What a fit says of samples, new or not."""

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

        The largest is that of the label that `predict` gives. Unlike the memberships of
        `transform`, all of them speak: they are the coordinates for neighbours, maps and a second
        model. A cluster of several rays (after `merge`) has the best of them. For `Baseline` with
        K-means the score is the share of the sample that the centroid explains,
        1 - ||x - w||^2 / ||x||^2; with ``loss="kl"`` it is 1 / (1 + KL), of the shares of the
        sample and of the centroid: 1 on the centroid.

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
        data, _, scale = self._with_assignment(X)
        with single_threaded_blas():
            return nearness(data, self._assignment_by_loss(data, scale)).distance

    def predict_proba(self, X: Any) -> Array:
        """Probability of every cluster for each sample; the largest is that of its label.

        The largest is the certainty of ``explain``: the probability that two halves of the
        features put the sample into the same cluster. The rest is shared among the other clusters,
        by how near they are. The first call makes a few small fits to a part of the training data.

        Parameters
        ----------
        X : as for `fit`

        Returns
        -------
        ndarray of shape (n_samples, n_clusters)
            Rows add up to 1; all zero for label -1. For a Dask collection a Dask array.

        Examples
        --------
        >>> from onmf import ONMF
        >>> from onmf.datasets import make_rays
        >>> X, _ = make_rays(90, 30, 3, random_state=0)
        >>> model = ONMF(n_clusters=3, random_state=0).fit(X)
        >>> P = model.predict_proba(X)
        >>> P.shape, bool((P.argmax(axis=1) == model.labels_).all())
        ((90, 3), True)
        """
        self._check_fitted()
        k, dtype = self._n_features_out, self.cluster_centers_.dtype
        known = {"certainty_curve_": learnt(self, "certainty_curve_")}
        if is_dask(X):
            return self._lazily("predict_proba", X, dtype, k, **known)
        curve = Calibration.of(known["certainty_curve_"])
        data, assignment, scale = self._with_assignment(X)
        assignment = self._limited(assignment, scale)
        by_loss = self._assignment_by_loss(data, scale)

        def judge(block: Block, rows: Any) -> tuple[Array, tuple[()]]:
            labels = assignment(block, None)[0].labels
            return probabilities(curve, by_loss.scores(block), labels).astype(dtype), ()

        with single_threaded_blas():
            rows, _ = data.sweep(judge)
            return data.dense(k, lambda P: P, rows)

    def unusual(self, X: Any) -> NDArray[np.float64]:
        """Share of the samples of its cluster that are at least as far from the centroid.

        Small for samples unlike those of the fit: ``model.unusual(X) < 0.025`` holds for 2.5 % of
        new samples of the same kinds. Features that hardly vary within clusters count more; see
        ``onmf.explain.unusual`` for the formula. The samples compared with are some of the fit.

        Parameters
        ----------
        X : as for `fit`

        Returns
        -------
        ndarray of shape (n_samples,)
            From 0 to 1; 0 for label -1.

        Examples
        --------
        >>> from onmf import ONMF
        >>> from onmf.datasets import make_rays
        >>> X, _ = make_rays(300, 30, 3, random_state=0)
        >>> model = ONMF(n_clusters=3, random_state=0).fit(X[:200])
        >>> float((model.unusual(X[200:]) < 0.025).mean()) < 0.1
        True
        >>> float(model.unusual(X[200:, ::-1]).max()) < 0.025
        True
        """
        self._check_fitted()
        known = {name: learnt(self, name) for name in OF_UNUSUAL}
        if is_dask(X):
            return self._lazily("unusual", X, np.float64, None, **known)
        data, assignment, _ = self._with_assignment(X)
        a, kept = known.values()
        W, owner = self.rays_.astype(np.float64), self.cluster_of_ray_

        def judge(block: Block, rows: Any) -> tuple[Array, tuple[()]]:
            near = rays_of(assignment(block, None)[0])
            q = residuals(block.X, near, W, self._loss).sums(a.astype(np.float64))
            return share_as_far(q, np.append(owner, -1)[near], kept, owner), ()

        with single_threaded_blas():
            return data.gather(data.sweep(judge)[0])

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)
