"""Samples x genes from an .h5ad file; the only module that imports h5py.

The layout is anndata's: X dense or a group of CSR or CSC arrays, `obs` and `var` groups of
columns, the attribute `_index` naming the one with the names, a categorical column being a group
of codes and categories.
"""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Array = NDArray[Any]


class Annotated(NamedTuple):
    """A matrix, the names of its rows and columns, and the columns of text of `obs`."""

    X: Any  # ndarray or csr_array
    samples: list[str]
    genes: list[str]
    obs: dict[str, list[str]]  # "" where a value is missing


def read_h5ad(path: Path) -> Annotated:
    """The whole of X and what is known of the samples."""
    try:
        import h5py
    except ImportError as missing:
        raise ImportError(
            'Reading .h5ad files needs h5py, which `pip install "onmf[h5ad]"` installs.'
        ) from missing
    try:
        with h5py.File(path, "r") as file:
            obs, var = file["obs"], file["var"]
            names = [name for name in obs if not name.startswith("__")]
            return Annotated(
                matrix(file["X"]),
                column(obs, index_of(obs)),
                column(var, index_of(var)),
                {name: column(obs, name) for name in names},
            )
    except (OSError, KeyError, AttributeError) as error:
        if isinstance(error, FileNotFoundError):
            raise
        raise ValueError(f"{path} is not an .h5ad file of anndata 0.7 or later: {error}") from error


def matrix(X: Any) -> Any:
    """A dense array, or CSR of what is stored as CSR or CSC."""
    if hasattr(X, "dtype"):
        return X[:]
    kind = {"csr_matrix": sp.csr_array, "csc_matrix": sp.csc_array}[X.attrs["encoding-type"]]
    stored = kind((X["data"][:], X["indices"][:], X["indptr"][:]), shape=tuple(X.attrs["shape"]))
    stored.check_format(full_check=True)  # a forged index would read outside the arrays
    return sp.csr_array(stored)


def index_of(group: Any) -> str:
    return str(group.attrs["_index"])


def column(group: Any, name: str) -> list[str]:
    """A column as text."""
    stored = group[name]
    if hasattr(stored, "dtype"):
        return text(stored)
    if "codes" in stored:
        categories = np.array([*text(stored["categories"]), ""])  # code -1: missing
        return [str(value) for value in categories[stored["codes"][:]]]
    hidden = stored["mask"][:] if "mask" in stored else np.zeros(len(stored["values"]), bool)
    values = text(stored["values"])
    return ["" if gone else value for value, gone in zip(values, hidden, strict=True)]


def text(stored: Any) -> list[str]:
    values = stored.asstr()[:] if stored.dtype.kind == "O" else stored[:]
    return [str(value) for value in values]
