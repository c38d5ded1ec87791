"""NumPy's own files and maps: `.npy`, `.npz`, memory maps, CSR matrices made of memory maps."""

import shutil
import struct
import tempfile
import weakref
import zlib
from pathlib import Path
from typing import Any
from zipfile import ZIP_STORED, BadZipFile, ZipFile, ZipInfo

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from onmf.data.sources import Plain, Source, Sparse, csr, floating, matrix
from onmf.io.npy import KINDS, read_array, read_header
from onmf.io.table import check_size, one_line

Array = NDArray[Any]

DAMAGE = (BadZipFile, KeyError, ValueError, EOFError, NotImplementedError, RuntimeError, OSError,
          OverflowError, struct.error, zlib.error)  # fmt: skip
LOCAL_HEADER = struct.Struct("<26xHH")  # of a member of an archive; ends with two lengths


def open_npy(path: Path) -> Source:
    return matrix(path.name, stored(path, 0))


def stored(path: Path, position: int, keep: Any = None) -> Any:
    """The array that begins at `position` of a file, to be read by slices."""
    with path.open("rb") as file:
        file.seek(position)
        try:
            shape, fortran, dtype = read_header(file)
        except ValueError as error:
            raise ValueError(f"{path.name} does not hold an array of numbers: {error}") from error
        start = file.tell()
    plain = Plain(path, start, shape, dtype, keep)
    if fortran and len(shape) > 1:  # rows are scattered over the file: let the system fetch them
        return np.memmap(path, dtype, "r", start, shape, order="F")
    return plain


def open_npz(path: Path) -> Source:
    """One array, or a CSR matrix as `scipy.sparse.save_npz` writes it."""
    try:
        with ZipFile(path) as archive:
            names = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
            if "format" not in names:
                if len(names) != 1:
                    raise ValueError(f"{path.name} has {len(names)} arrays: keep one.")
                return matrix(path.name, *(member(archive, path, info) for info in names.values()))
            kind = array_of(archive, names["format"]).item()
            kind = kind.decode() if isinstance(kind, bytes) else kind
            if kind != "csr":
                raise ValueError(
                    f"{path.name} holds a sparse matrix by {kind}, which cannot be read by rows: "
                    "save it as CSR (`X.tocsr()`)."
                )
            shape = array_of(archive, names["shape"])
            parts = {name: member(archive, path, names[name]) for name in CSR_PARTS}
            return csr(path.name, parts, shape)
    except NoRoomError:
        raise
    except DAMAGE as error:
        said = one_line(error).removesuffix(".")
        raise ValueError(f"{path.name} is damaged or not an archive of arrays: {said}.") from error


CSR_PARTS = ("data", "indices", "indptr")


def array_of(archive: ZipFile, info: ZipInfo) -> Array:
    check_size(info.file_size, info.compress_size, info.filename)
    with archive.open(info) as file:
        return read_array(file, info.file_size, KINDS + "SU")


def member(archive: ZipFile, path: Path, info: ZipInfo) -> Any:
    """A member as it lies in the archive, or unpacked into a temporary folder if compressed."""
    if info.compress_type == ZIP_STORED:
        with archive.open(info) as file:
            while file.read(1 << 20):  # the archive has a checksum: use it, once
                pass
        with path.open("rb") as file:
            file.seek(info.header_offset)
            lengths = LOCAL_HEADER.unpack(file.read(LOCAL_HEADER.size))
        return stored(path, info.header_offset + LOCAL_HEADER.size + sum(lengths))
    check_size(info.file_size, info.compress_size, info.filename)
    folder = room_for(info.file_size, f"{info.filename} of {path.name}")
    place = folder.path / "member.npy"
    with archive.open(info) as packed, place.open("wb") as plain:
        shutil.copyfileobj(packed, plain, 1 << 20)
    return stored(place, 0, folder)


class NoRoomError(OSError):
    """What must be unpacked does not fit on the disk."""


class Folder:
    """A temporary folder that goes when it is no longer used."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="onmf-"))
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


def room_for(size: int, what: str) -> Folder:
    """A temporary folder with room for so many bytes."""
    folder = Folder()
    free = shutil.disk_usage(folder.path).free
    if free < size:
        raise NoRoomError(
            f"{what} must be unpacked to be read by rows, which takes {size / 1e9:.1f} GB in the "
            f"folder for temporary files; {free / 1e9:.1f} GB are free. Set TMPDIR to another."
        )
    return folder


def open_mapped(X: Any, small: int) -> Source | None:
    """The file behind a memory map, or behind a CSR matrix of memory maps.

    None if there is none, or fewer than `small` bytes. A map whose changes are private ("c") is no
    picture of its file and is left as it is.
    """
    if isinstance(X, np.memmap) and X.nbytes >= small and X.ndim == 2 and X.mode != "c":
        return matrix(str(X.filename), plain(X) or X)
    if sp.issparse(X) and X.format == "csr" and X.data.nbytes >= small:
        data, indices = plain(X.data), plain(X.indices)
        if data is not None and indices is not None:
            dtype = floating(X.dtype, str(data.path))
            return Sparse(data, indices, np.asarray(X.indptr), X.shape[1], dtype)
    return None


def plain(array: Array) -> Plain | None:
    """Where in which file a contiguous piece of a memory map lies."""
    root = array
    while isinstance(root.base, np.ndarray):
        root = root.base
    if not isinstance(root, np.memmap) or root.mode == "c" or root.filename is None:
        return None
    if not array.flags.c_contiguous:
        return None
    root.flush()  # what was written to the map but not yet to the file
    position = root.offset + array.ctypes.data - root.ctypes.data
    return Plain(Path(root.filename), position, array.shape, array.dtype)
