"""What a fitted model says of the doubt about samples: probabilities, strangers, mixtures."""

from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from onmf.estimators.predictor import PredictMixin
from onmf.explain.certainty import Calibration
from onmf.explain.mixtures import mixed_scores
from onmf.explain.probabilities import curve_of_samples, probabilities
from onmf.explain.remainders import Left
from onmf.explain.strangers import StrangerJudge, StrangerRule
from onmf.result import cluster_ids
from onmf.rows import Placement, is_dask
from onmf.rows.assign import labels_of
from onmf.rows.disk import OnDisk
from onmf.rows.memory import InMemory
from onmf.rows.sweep import Array, Block, Matrix, count_missing, divisor
from onmf.rows.threads import single_threaded_blas

OF_STRANGERS = tuple(f"stranger_{part}_" for part in ("form", "limits", "chance", "means", "usual"))
LEARNT = ("certainty_curve_", *OF_STRANGERS)  # from the kept samples
KEPT_ENTRIES = 1 << 21  # of X that a fit keeps to judge new samples: 16 MB at most, ...
KEPT_PER_CLUSTER, MOST_KEPT = 20, 3000  # ... or so many samples; what the fits of halves need
RUNS_ON_DISK = 32  # of consecutive rows: others would mean reading all of a packed file
KEPT_STREAM = 13  # of random numbers


@dataclass(eq=False)
class KeptSamples:
    """Some samples of a fit, and what was learnt from them for the present centroids."""

    X: Matrix
    weight: Array
    scale: float  # what X was multiplied by
    part: float  # of the samples of the fit
    learnt: tuple[Array, dict[str, Array]] | None = None

    @classmethod
    def of(cls, rows: Placement, k: int) -> "KeptSamples":
        """Some of the samples of a fit of k clusters, at random; those of the summary, if any."""
        data, n = rows.data, rows.data.shape[0]
        if rows.summary is not None:
            block = rows.summary.rows()
            return cls(block.X, block.weight[:, 0], rows.scale, len(block.weight) / n)
        size = KEPT_ENTRIES * n // max(data.n_stored, 1)
        size = min(max(size, KEPT_PER_CLUSTER * k), MOST_KEPT, n)
        some = np.arange(n)
        if size < n:
            rng = np.random.default_rng((KEPT_STREAM, n))
            if isinstance(data, OnDisk):
                first = np.linspace(0, n - size // RUNS_ON_DISK, RUNS_ON_DISK).astype(int)
                some = np.unique(first[:, None] + np.arange(size // RUNS_ON_DISK))
            else:
                some = np.sort(rng.choice(n, size, replace=False))
        weight = np.ones(len(some)) if rows.weight is None else np.asarray(rows.weight)[some]
        return cls(data.take(some).X, weight, rows.scale, len(some) / n)

    def distinct(self) -> tuple[Matrix, Array]:
        """Each sample once, in an order of its own, and the weights of all that are equal.

        So a sample of weight 2 says what two equal samples say, wherever they are, and the order is
        the same for an array and a CSR matrix, in either precision, times any power of two.
        """
        X: Matrix = sp.csr_array(self.X) if sp.issparse(self.X) else np.ascontiguousarray(self.X)
        if sp.issparse(X):
            X.sum_duplicates()
            X.eliminate_zeros()
        largest = np.nanmax(np.abs(X.data if sp.issparse(X) else X), initial=0)
        unit = 2.0 ** -float(np.frexp(largest)[1])
        numbers: dict[bytes, int] = {}
        weight = np.zeros(X.shape[0])
        for i in np.flatnonzero(self.weight > 0).tolist():
            weight[numbers.setdefault(_content(X, i, unit), i)] += self.weight[i]
        first = [numbers[key] for key in sorted(numbers)]
        return X[first], weight[first]


def _content(X: Matrix, i: int, unit: float) -> bytes:
    """Row i of X as bytes: its columns and its values in units of `1 / unit`."""
    if sp.issparse(X):
        own = slice(X.indptr[i], X.indptr[i + 1])
        columns, values = X.indices[own], X.data[own]
    else:
        columns = np.flatnonzero(X[i])
        values = X[i, columns]
    return bytes(columns.astype(np.int64).tobytes() + (values.astype(np.float64) * unit).tobytes())


class JudgingMixin(PredictMixin):
    """Probabilities and strangers, by some samples of the fit, when first asked; and mixtures."""

    _kept: KeptSamples
    stranger_form_: NDArray[np.float32]
    stranger_limits_: NDArray[np.float64]
    stranger_chance_: NDArray[np.float64]
    stranger_means_: NDArray[np.float32]
    stranger_usual_: NDArray[np.float64]

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
        known = {"certainty_curve_": self._learnt("certainty_curve_")}
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

    def stranger_score(self, X: Any) -> NDArray[np.float64]:
        """How unlike the samples of the fit each sample is: above 1 for strangers.

        What the nearest centroid leaves of the sample, whatever its length. Features that hardly
        vary within the clusters count more; see ``onmf.explain.strangers`` for the formula. At most
        3 % of new samples of the same kinds are above 1.

        Parameters
        ----------
        X : as for `fit`

        Returns
        -------
        ndarray of shape (n_samples,)
            0 for a sample of zeros.

        Examples
        --------
        >>> from onmf import ONMF
        >>> from onmf.datasets import make_rays
        >>> X, _ = make_rays(300, 30, 3, random_state=0)
        >>> model = ONMF(n_clusters=3, random_state=0).fit(X[:200])
        >>> bool((model.stranger_score(X[200:, ::-1]) > 1).all())
        True
        """
        return self._judged("stranger_score", X, np.float64, StrangerJudge.excess)

    def strangers(self, X: Any) -> NDArray[np.bool_]:
        """Whether each sample is unlike all samples of the fit: `stranger_score` above 1.

        `predict` gives such a sample the nearest cluster all the same. For samples of the fit
        itself see the parameter `outliers`.

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
        >>> X, _ = make_rays(300, 30, 3, random_state=0)
        >>> model = ONMF(n_clusters=3, random_state=0).fit(X[:200])
        >>> bool(model.strangers(X[200:]).mean() < 0.1)
        True
        """
        return self._judged("strangers", X, np.bool_, StrangerJudge.beyond)

    def mixed_score(self, X: Any) -> NDArray[np.float64]:
        """Share of what the nearest centroid leaves of a sample that a second one explains.

        (c_12^2 - c_1^2) / (1 - c_1^2), c_1 being the cosine of the sample with its centroid and
        c_12 that with the best non-negative mixture of two centroids. It is high for sums of
        samples of two clusters, such as two cells in one droplet. What is high depends on the data:
        use it to rank samples. With ``loss="kl"`` the cosines are those of the roots of shares.

        Parameters
        ----------
        X : as for `fit`

        Returns
        -------
        ndarray of shape (n_samples,)
            From 0 to 1; 0 for a sample of zeros, and of all samples if there is one cluster.

        Examples
        --------
        >>> from onmf import ONMF
        >>> model = ONMF(n_clusters=2, random_state=0).fit([[3, 0, 0], [2, 0, 0], [0, 1, 0]])
        >>> model.mixed_score([[3.0, 2.0, 0.0], [3.0, 0.0, 1.0]]).round(6)
        array([1., 0.])
        """
        self._check_fitted()
        if is_dask(X):
            return self._lazily("mixed_score", X, np.float64)
        data, _, _ = self._with_assignment(X)
        W, loss = self.cluster_centers_, self._loss

        def judge(block: Block, rows: Any) -> tuple[Array, tuple[()]]:
            return mixed_scores(block.X, W, loss), ()

        with single_threaded_blas():
            return data.gather(data.sweep(judge)[0])

    def _judged(self, name: str, X: Any, dtype: Any, look: Callable[..., Array]) -> Array:
        """What the method of this name says of samples: how the rule looks at a block."""
        self._check_fitted()
        if is_dask(X):
            known = {name: self._learnt(name) for name in OF_STRANGERS}
            return self._lazily(name, X, dtype, None, **known)
        rule, (data, assignment, scale) = self._stranger_judge(), self._with_assignment(X)

        def judge(block: Block, rows: Any) -> tuple[Array, tuple[()]]:
            return look(rule, block.X, assignment(block, None)[0].labels, scale), ()

        with single_threaded_blas():
            return data.gather(data.sweep(judge)[0])

    def _stranger_judge(self) -> StrangerJudge:
        """By which `stranger_score` judges samples."""
        rule = StrangerRule(*(self._learnt(name) for name in OF_STRANGERS))
        return StrangerJudge(rule, self.cluster_centers_, np.asarray(cluster_ids(self)), self._loss)

    def _learnt(self, name: str) -> Array:
        """An attribute that is learnt from the kept samples, unless the model has it already."""
        if name in vars(self):
            return np.asarray(getattr(self, name))
        if "_kept" not in vars(self):
            raise ValueError(
                f"this {type(self).__name__} was saved by an older version, which kept too little "
                "of the training data to say that: fit it again."
            )
        W, kept = self.cluster_centers_, self._kept
        if kept.learnt is None or not np.array_equal(kept.learnt[0], W):
            kept.learnt = W.copy(), {}
        facts = kept.learnt[1]
        if name not in facts:
            with single_threaded_blas():
                facts |= self._learn(name)
        return facts[name]

    def _learn(self, name: str) -> dict[str, Array]:
        """The attribute, and what comes with it, from the kept samples."""
        (X, weight), scale = self._kept.distinct(), self._kept.scale
        data, W = InMemory(X, n_missing=count_missing(X)), self.cluster_centers_
        codes, _ = data.sweep(self._limited(self._assignment(data, scale), scale))
        labels = data.gather(data.map_blocks(labels_of, codes))
        if name == "certainty_curve_":
            facts = {"labels_": labels, "cluster_centers_": W, "loss": self.loss}
            model: Any = SimpleNamespace(**facts)
            return {name: curve_of_samples(model, X, weight).array()}
        influence = weight * self._loss.sampling_weight(X)
        own = np.bincount(np.maximum(labels, 0), influence * (labels >= 0), len(W))[labels]
        share = self._kept.part * influence / divisor(own)
        left, ids = Left.of(X, labels, W, self._loss, scale), np.asarray(cluster_ids(self))
        rule = StrangerRule.learn(left, weight, share, ids)
        parts = rule.form, rule.limits, rule.chance, rule.means, rule.usual
        return dict(zip(OF_STRANGERS, parts, strict=True))

    def _learn_all(self) -> None:
        """Have all that is learnt as attributes: the kept samples are not saved."""
        if "_kept" in vars(self):
            for name in LEARNT:
                setattr(self, name, self._learnt(name))
