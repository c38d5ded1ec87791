"""Steps of preparation that are stored with a model.

    depth  x_i total / sum_j x_ij                log    log2(1 + x)
    tfidf  x_ij idf_j, samples of length 1       unit   x_i / ||x_i||
    scale  x_ij / s_j, features of one size      variable  x_ij, or 0 if feature j varies little

Steps of texts are in `texts`, and `base.Step` says what a step has. New samples go through the same
steps with what these have learnt from the first ones, in the order of `STEPS`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import normalize

from onmf.prepare.arrays import (
    check_positive,
    complete,
    feature_squares,
    finite,
    known_totals,
    missing_entries,
    non_negative,
    parts_of,
    sample_totals,
    squares,
    times,
)
from onmf.prepare.base import Step, StepOption
from onmf.prepare.cleaning import Strip
from onmf.prepare.texts import Words
from onmf.prepare.variable import Variable
from onmf.rows.source import Source
from onmf.rows.table import Array

__all__ = [
    "STEPS",
    "Depth",
    "Log",
    "Rescale",
    "Step",
    "Tfidf",
    "Unit",
    "Variable",
    "apply",
    "apply_step",
]


@dataclass(frozen=True)
class Tfidf(Step):
    """x_ij idf_j, then each sample scaled to length 1; idf_j = 1 + ln((1 + n) / (1 + n_j)).

    n_j of the n samples have feature j. This is scikit-learn's TfidfTransformer, for rows on disk
    as well.

    Examples
    --------
    >>> import numpy as np
    >>> from onmf.prepare import Tfidf
    >>> Tfidf.fit(np.array([[2.0, 0.0], [1.0, 1.0]])).idf.round(3)
    array([1.   , 1.405])
    """

    idf: Array
    name = "tfidf"
    said = "counts were weighted by tf-idf and samples scaled to length 1"
    options = (StepOption("--tfidf", "Weight counts by tf-idf; of texts after --log."),)

    @classmethod
    def fit(cls, X: Any) -> Self:
        nonzero = (complete(part, "tf-idf") != 0 for part in parts_of(X))
        having = sum(np.asarray(part.sum(axis=0)) for part in nonzero)
        return cls(1 + np.log((1 + X.shape[0]) / (1 + np.ravel(having))))

    def __call__(self, X: Any) -> Any:
        X = complete(X, "tf-idf")
        idf = self.idf.astype(X.dtype if X.dtype.kind == "f" else np.float64)
        weighted = sp.csr_array(X.multiply(idf)) if sp.issparse(X) else X * idf
        return normalize(weighted, copy=False)

    def check(self, n_features: int) -> None:
        check_positive(self.idf, n_features, "idf")


@dataclass(frozen=True)
class Depth(Step):
    """x_i total / sum_j x_ij: every sample has the same total; a zero sample stays zero.

    NaN stays and does not count for the total. This removes differences of sequencing depth, which
    a logarithm would turn into differences of direction.

    Examples
    --------
    >>> import numpy as np
    >>> from onmf.prepare import Depth
    >>> Depth(100.0)(np.array([[1.0, 3.0], [0.0, 5.0]]))
    array([[ 25., 75.], [ 0., 100.]])
    """

    total: float
    name = "depth"
    said = "samples were scaled to a total of {0.total:g}"
    options = (
        StepOption("--cpm", "Scale every sample to a total of one million (counts per million).",
                   "total", "1e6"),
        StepOption("--cp10k", "Scale every sample to a total of ten thousand, as for single cells.",
                   "total", "1e4"),
        StepOption("--cpm-median", "Scale every sample to the median of the totals.",
                   "total", "median"),
    )  # fmt: skip

    @classmethod
    def fit(cls, X: Any, total: float | str = "median") -> Self:
        """To the given total; "median" is that of the totals above zero."""
        if total != "median":
            return cls(float(total))
        totals = np.concatenate([known_totals(finite(part, "depth")) for part in parts_of(X)])
        return cls(float(np.median(totals[totals > 0])) if totals.any() else 1.0)

    def __call__(self, X: Any) -> Any:
        totals = known_totals(finite(X, "depth"))
        return times(X, self.total / np.where(totals == 0, 1, totals)[:, None])

    def check(self, n_features: int) -> None:
        if not (type(self.total) in (int, float) and 0 < self.total < np.inf):
            raise ValueError("its total is not a positive number.")


@dataclass(frozen=True)
class Log(Step):
    """log2(1 + x).

    Examples
    --------
    >>> import numpy as np
    >>> from onmf.prepare import Log
    >>> Log()(np.array([[0.0, 3.0]]))
    array([[0., 2.]])
    """

    name = "log"
    said = "log2(1 + x) was taken"
    options = (StepOption("--log", "Take log2(1 + x); for counts, after --cpm."),)

    def __call__(self, X: Any) -> Any:
        X = non_negative(X, "the logarithm")
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
    >>> from onmf.prepare import Rescale
    >>> X = np.array([[3000.0, 1.0], [4000.0, 7.0]])
    >>> Rescale.fit(X).sizes.round(1)
    array([3535.5, 5. ])
    """

    sizes: Array
    name = "scale"
    said = "features were scaled to the same mean square"
    options = (StepOption("--scale", "Give every feature the same weight, for different units."),)

    @classmethod
    def fit(cls, X: Any) -> Self:
        squares, missing = np.zeros((2, X.shape[1]))
        for part in parts_of(X):
            squares += feature_squares(part)
            missing += np.ravel(missing_entries(part).sum(axis=0))
        mean = squares / np.maximum(X.shape[0] - missing, 1)
        if not np.isfinite(mean).all():
            raise ValueError("Infinity in data, or numbers too large to be squared: divide them.")
        return cls(np.sqrt(np.where(mean > 0, mean, 1)))

    def __call__(self, X: Any) -> Any:
        return times(X, 1 / self.sizes)

    @property
    def units(self) -> Array:
        return self.sizes

    def check(self, n_features: int) -> None:
        check_positive(self.sizes, n_features, "sizes")


@dataclass(frozen=True)
class Unit(Step):
    """x_i / ||x_i||: every sample has length 1. NaN stays and does not count for the length.

    Examples
    --------
    >>> import numpy as np
    >>> from onmf.prepare import Unit
    >>> Unit()(np.array([[3.0, 4.0]]))
    array([[0.6, 0.8]])
    """

    name = "unit"
    said = "samples were scaled to length 1"
    options = (StepOption("--unit", "Scale every sample to length 1."),)

    def __call__(self, X: Any) -> Any:
        values = X.data if sp.issparse(X) else np.asarray(X)
        if values.dtype.kind != "f" or not np.isnan(values).any():
            return normalize(X)
        size = np.sqrt(sample_totals(squares(X)))[:, None]
        return times(X if sp.issparse(X) else values, 1 / np.where(size > 0, size, 1))


STEPS: dict[str, Any] = {
    step.name: step for step in (Strip, Words, Depth, Log, Variable, Rescale, Tfidf, Unit)
}
WEIGHTS_OF_WORDS = (Log, Tfidf)  # sublinear tf-idf: counts of words for squares


def suited_loss(names: Sequence[str]) -> str:
    """The loss that suits the data after steps of these names: that of the last one."""
    return str(STEPS[names[-1]].loss if names else Step.loss)


def units_after(chain: Sequence[Step]) -> Any:
    """What means of the data after all steps are multiplied by, to be read in their own units."""
    return chain[-1].units if chain else 1.0


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
    >>> from onmf.prepare import Tfidf, Words, apply
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
