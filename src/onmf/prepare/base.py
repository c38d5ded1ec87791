"""What every preparation step is: a scikit-learn transformer that rows on disk go through as well.

    fit(X)         learns from the samples, in one or two readings
    transform(X)   the samples after the step; rows on disk are changed when they are read

A step keeps missing values, the container and single precision, and knows the names of features.
"""

from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted, validate_data

from onmf.rows import is_dask, matrix_of
from onmf.rows.source import Source


class Step(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """A step has `_learn(X)`, which sets fitted attributes, and `_change(X)`."""

    name: ClassVar[str]
    of_texts: ClassVar[bool] = False  # whether it is applied to texts instead of numbers
    positive: ClassVar[bool] = False  # whether it needs counts or amounts
    said: ClassVar[str]  # what was done, with fields of the step

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from samples.

        Parameters
        ----------
        X : array, sparse matrix, DataFrame, AnnData or rows on disk (n_samples, n_features)
        y : ignored

        Returns
        -------
        self
        """
        self._learn(self._checked(X, reset=True))
        return self

    def transform(self, X: Any) -> Any:
        """The samples after the step.

        Parameters
        ----------
        X : as for `fit`

        Returns
        -------
        array or csr_array; rows on disk stay on disk, rows on Dask on their workers
        """
        check_is_fitted(self, "n_features_in_")
        return self.changed(self._checked(X, reset=False))

    def changed(self, X: Any) -> Any:
        """The same for samples that were checked before."""
        if isinstance(X, Source):
            return X.changed(self._change)
        return X.map_blocks(self._change) if is_dask(X) else self._change(X)

    def _checked(self, X: Any, reset: bool) -> Any:
        """Numbers with as many features as before; names of features are kept or compared."""
        if isinstance(X, Source) or is_dask(X):
            if reset:
                self.n_features_in_ = X.shape[1]
            elif X.shape[1] != self.n_features_in_:
                raise ValueError(
                    f"X has {X.shape[1]} features, but {type(self).__name__} is expecting "
                    f"{self.n_features_in_} features as input."
                )
            return X
        if hasattr(X, "var_names"):  # AnnData
            names = np.array([str(name) for name in X.var_names], object)
            if reset:
                self.feature_names_in_, self.n_features_in_ = names, len(names)
            elif not np.array_equal(names, getattr(self, "feature_names_in_", names)):
                raise ValueError("the variables should be those of the fit, in the same order.")
            X = check_array(matrix_of(X), **CHECKS)
        else:
            X = validate_data(self, X, reset=reset, **CHECKS)
        return sp.csr_array(X) if sp.issparse(X) else X

    def _learn(self, X: Any) -> None:
        """Nothing, unless a step says otherwise."""

    def _change(self, X: Any) -> Any:
        raise NotImplementedError

    def sentence(self) -> str:
        """What was done, for the methods of a paper."""
        return self.said.format(self)

    @property
    def units(self) -> Any:
        """What its output is multiplied by to be in the units of its input, by feature."""
        return 1.0

    def check(self) -> None:
        """ValueError if what was read from a file cannot have been learnt."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.input_tags.allow_nan = True
        tags.input_tags.positive_only = self.positive
        return tags


CHECKS: dict[str, Any] = {
    "accept_sparse": "csr",
    "dtype": [np.float64, np.float32],
    "ensure_all_finite": "allow-nan",
}
