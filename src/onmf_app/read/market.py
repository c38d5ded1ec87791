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

from onmf_app.read.streams import Progress, open_bytes, text_blocks

NAMES_OF_ROWS, NAMES_OF_COLUMNS = ("features", "genes"), ("barcodes",)  # .tsv files
NUMBERS_PER_VALUE = {"real": 1, "double": 1, "integer": 1, "unsigned-integer": 1, "pattern": 0}
CHUNK = 1_000_000  # entries parsed together
PIECE = 1 << 18  # bytes, which hold a whole line


class Body:
    """The entries for pandas, without lines longer than any entry; an error is kept."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
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
        return text


def read_market(path: Path, progress: Progress) -> tuple[Any, list[str] | None, list[str] | None]:
    """The matrix, and the names of its rows and columns if there are files of them."""
    try:
        X = _matrix(path, progress)
    except (ValueError, LookupError, OverflowError, UnicodeError, pd.errors.ParserError) as error:
        said = str(error)
        if not said.startswith(path.name):
            said = f"{path.name} cannot be read as Matrix Market: {said.removesuffix('.')}."
        raise ValueError(said) from error
    n, m = X.shape
    return X, _names(path, NAMES_OF_ROWS, n), _names(path, NAMES_OF_COLUMNS, m)


def _matrix(path: Path, progress: Progress) -> Any:
    """An array from columns, or a csr_array from triples (i, j, value) with i, j from one."""
    from onmf.rows import check_extent, check_memory, check_size

    with open_bytes(path) as (stream, taken):
        size = path.stat().st_size
        (n, m), entries, width = _read_head(stream)
        sparse = width > 1
        if sparse:
            check_extent((n, m), entries, "it")
        check_size(2 * entries * width, size, "it")  # a digit and a space each
        check_memory(16 * entries * width, path.name)  # the parts and their concatenation
        body, parts, found = Body(stream), list[Any](), 0
        try:
            chunks = pd.read_csv(
                body, sep=r"\s+", header=None, names=range(width + 1), index_col=False,
                keep_default_na=False, na_values=[""], chunksize=CHUNK, float_precision="round_trip",
            ) if entries else ()  # fmt: skip
            for chunk in chunks:
                found += len(chunk)
                if found > entries:
                    raise ValueError(f"it has {found} or more entries instead of {entries}")
                if not chunk[width].isna().all():
                    raise ValueError("it has more numbers in a line than an entry")
                for j in range(width):
                    if chunk[j].dtype.kind not in "iuf" or chunk[j].isna().any():
                        raise ValueError("it has an entry that is not a number")
                parts.append(chunk.iloc[:, :width])
                progress(taken(), size)
        except (pd.errors.ParserError, pd.errors.EmptyDataError):
            if body.error is not None:
                raise body.error from None
            raise
        if not entries and stream.read().strip():
            raise ValueError("it has entries, but declares none")
    if found != entries:
        raise ValueError(f"it has {found} entries instead of {entries}")
    if not sparse:
        values = [part[0].to_numpy(np.float64) for part in parts]
        return np.ascontiguousarray(np.concatenate([np.empty(0), *values]).reshape((m, n)).T)
    i, j = (np.concatenate([np.empty(0), *(part[c].to_numpy() for part in parts)]) for c in (0, 1))
    for place, end in ((i, n), (j, m)):
        if not ((place >= 1) & (place <= end) & (place == np.floor(place))).all():
            raise ValueError("it has entries outside its shape")
    values = [part[2].to_numpy(np.float64) for part in parts] if width == 3 else [np.ones(entries)]
    places = i.astype(np.int64) - 1, j.astype(np.int64) - 1
    return sp.csr_array((np.concatenate([np.empty(0), *values]), places), shape=(n, m))


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


def _names(path: Path, called: tuple[str, ...], count: int) -> list[str] | None:
    """The first column of a file of names beside the matrix, if there is one."""
    for name in called:
        for ending in (".tsv", ".tsv.gz"):
            beside = path.with_name(name + ending)
            if beside.is_file():
                lines = (line for block in text_blocks(beside) for line in block)
                found = [line.decode().split("\t")[0].strip() for line in lines]
                if len(found) != count:
                    raise ValueError(
                        f"{beside.name} has {len(found)} names, but {path.name} needs {count}."
                    )
                return found
    return None
