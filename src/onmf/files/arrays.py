"""NumPy's `.npy` and `.npz`; in the latter also SciPy's sparse matrices."""

import struct
import zlib
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

import scipy.sparse as sp

from onmf.files.npy import read_array
from onmf.files.table import Table, Wish, check_extent, check_size, numbered, one_line

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
        names = [member.filename.removesuffix(".npy") for member in members]
        if "format" not in names and len(names) == 1:
            with archive.open(members[0]) as file:
                return read_array(file, members[0].file_size)
    if "format" not in names:
        raise ValueError(f"it has {len(names)} arrays ({', '.join(names)}).")
    X = sp.load_npz(path)
    check_extent(X.shape, X.nnz, "its matrix")
    X = sp.csr_array(X)
    X.check_format(full_check=True)  # a forged index would read outside the arrays
    return X
