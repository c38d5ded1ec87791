"""From the X of a user to validated rows in a place."""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from onmf.rows.check import Check, CheckAndSample, CheckAndSampleOnce, CheckBlock
from onmf.rows.disk import OnDisk, open_rows
from onmf.rows.memory import InMemory, Size
from onmf.rows.scale import Scale, no_rescaling
from onmf.rows.summary import BottomKSampler, Summary
from onmf.rows.sweep import Array, Data, Move
from onmf.rows.table import Table
from onmf.rows.threads import single_threaded_blas
from onmf.rows.validation import Features, as_numpy, as_samples, as_weights, is_dask


@dataclass(frozen=True)
class PlacementRequest:
    """What an estimator needs of the rows.

    check : what their entries must be.
    scale : the power of two to multiply them by, for given extremes, dtype and shape.
    known : the features they must have if they bring the names of theirs with them.
    sampler : chooses the rows of a summary while they are validated, if one is wanted.
    once : whether the rows are read only once.
    """

    check: Check
    scale: Scale = no_rescaling
    known: Features | None = None
    n_threads: int = 1
    sampler: BottomKSampler | None = None
    once: bool = False

    @property
    def look(self) -> Move:
        """What the first sweep over the rows does."""
        if self.sampler is None:
            return CheckBlock(self.check)
        if self.once:
            return CheckAndSampleOnce(self.check, self.sampler)
        return CheckAndSample(CheckBlock(self.check), self.sampler)


class Placement(NamedTuple):
    """Rows in their place, and what became known on the way.

    data : the rows, multiplied by `scale`, a power of two.
    weight : of each sample, divided by two to the `weight_exponent`; None if all count the same.
    features : None where scikit-learn compares them: DataFrames, and models that know names.
    X : what a callable `init` is given: the checked array, or whatever else it was.
    summary : of the rows, if one was wanted.
    """

    data: Data
    scale: float
    weight: Array | None
    weight_exponent: int
    features: Features | None
    X: Any
    summary: Summary | None = None


def place(X: Any, sample_weight: Any, request: PlacementRequest) -> Placement:
    """Validated samples in a safe range of numbers, where they are.

    Parameters
    ----------
    X : array, sparse matrix, DataFrame, Table, path, memory map, data set of HDF5, Dask
    sample_weight : array of shape (n_samples,), optional
    request : PlacementRequest
    """
    request = _with_table_names(X, request)
    if type(X) in (np.ndarray, list) or sp.issparse(X):
        rows = _in_memory(X, None, sample_weight, request)
        known, features = request.known, Features(rows.data.shape[1])
        if known is None or known.names is None:
            features.check(known, request.check.name)
            rows = rows._replace(features=features)
    else:
        rows = _where_it_is(as_numpy(X), sample_weight, request)
    return rows


def _where_it_is(X: Any, sample_weight: Any, request: PlacementRequest) -> Placement:
    """What is no array, or one with more around it: a table, a file, a collection."""
    rows, names = _with_names(X)
    if type(rows) is np.ndarray or sp.issparse(rows):
        return _in_memory(rows, names, sample_weight, request)
    with single_threaded_blas():
        if is_dask(X):
            from onmf.rows.dask import rows_on_dask

            found = rows_on_dask(
                X, sample_weight, request.scale, request.check, request.known, request.look
            )
            return _with_summary(Placement(*found, X), request, found[0].norms[1])
        source = open_rows(rows, few=request.sampler is not None)
        if source is None:
            return _in_memory(rows, names, sample_weight, request)
        features = Features.of(source.shape, source.names if names is None else names)
        features.check(request.known, request.check.name)
        weight, exponent = as_weights(sample_weight, source.shape, source.dtype, request.scale)
        disk = OnDisk(source, weight, request.check, request.n_threads, request.look)
        factor = request.scale(*disk.extremes, source.dtype, source.shape)
        rows = Placement(disk.times(factor), factor, weight, exponent, features, X)
        return _with_summary(rows, request, disk.norms[1])


def _with_summary(rows: Placement, request: PlacementRequest, look: Any) -> Placement:
    """With the summary that the first look brought, if one was wanted."""
    if request.sampler is None:
        return rows
    if rows.scale != 1:
        raise ValueError(
            "the entries of X are too small or too large to be squared and added in one reading: "
            "multiply X by a number."
        )
    return rows._replace(summary=look.summary)


def _with_table_names(X: Any, request: PlacementRequest) -> PlacementRequest:
    """The request with a check whose messages have the names of a table."""
    if not isinstance(X, Table):
        return request
    return replace(request, check=replace(request.check, names=(X.samples, X.features)))


def _with_names(X: Any) -> tuple[Any, list[str] | None]:
    """The rows, and the names of their features if they come with them."""
    if isinstance(X, Table):
        return X.X, X.features
    if is_anndata(X):
        return matrix_of(X), [str(name) for name in X.var_names]
    return X, None


def matrix_of(X: Any) -> Any:
    """The matrix itself: that of an AnnData object, if X is one, where it is."""
    if not is_anndata(X):
        return X
    if X.X is None:
        raise ValueError("the AnnData object has no X: pass one of its layers, adata.layers[...].")
    return np.asarray(X.X) if isinstance(X.X, np.ndarray) else X.X


def is_anndata(X: Any) -> bool:
    """Known by its name, so that nothing is imported for those who do not use it."""
    return type(X).__name__ == "AnnData" and hasattr(X, "var_names")


def _in_memory(
    X: Any, names: list[str] | None, sample_weight: Any, request: PlacementRequest
) -> Placement:
    X, span = as_samples(X, request.check)
    features = None
    if names is not None:
        features = Features.of(X.shape, names)
        features.check(request.known, request.check.name)
    weight, exponent = as_weights(sample_weight, X.shape, X.dtype, request.scale)
    factor = request.scale(span.low, span.high, X.dtype, X.shape)
    if factor != 1:
        X = X * X.dtype.type(factor)
    data = InMemory(X, weight, request.n_threads, span.n_missing)
    rows = Placement(data, factor, weight, exponent, features, X)
    if request.sampler is None:
        return rows
    with single_threaded_blas():
        sqnorms, look = data.sweep(request.look, data.first)
    data.norms, data.extremes = (sqnorms, Size(look.sqnorm)), look.extremes
    return rows._replace(summary=look.summary)
