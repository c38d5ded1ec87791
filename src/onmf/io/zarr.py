"""Zarr arrays and groups by zarr: the only module that imports it."""

from math import prod
from typing import Any

from onmf.io.annotated import is_array, open_annotated, open_matrix
from onmf.io.remote import AnyFile
from onmf.io.source import Source
from onmf.io.table import Options, check_size, reading_errors

try:
    import zarr
except ImportError as missing:
    raise ImportError(
        'Zarr stores are read by zarr, which `pip install "onmf[zarr]"` installs.'
    ) from missing


def open_zarr(path: AnyFile, options: Options) -> Source:
    with reading_errors(path.name, "Zarr"):
        store = zarr.open(str(path), mode="r")
        if is_array(store):
            return open_matrix(_sized(store, path.name), path.name)
        return open_annotated(store, path.name, options, zarr_member)


def zarr_member(group: Any, name: str) -> Any:
    """A member of a group; it must be as large as declared."""
    item = group[name]
    return _sized(item, name) if is_array(item) else item


def _sized(array: Any, name: str) -> Any:
    if getattr(array.metadata, "_stored_document", None) is not None:
        # zarr from 3.4 on gives invalid chunks another size, and then finds none of their values
        raise ValueError(f"the chunks of its {name} have an invalid size")
    entries = max(prod(array.shape), prod(array.chunks))
    check_size(entries * array.dtype.itemsize, array.nbytes_stored(), f"its {name}")
    return array
