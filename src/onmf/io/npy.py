"""Arrays in NumPy's own format, checked against the bytes there are before memory is spent."""

from math import prod
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

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


def read_array(stream: IO[bytes], size: int, kinds: str = KINDS) -> NDArray[Any]:
    """The array of a stream of `size` bytes; ValueError if its header tells another story."""
    header = read_header(stream, kinds)
    left = size - stream.tell()
    if header.size != left:
        raise ValueError(f"its header speaks of {header.size} bytes where {left} are.")
    return read_body(stream, header)


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


def read_body(stream: IO[bytes], header: Header) -> NDArray[Any]:
    """The numbers after a header whose size is known to be there."""
    data = bytearray(header.size)
    if stream.readinto(data) != len(data):  # type: ignore[attr-defined]
        raise ValueError("it is cut off.")
    X = np.frombuffer(data, header.dtype)
    X = X.reshape(header.shape, order="F" if header.columns_first else "C")
    return X.astype(header.dtype.newbyteorder("="), copy=False)
