"""Whatever an estimator is given becomes rows in a place, checked on the way in."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from onmf.core.rows import Data, InMemory
from onmf.data import validation as door
from onmf.data.disk import OnDisk, open_rows

Scale = Callable[..., float]  # (low, high, dtype, shape) -> a power of two


class Placed(NamedTuple):
    """Rows in their place, the power of two they are multiplied by, their weights if there are any.

    X is what a callable `init` is given: the checked array, or whatever else it was.
    """

    data: Data
    scale: float
    weight: Any
    X: Any


def rows_of(
    estimator: Any,
    X: Any,
    sample_weight: Any,
    scale: Scale,
    *,
    reset: bool,
    signed: bool = False,
    n_threads: int = 1,
) -> Placed:
    """Samples that are checked and of moderate size, where they are.

    Parameters
    ----------
    estimator : Clusterer
        Remembers the number and names of the features (`reset`), or compares them.
    X : array, sparse matrix, DataFrame, path, memory map, data set of HDF5 or Zarr, Dask collection
    sample_weight : array of shape (n_samples,), optional
    scale : callable
        The power of two for given extremes, dtype and shape.
    """
    if is_dask(X):
        from onmf.data.dask import rows_on_dask

        return Placed(*rows_on_dask(estimator, X, sample_weight, scale, reset, signed), X)
    source = open_rows(X)
    if source is None:
        return held(estimator, X, sample_weight, scale, reset, signed, n_threads)
    door.as_features(estimator, source.shape, source.names, reset=reset)
    weight = door.as_weights(sample_weight, source)
    disk = OnDisk(source, weight, door.Check.of(estimator, signed), n_threads)
    factor = scale(*disk.extremes, source.dtype, source.shape)
    return Placed(disk.scaled(factor), factor, weight, X)


def rows_here(
    estimator: Any,
    X: Any,
    sample_weight: Any,
    scale: Scale,
    *,
    reset: bool,
    signed: bool = False,
    n_threads: int = 1,
) -> Placed:
    """As `rows_of`, for methods that need X as one array; a memory map is taken as such."""
    array = isinstance(X, np.ndarray) or sp.issparse(X)
    if is_dask(X) or (not array and open_rows(X) is not None):
        raise ValueError(
            f"{type(estimator).__name__} needs X in memory: load it first, or use ONMF, which "
            "reads it where it is."
        )
    return held(estimator, X, sample_weight, scale, reset, signed, n_threads)


def held(
    estimator: Any,
    X: Any,
    sample_weight: Any,
    scale: Scale,
    reset: bool,
    signed: bool,
    n_threads: int,
) -> Placed:
    """Samples in memory."""
    X = door.as_samples(estimator, X, reset=reset, signed=signed)
    weight = door.as_weights(sample_weight, X)
    X, factor = door.scaled(X, scale)
    return Placed(InMemory(X, weight, n_threads), factor, weight, X)


def is_dask(X: Any) -> bool:
    """Known by its name, so that nothing is imported for those who do not use it."""
    return type(X).__module__.split(".")[0] in ("dask", "dask_expr")
