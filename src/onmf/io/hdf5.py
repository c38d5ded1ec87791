"""HDF5, `.h5ad` above all, by h5py: the only module that imports it.

Links and data outside the file are refused, and so are sizes that the file cannot hold. Some forged
files make the HDF5 library hang: open files of strangers with a time limit.
"""

from pathlib import Path
from typing import Any

from onmf.io.annotated import observations, open_annotated
from onmf.io.source import Source
from onmf.io.table import Options, check_size, reading_errors

try:
    import h5py
except ImportError as missing:
    raise ImportError(
        'HDF5 and .h5ad files are read by h5py, which `pip install "onmf[h5ad]"` installs.'
    ) from missing


def open_hdf5(path: Path, options: Options) -> Source:
    with reading_errors(path.name, "HDF5"):
        file = _open(path)
        try:
            return open_annotated(file, path.name, options, hdf5_member)
        except BaseException:
            file.close()  # the traceback would keep it open
            raise


def read_observations(path: Path, name: str) -> list[Any]:
    """A column of `obs`, None where a value is missing."""
    with reading_errors(path.name, "HDF5"), _open(path) as file:
        return observations(file, name, hdf5_member)


def _open(path: Path) -> Any:
    return h5py.File(path, "r")


def hdf5_member(group: Any, name: str) -> Any:
    """A member of a group; it must be in this file and as large as declared."""
    if not isinstance(group.get(name, getlink=True), h5py.HardLink):
        raise ValueError(f"its {name} is missing, or a link to another file")
    item = group[name]
    if isinstance(item, h5py.Dataset):
        if item.is_virtual or item.external:
            raise ValueError(f"its {name} is stored in another file")
        check_size(item.nbytes, item.id.get_storage_size(), f"its {name}")
    return item
