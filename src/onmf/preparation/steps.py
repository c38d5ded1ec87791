"""Steps of preparation that are stored with a model.

    depth  x_i total / sum_j x_ij                log    log2(1 + x)
    tfidf  x_ij idf_j, samples of length 1       unit   x_i / ||x_i||
    scale  x_ij / s_j, features of one size

Steps of texts are in `texts`, and `base.Step` says what a step has. New samples go through the same
steps with what these have learnt from the first ones. The command offers the options of all `STEPS`
and applies the steps in this order.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import normalize

from onmf.io import Source
from onmf.io.table import Array
from onmf.preparation.base import Step, StepOption
from onmf.preparation.texts import Strip, Words

__all__ = ["STEPS", "Depth", "Log", "Rescale", "Step", "Tfidf", "Unit", "apply", "apply_step"]


@dataclass(frozen=True)
class Tfidf(Step):
    """x_ij idf_j, then each sample scaled to length 1; idf_j = 1 + ln((1 + n) / (1 + n_j)).

    n_j of the n samples have feature j. This is scikit-learn's TfidfTransformer, for rows on disk
    as well.

    Examples
    --------
    >>> import numpy as np
    >>> from onmf.preparation import Tfidf
    >>> Tfidf.fit(np.array([[2.0, 0.0], [1.0, 1.0]])).idf.round(3)
    array([1.   , 1.405])
    """

    idf: Array
    name = "tfidf"
    options = (StepOption("--tfidf", "Weight counts by tf-idf; of texts after --log."),)

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
        _check_positive(self.idf, n_features, "idf")


@dataclass(frozen=True)
class Depth(Step):
    """x_i total / sum_j x_ij: every sample has the same total; a zero sample stays zero.

    This removes differences of sequencing depth, which a logarithm would turn into differences of
    direction.

    Examples
    --------
    >>> import numpy as np
    >>> from onmf.preparation import Depth
    >>> Depth(100.0)(np.array([[1.0, 3.0], [0.0, 5.0]]))
    array([[ 25., 75.], [ 0., 100.]])
    """

    total: float
    name = "depth"
    options = (
        StepOption("--cpm", "Scale every sample to a total of one million (counts per million).",
                   "total", "1e6"),
        StepOption("--cpm-median", "Scale every sample to the median of the totals.",
                   "total", "median"),
    )  # fmt: skip

    @classmethod
    def fit(cls, X: Any, total: float | str = "median") -> Self:
        """To the given total; "median" is that of the totals above zero."""
        if total != "median":
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
class Log(Step):
    """log2(1 + x).

    Examples
    --------
    >>> import numpy as np
    >>> from onmf.preparation import Log
    >>> Log()(np.array([[0.0, 3.0]]))
    array([[0., 2.]])
    """

    name = "log"
    options = (StepOption("--log", "Take log2(1 + x); for counts, after --cpm."),)

    def __call__(self, X: Any) -> Any:
        X = _non_negative(X, "the logarithm")
        if not sp.issparse(X):
            return np.log2(1 + X)
        X = X.copy()
        X.data = np.log2(1 + X.data)
        return X


@dataclass(frozen=True)
class Rescale(Step):
    """x_ij / s_j,  s_j^2 = mean over i of x_ij^2: every feature has the same weight.

    For measurements in different units, where the feature with the largest numbers would decide
    alone. NaN stays, and s_j is the mean of the other entries; a zero feature stays zero.

    Examples
    --------
    >>> import numpy as np
    >>> from onmf.preparation import Rescale
    >>> X = np.array([[3000.0, 1.0], [4000.0, 7.0]])
    >>> Rescale.fit(X).sizes.round(1)
    array([3535.5, 5. ])
    """

    sizes: Array
    name = "scale"
    options = (StepOption("--scale", "Give every feature the same weight, for different units."),)

    @classmethod
    def fit(cls, X: Any) -> Self:
        squares, missing = np.zeros((2, X.shape[1]))
        for part in X.parts() if isinstance(X, Source) else [X]:
            squares += feature_squares(part)
            missing += np.ravel(_missing(part).sum(axis=0))
        mean = squares / np.maximum(X.shape[0] - missing, 1)
        if not np.isfinite(mean).all():
            raise ValueError("Infinity in data, or numbers too large to be squared: divide them.")
        return cls(np.sqrt(np.where(mean > 0, mean, 1)))

    def __call__(self, X: Any) -> Any:
        return _times(X, 1 / self.sizes)

    def check(self, n_features: int) -> None:
        _check_positive(self.sizes, n_features, "sizes")


@dataclass(frozen=True)
class Unit(Step):
    """x_i / ||x_i||: every sample has length 1. NaN stays and does not count for the length.

    Examples
    --------
    >>> import numpy as np
    >>> from onmf.preparation import Unit
    >>> Unit()(np.array([[3.0, 4.0]]))
    array([[0.6, 0.8]])
    """

    name = "unit"
    options = (StepOption("--unit", "Scale every sample to length 1."),)

    def __call__(self, X: Any) -> Any:
        values = X.data if sp.issparse(X) else np.asarray(X)
        if values.dtype.kind != "f" or not np.isnan(values).any():
            return normalize(X)
        size = np.sqrt(sample_totals(_squares(X)))[:, None]
        return _times(X if sp.issparse(X) else values, 1 / np.where(size > 0, size, 1))


STEPS: dict[str, Any] = {
    step.name: step for step in (Strip, Words, Depth, Log, Rescale, Tfidf, Unit)
}
WEIGHTS_OF_WORDS = (Log, Tfidf)  # sublinear tf-idf: counts of words for squares


def suited_loss(names: Sequence[str]) -> str:
    """The loss that suits the data after the steps with these names: the last one says it."""
    loss: str = STEPS[names[-1]].loss if names else Step.loss
    return loss


def apply(chain: Iterable[Step], X: Any) -> Any:
    """The data after all steps.

    Parameters
    ----------
    chain : iterable of steps
        For example `preprocessing_` of a loaded model.
    X : array, sparse matrix, rows on disk, or list of texts if the first step counts words

    Returns
    -------
    array or csr_array; rows on disk stay on disk and are changed when they are read

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


def sample_totals(X: Any) -> Array:
    """sum_j x_ij of each sample."""
    return np.asarray(X.sum(axis=1), np.float64).ravel()


def _check_positive(values: Any, n: int, what: str) -> None:
    sound = isinstance(values, np.ndarray) and values.shape == (n,)
    if not sound or not ((0 < values) & (values < np.inf)).all():
        raise ValueError(f"its {what} are not {n} positive numbers.")


def _times(X: Any, factor: Array) -> Any:
    """X, of the same precision, times a factor for each sample (n, 1) or each feature (m,)."""
    if getattr(X, "dtype", None) == np.float32:
        factor = factor.astype(np.float32)
    return sp.csr_array(X.multiply(factor)) if sp.issparse(X) else X * factor


def feature_squares(X: Any) -> Array:
    """sum_i x_ij^2 of each feature."""
    return np.asarray(_squares(X).sum(axis=0), np.float64).ravel()


def _missing(X: Any) -> Any:
    """1 where an entry is NaN."""
    if not sp.issparse(X):
        return np.isnan(X)
    return sp.csr_array((np.isnan(X.data), X.indices, X.indptr), shape=X.shape)


def _squares(X: Any) -> Any:
    """x_ij^2, zero where an entry is NaN."""
    if not sp.issparse(X):
        return np.square(np.nan_to_num(X), dtype=np.float64)
    squares = X.astype(np.float64)
    squares.data = np.square(np.nan_to_num(squares.data))
    return squares


def _non_negative(X: Any, what: str) -> Any:
    """X, unless it has negative entries."""
    values = X.data if sp.issparse(X) else np.asarray(X)
    if values.size and np.fmin.reduce(values, axis=None) < 0:
        raise ValueError(f"Negative values in data: {what} needs counts or amounts.")
    return X


def _complete(X: Any, what: str) -> Any:
    """X, unless it has negative or missing entries."""
    values = X.data if sp.issparse(X) else np.asarray(X)
    if not np.isfinite(values.sum()) and np.isinf(values).any():
        raise ValueError(f"Infinity in data: {what} needs finite numbers.")
    if values.dtype.kind == "f" and np.isnan(values).any():
        raise ValueError(
            f"Missing values in data: {what} needs every entry of a sample. Fill them, or leave "
            "the step out."
        )
    return _non_negative(X, what)
