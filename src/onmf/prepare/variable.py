"""The most variable features: a step that is stored with a model."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from onmf.prepare.arrays import feature_count, feature_variances, times
from onmf.prepare.base import Step, StepOption
from onmf.rows.table import Array


@dataclass(frozen=True)
class Variable(Step):
    """x_ij if feature j is one of the most variable, else 0.

    The variance is that over the samples of the first fit, without NaN; of equal features the first
    is taken. All features keep their places, so new samples are scaled to the same totals.

    Examples
    --------
    >>> import numpy as np
    >>> from onmf.prepare import Variable
    >>> X = np.array([[3.0, 1.0, 0.0], [3.0, 2.0, 9.0]])
    >>> Variable.fit(X, 2)(X)
    array([[0., 1., 0.], [0., 2., 9.]])
    """

    used: Array
    name = "variable"
    said = "the most variable features were kept"
    options = (
        StepOption("--variable", "Use the N most variable features only.",
                   "variable", parse=feature_count, metavar="N|all"),
    )  # fmt: skip

    @classmethod
    def fit(cls, X: Any, variable: int = 1500) -> Self:
        order = np.argsort(-feature_variances(X), kind="stable")
        used = np.zeros(len(order))
        used[order[:variable]] = 1
        return cls(used)

    def __call__(self, X: Any) -> Any:
        if sp.issparse(X):
            X = times(X, self.used)
            X.eliminate_zeros()
            return X
        return np.where(self.used > 0, X, X.dtype.type(0))

    def check(self, n_features: int) -> None:
        sound = isinstance(self.used, np.ndarray) and self.used.shape == (n_features,)
        if not sound or not np.isin(self.used, (0, 1)).all() or not self.used.any():
            raise ValueError(f"its features are not marked by {n_features} numbers 0 and 1.")
