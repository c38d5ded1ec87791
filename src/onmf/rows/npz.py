"""NumPy's `.npz`: one array, or a sparse matrix by `scipy.sparse.save_npz`.

SciPy's reader is not used: it trusts the sizes that a file declares.
"""

import shutil
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from zipfile import ZIP_STORED, ZipFile, ZipInfo

import numpy as np
import scipy.sparse as sp

from onmf.rows.flat import room_for
from onmf.rows.npy import COPY_BUFFER, array_in, check_body, read_array, read_header
from onmf.rows.source import NUMERIC_KINDS, Dense, NotByRows, Source, Sparse, floating
from onmf.rows.table import Array, Options, check_extent, check_size, reading_errors

LOCAL_HEADER = struct.Struct("<26xHH")  # of a zip member; its last fields are two lengths
NPZ_FORMAT = "an archive of one table of numbers"


@dataclass(frozen=True)
class Member:
    """One array of an archive, read as a whole or, unpacked, by slices."""

    path: Path
    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    def __getitem__(self, rows: slice) -> Array:
        with reading_errors(self.path.name, NPZ_FORMAT), _archive(self.path) as archive:
            return _read(archive, archive.getinfo(self.name))[rows]

    def unpacked(self) -> Any:
        """The array in the archive itself, or in a temporary folder if it is compressed."""
        with reading_errors(self.path.name, NPZ_FORMAT), _archive(self.path) as archive:
            info = archive.getinfo(self.name)
            if info.compress_type == ZIP_STORED:
                return array_in(self.path, _position(archive, self.path, info))
            folder = room_for(info.file_size, f"{self.name} of {self.path.name}")
            place = folder.path / "member.npy"
            with archive.open(info) as packed, place.open("wb") as plain:
                shutil.copyfileobj(packed, plain, COPY_BUFFER)
            return array_in(place, 0, folder)


def open_npz(path: Path, options: Options) -> Source:
    with reading_errors(path.name, NPZ_FORMAT), _archive(path) as archive:
        infos = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
        for info in infos.values():
            check_size(info.file_size, info.compress_size, info.filename)
        if "format" in infos:
            return _open_sparse(archive, path, infos)
        if len(infos) != 1:
            raise ValueError(f"it has {len(infos)} arrays ({', '.join(infos)}): keep only one")
        (array,) = (_member(archive, path, info) for info in infos.values())
    return Dense.of(array, path.name)


@contextmanager
def _archive(path: Path) -> Iterator[ZipFile]:
    with path.open("rb") as file, ZipFile(file) as archive:
        yield archive


def _open_sparse(archive: ZipFile, path: Path, infos: dict[str, ZipInfo]) -> Source:
    kind = _read(archive, infos.pop("format"), "SU").item()
    kind = kind.decode("ascii") if isinstance(kind, bytes) else kind
    n, m = (int(size) for size in _read(archive, infos.pop("shape")))
    parts = {name: _member(archive, path, info) for name, info in infos.items()}
    if kind == "csr":
        return Sparse.of(parts, (n, m), path.name)
    if kind not in READ_WHOLE:
        raise ValueError(f"its sparse format is {kind!r}: save it as CSR (`X.tocsr()`).")
    (entries,), dtype = parts["data"].shape, floating(parts["data"].dtype, path.name)
    check_extent((n, m), entries, path.name)
    read = partial(READ_WHOLE[kind], path.name, parts, (n, m))
    return NotByRows(where=path.name, shape=(n, m), dtype=dtype, kind=kind, entries=entries,
                     read=read)  # fmt: skip


def _member(archive: ZipFile, path: Path, info: ZipInfo) -> Member:
    with archive.open(info) as file:
        header = read_header(file)
        check_body(header, info.file_size - file.tell())
    return Member(path, info.filename, header.shape, header.dtype)


def _read(archive: ZipFile, info: ZipInfo, kinds: str = NUMERIC_KINDS) -> Array:
    with archive.open(info) as file:
        return read_array(file, info.file_size, kinds)


def _position(archive: ZipFile, path: Path, info: ZipInfo) -> int:
    """Where the content of an uncompressed member starts."""
    with archive.open(info) as file:
        while file.read(COPY_BUFFER):  # compares the checksum, once
            pass
    with path.open("rb") as file:
        file.seek(info.header_offset)
        lengths = LOCAL_HEADER.unpack(file.read(LOCAL_HEADER.size))
    return int(info.header_offset + LOCAL_HEADER.size + sum(lengths))


def _by_columns(where: str, parts: dict[str, Member], shape: tuple[int, ...]) -> Any:
    """A CSC matrix: its transpose is by rows."""
    return Sparse.of(parts, shape[::-1], where).matrix().T


def _by_entries(where: str, parts: dict[str, Member], shape: tuple[int, ...]) -> Any:
    """A COO matrix."""
    with reading_errors(where, NPZ_FORMAT):
        places = parts["row"][:], parts["col"][:]
        return sp.coo_array((parts["data"][:], places), shape=shape)


READ_WHOLE = {"csc": _by_columns, "coo": _by_entries}
