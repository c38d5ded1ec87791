"""scikit-learn transformers for counts of words and of reads. Sparse data stay sparse."""

from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.validation import validate_data

from onmf.prepare.steps import Depth, Log
from onmf.rows.table import Array

__all__ = ["log_expression", "tfidf", "used_features"]


def tfidf() -> Pipeline:
    """Term counts to tf-idf weights, every document scaled to length 1.

    Returns
    -------
    Pipeline

    Examples
    --------
    >>> import numpy as np
    >>> from onmf.prepare import tfidf
    >>> X = tfidf().fit_transform(np.array([[2.0, 0.0], [1.0, 1.0]]))
    >>> X.multiply(X).sum(axis=1).round(6).tolist()
    [[1.0], [1.0]]
    """
    return make_pipeline(TfidfTransformer(norm="l2"))


def log_expression(total: float | Literal["median"] | None = None) -> Pipeline:
    """log2(1 + x), after scaling each sample to a given total.

    Parameters
    ----------
    total : float or "median", optional
        1e6 gives counts per million; "median" is the median total of the samples passed to `fit`;
        None is for values that are already comparable between samples, such as RSEM.

    Returns
    -------
    Pipeline
        DataFrames stay DataFrames, so the model knows the names of the genes.

    Examples
    --------
    >>> import numpy as np
    >>> from onmf.prepare import log_expression
    >>> log_expression(total=4).fit_transform(np.array([[30.0, 10.0], [0.0, 7.0]]))
    array([[2. , 1. ], [0. , 2.32192809]])
    """
    log = FunctionTransformer(Log(), accept_sparse=True, feature_names_out="one-to-one")
    return make_pipeline(log) if total is None else make_pipeline(SameDepth(total), log)


def used_features(X: Any) -> Array:
    """Columns that are not all zero.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features), non-negative

    Returns
    -------
    ndarray of int

    Examples
    --------
    >>> import numpy as np
    >>> from onmf.prepare import used_features
    >>> used_features(np.array([[0.0, 1.0], [0.0, 3.0]]))
    array([1])
    """
    return np.flatnonzero(np.asarray(X.sum(axis=0)).ravel() > 0)


class SameDepth(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """`Depth` as a transformer; the median is that of the samples passed to `fit`."""

    def __init__(self, total: float | Literal["median"] = 1e6) -> None:
        self.total = total

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the median of the totals, if it is asked for."""
        validate_data(self, X, accept_sparse="csr", dtype=None, skip_check_array=True)
        self.step_ = Depth.fit(X, self.total)
        return self

    def transform(self, X: Any) -> Any:
        """The samples, scaled to the total."""
        return self.step_(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
