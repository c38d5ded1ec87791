"""The only door for user data: what passes it is trusted everywhere else.

Every error is one sentence: what is wrong, where (up to ten places), what to do.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array
from sklearn.utils.validation import check_consistent_length, column_or_1d

from onmf.rows.check import Check, Matrix, Span
from onmf.rows.scale import HARMLESS_BITS, Scale, check_squares, no_rescaling
from onmf.rows.sweep import Array
from onmf.rows.table import listing

MAX_WEIGHT_BITS = 100  # between weights: single precision holds 126


def as_samples(X: Any, check: Check) -> tuple[Matrix, Span]:
    """Floating samples that pass the check, as a C-ordered array or a `csr_array`; their span.

    A matrix is as large as it is: nothing is copied unless its form must change.
    """
    if not _is_as_it_should_be(X):
        X = _converted(X, check)
    if not X.dtype.isnative:  # as some files have it, and some libraries take it for another type
        X = X.astype(X.dtype.newbyteorder("="))
    if sp.issparse(X):
        # The same arrays, so that `*` and `@` mean the same as for arrays, and without the marks of
        # the user's matrix: `X.indices = groups[X.indices]` adds up columns and leaves them as is.
        X = sp.csr_array(X)
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
    return X, check(X)


def _is_as_it_should_be(X: Any) -> bool:
    """Whether there is nothing to convert: many calls bring a single sample."""
    kind = type(X)
    if kind is not np.ndarray and kind is not sp.csr_array:
        return False
    right = X.ndim == 2 and X.dtype in (np.float64, np.float32) and 0 not in X.shape
    return right and (kind is sp.csr_array or X.flags.c_contiguous)


def _converted(X: Any, check: Check) -> Matrix:
    """Numbers in rows and columns, by scikit-learn's rules."""
    in_a_row = isinstance(X, list | tuple) or len(getattr(X, "shape", ())) == 1
    if in_a_row and any(isinstance(row, str) for row in X[:1]):
        raise ValueError(
            "X is a list of texts: use onmf.cluster, or count their words first, as "
            "make_pipeline(TfidfVectorizer(), ONMF()) of scikit-learn does."
        )
    if getattr(getattr(X, "dtype", None), "kind", "f") in "mMV":
        raise TypeError(f"X is an array of {X.dtype}: pass one of numbers.")
    names = Counter(name for name, _ in columns_and_types(X))
    if twice := [name for name, count in names.items() if count > 1]:
        raise ValueError(
            f"X has more than one column {listing(map(repr, twice))}: rename them, or pass "
            "X.to_numpy()."
        )
    if any(is_time(kind) for _, kind in columns_and_types(X)):
        raise not_numbers(X, columns_of_text(X))
    if any(getattr(kind, "fill_value", 0) != 0 for _, kind in columns_and_types(X)):
        X = np.asarray(X)  # sparse columns that leave out NaN, say: scikit-learn wants zeros there
    try:
        return check_array(
            X,
            accept_sparse="csr",
            order="C",
            dtype=[np.float64, np.float32],
            ensure_all_finite=False,
            estimator=check.name,
            input_name="X",
        )
    except (ValueError, TypeError) as error:
        if columns := columns_of_text(X):
            raise not_numbers(X, columns) from error
        raise


def columns_of_text(X: Any) -> list[Any]:
    """The columns of a DataFrame that cannot become numbers; none if X is something else."""
    return [
        name
        for name, kind in columns_and_types(X)
        if is_time(kind) or (getattr(kind, "kind", "O") not in "biuf" and not _are_numbers(X[name]))
    ]


def is_time(kind: Any) -> bool:
    """Whether the type of a column is of times, which would become numbers of nanoseconds."""
    of_pyarrow = str(kind).startswith(("timestamp", "date", "time", "duration"))
    return of_pyarrow or getattr(kind, "kind", "O") in "mM" or getattr(kind, "is_temporal", bool)()


def columns_and_types(X: Any) -> list[tuple[Any, Any]]:
    """Of a DataFrame of pandas or polars or a table of pyarrow; none if X is something else."""
    if hasattr(X, "schema") and hasattr(X, "column_names"):
        return list(zip(X.column_names, X.schema.types, strict=True))
    if not (hasattr(X, "columns") and hasattr(X, "dtypes")):
        return []
    return list(zip(X.columns, X.dtypes, strict=True))


def not_numbers(X: Any, columns: Sequence[Any]) -> ValueError:
    """What to say of columns with text or times, in the words of the library that X is of."""
    ways = {
        "select_dtypes": "X.select_dtypes('number')",
        "drop_columns": "X.drop_columns([...])",
        "select": "X.select(polars.selectors.numeric())",
    }
    way = next(way for method, way in ways.items() if hasattr(X, method))
    return ValueError(
        f"column(s) {listing(map(repr, columns))} of X hold text or times, not numbers: leave them "
        f"out, as {way} does."
    )


def _are_numbers(column: Any) -> bool:
    try:
        np.asarray(np.asarray(column, dtype=object), np.float64)
    except (ValueError, TypeError):
        return False
    return True


def as_numpy(X: Any) -> Any:
    """An array of another library that follows the array API (PyTorch, CuPy, JAX), as NumPy's.

    From a device it comes to main memory, where the solver is. What is masked was not observed.
    """
    if isinstance(X, np.ma.MaskedArray):
        values = np.array(X.data, X.dtype if X.dtype.kind == "f" else np.float64)
        values[np.ma.getmaskarray(X)] = np.nan
        return values
    library = type(X).__module__.partition(".")[0]
    if why := cannot_be_read(X, library):
        raise TypeError(why)
    if not hasattr(X, "__array_namespace__") and library != "torch":
        return X
    if isinstance(X, np.ndarray) or is_dask(X) or sp.issparse(X):
        return X
    for to_host in ("cpu", "get"):  # PyTorch's and CuPy's word for it
        if hasattr(X, to_host):
            X = getattr(X, to_host)()
    return np.asarray(X)


def cannot_be_read(X: Any, library: str) -> str | None:
    """What to pass instead of an object that NumPy would fail to read, or would read wrongly."""
    if isinstance(X, dict | set | Iterator) and not hasattr(X, "shape"):  # as a dok_array has
        return f"X is a {type(X).__name__}, which has no rows: pass an array or a DataFrame."
    if library == "polars" and type(X).__name__ == "LazyFrame":
        return "X is a LazyFrame, which has no values yet: pass X.collect()."
    if library == "sparse":
        return "X is a sparse array of pydata/sparse: pass X.to_scipy_sparse()."
    if library != "torch":
        return None
    if str(getattr(X, "layout", "torch.strided")) != "torch.strided":
        return "X is a sparse tensor: pass X.to_dense(), or a matrix of scipy.sparse."
    if getattr(X, "requires_grad", False):
        return "X is a tensor that requires grad, which a fit does not follow: pass X.detach()."
    if str(getattr(X, "dtype", "")) == "torch.bfloat16":
        return "X is a tensor of bfloat16, which NumPy does not have: pass X.float()."
    return None


def is_dask(X: Any) -> bool:
    """Known by its name, so that nothing is imported for those who do not use it."""
    return type(X).__module__.split(".")[0] in ("dask", "dask_expr")


def as_weights(
    sample_weight: Any, shape: tuple[int, int], dtype: Any, scale: Scale
) -> tuple[Array | None, int]:
    """One finite weight >= 0 a sample, not all zero; None if all count the same.

    Only their ratios matter: weights whose sums might over- or underflow are divided by a power of
    two, whose exponent is returned as well, but not where batches must fit together.
    """
    if sample_weight is None:
        return None, 0
    sample_weight = as_numpy(sample_weight)
    if isinstance(sample_weight, Real):
        sample_weight = np.full(shape[0], sample_weight)
    weight = np.asarray(column_or_1d(sample_weight, dtype=np.float64))
    check_consistent_length(np.broadcast_to(0, shape), weight)
    bad = np.flatnonzero(~np.isfinite(weight) | (weight < 0))
    if len(bad):
        raise ValueError(
            f"sample_weight must be finite and not negative, unlike those of sample(s) "
            f"{listing(bad, len(bad))}."
        )
    if not weight.any():
        raise ValueError("sample_weight is zero for every sample: give some a positive weight.")
    exponent = int(np.frexp(weight.max())[1])
    if scale in (no_rescaling, check_squares) and abs(exponent) > MAX_WEIGHT_BITS:
        raise ValueError(
            f"sample_weight (largest {weight.max():.3g}) is too small or too large to be added "
            "from batch to batch: divide the weights of all batches by a typical one."
        )
    if abs(exponent) <= HARMLESS_BITS[np.dtype(dtype).itemsize] or scale is no_rescaling:
        exponent = 0
    weight = np.ldexp(weight, -exponent)
    light = np.flatnonzero((weight > 0) & (weight < weight.max() / 2.0**MAX_WEIGHT_BITS))
    if len(light):
        raise ValueError(
            f"sample_weight of sample(s) {listing(light, len(light))} is too small or too large "
            "beside the largest, 1e30 times as much or more: set it to zero to leave them out."
        )
    return weight.astype(dtype), exponent


@dataclass(frozen=True)
class Features:
    """How many features there are, and their names if they have any."""

    count: int
    names: Array | None = None

    @classmethod
    def of(cls, shape: tuple[int, int], names: Sequence[str] | None) -> "Features":
        """Those of rows that bring their names with them; there must be rows, and features."""
        if not all(shape):
            kind = "feature" if shape[0] else "sample"
            raise ValueError(
                f"Found array with 0 {kind}(s) (shape={shape}): at least one is needed."
            )
        return cls(shape[1], None if names is None else np.asarray(names, dtype=object))

    def check(self, known: "Features | None", name: str) -> None:
        """They are those that the estimator of this name was fitted to; None if it was not yet."""
        if known is None:
            return
        if self.count != known.count:
            raise ValueError(
                f"X has {self.count} features, but {name} is expecting "
                f"{known.count} features as input."
            )
        if self.names is None or known.names is None or np.array_equal(known.names, self.names):
            return
        pairs = zip(known.names, self.names, strict=True)
        wrong = [f"{now!r} instead of {then!r}" for then, now in pairs if then != now]
        raise ValueError(
            "The feature names should match those that were passed during fit, unlike "
            f"{listing(wrong)}."
        )


def too_few(useful: int, n: int, fewest: int, vanished: bool = False) -> ValueError:
    """What to say if fewer samples are useful, or there at all, than there are to be clusters."""
    if n < fewest:
        return ValueError(
            f"n_samples={n} should be >= n_clusters={fewest}: ask for fewer clusters."
        )
    if not useful:
        return ValueError("X is all zero (or weighs nothing): there is nothing to cluster.")
    if vanished:
        return ValueError(
            f"only {useful} of n_samples={n} samples count beside the largest entries of X, fewer "
            f"than n_clusters={fewest}: the squares of the others vanish; drop or divide the "
            "largest samples."
        )
    return ValueError(
        f"only {useful} of n_samples={n} samples are non-zero and have weight, fewer "
        f"than n_clusters={fewest}: ask for fewer clusters."
    )
