"""Zarr arrays and groups by zarr, which is imported when such a folder is opened."""

from pathlib import Path

from onmf.places.hdf5 import feature_names, only_matrix, open_group
from onmf.places.sources import Source


def open_zarr(path: Path) -> Source:
    """The array, or the matrix `X` of a group, or the only one in it."""
    try:
        import zarr
    except ImportError as missing:
        raise ImportError(
            f"{path.name} is read by zarr: install it, for example with `pip install zarr`."
        ) from missing
    try:
        found = zarr.open(str(path), mode="r")
    except (FileNotFoundError, ValueError, KeyError) as error:
        raise ValueError(f"{path.name} is damaged or not a Zarr store: {error}") from error
    if hasattr(found, "dtype"):
        return open_group(found, path.name)
    group = dict(found.members())
    name = only_matrix(group, path.name)
    return open_group(group[name], f"{name} in {path.name}", feature_names(group))
