"""NumPy's `.npy` and `.npz`; in the latter also SciPy's sparse matrices."""

import struct
import zlib
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile, ZipInfo

import scipy.sparse as sp

from onmf.io.npy import KINDS, read_array
from onmf.io.table import (
    Table,
    Wish,
    check_compressed,
    check_extent,
    check_size,
    numbered,
    one_line,
)

COMPRESSED = {"csr": sp.csr_array, "csc": sp.csc_array}
DAMAGE = (ValueError, EOFError, KeyError, OSError, BadZipFile, NotImplementedError, RuntimeError,
          OverflowError, struct.error, zlib.error)  # fmt: skip


def read(path: Path, wish: Wish) -> Table:
    try:
        X = read_npz(path) if path.name.lower().endswith(".npz") else read_npy(path)
        if X.ndim != 2:
            raise ValueError(f"its array has {X.ndim} dimension(s) instead of 2.")
        if X.dtype.kind not in "biuf":
            raise ValueError(f"its entries are of type {X.dtype}.")
    except DAMAGE as error:
        if isinstance(error, FileNotFoundError):
            raise
        said = one_line(error)
        raise ValueError(f"{path.name} does not hold one table of numbers: {said}") from error
    n, m = X.shape
    return Table(X, numbered(n), numbered(m))


def read_npy(path: Path) -> Any:
    with path.open("rb") as file:
        return read_array(file, path.stat().st_size)


def read_npz(path: Path) -> Any:
    """The one array, or the one sparse matrix."""
    with ZipFile(path) as archive:
        members = archive.infolist()
        for member in members:
            check_size(member.file_size, member.compress_size, member.filename)
        arrays = {
            member.filename.removesuffix(".npy"): read_member(archive, member) for member in members
        }
    if "format" in arrays:
        return read_sparse(arrays)
    if len(arrays) != 1:
        raise ValueError(f"it has {len(arrays)} arrays ({', '.join(arrays)}).")
    return next(iter(arrays.values()))


def read_member(archive: ZipFile, member: ZipInfo) -> Any:
    kinds = KINDS + "SU" if member.filename == "format.npy" else KINDS + "c"
    with archive.open(member) as file:
        return read_array(file, member.file_size, kinds)


def read_sparse(arrays: dict[str, Any]) -> Any:
    """A matrix as `scipy.sparse.save_npz` takes it apart.

    Put together here and not by SciPy, which believes what the headers say of sizes.
    """
    kind = arrays["format"].item()
    kind = kind.decode("ascii") if isinstance(kind, bytes) else kind
    n, m = (int(size) for size in arrays["shape"])
    data = arrays["data"]
    check_extent((n, m), data.size, "its matrix")
    if kind == "coo":
        return sp.csr_array(sp.coo_array((data, (arrays["row"], arrays["col"])), shape=(n, m)))
    if kind not in COMPRESSED:
        raise ValueError(f"its sparse matrix is by {kind!r}: save it as CSR (`X.tocsr()`).")
    check_compressed(data, arrays["indices"], arrays["indptr"])
    X = COMPRESSED[kind]((data, arrays["indices"], arrays["indptr"]), shape=(n, m))
    X.check_format(full_check=True)  # a forged index would read outside the arrays
    return sp.csr_array(X)
