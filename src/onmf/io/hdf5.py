"""HDF5, `.h5ad` above all, by h5py: the only module that imports it.

Links and data that lie outside the file are refused, and so is what claims to be larger than the
file can hold; beyond that the HDF5 library is trusted, which some forged files can hang: open files
of strangers under a time limit.
"""

from pathlib import Path
from typing import Any

from onmf.io.annotated import observations, open_annotated
from onmf.io.remote import AnyFile
from onmf.io.source import Source
from onmf.io.table import Options, check_size, reading_errors

try:
    import h5py
except ImportError as missing:
    raise ImportError(
        'HDF5 and .h5ad files are read by h5py, which `pip install "onmf[h5ad]"` installs.'
    ) from missing

_FORM = "HDF5"


def open_hdf5(path: AnyFile, options: Options) -> Source:
    with reading_errors(path.name, _FORM):
        file = _open(path)
        try:
            return open_annotated(file, path.name, options, hdf5_member)
        except BaseException:
            file.close()  # what is kept of the error would keep it open
            raise


def read_observations(path: AnyFile, name: str) -> list[Any]:
    """A column of `obs`, None where a value is missing."""
    with reading_errors(path.name, _FORM), _open(path) as file:
        return observations(file, name, hdf5_member)


def _open(path: AnyFile) -> Any:
    return h5py.File(path if isinstance(path, Path) else path.open(), "r")


def hdf5_member(group: Any, name: str) -> Any:
    """A part of the file that is really in the file, and as large as it says."""
    if not isinstance(group.get(name, getlink=True), h5py.HardLink):
        raise ValueError(f"its {name} is missing, or only a link to somewhere else")
    item = group[name]
    if isinstance(item, h5py.Dataset):
        if item.is_virtual or item.external:
            raise ValueError(f"its {name} lies in another file")
        check_size(item.nbytes, item.id.get_storage_size(), f"its {name}")
    return item
