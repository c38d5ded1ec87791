"""Matrix Market, `.mtx` and `.mtx.gz`, with the files of names that 10x Genomics writes beside it.

Read as a whole when opened. SciPy's reader is not used: some damaged files crash the process.
"""

import warnings
from collections.abc import Iterator
from io import BufferedIOBase
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from onmf.prepare.numerals import to_count
from onmf.rows import (
    Array,
    InMemoryTable,
    Options,
    Source,
    Table,
    check_extent,
    check_memory,
    check_size,
    numbered,
    reading_errors,
)
from onmf_app.read.text_files import open_unpacked, text_lines

NAMES_OF_ROWS, NAMES_OF_COLUMNS = ("features", "genes"), ("barcodes",)  # .tsv files
NUMBERS_PER_VALUE = {"real": 1, "double": 1, "integer": 1, "unsigned-integer": 1, "pattern": 0}
BYTES_AT_ONCE = 16_000_000  # read and parsed together


class Head(NamedTuple):
    """Shape, number of entries, and numbers per entry."""

    shape: tuple[int, int]
    entries: int
    numbers: int


def open_market(path: Path, options: Options) -> Source:
    size = path.stat().st_size
    with reading_errors(path.name, "Matrix Market"), open_unpacked(path) as (stream, raw):
        head = _read_head(stream)
        check_size(2 * head.entries * head.numbers, size, "it")  # a digit and a space each
        check_memory(
            16 * head.entries * head.numbers, path.name
        )  # the parts and their concatenation
        parts = [np.empty(0)]
        for text in _chunks(stream):
            parts.append(_numbers(text))
            options.progress(raw.tell(), size)
        X = _matrix(np.concatenate(parts), head)
    n, m = head.shape
    table = Table(X, _names(path, NAMES_OF_ROWS, n), _names(path, NAMES_OF_COLUMNS, m))
    return InMemoryTable.of(table, path.name)


def _read_head(stream: BufferedIOBase) -> Head:
    words = stream.readline(1000).decode("ascii").lower().split()
    if len(words) != 5 or words[:2] != ["%%matrixmarket", "matrix"]:
        raise ValueError("its first line is not that of a Matrix Market file.")
    _, _, kind, field, symmetry = words
    if field not in NUMBERS_PER_VALUE or symmetry != "general":
        raise ValueError(f"its entries are {field} and {symmetry}, not real and general.")
    while (line := stream.readline(10_000)).startswith(b"%") or line.isspace():
        pass
    sizes = [to_count(word) for word in line.decode("ascii").split()]
    if min(sizes, default=-1) < 0 or (kind, len(sizes)) not in {("coordinate", 3), ("array", 2)}:
        raise ValueError("its sizes are missing.")
    if kind == "array":
        return Head((sizes[0], sizes[1]), sizes[0] * sizes[1], 1)
    check_extent(sizes[:2], sizes[2], "it")
    return Head((sizes[0], sizes[1]), sizes[2], 2 + NUMBERS_PER_VALUE[field])


def _chunks(stream: BufferedIOBase) -> Iterator[bytes]:
    """The remaining file in pieces of whole lines."""
    rest = b""
    while text := stream.read(BYTES_AT_ONCE):
        whole, end, rest = (rest + text).rpartition(b"\n")
        yield whole + end
    yield rest


def _numbers(text: bytes) -> Array:
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)  # older NumPy warns instead of raising
        try:
            return np.fromstring(text.decode("ascii"), sep=" ") if text.strip() else np.empty(0)
        except (DeprecationWarning, UnicodeDecodeError):
            raise ValueError("it has an entry that is not a number.") from None


def _matrix(values: Array, head: Head) -> Any:
    """An array from columns, or a csr_array from triples (i, j, value) with i, j from one."""
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


def _names(path: Path, called: tuple[str, ...], count: int) -> list[str]:
    """The first column of a file of names beside the matrix, if there is one."""
    for name in called:
        for ending in (".tsv", ".tsv.gz"):
            beside = path.with_name(name + ending)
            if beside.is_file():
                found = [line.split("\t")[0].strip() for line in text_lines(beside)]
                if len(found) != count:
                    raise ValueError(
                        f"{beside.name} has {len(found)} names, but {path.name} needs {count}."
                    )
                return found
    return numbered(count)
