"""What X is multiplied by before a fit, a power of two, lest powers of its entries overflow."""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from onmf.rows.check import Matrix, stored_extremes

HARMLESS_BITS = {4: 42, 8: 200}  # by bytes: fourth powers of two to these are added without harm
Scale = Callable[..., float]  # (low, high, dtype, shape) -> a power of two


def safe_scale(low: float, high: float, dtype: Any, shape: tuple[int, int]) -> float:
    """What to multiply X by: 1 unless powers of its entries might over- or underflow."""
    info, top = np.finfo(dtype), max(high, -low)
    exponent = int(np.frexp(top)[1])
    if top == 0 or abs(exponent) <= HARMLESS_BITS[info.dtype.itemsize]:
        return 1.0
    limit = info.maxexp - info.nmant // 2  # the factor itself must be a number, too
    return float(np.ldexp(1.0, -max(-limit, min(limit, exponent))))


def rescale_to_safe_range(X: Matrix) -> tuple[Matrix, float]:
    """X times a power of two that brings it to a moderate size, and that power."""
    factor = safe_scale(*stored_extremes(X), X.dtype, X.shape)
    return (X if factor == 1 else X * X.dtype.type(factor)), factor


def rows_to_safe_range(X: Matrix) -> tuple[Matrix, Any]:
    """(2^-e_i x_i, e_i), so that the largest entry of each row is about 1; exact."""
    largest = abs(X).max(axis=-1) if sp.issparse(X) else abs(X).max(axis=-1, initial=0)
    # SciPy gives sparse arrays, before 1.15 as a column.
    top = largest.toarray().ravel() if sp.issparse(X) else largest
    limit = np.finfo(X.dtype).maxexp - 2
    exponent = np.frexp(top)[1].clip(-limit, limit)  # the factor itself must be a number, too
    factor = np.ldexp(X.dtype.type(1), -exponent)
    if not sp.issparse(X):
        return X * factor[..., None], exponent
    values = X.data * np.repeat(factor, np.diff(X.indptr))
    return sp.csr_array((values, X.indices, X.indptr), X.shape), exponent


def no_rescaling(low: float, high: float, dtype: Any, shape: tuple[int, int]) -> float:
    """1, for those who cannot change the scale between two batches."""
    return 1.0


def check_squares(low: float, high: float, dtype: Any, shape: tuple[int, int]) -> float:
    """1, if the squares of X can be added: for batches, which share one scale."""
    top, largest = max(high, -low), float(np.finfo(dtype).max)
    if top > np.sqrt(largest / max(np.prod(shape, dtype=float), 1)) / 2:
        raise ValueError(
            f"the entries of X (largest {top:.3g}) are too large to be squared and added: divide "
            "every batch by the same number."
        )
    return 1.0


def check_scale(low: float, high: float, dtype: Any, shape: tuple[int, int]) -> float:
    """1, if the squares of X can be added: for the solvers that do not rescale X.

    Products of W with itself have fourth powers, which they keep in double precision.
    """
    info, double, top = np.finfo(dtype), np.finfo(np.float64), np.float64(max(high, -low))
    entries = float(np.prod(shape))
    square = top**2 if top < 1e70 else np.inf
    fits = info.tiny / info.eps < square < float(info.max) * info.eps / entries
    if top > 0 and not (fits and double.tiny / double.eps < square**2 < double.max / entries):
        raise ValueError(
            f"the entries of X (largest {top:.3g}) are too small or too large to be squared and "
            "added: divide X by its largest entry, or use ONMF with solver='fast', which does."
        )
    return 1.0
