"""Parquet, a file or a folder of files, by pyarrow: the only module that imports it.

Columns are packed one by one, so that a sweep by rows would unpack the data set again every time:
to be read by rows it is unpacked once, batch by batch, into a temporary file of plain numbers. What
is missing becomes NaN.
"""

import json
import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onmf.io.delimited import tell_aside
from onmf.io.flat import FlatFile, check_memory, room_for
from onmf.io.remote import AnyFile
from onmf.io.source import Dense, Source
from onmf.io.table import (
    ID_HEADINGS,
    LOOK,
    MOST_LISTED,
    Options,
    are_classes,
    class_names,
    listing,
    one_line,
    reading_errors,
)

try:
    import pyarrow as pa
    from pyarrow.dataset import dataset
except ImportError as missing:
    raise ImportError(
        'Parquet files are read by pyarrow, which `pip install "onmf[parquet]"` installs.'
    ) from missing

BATCH_ENTRIES = 4_000_000
LARGEST_GROUP = 64_000_000  # entries of a row group that is read as a whole
NUMBERS = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_decimal)


@contextmanager
def parquet_errors(name: str) -> Iterator[None]:
    """What pyarrow says of a damaged file, as a sentence; one may claim to hold any size."""
    with reading_errors(name, "Parquet", pa.ArrowException):
        try:
            yield
        except pa.ArrowMemoryError as error:
            if size := re.search(r"of size (\d+)", str(error)):
                check_memory(int(size[1]), f"a column of {name}")
            raise


def open_parquet(path: AnyFile, options: Options) -> Source:
    with parquet_errors(path.name):
        data = open_dataset(path)
        types = {field.name: field.type for field in data.schema}
        if len(types) != len(data.schema):
            raise ValueError("two columns have one name: rename or drop one")
        labels = None
        if options.labels is not None and options.labels in types:
            labels = class_names(_values(data, options.labels))
        column = _name_column(data, {options.labels, *options.drop})
        samples = None if column is None else [str(name) for name in _values(data, column)]
        if unknown := [repr(name) for name in options.drop if name not in data.schema.names]:
            raise ValueError(f"it has no column {listing(unknown)} to drop")
        taken = {options.labels, column, *options.drop}
        types = {name: kind for name, kind in types.items() if name not in taken}
        text = [name for name, kind in types.items() if _is_text(kind)]
        if len(text) < len(types):
            tell_aside(text, path.name)
            types = {name: kind for name, kind in types.items() if name not in text}
        _check_types(types, data)
        single = all(pa.types.is_float32(kind) for kind in types.values())
        dtype = np.dtype(np.float32 if single else np.float64)
        matrix = ColumnMatrix(path, data, list(types), (data.count_rows(), len(types)), dtype)
    return Dense.of(matrix, path.name, names=list(types), samples=samples, labels=labels)


def open_dataset(path: AnyFile) -> Any:
    """The columns and their types, of a file or of the files of a folder."""
    if isinstance(path, Path):
        return dataset(path, format="parquet")
    system, name = path.system
    return dataset(name, format="parquet", filesystem=system)


def read_rows(path: AnyFile) -> Iterator[dict[str, Any]]:
    """The rows of a table of texts, by the names of its columns."""
    with parquet_errors(path.name):
        for batch in open_dataset(path).to_batches():
            yield from batch.to_pylist()


@dataclass(frozen=True)
class ColumnMatrix:
    """Columns of numbers as one matrix: at once, or, unpacked, by rows."""

    path: AnyFile
    data: Any
    names: list[str]
    shape: tuple[int, int]
    dtype: np.dtype[Any]

    def __getitem__(self, rows: slice) -> NDArray[Any]:
        with parquet_errors(self.path.name):
            table = self.data.to_table(columns=self.names)
            return self.numbers(table)[rows]

    def unpacked(self) -> FlatFile:
        """The rows, one after the other, in a temporary file."""
        n, m = self.shape
        with parquet_errors(self.path.name):
            folder = room_for(n * m * self.dtype.itemsize, self.path.name)
            place, size = folder.path / "rows", max(1, BATCH_ENTRIES // max(1, m))
            with place.open("wb") as file:
                for batch in self.data.to_batches(columns=self.names, batch_size=size):
                    self.numbers(batch).tofile(file)
            return FlatFile(place, 0, self.shape, self.dtype, folder)

    def by_groups(self) -> "RowGroups | None":
        """By row groups, if none is large; what is missing becomes NaN here, too."""
        with parquet_errors(self.path.name):
            files = self.data.get_fragments()
            every = [group for file in files for group in file.split_by_row_group()]
        groups = [group for group in every if group.row_groups[0].num_rows]
        sizes = [group.row_groups[0].num_rows for group in groups]
        if max(sizes, default=0) * self.shape[1] > LARGEST_GROUP:
            return None
        return RowGroups(self, groups, [0, *accumulate(sizes)], self.shape, self.dtype)

    def numbers(self, table: Any) -> NDArray[Any]:
        """The columns of a table, or of a part of one, side by side."""
        X = np.empty((table.num_rows, len(self.names)), self.dtype)
        for j, column in enumerate(table.columns):
            cast = column.cast(pa.from_numpy_dtype(self.dtype), safe=False)
            whole = isinstance(cast, pa.ChunkedArray)
            X[:, j] = cast.to_numpy() if whole else cast.to_numpy(zero_copy_only=False)
        return X


@dataclass(frozen=True)
class RowGroups:
    """The same matrix, of which only the row groups are read that a slice has a share in."""

    whole: ColumnMatrix
    groups: list[Any]
    edges: list[int]
    shape: tuple[int, int]
    dtype: np.dtype[Any]

    def __getitem__(self, rows: slice) -> NDArray[Any]:
        i, j, _ = rows.indices(self.shape[0])
        first = bisect_right(self.edges, i) - 1
        last = max(bisect_left(self.edges, j), first + 1)
        with parquet_errors(self.whole.path.name):
            parts = [self._numbers(group) for group in self.groups[first:last]]
        X = parts[0] if len(parts) == 1 else np.concatenate(parts)
        return X[i - self.edges[first] : j - self.edges[first]]

    def _numbers(self, group: Any) -> NDArray[Any]:
        return self.whole.numbers(group.to_table(columns=self.whole.names))


def _values(data: Any, column: str) -> list[Any]:
    values: list[Any] = data.to_table(columns=[column]).column(0).to_pylist()
    return values


def _name_column(data: Any, taken: Collection[str | None]) -> str | None:
    """The column of sample names: the index of a pandas table, or a first one that looks it."""
    metadata = data.schema.metadata or {}
    index = json.loads(metadata.get(b"pandas", "{}")).get("index_columns", [])
    for name in data.schema.names:
        if isinstance(index, list) and name in index and name not in taken:
            return str(name)
    first = next(iter(data.schema), None)
    if first is None or first.name in taken:
        return None
    if first.name.strip().lower() in ID_HEADINGS:
        return str(first.name)
    if not _is_text(first.type):
        return None
    few = data.head(LOOK, columns=[first.name]).column(0).to_pylist()
    return None if are_classes(few) else str(first.name)


def _is_text(kind: Any) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _check_types(types: dict[str, Any], data: Any) -> None:
    """All columns are numbers; else some cells that are not are named."""
    wrong = [name for name, kind in types.items() if not any(test(kind) for test in NUMBERS)]
    if wrong:
        few = data.head(MOST_LISTED, columns=wrong[:MOST_LISTED])
        cells = [_cell(v, i, name) for name in few.column_names
                 for i, v in enumerate(few[name].to_pylist())]  # fmt: skip
        raise ValueError(f"it has cells that are not numbers: {'; '.join(cells[:MOST_LISTED])}")


def _cell(value: Any, row: int, column: str) -> str:
    return f"{str(value)[:50]!r} in row {row}, column {one_line(column)}"
