"""Steps of numbers.

    depth  x_i total / sum_j x_ij                log    log2(1 + x)
    tfidf  x_ij idf_j, samples of length 1       unit   x_i / ||x_i||
    scale  x_ij / s_j, features of one size      variable  x_ij, or 0 if feature j varies little

Steps of texts are in `texts`, of batches in `batches`.
"""

from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import normalize

from onmf.prepare.arrays import (
    Array,
    check_positive,
    complete,
    feature_squares,
    feature_variances,
    known_totals,
    missing_entries,
    non_negative,
    parts_of,
    sample_totals,
    squares,
    times,
)
from onmf.prepare.base import Step
from onmf.rows.source import Source


class Tfidf(Step):
    """x_ij idf_j, then each sample scaled to length 1; idf_j = 1 + ln((1 + n) / (1 + n_j)).

    n_j of the n samples have feature j. This is scikit-learn's TfidfTransformer, for rows on disk
    as well.

    Attributes
    ----------
    idf_ : ndarray of shape (n_features,)

    Examples
    --------
    >>> import numpy as np
    >>> from onmf.prepare import Tfidf
    >>> Tfidf().fit(np.array([[2.0, 0.0], [1.0, 1.0]])).idf_.round(3)
    array([1.   , 1.405])
    """

    name = "tfidf"
    positive = True
    said = "counts were weighted by tf-idf and samples scaled to length 1"

    def _learn(self, X: Any) -> None:
        nonzero = (complete(part, "tf-idf") != 0 for part in parts_of(X))
        having = sum(np.asarray(part.sum(axis=0)) for part in nonzero)
        self.idf_ = 1 + np.log((1 + X.shape[0]) / (1 + np.ravel(having)))

    def _change(self, X: Any) -> Any:
        return normalize(times(complete(X, "tf-idf"), self.idf_), copy=False)

    def check(self) -> None:
        check_positive(self.idf_, self.n_features_in_, "idf")


class Depth(Step):
    """x_i total / sum_j x_ij: every sample has the same total; a zero sample stays zero.

    NaN stays and does not count for the total. This removes differences of sequencing depth, which
    a logarithm would turn into differences of direction.

    Parameters
    ----------
    total : float or "median", default="median"
        "median" is that of the totals above zero.

    Attributes
    ----------
    total_ : float

    Examples
    --------
    >>> import numpy as np
    >>> from onmf.prepare import Depth
    >>> Depth(100.0).fit_transform(np.array([[1.0, 3.0], [0.0, 5.0]]))
    array([[ 25., 75.], [ 0., 100.]])
    """

    name = "depth"
    positive = True
    said = "samples were scaled to a total of {0.total_:g}"

    def __init__(self, total: float | Literal["median"] = "median") -> None:
        self.total = total

    def _learn(self, X: Any) -> None:
        if self.total != "median":
            self.total_ = float(self.total)
            self.check()
            return
        totals = np.concatenate([known_totals(non_negative(p, "depth")) for p in parts_of(X)])
        self.total_ = float(np.median(totals[totals > 0])) if totals.any() else 1.0

    def _change(self, X: Any) -> Any:
        totals = known_totals(non_negative(X, "depth"))
        return times(X, self.total_ / np.where(totals == 0, 1, totals)[:, None])

    def check(self) -> None:
        if not (type(self.total_) in (int, float) and 0 < self.total_ < np.inf):
            raise ValueError("total must be a positive number.")


class Log(Step):
    """log2(1 + x).

    Examples
    --------
    >>> import numpy as np
    >>> from onmf.prepare import Log
    >>> Log().fit_transform(np.array([[0.0, 3.0]]))
    array([[0., 2.]])
    """

    name = "log"
    positive = True
    said = "log2(1 + x) was taken"

    def _learn(self, X: Any) -> None:
        if not isinstance(X, Source):  # those are read when they are changed
            non_negative(X, "the logarithm")

    def _change(self, X: Any) -> Any:
        X = non_negative(X, "the logarithm")
        if not sp.issparse(X):
            return np.log2(1 + X)
        X = X.copy()
        X.data = np.log2(1 + X.data)
        return X


class Variable(Step):
    """x_ij if feature j is one of the most variable, else 0.

    The variance is that over the samples of the fit, without NaN; of equal features the first is
    taken. All features keep their places, so new samples are scaled to the same totals.

    Parameters
    ----------
    n : int, default=1500
        How many features.

    Attributes
    ----------
    used_ : ndarray of shape (n_features,)
        1 for features that are used, 0 for the others.

    Examples
    --------
    >>> import numpy as np
    >>> from onmf.prepare import Variable
    >>> Variable(2).fit_transform(np.array([[3.0, 1.0, 0.0], [3.0, 2.0, 9.0]]))
    array([[0., 1., 0.], [0., 2., 9.]])
    """

    name = "variable"
    said = "the {0.n} most variable features were kept"

    def __init__(self, n: int = 1500) -> None:
        self.n = n

    def _learn(self, X: Any) -> None:
        order = np.argsort(-feature_variances(X), kind="stable")
        self.used_ = np.zeros(len(order))
        self.used_[order[: int(self.n)]] = 1

    def _change(self, X: Any) -> Any:
        if sp.issparse(X):
            X = times(X, self.used_)
            X.eliminate_zeros()
            return X
        return np.where(self.used_ > 0, X, X.dtype.type(0))

    def check(self) -> None:
        used = self.used_
        sound = isinstance(used, np.ndarray) and used.shape == (self.n_features_in_,)
        if not sound or not np.isin(used, (0, 1)).all() or not used.any():
            raise ValueError("its features are not marked by numbers 0 and 1.")


class Rescale(Step):
    """x_ij / s_j,  s_j^2 = mean over i of x_ij^2: every feature has the same weight.

    For measurements in different units, where the feature with the largest numbers would decide
    alone. NaN stays, and s_j is the mean of the other entries; a zero feature stays zero.

    Attributes
    ----------
    sizes_ : ndarray of shape (n_features,)

    Examples
    --------
    >>> import numpy as np
    >>> from onmf.prepare import Rescale
    >>> Rescale().fit(np.array([[3000.0, 1.0], [4000.0, 7.0]])).sizes_.round(1)
    array([3535.5, 5. ])
    """

    name = "scale"
    said = "features were scaled to the same mean square"

    def _learn(self, X: Any) -> None:
        sums, missing = np.zeros((2, X.shape[1]))
        with np.errstate(over="ignore"):  # is refused below
            for part in parts_of(X):
                sums += feature_squares(part)
                missing += np.ravel(missing_entries(part).sum(axis=0))
        mean = sums / np.maximum(X.shape[0] - missing, 1)
        if not np.isfinite(mean).all():
            raise ValueError("Infinity in data, or numbers too large to be squared: divide them.")
        self.sizes_ = np.sqrt(np.where(mean > 0, mean, 1))

    def _change(self, X: Any) -> Any:
        return times(X, 1 / self.sizes_)

    @property
    def units(self) -> Array:
        return self.sizes_

    def check(self) -> None:
        check_positive(self.sizes_, self.n_features_in_, "sizes")


class Unit(Step):
    """x_i / ||x_i||: every sample has length 1. NaN stays and does not count for the length.

    Examples
    --------
    >>> import numpy as np
    >>> from onmf.prepare import Unit
    >>> Unit().fit_transform(np.array([[3.0, 4.0]]))
    array([[0.6, 0.8]])
    """

    name = "unit"
    said = "samples were scaled to length 1"

    def _change(self, X: Any) -> Any:
        values = X.data if sp.issparse(X) else X
        if not np.isnan(values).any():
            return normalize(X)
        size = np.sqrt(sample_totals(squares(X)))[:, None]
        return times(X, 1 / np.where(size > 0, size, 1))
