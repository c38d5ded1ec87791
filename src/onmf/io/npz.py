"""NumPy's `.npz`: one array, or a sparse matrix as `scipy.sparse.save_npz` takes it apart.

Put together here and not by SciPy, which believes what the headers say of sizes.
"""

import shutil
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import ZIP_STORED, ZipFile, ZipInfo

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from onmf.io.flat import room_for
from onmf.io.npy import KINDS, array_in, check_body, read_array, read_header
from onmf.io.source import Dense, NotByRows, Source, Sparse, floating
from onmf.io.table import Options, check_extent, check_size, reading

LOCAL_HEADER = struct.Struct("<26xHH")  # of a member of an archive; ends with two lengths
BUFFER = 1 << 20  # bytes
FORM = "an archive of one table of numbers"


@dataclass(frozen=True)
class Member:
    """One array of an archive: at once, or, unpacked, by slices."""

    path: Path
    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    def __getitem__(self, rows: slice) -> NDArray[Any]:
        with reading(self.path.name, FORM), ZipFile(self.path) as archive:
            return _read(archive, archive.getinfo(self.name))[rows]

    def unpacked(self) -> Any:
        """The array as it lies in the archive, or in a temporary folder if it was compressed."""
        with reading(self.path.name, FORM), ZipFile(self.path) as archive:
            info = archive.getinfo(self.name)
            if info.compress_type == ZIP_STORED:
                return array_in(self.path, _position(archive, self.path, info))
            folder = room_for(info.file_size, f"{self.name} of {self.path.name}")
            place = folder.path / "member.npy"
            with archive.open(info) as packed, place.open("wb") as plain:
                shutil.copyfileobj(packed, plain, BUFFER)
            return array_in(place, 0, folder)


class Contents(NamedTuple):
    """The arrays of an archive; kind and shape if together they are a sparse matrix."""

    members: dict[str, Member]
    kind: str = ""
    shape: tuple[int, ...] = ()


def open_file(path: Path, options: Options) -> Source:
    with reading(path.name, FORM), ZipFile(path) as archive:
        members, kind, shape = _contents(archive, path)
    if not kind:
        (array,) = members.values()
        return Dense.of(array, path.name)
    if kind == "csr":
        with reading(path.name, FORM):
            return Sparse.of(members, shape, path.name)
    with reading(path.name, FORM):
        if kind not in ("csc", "coo"):
            raise ValueError(f"its sparse matrix is by {kind!r}: save it as CSR (`X.tocsr()`).")
        n, m = shape
        (entries,), dtype = members["data"].shape, floating(members["data"].dtype, path.name)
        check_extent(shape, entries, path.name)
    read = {"csc": _by_columns, "coo": _by_entries}[kind]
    return NotByRows(where=path.name, shape=(n, m), dtype=dtype, kind=kind,
                     entries=entries, read=lambda: read(path.name, members, shape))  # fmt: skip


def _contents(archive: ZipFile, path: Path) -> Contents:
    infos = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
    for info in infos.values():
        check_size(info.file_size, info.compress_size, info.filename)
    if "format" not in infos:
        if len(infos) != 1:
            raise ValueError(f"it has {len(infos)} arrays ({', '.join(infos)}): keep one")
        return Contents({name: _member(archive, path, info) for name, info in infos.items()})
    kind = _read(archive, infos.pop("format"), "SU").item()
    kind = kind.decode("ascii") if isinstance(kind, bytes) else kind
    shape = tuple(int(size) for size in _read(archive, infos.pop("shape")))
    return Contents({name: _member(archive, path, i) for name, i in infos.items()}, kind, shape)


def _member(archive: ZipFile, path: Path, info: ZipInfo) -> Member:
    with archive.open(info) as file:
        header = read_header(file)
        check_body(header, info.file_size - file.tell())
    return Member(path, info.filename, header.shape, header.dtype)


def _read(archive: ZipFile, info: ZipInfo, kinds: str = KINDS) -> NDArray[Any]:
    with archive.open(info) as file:
        return read_array(file, info.file_size, kinds)


def _position(archive: ZipFile, path: Path, info: ZipInfo) -> int:
    """Where the content of a member that is not compressed begins."""
    with archive.open(info) as file:
        while file.read(BUFFER):  # the archive has a checksum: use it, once
            pass
    with path.open("rb") as file:
        file.seek(info.header_offset)
        lengths = LOCAL_HEADER.unpack(file.read(LOCAL_HEADER.size))
    return int(info.header_offset + LOCAL_HEADER.size + sum(lengths))


def _by_columns(where: str, members: dict[str, Member], shape: tuple[int, ...]) -> Any:
    """A CSC matrix: its transpose is by rows."""
    return Sparse.of(members, shape[::-1], where).matrix().T


def _by_entries(where: str, members: dict[str, Member], shape: tuple[int, ...]) -> Any:
    """A COO matrix."""
    with reading(where, FORM):
        places = members["row"][:], members["col"][:]
        return sp.coo_array((members["data"][:], places), shape=shape)
