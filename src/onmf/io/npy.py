"""Arrays in NumPy's own format, checked against the bytes there are before memory is spent."""

from math import prod
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.lib import format as npy
from numpy.typing import NDArray

from onmf.exceptions import FormatError
from onmf.io.flat import FlatFile, TemporaryFolder, check_memory
from onmf.io.remote import AnyFile, RemoteFile
from onmf.io.source import Dense, Source, Sparse
from onmf.io.table import Options, reading_errors

Array = NDArray[Any]

_BUFFER = 1 << 20  # bytes
KINDS = "biuf"  # what may be read: no objects, hence no pickles


class Header(NamedTuple):
    """What stands before the numbers."""

    shape: tuple[int, ...]
    columns_first: bool
    dtype: np.dtype[Any]

    @property
    def size(self) -> int:
        """Bytes of the numbers."""
        return prod(self.shape) * self.dtype.itemsize


def open_npy(path: AnyFile, options: Options) -> Source:
    return Dense.of(array_in(path), path.name)


def array_in(path: AnyFile, position: int = 0, folder: TemporaryFolder | None = None) -> Any:
    """The array that begins at `position` of a file, to be read by slices."""
    with path.open("rb") as file, reading_errors(path.name, "an array of numbers"):
        file.seek(position)
        shape, columns_first, dtype = read_header(file)
        start = file.tell()
    rows = FlatFile(path, start, shape, dtype, folder)
    if columns_first and len(shape) > 1:  # rows are all over the file: let the system fetch them
        if isinstance(path, RemoteFile):
            raise FormatError(
                f"{path.name} has its columns one after the other, which are read by rows only "
                "from this machine: copy it first, or store it by rows."
            )
        return np.memmap(path, dtype, "r", start, shape, order="F")
    return rows


def read_array(stream: IO[bytes], size: int, kinds: str = KINDS) -> Array:
    """The array of a stream of `size` bytes; ValueError if its header tells another story."""
    header = read_header(stream, kinds)
    check_body(header, size - stream.tell())
    check_memory(header.size, "an array")
    data = bytearray(header.size)
    _fill(memoryview(data), stream)
    X = np.frombuffer(data, header.dtype)
    X = X.reshape(header.shape, order="F" if header.columns_first else "C")
    return X.astype(header.dtype.newbyteorder("="), copy=False)


def _fill(room: memoryview, stream: IO[bytes]) -> None:
    """Read until there is no more room; bit by bit, for a packed stream makes a copy of each."""
    while len(room):
        part = stream.read(min(len(room), _BUFFER))
        if not part:
            raise ValueError("it is cut off.")
        room[: len(part)], room = part, room[len(part) :]


def read_header(stream: IO[bytes], kinds: str = KINDS) -> Header:
    """The header of an array whose entries are of one of these kinds."""
    version = npy.read_magic(stream)
    readers = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
    if version not in readers:
        raise ValueError(f"its format {version} is unknown.")
    try:
        header = Header(*readers[version](stream))
    except Exception as error:  # a header is parsed as Python, and a forged one fails as Python
        raise ValueError("its header is broken.") from error
    if header.dtype.hasobject:
        raise ValueError("Object arrays are not read, for they are pickled.")
    if header.dtype.kind not in kinds:
        raise ValueError(f"its entries are of type {header.dtype}.")
    if min(header.shape, default=0) < 0:
        raise ValueError(f"its header speaks of a shape {header.shape}.")
    return header


def check_body(header: Header, size: int) -> None:
    """As many bytes follow a header as it says."""
    if header.size != size:
        raise ValueError(f"its header speaks of {header.size} bytes where {size} are.")


def open_mapped(X: Any, small: int) -> Source | None:
    """The file behind a memory map, or behind a CSR matrix of memory maps.

    None if there is none, or fewer than `small` bytes. A map whose changes are private ("c") is no
    picture of its file and is left as it is.
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
    return FlatFile(Path(root.filename), position, array.shape, array.dtype)
