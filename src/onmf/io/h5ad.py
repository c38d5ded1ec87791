"""Annotated data, `.h5ad`, by h5py: the only module that imports it.

Read without anndata, which would bring pandas and pin its version for three arrays and two lists of
names. Links and data that lie outside the file are refused, and so is what claims to be larger
than the file can hold; beyond that the HDF5 library is trusted, which some forged files can hang:
open files of strangers under a time limit.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from onmf.io.table import (
    Table,
    Wish,
    check_compressed,
    check_extent,
    check_size,
    class_names,
    listing,
    one_line,
)

try:
    import h5py
except ImportError as missing:
    raise ImportError(
        '.h5ad files are read by h5py, which `pip install "onmf[h5ad]"` installs.'
    ) from missing

SPARSE = {"csr": sp.csr_array, "csc": sp.csc_array}


def read(path: Path, wish: Wish) -> Table:
    with opened(path) as file, file:
        table = described(file, wish)
        X = matrix(table.X)
        n, m = len(table.samples), len(table.features)
        if X.shape != (n, m):
            raise ValueError(f"its matrix is {X.shape[0]} x {X.shape[1]}, its names {n} x {m}")
        return table._replace(X=X)


def outline(path: Path, wish: Wish) -> Table:
    """The table with X as h5py's data set or group, from which rows can be read."""
    with opened(path) as file:
        return described(file, wish)


@contextmanager
def opened(path: Path) -> Iterator[Any]:
    """The file, closed when nobody uses it any more; the words of its errors name it."""
    path.stat()  # h5py's words for a missing file are long
    try:
        yield h5py.File(path, "r")
    except (OSError, LookupError, ValueError, TypeError, RuntimeError, AttributeError) as error:
        raise ValueError(
            f"{path.name} cannot be read as annotated data: {one_line(error)}."
        ) from error


def described(file: Any, wish: Wish) -> Table:
    samples, features = names(file, "obs"), names(file, "var")
    stored = chosen(file, wish.layer)
    return Table(stored, samples, features, classes(file, wish.labels, samples))


def observations(path: Path, name: str) -> list[Any]:
    """A column of `obs`, None where a value is missing."""
    with h5py.File(path, "r") as file:
        frame = member(file, "obs")
        if name not in frame:
            raise ValueError(f"{path.name} has no column {name!r} in obs, but {listing(frame)}.")
        return column(frame, name)


def chosen(file: Any, layer: str | None) -> Any:
    if layer is None:
        return whole(file, "X")
    layers = member(file, "layers") if "layers" in file else {}
    if layer not in layers:
        raise ValueError(f"it has no layer {layer!r}, but {listing(layers) or 'none at all'}")
    return whole(layers, layer)


def whole(group: Any, name: str) -> Any:
    """A matrix that is really in the file, with its parts if it is sparse."""
    found = member(group, name)
    if isinstance(found, h5py.Group):
        for part in found.keys() & {"data", "indices", "indptr"}:
            member(found, part)
    return found


def member(group: Any, name: str) -> Any:
    """A part of the file that is really in the file, and as large as it says."""
    if not isinstance(group.get(name, getlink=True), h5py.HardLink):
        raise ValueError(f"its {name} is missing, or only a link to somewhere else")
    found = group[name]
    if isinstance(found, h5py.Dataset):
        if found.is_virtual or found.external:
            raise ValueError(f"its {name} lies in another file")
        check_size(found.nbytes, found.id.get_storage_size(), f"its {name}")
    return found


def matrix(stored: Any) -> Any:
    """An array, or a csr_array from either kind of sparse matrix."""
    if isinstance(stored, h5py.Dataset):
        X = stored[:]
    else:
        kind = stored.attrs.get("encoding-type", stored.attrs.get("h5sparse_format", ""))
        shape = stored.attrs.get("shape", stored.attrs.get("h5sparse_shape", ()))
        make = SPARSE.get(str(kind).removesuffix("_matrix"))
        if make is None or len(shape) != 2:
            raise ValueError(f"its matrix is of an unknown kind, {str(kind)!r}")
        shape = tuple(int(size) for size in shape)
        parts = [member(stored, name) for name in ("data", "indices", "indptr")]
        check_extent(shape, parts[0].size, "its matrix")
        arrays = tuple(part[:] for part in parts)
        check_compressed(*arrays)
        X = make(arrays, shape=shape)
        X.check_format(full_check=True)  # a forged index would read outside the arrays
        X = sp.csr_array(X)
    if X.ndim != 2 or X.dtype.kind not in "biuf":
        raise ValueError(f"its matrix has {X.ndim} dimension(s) of type {X.dtype}")
    return X


def names(file: Any, axis: str) -> list[str]:
    """The index of `obs` or `var`."""
    frame = member(file, axis)
    if isinstance(frame, h5py.Dataset):
        raise ValueError("it was written before anndata 0.7: read and write it with a newer one")
    return [str(name) for name in column(frame, str(frame.attrs.get("_index", "_index")))]


def classes(file: Any, name: str | None, samples: list[str]) -> list[str] | None:
    """A column of `obs`, if it is there."""
    frame = member(file, "obs")
    if name is None or name not in frame:
        return None
    values = column(frame, name)
    missing = [repr(s) for s, v in zip(samples, values, strict=True) if v is None]
    if missing:
        raise ValueError(f"its column {name} has no class for {listing(missing)}")
    return class_names(values)


def column(frame: Any, name: str) -> list[Any]:
    """The values of a column, None where there is none."""
    stored = member(frame, name)
    if isinstance(stored, h5py.Group) and "categories" in stored:
        return taken(plain(member(stored, "categories")), plain(member(stored, "codes")))
    if isinstance(stored, h5py.Group):  # values that may be missing
        pairs = zip(plain(member(stored, "values")), plain(member(stored, "mask")), strict=True)
        return [None if hidden else value for value, hidden in pairs]
    if "categories" in stored.attrs:  # as anndata 0.7 wrote them
        return taken(plain(frame.file[stored.attrs["categories"]]), plain(stored))
    return plain(stored)


def plain(stored: Any) -> list[Any]:
    values = stored.asstr()[:] if h5py.check_string_dtype(stored.dtype) else stored[:]
    return np.asarray(values).tolist()


def taken(categories: list[Any], codes: list[int]) -> list[Any]:
    return [categories[code] if code >= 0 else None for code in codes]
