"""The only door for user data: what passes it is trusted everywhere else.

Every error is one sentence: what is wrong, where (up to ten places), what to do.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import check_consistent_length, column_or_1d, validate_data

Array = NDArray[Any]
Matrix = Any  # an array or a csr_array

MOST_NAMED = 10


def as_samples(estimator: Any, X: Any, *, reset: bool, signed: bool) -> Matrix:
    """Finite floating samples, non-negative unless `signed`: a C-ordered array or a `csr_array`."""
    X = validate_data(
        estimator,
        X,
        reset=reset,
        accept_sparse="csr",
        order="C",
        dtype=[np.float64, np.float32],
        ensure_all_finite=False,
    )
    if not X.dtype.isnative:  # as some files have it, and some libraries take it for another type
        X = X.astype(X.dtype.newbyteorder("="))
    if sp.issparse(X):
        X = sp.csr_array(X)  # so that `*` and `@` mean the same as for arrays
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
    Check.of(estimator, signed)(X)
    return X


@dataclass(frozen=True)
class Check:
    """Rows are finite and, unless `signed`, not negative; small enough to be sent to them."""

    signed: bool
    name: str  # of the estimator
    bounded: bool  # whether it has center_bounds

    @classmethod
    def of(cls, estimator: Any, signed: bool) -> Self:
        return cls(signed, type(estimator).__name__, hasattr(estimator, "center_bounds"))

    def __call__(self, X: Matrix, first: int = 0) -> tuple[float, float]:
        """The extremes of rows that pass; `first` is the number of the first."""
        values = X.data if sp.issparse(X) else X
        low, high = extremes(X)
        if not np.isfinite(low + high):
            raise ValueError(
                f"Input X contains NaN or infinity at {cells(X, ~np.isfinite(values), first)}: "
                "fill these entries or drop the samples."
            )
        if not self.signed and low < 0:
            hint = ", or pass center_bounds='data' to cluster signed data" if self.bounded else ""
            raise ValueError(
                f"Negative values in data passed to {self.name} at "
                f"{cells(X, values < 0, first)}: shift or clip them{hint}."
            )
        return low, high


def as_features(
    estimator: Any, shape: tuple[int, int], names: Sequence[str] | None, *, reset: bool
) -> None:
    """Remember, or compare, the number and names of the features of rows that are elsewhere."""
    if not all(shape):
        kind = "feature" if shape[0] else "sample"
        raise ValueError(f"Found array with 0 {kind}(s) (shape={shape}): at least one is needed.")
    given = None if names is None else np.asarray(names, dtype=object)
    if reset:
        estimator.n_features_in_ = shape[1]
        if given is not None:
            estimator.feature_names_in_ = given
        elif hasattr(estimator, "feature_names_in_"):
            del estimator.feature_names_in_
        return
    if shape[1] != estimator.n_features_in_:
        raise ValueError(
            f"X has {shape[1]} features, but {type(estimator).__name__} is expecting "
            f"{estimator.n_features_in_} features as input."
        )
    known: Any = getattr(estimator, "feature_names_in_", given)
    if given is not None and not np.array_equal(known, given):
        wrong = [f"{b!r} instead of {a!r}" for a, b in zip(known, given, strict=True) if a != b]
        raise ValueError(
            "The feature names should match those that were passed during fit, unlike "
            f"{listing(wrong, len(wrong))}."
        )


def extremes(X: Matrix) -> tuple[float, float]:
    """Smallest and largest stored entry; NaN if there is one."""
    values = X.data if sp.issparse(X) else X
    return (float(values.min()), float(values.max())) if values.size else (0.0, 0.0)


def cells(X: Matrix, wrong: Array, first: int = 0) -> str:
    """Where `wrong` (a mask over X or over its stored entries) is true, in words."""
    if sp.issparse(X):
        places = np.flatnonzero(wrong)
        rows = np.searchsorted(X.indptr, places, side="right") - 1
        columns = X.indices[places]
    else:
        rows, columns = np.nonzero(wrong)
    named = [
        f"(row {first + i}, column {j})" for i, j in zip(rows[:MOST_NAMED], columns, strict=False)
    ]
    return listing(named, len(rows))


def listing(named: Any, total: int) -> str:
    """'a, b, c and 12 more'."""
    shown = ", ".join(map(str, named[:MOST_NAMED]))
    return shown if total <= MOST_NAMED else f"{shown} and {total - MOST_NAMED} more"


def as_weights(sample_weight: Any, X: Matrix) -> Array:
    """One finite weight >= 0 a sample, not all zero."""
    if sample_weight is None:
        return np.ones(X.shape[0], X.dtype)
    if isinstance(sample_weight, Real):
        sample_weight = np.full(X.shape[0], sample_weight)
    weight = np.asarray(column_or_1d(sample_weight, dtype=np.float64))
    check_consistent_length(X, weight)
    bad = np.flatnonzero(~np.isfinite(weight) | (weight < 0))
    if len(bad):
        raise ValueError(
            f"sample_weight must be finite and not negative, unlike those of sample(s) "
            f"{listing(bad, len(bad))}."
        )
    if not weight.any():
        raise ValueError("sample_weight is zero for every sample: give some a positive weight.")
    return weight.astype(X.dtype)


def check_samples(n: int, n_clusters: int) -> None:
    if n < n_clusters:
        raise ValueError(
            f"n_samples={n} should be >= n_clusters={n_clusters}: ask for fewer clusters."
        )


def check_useful(useful: int, n: int, n_clusters: int) -> None:
    """At least as many samples are useful (non-zero, with weight) as there are clusters."""
    if not useful:
        raise ValueError("X is all zero (or weighs nothing): there is nothing to cluster.")
    if useful < n_clusters:
        raise ValueError(
            f"only {useful} of n_samples={n} samples are non-zero and have weight, fewer "
            f"than n_clusters={n_clusters}: ask for fewer clusters."
        )


def check_number(
    value: Any, name: str, low: float, *, whole: bool = False, open_: bool = False
) -> None:
    """`value` is a finite number >= low (> low if `open_`), whole if asked."""
    kind, words = (Integral, "a whole number") if whole else (Real, "a number")
    good = isinstance(value, kind) and not isinstance(value, bool) and np.isfinite(float(value))
    if not good or value < low or (open_ and value == low):
        relation = ">" if open_ else ">="
        raise ValueError(f"{name} must be {words} {relation} {low}, not {value!r}.")


def check_choice(value: Any, name: str, choices: Sequence[str], otherwise: str = "") -> None:
    if not isinstance(value, str) or value not in choices:
        known = ", ".join(repr(choice) for choice in choices)
        raise ValueError(f"{name} must be one of {known}{otherwise}, not {value!r}.")


def as_bounds(center_bounds: Any, data: Any) -> tuple[float, float]:
    """(lower, upper) on the centroids; "data" takes the smallest and largest entry of X."""
    if isinstance(center_bounds, str) and center_bounds == "data":
        low, high = data.extremes
        return low, high
    lower, upper = center_bounds
    return (
        -np.inf if lower is None else float(lower),
        np.inf if upper is None else float(upper),
    )


def check_bounds(center_bounds: Any) -> None:
    problem = (
        "center_bounds must be 'data' or a pair (lower, upper) of numbers or None with "
        f"lower < upper and upper > 0, not {center_bounds!r}."
    )
    if isinstance(center_bounds, str):
        if center_bounds != "data":
            raise ValueError(problem)
        return
    try:
        lower, upper = center_bounds
    except (TypeError, ValueError):
        raise ValueError(problem) from None
    low: Any = -np.inf if lower is None else lower
    high: Any = np.inf if upper is None else upper
    if not (isinstance(low, Real) and isinstance(high, Real) and low < high and float(high) > 0):
        raise ValueError(problem)


def allows_signs(center_bounds: Any) -> bool:
    """Bounds that let centroids, hence data, be negative."""
    if isinstance(center_bounds, str):
        return center_bounds == "data"
    return center_bounds[0] is None or center_bounds[0] < 0


def as_start(start: Any, shape: tuple[int, int], k: int, dtype: Any) -> tuple[Array | None, Array]:
    """A given (H, W): H >= 0 (n, k) or None, W (k, m), finite, neither all zero. Copies."""
    try:
        H, W = start
    except (TypeError, ValueError):
        raise ValueError(
            "init must be a name, a callable, or a pair (H, W): memberships (n_samples, "
            "n_clusters), or None, and centroids (n_clusters, n_features)."
        ) from None
    n, m = shape
    W = start_factor(W, "W", (k, m), dtype)
    if H is None:
        return None, W
    H = start_factor(H, "H", (n, k), dtype)
    if H.min() < 0:
        raise ValueError("the memberships H in init must not be negative.")
    return H, W


def start_factor(value: Any, name: str, shape: tuple[int, int], dtype: Any) -> Array:
    try:
        factor = np.array(value.toarray() if sp.issparse(value) else value, dtype=dtype, order="C")
    except (TypeError, ValueError):
        raise ValueError(f"{name} in init must be an array of numbers of shape {shape}.") from None
    if factor.shape != shape:
        raise ValueError(f"{name} in init has shape {factor.shape}, expected {shape}.")
    if not np.isfinite(factor).all() or not factor.any():
        raise ValueError(f"{name} in init must be finite and not all zero.")
    return factor


def power_of_two(low: float, high: float, dtype: Any, shape: tuple[int, int]) -> float:
    """What to multiply X by: 1 unless powers of its entries might over- or underflow."""
    info, top = np.finfo(dtype), max(high, -low)
    exponent = int(np.frexp(top)[1])
    if top == 0 or abs(exponent) <= min(
        200, info.maxexp // 3
    ):  # fourth powers, in double precision
        return 1.0
    limit = info.maxexp - info.nmant // 2  # the factor itself must be a number, too
    return float(np.ldexp(1.0, -max(-limit, min(limit, exponent))))


def scaled(X: Matrix, scale: Callable[..., float]) -> tuple[Matrix, float]:
    """X times the power of two that `scale` says, and that."""
    factor = scale(*extremes(X), X.dtype, X.shape)
    return (X if factor == 1 else X * X.dtype.type(factor)), factor


def as_it_is(low: float, high: float, dtype: Any, shape: tuple[int, int]) -> float:
    """1, for those who cannot change the scale between two batches."""
    return 1.0


def check_scale(low: float, high: float, dtype: Any, shape: tuple[int, int]) -> float:
    """1, if the squares of X can be added: for the solvers that do not rescale X."""
    info, top = np.finfo(dtype), max(high, -low)
    square = np.float64(top) ** 2 if top < 1e150 else np.inf
    if top > 0 and not info.tiny / info.eps < square < float(info.max) * info.eps / np.prod(shape):
        raise ValueError(
            f"the entries of X (largest {top:.3g}) are too small or too large to be squared and "
            "added: divide X by its largest entry, or use ONMF with solver='fast', which does."
        )
    return 1.0
