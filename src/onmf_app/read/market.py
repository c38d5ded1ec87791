"""Matrix Market, `.mtx` and `.mtx.gz`, with the files of names that 10x Genomics writes beside it.

The header is checked, and pandas reads the body. SciPy's reader is not used: some damaged files
crash the process, and it reads 4,5 as 4.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from onmf_app.read.streams import File

NAMES_OF_ROWS, NAMES_OF_COLUMNS = ("features", "genes"), ("barcodes",)  # .tsv files
NUMBERS_PER_VALUE = {"real": 1, "double": 1, "integer": 1, "unsigned-integer": 1, "pattern": 0}
CHUNK = 1_000_000  # entries parsed together
PIECE = 1 << 18  # bytes, which hold a whole line


class Body:
    """The entries for pandas, without lines longer than any entry; an error is kept."""

    def __init__(self, stream: Any, told: Any) -> None:
        self._stream, self._told = stream, told
        self.error: Exception | None = None

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._stream)

    def read(self, size: int = -1) -> bytes:
        try:
            text: bytes = self._stream.read(PIECE)
            if len(text) == PIECE and b"\n" not in text:
                raise ValueError("it has a line that is no entry")
        except Exception as error:
            self.error = error
            raise
        self._told()
        return text


def read_market(file: File) -> tuple[Any, list[str] | None, list[str] | None]:
    """The matrix, and the names of its rows and columns if there are files of them."""
    try:
        X = _matrix(file)
    except (ValueError, LookupError, OverflowError, pd.errors.ParserError) as error:
        said = " ".join(str(error).split()).removesuffix(".")
        if said.startswith(file.name):
            raise
        raise ValueError(f"{file.name} cannot be read as Matrix Market: {said}.") from error
    n, m = X.shape
    return X, _names(file, NAMES_OF_ROWS, n), _names(file, NAMES_OF_COLUMNS, m)


def _matrix(file: File) -> Any:
    """An array from columns, or a csr_array from triples (i, j, value) with i, j from one."""
    from onmf.rows import check_extent, check_memory, check_size

    with file.open() as (stream, told):
        shape, entries, width = _read_head(stream)
        if width > 1:
            check_extent(shape, entries, "it")
        check_size(2 * entries * width, file.path.stat().st_size, "it")  # a digit and a space each
        check_memory(16 * entries * width, file.name)  # the parts and their concatenation
        body, parts = Body(stream, told), list[Any]()
        try:
            for part in pd.read_csv(
                body, sep=r"\s+", header=None, names=range(width + 1), index_col=False,
                keep_default_na=False, na_values=[""], chunksize=CHUNK,
                float_precision="round_trip",
            ):  # fmt: skip
                numbers = part.iloc[:, :width]
                if not len(part):
                    continue
                if not part[width].isna().all() or any(k.kind not in "iuf" for k in numbers.dtypes):
                    raise ValueError("it has an entry that is not a number, or a line with more")
                if numbers.isna().any(axis=None):
                    raise ValueError("it has a line without a number")
                parts.append(numbers)
                if sum(map(len, parts)) > entries:
                    raise ValueError(f"it has more than the {entries} entries that it declares")
        except pd.errors.EmptyDataError:
            pass
        except pd.errors.ParserError as error:
            raise body.error or error from None
    if (found := sum(map(len, parts))) != entries:
        raise ValueError(f"it has {found} entries instead of {entries}")
    X = np.concatenate([np.empty((0, width)), *(part.to_numpy(np.float64) for part in parts)])
    if width == 1:
        return np.ascontiguousarray(X.reshape(shape, order="F"))
    places = X[:, :2]
    if not ((places >= 1) & (places <= shape) & (places == np.floor(places))).all():
        raise ValueError("it has entries outside its shape")
    i, j = places.T.astype(np.int64) - 1
    return sp.csr_array((X[:, 2] if width == 3 else np.ones(len(X)), (i, j)), shape=shape)


def _read_head(stream: Any) -> tuple[tuple[int, int], int, int]:
    """Shape, number of entries, and numbers per entry."""
    words = stream.readline(1000).decode("ascii").lower().split()
    if len(words) != 5 or words[:2] != ["%%matrixmarket", "matrix"]:
        raise ValueError("its first line is not that of a Matrix Market file")
    _, _, kind, field, symmetry = words
    if field not in NUMBERS_PER_VALUE or symmetry != "general":
        raise ValueError(f"its entries are {field} and {symmetry}, not real and general")
    while (line := stream.readline(10_000)).startswith(b"%") or line.isspace():
        pass
    cells = line.decode("ascii").split()
    known = {"coordinate": 3, "array": 2}.get(kind)
    if len(cells) != known or not all(c.isascii() and c.isdecimal() for c in cells):
        raise ValueError(f"its sizes are missing, or {' '.join(cells)[:50]!r}")
    sizes = [*map(int, cells)]
    if kind == "array":
        return (sizes[0], sizes[1]), sizes[0] * sizes[1], 1
    return (sizes[0], sizes[1]), sizes[2], 2 + NUMBERS_PER_VALUE[field]


def _names(file: File, called: tuple[str, ...], count: int) -> list[str] | None:
    """The first column of a file of names beside the matrix, if there is one."""
    places = [file.path.with_name(name + end) for name in called for end in (".tsv", ".tsv.gz")]
    for beside in filter(Path.is_file, places):
        found = [line.split("\t")[0].strip() for line in File(beside).lines()]
        if len(found) != count:
            raise ValueError(
                f"{beside.name} has {len(found)} names, but {file.name} needs {count}."
            )
        return found
    return None
