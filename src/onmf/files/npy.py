"""Arrays in NumPy's own format, checked against the bytes there are before memory is spent."""

from math import prod
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

KINDS = "biuf"  # what may be read: no objects, hence no pickles


def read_array(stream: IO[bytes], size: int, kinds: str = KINDS) -> NDArray[Any]:
    """The array of a stream of `size` bytes; ValueError if its header tells another story."""
    version = npy.read_magic(stream)
    readers = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
    if version not in readers:
        raise ValueError(f"its format {version} is unknown.")
    try:
        shape, columns_first, dtype = readers[version](stream)
    except Exception as error:  # a header is parsed as Python, and a forged one fails as Python
        raise ValueError("its header is broken.") from error
    if dtype.hasobject:
        raise ValueError("Object arrays are not read, for they are pickled.")
    if dtype.kind not in kinds:
        raise ValueError(f"its entries are of type {dtype}.")
    count, left = prod(shape), size - stream.tell()
    if min(shape, default=0) < 0 or count * dtype.itemsize != left:
        raise ValueError(f"its header speaks of {count * dtype.itemsize} bytes where {left} are.")
    data = bytearray(left)
    if stream.readinto(data) != left:  # type: ignore[attr-defined]
        raise ValueError("it is cut off.")
    X = np.frombuffer(data, dtype).reshape(shape, order="F" if columns_first else "C")
    return X.astype(dtype.newbyteorder("="), copy=False)
