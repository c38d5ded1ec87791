"""Matrix Market, `.mtx` and `.mtx.gz`, with the names that sequencers' programs put beside it.

Read here and not by SciPy, whose reader crashes the whole process on some damaged files.
"""

import warnings
from collections.abc import Iterator
from io import BufferedIOBase
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from onmf.io.stream import text_lines, unpacked
from onmf.io.table import Table, Wish, check_extent, check_size, numbered

ROWS, COLUMNS = ("features", "genes"), ("barcodes",)  # what the names beside it are called
FIELDS = {"real": 1, "double": 1, "integer": 1, "unsigned-integer": 1, "pattern": 0}
CHUNK = 16_000_000  # bytes


class Head(NamedTuple):
    """Shape, number of entries, and how many numbers there are for each."""

    shape: tuple[int, int]
    entries: int
    numbers: int


def read(path: Path, wish: Wish) -> Table:
    size = path.stat().st_size
    with unpacked(path) as (stream, raw):
        try:
            head = read_head(stream)
            check_size(2 * head.entries * head.numbers, size, "it")  # a digit and a space each
            parts = []
            for text in chunks(stream):
                parts.append(numbers(text))
                wish.progress(raw.tell(), size)
            X = matrix(np.concatenate([np.empty(0), *parts]), head)
        except (ValueError, OverflowError) as error:
            raise ValueError(f"{path.name} is not a Matrix Market file: {error}") from error
    n, m = head.shape
    return Table(X, names(path, ROWS, n), names(path, COLUMNS, m))


def read_head(stream: BufferedIOBase) -> Head:
    words = stream.readline(1000).decode("ascii").lower().split()
    if len(words) != 5 or words[:2] != ["%%matrixmarket", "matrix"]:
        raise ValueError("its first line is another.")
    _, _, kind, field, symmetry = words
    if field not in FIELDS or symmetry != "general":
        raise ValueError(f"its entries are {field} and {symmetry}, not real and general.")
    while (line := stream.readline(10_000)).startswith(b"%") or line.isspace():
        pass
    sizes = [int(word) for word in line.split()]
    if min(sizes, default=-1) < 0 or (kind, len(sizes)) not in {("coordinate", 3), ("array", 2)}:
        raise ValueError("its sizes are missing.")
    if kind == "array":
        return Head((sizes[0], sizes[1]), sizes[0] * sizes[1], 1)
    check_extent(sizes[:2], sizes[2], "it")
    return Head((sizes[0], sizes[1]), sizes[2], 2 + FIELDS[field])


def chunks(stream: BufferedIOBase) -> Iterator[bytes]:
    """The rest of the file in pieces that end with a line."""
    rest = b""
    while text := stream.read(CHUNK):
        whole, end, rest = (rest + text).rpartition(b"\n")
        yield whole + end
    yield rest


def numbers(text: bytes) -> NDArray[np.float64]:
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)  # NumPy's way before it raised an error
        try:
            return np.fromstring(text.decode("ascii"), sep=" ") if text.strip() else np.empty(0)
        except (DeprecationWarning, UnicodeDecodeError):
            raise ValueError("something in it is not a number.") from None


def matrix(values: NDArray[np.float64], head: Head) -> Any:
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


def names(path: Path, called: tuple[str, ...], count: int) -> list[str]:
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
