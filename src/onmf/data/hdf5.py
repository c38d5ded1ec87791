"""HDF5 and `.h5ad` by h5py, which is imported when such a file is opened."""

from pathlib import Path
from typing import Any

from onmf.data.sources import Source, csr, matrix
from onmf.io.table import one_line

DAMAGE = (OSError, LookupError, ValueError, TypeError, RuntimeError, AttributeError,
          ArithmeticError)  # fmt: skip
KINDS = {"csr_matrix": "csr", "csc_matrix": "csc"}


def open_hdf5(path: Path) -> Source:
    """The matrix `X` of a file, or the only one in it."""
    try:
        import h5py
    except ImportError as missing:
        raise ImportError(
            f'{path.name} is read by h5py, which `pip install "onmf[h5ad]"` installs.'
        ) from missing
    from onmf.io.h5ad import whole

    try:
        file = h5py.File(path, "r")
        name = only_matrix(file)
        return open_group(whole(file, name), f"{name} in {path.name}", feature_names(file))
    except DAMAGE as error:
        said = one_line(error).removesuffix(".")
        raise ValueError(f"{path.name} is damaged or not an HDF5 file: {said}.") from error


def only_matrix(file: Any) -> str:
    names = [name for name, item in file.items() if is_matrix(item)]
    if "X" in names:
        return "X"
    if len(names) != 1:
        raise ValueError(f"it has no matrix X, but {', '.join(names) or 'none at all'}.")
    return str(names[0])


def is_matrix(item: Any) -> bool:
    return len(getattr(item, "shape", ())) == 2 or "indptr" in item


def open_group(item: Any, where: str, names: list[str] | None = None) -> Source:
    """A data set, or a group of `data`, `indices` and `indptr` with its shape in an attribute.

    Zarr's arrays and groups look the same.
    """
    if hasattr(item, "dtype"):
        if getattr(item, "is_virtual", False) or getattr(item, "external", None):
            raise ValueError(f"{where} lies in another file.")
        return matrix(where, item, names)
    kind = KINDS.get(str(item.attrs.get("encoding-type", "csr_matrix")))
    shape = item.attrs.get("shape", item.attrs.get("h5sparse_shape"))
    if kind != "csr" or shape is None or "indptr" not in item:
        raise ValueError(f"{where} is not a CSR matrix with a shape: save it by rows, as CSR.")
    return csr(where, item, shape, names)


def feature_names(file: Any) -> list[str] | None:
    """The names of the columns of an .h5ad file, if they are plain text."""
    index = file["var"].attrs.get("_index") if "var" in file else None
    if index is None or not hasattr(file["var"][index], "dtype"):
        return None
    values = file["var"][index][:]
    return [value.decode() if isinstance(value, bytes) else str(value) for value in values]
