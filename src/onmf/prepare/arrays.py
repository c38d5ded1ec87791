"""Sums and checks of dense and sparse rows, which the steps share."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import scipy.sparse as sp

from onmf.prepare.numerals import to_count
from onmf.rows.source import Source
from onmf.rows.table import Array


def sample_totals(X: Any) -> Array:
    """sum_j x_ij of each sample."""
    return np.asarray(X.sum(axis=1), np.float64).ravel()


def known_totals(X: Any) -> Array:
    """sum_j x_ij of each sample, over its entries that are not NaN."""
    totals = sample_totals(X)
    return sample_totals(without_missing(X)) if np.isnan(totals).any() else totals


def without_missing(X: Any) -> Any:
    """X with zero for NaN."""
    if not sp.issparse(X):
        return np.nan_to_num(X, posinf=np.inf, neginf=-np.inf)
    X = X.copy()
    X.data = np.nan_to_num(X.data, posinf=np.inf, neginf=-np.inf)
    return X


def parts_of(X: Any) -> Iterable[Any]:
    """All rows, in parts if they are on disk."""
    return X.parts() if isinstance(X, Source) else [X]


def check_positive(values: Any, n: int, what: str) -> None:
    sound = isinstance(values, np.ndarray) and values.shape == (n,)
    if not sound or not ((0 < values) & (values < np.inf)).all():
        raise ValueError(f"its {what} are not {n} positive numbers.")


def times(X: Any, factor: Array) -> Any:
    """X, of the same precision, times a factor for each sample (n, 1) or each feature (m,)."""
    if getattr(X, "dtype", None) == np.float32:
        factor = factor.astype(np.float32)
    return sp.csr_array(X.multiply(factor)) if sp.issparse(X) else X * factor


def feature_squares(X: Any) -> Array:
    """sum_i x_ij^2 of each feature."""
    if not sp.issparse(X):
        sums = np.einsum("ij,ij->j", X, X, dtype=np.float64)
        if np.isfinite(sums).all():
            return sums
    return np.asarray(squares(X).sum(axis=0), np.float64).ravel()


def feature_variances(X: Any) -> Array:
    """mean over i of (x_ij - mean_j)^2 of each feature, without NaN; two reads of rows on disk."""
    sums, above, known = np.zeros((3, X.shape[1]))
    for part in parts_of(X):
        sums += np.asarray(without_missing(part).sum(axis=0), np.float64).ravel()
        known += part.shape[0] - np.ravel(missing_entries(part).sum(axis=0))
    known = np.maximum(known, 1)
    for part in parts_of(X):
        above += _deviations(part, sums / known)
    return above / known


def _deviations(X: Any, mean: Array) -> Array:
    """sum_i (x_ij - mean_j)^2 of each feature, without NaN."""
    if not sp.issparse(X):
        return np.nansum(np.square(np.asarray(X, np.float64) - mean), axis=0)
    zeros = X.shape[0] - np.bincount(X.indices, minlength=X.shape[1])
    stored = np.nan_to_num(np.square(X.data - mean[X.indices]))
    return np.bincount(X.indices, stored, X.shape[1]) + zeros * np.square(mean)


def missing_entries(X: Any) -> Any:
    """1 where an entry is NaN."""
    if not sp.issparse(X):
        return np.isnan(X)
    return sp.csr_array((np.isnan(X.data), X.indices, X.indptr), shape=X.shape)


def squares(X: Any) -> Any:
    """x_ij^2, zero where an entry is NaN."""
    if not sp.issparse(X):
        return np.square(np.nan_to_num(X), dtype=np.float64)
    result = X.astype(np.float64)
    result.data = np.square(np.nan_to_num(result.data))
    return result


def non_negative(X: Any, what: str) -> Any:
    """X, unless it has negative entries."""
    values = X.data if sp.issparse(X) else np.asarray(X)
    if values.size and np.fmin.reduce(values, axis=None) < 0:
        raise ValueError(f"Negative values in data: {what} needs counts or amounts.")
    return X


def finite(X: Any, what: str) -> Any:
    """X, unless it has negative or infinite entries; NaN is allowed."""
    values = X.data if sp.issparse(X) else np.asarray(X)
    if not np.isfinite(values.sum()) and np.isinf(values).any():
        raise ValueError(f"Infinity in data: {what} needs finite numbers.")
    return non_negative(X, what)


def complete(X: Any, what: str) -> Any:
    """X, unless it has negative, infinite or missing entries."""
    values = X.data if sp.issparse(X) else np.asarray(X)
    if values.dtype.kind == "f" and np.isnan(values).any():
        raise ValueError(
            f"Missing values in data: {what} needs every entry of a sample. Fill them, or leave "
            "the step out."
        )
    return finite(X, what)


def feature_count(word: str) -> int:
    """A number of features above zero, or zero for `all`."""
    count = 0 if word == "all" else to_count(word)
    if count < (word != "all"):
        raise ValueError(f"{word} is not a number of features.")
    return count
