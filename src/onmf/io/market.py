"""Matrix Market, `.mtx` and `.mtx.gz`, with the names that sequencers' programs put beside it.

Read as a whole when it is opened, and not by SciPy, whose reader crashes the whole process on some
damaged files.
"""

import warnings
from collections.abc import Iterator
from io import BufferedIOBase
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from onmf.io.cells import to_count
from onmf.io.flat import check_memory
from onmf.io.remote import AnyFile
from onmf.io.source import InMemoryTable, Source
from onmf.io.stream import open_unpacked, text_lines
from onmf.io.table import Options, Table, check_extent, check_size, numbered, reading_errors

ROWS, COLUMNS = ("features", "genes"), ("barcodes",)  # what the names beside it are called
FIELDS = {"real": 1, "double": 1, "integer": 1, "unsigned-integer": 1, "pattern": 0}
BYTES_AT_ONCE = 16_000_000  # bytes


class Head(NamedTuple):
    """Shape, number of entries, and how many numbers there are for each."""

    shape: tuple[int, int]
    entries: int
    numbers: int


def open_market(path: AnyFile, options: Options) -> Source:
    size = path.stat().st_size
    with reading_errors(path.name, "Matrix Market"), open_unpacked(path) as (stream, raw):
        head = _read_head(stream)
        check_size(2 * head.entries * head.numbers, size, "it")  # a digit and a space each
        check_memory(16 * head.entries * head.numbers, path.name)  # in parts, and put together
        parts = [np.empty(0)]
        for text in _chunks(stream):
            parts.append(_numbers(text))
            options.progress(raw.tell(), size)
        X = _matrix(np.concatenate(parts), head)
    n, m = head.shape
    table = Table(X, _names(path, ROWS, n), _names(path, COLUMNS, m))
    return InMemoryTable.of(table, path.name)


def _read_head(stream: BufferedIOBase) -> Head:
    words = stream.readline(1000).decode("ascii").lower().split()
    if len(words) != 5 or words[:2] != ["%%matrixmarket", "matrix"]:
        raise ValueError("its first line is another.")
    _, _, kind, field, symmetry = words
    if field not in FIELDS or symmetry != "general":
        raise ValueError(f"its entries are {field} and {symmetry}, not real and general.")
    while (line := stream.readline(10_000)).startswith(b"%") or line.isspace():
        pass
    sizes = [to_count(word) for word in line.decode("ascii").split()]
    if min(sizes, default=-1) < 0 or (kind, len(sizes)) not in {("coordinate", 3), ("array", 2)}:
        raise ValueError("its sizes are missing.")
    if kind == "array":
        return Head((sizes[0], sizes[1]), sizes[0] * sizes[1], 1)
    check_extent(sizes[:2], sizes[2], "it")
    return Head((sizes[0], sizes[1]), sizes[2], 2 + FIELDS[field])


def _chunks(stream: BufferedIOBase) -> Iterator[bytes]:
    """The rest of the file in pieces that end with a line."""
    rest = b""
    while text := stream.read(BYTES_AT_ONCE):
        whole, end, rest = (rest + text).rpartition(b"\n")
        yield whole + end
    yield rest


def _numbers(text: bytes) -> NDArray[np.float64]:
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)  # NumPy's way before it raised an error
        try:
            return np.fromstring(text.decode("ascii"), sep=" ") if text.strip() else np.empty(0)
        except (DeprecationWarning, UnicodeDecodeError):
            raise ValueError("something in it is not a number.") from None


def _matrix(values: NDArray[np.float64], head: Head) -> Any:
    """An array column by column, or a csr_array from rows (i, j, value), counted from one."""
    if len(values) != head.entries * head.numbers:
        raise ValueError(f"it has {len(values)} numbers instead of {head.entries * head.numbers}.")
    if head.numbers == 1:
        return np.ascontiguousarray(values.reshape(head.shape, order="F"))
    rows = values.reshape(-1, head.numbers)
    places = rows[:, :2]
    if not ((places >= 1) & (places <= head.shape) & (places == np.floor(places))).all():
        raise ValueError("it has entries outside its shape.")
    i, j = places.T.astype(np.int64) - 1
    data = rows[:, 2] if head.numbers == 3 else np.ones(len(rows))
    return sp.csr_array((data, (i, j)), shape=head.shape)


def _names(path: AnyFile, called: tuple[str, ...], count: int) -> list[str]:
    """The first column of a table of names beside the matrix, if it is there."""
    for name in called:
        for ending in (".tsv", ".tsv.gz"):
            beside = path.with_name(name + ending)
            if beside.is_file():
                found = [line.split("\t")[0].strip() for line in text_lines(beside)]
                if len(found) != count:
                    raise ValueError(
                        f"{beside.name} names {len(found)} rows or columns of {path.name}, which "
                        f"has {count}."
                    )
                return found
    return numbered(count)
