"""NumPy's `.npy`; declared sizes are compared with the file before memory is allocated."""

from math import prod
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.lib import format as npy

from onmf.rows.flat import FlatFile, TemporaryFolder
from onmf.rows.room import check_memory
from onmf.rows.source import NUMERIC_KINDS, Dense, Source, Sparse
from onmf.rows.table import Array, Options, reading_errors

COPY_BUFFER = 1 << 20  # bytes copied at once


class Header(NamedTuple):
    """Shape, order and type of a stored array."""

    shape: tuple[int, ...]
    columns_first: bool
    dtype: np.dtype[Any]

    @property
    def size(self) -> int:
        """Bytes of the numbers."""
        return prod(self.shape) * self.dtype.itemsize


def open_npy(path: Path, options: Options) -> Source:
    return Dense.of(array_in(path), path.name)


def array_in(path: Path, position: int = 0, folder: TemporaryFolder | None = None) -> Any:
    """The array that starts at `position` of a file, read by slices."""
    with path.open("rb") as file, reading_errors(path.name, "an array of numbers"):
        file.seek(position)
        shape, columns_first, dtype = read_header(file)
        start = file.tell()
    rows = FlatFile(path, start, shape, dtype, folder)
    if columns_first and len(shape) > 1:  # a row is scattered over the file
        return np.memmap(path, dtype, "r", start, shape, order="F")
    return rows


def read_array(stream: IO[bytes], size: int, kinds: str = NUMERIC_KINDS) -> Array:
    """The array of a stream of `size` bytes; ValueError if its header does not fit."""
    header = read_header(stream, kinds)
    check_body(header, size - stream.tell())
    check_memory(header.size, "an array")
    data = bytearray(header.size)
    _fill(memoryview(data), stream)
    X = np.frombuffer(data, header.dtype)
    X = X.reshape(header.shape, order="F" if header.columns_first else "C")
    return X.astype(header.dtype.newbyteorder("="), copy=False)


def _fill(buffer: memoryview, stream: IO[bytes]) -> None:
    """Fill the buffer in small steps: a compressed stream copies each of them."""
    while len(buffer):
        part = stream.read(min(len(buffer), COPY_BUFFER))
        if not part:
            raise ValueError("it is truncated.")
        buffer[: len(part)], buffer = part, buffer[len(part) :]


def read_header(stream: IO[bytes], kinds: str = NUMERIC_KINDS) -> Header:
    """The header of an array, whose type must be of one of these kinds."""
    version = npy.read_magic(stream)
    readers = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
    if version not in readers:
        raise ValueError(f"its format {version} is unknown.")
    try:
        header = Header(*readers[version](stream))
    except Exception as error:  # it is parsed as Python, which may raise anything
        raise ValueError("its header is broken.") from error
    if header.dtype.hasobject:
        raise ValueError("object arrays are pickles, which are not read.")
    if header.dtype.kind not in kinds:
        raise ValueError(f"its entries are of type {header.dtype}.")
    if min(header.shape, default=0) < 0:
        raise ValueError(f"its header declares the shape {header.shape}.")
    return header


def check_body(header: Header, size: int) -> None:
    """Refuse a header that declares another number of bytes than there are."""
    if header.size != size:
        raise ValueError(f"its header declares {header.size} bytes, but there are {size}.")


def open_mapped(X: Any, small: int) -> Source | None:
    """The file behind a memory map, or behind a CSR matrix of memory maps.

    None if there is none, or if it has fewer than `small` bytes. A copy-on-write map ("c") may
    differ from its file and gives None.
    """
    if isinstance(X, np.memmap) and X.nbytes >= small and X.ndim == 2 and X.mode != "c":
        return Dense.of(file_behind(X) or X, str(X.filename))
    if sp.issparse(X) and X.format == "csr" and X.data.nbytes >= small:
        data, indices = file_behind(X.data), file_behind(X.indices)
        if data is not None and indices is not None:
            parts = {"data": data, "indices": indices, "indptr": X.indptr}
            return Sparse.of(parts, X.shape, str(data.path))
    return None


def file_behind(array: Array) -> FlatFile | None:
    """The part of a file that a contiguous piece of a memory map shows."""
    root = array
    while isinstance(root.base, np.ndarray):
        root = root.base
    if not isinstance(root, np.memmap) or root.mode == "c" or root.filename is None:
        return None
    if not array.flags.c_contiguous:
        return None
    root.flush()  # changes that are not yet in the file
    position = root.offset + array.ctypes.data - root.ctypes.data
    return FlatFile(Path(root.filename), position, array.shape, array.dtype)
