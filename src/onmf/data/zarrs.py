"""Zarr arrays and groups by zarr, which is imported when such a folder is opened."""

from math import prod
from pathlib import Path
from typing import Any

from onmf.data.hdf5 import DAMAGE, feature_names, only_matrix, open_group
from onmf.data.sources import Source
from onmf.io.table import check_size, one_line


def open_zarr(path: Path) -> Source:
    """The array, or the matrix `X` of a group, or the only one in it."""
    try:
        import zarr
    except ImportError as missing:
        raise ImportError(
            f'{path.name} is read by zarr, which `pip install "onmf[zarr]"` installs.'
        ) from missing
    try:
        found = zarr.open(str(path), mode="r")
        if hasattr(found, "dtype"):
            return open_group(sized(found, path.name), path.name)
        group: dict[str, Any] = dict(found.members())
        name = only_matrix(group)
        if not hasattr(group[name], "dtype"):
            for part, array in group[name].arrays():
                sized(array, part)
        return open_group(group[name], f"{name} in {path.name}", feature_names(group))
    except DAMAGE as error:
        said = one_line(error).removesuffix(".")
        raise ValueError(f"{path.name} is damaged or not a Zarr store: {said}.") from error


def sized(array: Any, name: str) -> Any:
    """The array, if what is stored of it can hold what it says."""
    entries = max(prod(array.shape), prod(array.chunks))
    check_size(entries * array.dtype.itemsize, array.nbytes_stored(), name)
    return array
