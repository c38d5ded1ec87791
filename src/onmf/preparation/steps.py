"""What is done to the data before they are clustered, as steps that can be stored with the model.

    depth  x_i total / sum_j x_ij                log    log2(1 + x)
    tfidf  x_ij idf_j, samples of length 1       unit   x_i / ||x_i||
    scale  x_ij / s_j, features of one size

Those of texts are in `texts`. A step is a frozen object with its name, what it has learnt as
fields, and a call that applies it; `fit` makes it from data. New samples then go through exactly
what the first ones went through.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.preprocessing import normalize

from onmf.io import Source
from onmf.preparation.texts import Strip, Words

__all__ = ["STEPS", "Depth", "Log", "Rescale", "Step", "Tfidf", "Unit", "apply", "apply_step"]


class Step(Protocol):
    """What a stored model asks of a step."""

    name: ClassVar[str]

    def __call__(self, X: Any) -> Any:
        """The data after this step."""

    def check(self, n_features: int) -> None:
        """ValueError if the step cannot precede a model of so many features."""


@dataclass(frozen=True)
class Tfidf:
    """x_ij idf_j, each sample then of length 1; idf_j = 1 + ln((1 + n) / (1 + n_j)).

    n_j of the n samples have feature j: scikit-learn's TfidfTransformer, also for rows on disk.

    Examples
    --------
    >>> import numpy as np
    >>> from onmf.preparation import Tfidf
    >>> Tfidf.fit(np.array([[2.0, 0.0], [1.0, 1.0]])).idf.round(3)
    array([1.   , 1.405])
    """

    idf: NDArray[np.float64]
    name: ClassVar[str] = "tfidf"

    @classmethod
    def fit(cls, X: Any) -> Self:
        parts = X.parts() if isinstance(X, Source) else [X]
        having = sum(np.asarray((_complete(part, "tf-idf") != 0).sum(axis=0)) for part in parts)
        return cls(1 + np.log((1 + X.shape[0]) / (1 + np.ravel(having))))

    def __call__(self, X: Any) -> Any:
        X = _complete(X, "tf-idf")
        idf = self.idf.astype(X.dtype if X.dtype.kind == "f" else np.float64)
        weighted = sp.csr_array(X.multiply(idf)) if sp.issparse(X) else X * idf
        return normalize(weighted, copy=False)

    def check(self, n_features: int) -> None:
        sound = isinstance(self.idf, np.ndarray) and self.idf.shape == (n_features,)
        if not sound or not ((0 < self.idf) & (self.idf < np.inf)).all():
            raise ValueError(f"its idf are not {n_features} positive numbers.")


@dataclass(frozen=True)
class Depth:
    """x_i total / sum_j x_ij: every sample has the same total; one that is all zero stays so.

    Depth of sequencing is then no longer a difference between samples. It is one for the logarithm,
    which turns a longer sample into one of another direction.

    Examples
    --------
    >>> import numpy as np
    >>> from onmf.preparation import Depth
    >>> Depth(100.0)(np.array([[1.0, 3.0], [0.0, 5.0]]))
    array([[ 25., 75.], [ 0., 100.]])
    """

    total: float
    name: ClassVar[str] = "depth"

    @classmethod
    def fit(cls, X: Any, total: float | None = None) -> Self:
        """To the given total; None takes the median of those that are not zero."""
        if total is not None:
            return cls(float(total))
        parts = X.parts() if isinstance(X, Source) else [X]
        totals = np.concatenate([sample_totals(_complete(part, "depth")) for part in parts])
        return cls(float(np.median(totals[totals > 0])) if totals.any() else 1.0)

    def __call__(self, X: Any) -> Any:
        totals = sample_totals(_complete(X, "depth"))
        return _times(X, self.total / np.where(totals == 0, 1, totals)[:, None])

    def check(self, n_features: int) -> None:
        if not (type(self.total) in (int, float) and 0 < self.total < np.inf):
            raise ValueError("its total is not a positive number.")


@dataclass(frozen=True)
class Log:
    """log2(1 + x).

    Examples
    --------
    >>> import numpy as np
    >>> from onmf.preparation import Log
    >>> Log()(np.array([[0.0, 3.0]]))
    array([[0., 2.]])
    """

    name: ClassVar[str] = "log"

    @classmethod
    def fit(cls, X: Any) -> Self:
        return cls()

    def __call__(self, X: Any) -> Any:
        X = _non_negative(X, "the logarithm")
        if not sp.issparse(X):
            return np.log2(1 + X)
        X = X.copy()
        X.data = np.log2(1 + X.data)
        return X

    def check(self, n_features: int) -> None:
        """Any number will do."""


@dataclass(frozen=True)
class Rescale:
    """x_ij / s_j,  s_j^2 = mean over i of x_ij^2: every feature has the same weight.

    For measurements in different units, of which the one with the largest numbers would decide
    alone. Entries that are NaN stay, and s_j is that of the others; a feature that is all zero
    stays so.

    Examples
    --------
    >>> import numpy as np
    >>> from onmf.preparation import Rescale
    >>> X = np.array([[3000.0, 1.0], [4000.0, 7.0]])
    >>> Rescale.fit(X).sizes.round(1)
    array([3535.5, 5. ])
    """

    sizes: NDArray[np.float64]
    name: ClassVar[str] = "scale"

    @classmethod
    def fit(cls, X: Any) -> Self:
        squares, holes = np.zeros((2, X.shape[1]))
        for part in X.parts() if isinstance(X, Source) else [X]:
            squares += feature_squares(part)
            holes += np.ravel(_holes(part).sum(axis=0))
        mean = squares / np.maximum(X.shape[0] - holes, 1)
        return cls(np.sqrt(np.where(mean > 0, mean, 1)))

    def __call__(self, X: Any) -> Any:
        return _times(X, 1 / self.sizes)

    def check(self, n_features: int) -> None:
        sound = isinstance(self.sizes, np.ndarray) and self.sizes.shape == (n_features,)
        if not sound or not ((0 < self.sizes) & (self.sizes < np.inf)).all():
            raise ValueError(f"its sizes are not {n_features} positive numbers.")


@dataclass(frozen=True)
class Unit:
    """x_i / ||x_i||: every sample counts the same. NaN stays, the length being that of the rest.

    Examples
    --------
    >>> import numpy as np
    >>> from onmf.preparation import Unit
    >>> Unit()(np.array([[3.0, 4.0]]))
    array([[0.6, 0.8]])
    """

    name: ClassVar[str] = "unit"

    @classmethod
    def fit(cls, X: Any) -> Self:
        return cls()

    def __call__(self, X: Any) -> Any:
        values = X.data if sp.issparse(X) else np.asarray(X)
        if values.dtype.kind != "f" or not np.isnan(values).any():
            return normalize(X)
        size = np.sqrt(sample_totals(_squares(X)))[:, None]
        return _times(X if sp.issparse(X) else values, 1 / np.where(size > 0, size, 1))

    def check(self, n_features: int) -> None:
        """Any number will do."""


KINDS = Strip, Words, Depth, Log, Rescale, Tfidf, Unit
STEPS: dict[str, Any] = {step.name: step for step in KINDS}


def apply(chain: Iterable[Step], X: Any) -> Any:
    """The data after all steps.

    Parameters
    ----------
    chain : iterable of steps
        For example `preprocessing_` of a loaded model.
    X : array, sparse matrix, rows on disk, or list of texts if the first step counts words

    Returns
    -------
    array or csr_array; rows on disk stay there and are changed as they are read

    Examples
    --------
    >>> from onmf.preparation import Tfidf, Words, apply
    >>> texts = ["stars and planets", "planets and moons"]
    >>> words = Words.fit(texts)
    >>> words.vocabulary
    ('and', 'moons', 'planets', 'stars')
    >>> apply([words, Tfidf.fit(words(texts))], ["moons of moons"]).toarray()
    array([[0., 1., 0., 0.]])
    """
    for step in chain:
        X = apply_step(step, X)
    return X


def apply_step(step: Step, X: Any) -> Any:
    """The data after one step."""
    return X.changed(step) if isinstance(X, Source) else step(X)


def sample_totals(X: Any) -> NDArray[np.float64]:
    """sum_j x_ij of each sample."""
    return np.asarray(X.sum(axis=1), np.float64).ravel()


def _times(X: Any, factor: NDArray[np.float64]) -> Any:
    """X, of the same precision, times a factor for each sample (n, 1) or each feature (m,)."""
    if getattr(X, "dtype", None) == np.float32:
        factor = factor.astype(np.float32)
    return sp.csr_array(X.multiply(factor)) if sp.issparse(X) else X * factor


def feature_squares(X: Any) -> NDArray[np.float64]:
    """sum_i x_ij^2 of each feature."""
    return np.asarray(_squares(X).sum(axis=0), np.float64).ravel()


def _holes(X: Any) -> Any:
    """1 where nothing is known."""
    if not sp.issparse(X):
        return np.isnan(X)
    return sp.csr_array((np.isnan(X.data), X.indices, X.indptr), shape=X.shape)


def _squares(X: Any) -> Any:
    """x_ij^2, zero where nothing is known."""
    if not sp.issparse(X):
        return np.square(np.nan_to_num(X), dtype=np.float64)
    squares = X.astype(np.float64)
    squares.data = np.square(np.nan_to_num(squares.data))
    return squares


def _non_negative(X: Any, what: str) -> Any:
    """X, if neither step nor logarithm can go wrong; infinity is left to the estimator's check."""
    values = X.data if sp.issparse(X) else np.asarray(X)
    if values.size and np.fmin.reduce(values, axis=None) < 0:
        raise ValueError(f"Negative values in data: {what} needs counts or amounts.")
    return X


def _complete(X: Any, what: str) -> Any:
    """The same for steps that need every entry of a sample."""
    values = X.data if sp.issparse(X) else np.asarray(X)
    if values.dtype.kind == "f" and np.isnan(values).any():
        raise ValueError(
            f"Missing values in data: {what} needs every entry of a sample; leave the step out, or "
            "fill them."
        )
    return _non_negative(X, what)
