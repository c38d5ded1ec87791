"""Parquet, a file or a folder of files, by pyarrow: the only module that imports it.

Columns are compressed one by one, so every sweep over rows would decompress all of them again. To
be read by rows the data are written once, batch by batch, to a temporary file. Nulls become NaN.
"""

import json
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np

from onmf.prepare.columns import columns, rows_inspected
from onmf.rows.flat import FlatFile, room_for
from onmf.rows.room import check_memory
from onmf.rows.source import Dense, Source
from onmf.rows.table import (
    Array,
    Names,
    Numbered,
    Options,
    class_names,
    listing,
    reading_errors,
)

try:
    import pyarrow as pa
    from pyarrow.dataset import ParquetFragmentScanOptions, dataset
except ImportError as missing:
    raise ImportError(
        'Parquet files are read by pyarrow, which `pip install "onmf[parquet]"` installs.'
    ) from missing

ENTRIES_PER_BATCH = 1_000_000  # 8 MB of double precision: columns become rows in the cache
LARGEST_ROW_GROUP = 64_000_000  # entries; 512 MB of double precision
ROWS_AT_ONCE = 1000  # as Python objects: the first rows of a long table tell what it is
# Buffers that are fetched ahead are kept until the end.
IN_ORDER = ParquetFragmentScanOptions(pre_buffer=False, use_buffered_stream=True)
NUMERIC_TYPES = (  # a column of nulls only is one of missing numbers
    pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_decimal,
    pa.types.is_null,
)  # fmt: skip


@contextmanager
def parquet_errors(name: str) -> Iterator[None]:
    """Errors of pyarrow as sentences; a damaged file may declare any size."""
    with reading_errors(name, "Parquet", pa.ArrowException):
        try:
            yield
        except pa.ArrowMemoryError as error:
            if size := re.search(r"of size (\d+)", str(error)):
                check_memory(int(size[1]), f"a column of {name}")
            raise


def open_parquet(path: Path, options: Options) -> Source:
    """Rows on disk, with the features that `onmf.prepare.columns` finds by the first of them."""
    with parquet_errors(path.name):
        data = open_dataset(path)
        heads = data.schema.names
        if len({*heads}) != len(heads):
            raise ValueError("two columns have the same name: rename or drop one")
        top = _frame(data.head(rows_inspected(len(heads))))
        index = _pandas_index(data.schema)
    special = {options.labels, *options.drop}
    if unknown := special - {None, *heads}:
        said = listing(sorted(map(repr, unknown)))
        raise ValueError(f"{path.name} has no column {said} to drop.")
    left = [name for name in heads if name not in special and name != index]
    named = index is not None and index not in special
    chosen = columns(top[left].set_axis(top[index]) if named else top[left])
    names = [left[j] for j in chosen.features]
    if not names:
        raise ValueError(f"{path.name} has no column of numbers.")
    own = left[chosen.names] if chosen.names is not None else index
    own = None if own in special else own
    single = all(pa.types.is_float32(data.schema.field(name).type) for name in names)
    with parquet_errors(path.name):
        shape = data.count_rows(), len(names)
        samples = None if own is None else ColumnNames(path.name, _column(data, own))
        labels = None
        if options.labels is not None:
            values = _column(data, options.labels).to_pylist()
            where = f"its column {options.labels!r}"
            labels = class_names(values, samples or Numbered(len(values)), where)
    matrix = ColumnMatrix(path, data, names, shape, np.dtype(np.float32 if single else np.float64))
    out = {left[j]: why for j, why in chosen.left_out.items()}
    return Dense.of(matrix, path.name, names=names, samples=samples, labels=labels, left_out=out)


def read_frame(path: Path) -> Any:
    """All columns as a DataFrame, with the index that pandas wrote; gaps are NaN."""
    with parquet_errors(path.name):
        data = open_dataset(path)
        n = int(data.count_rows())
        check_memory(8 * n * len(data.schema.names), path.name)  # about
        table = data.to_table()
        if len(table) != n:
            raise ValueError(f"it declares {n:,} rows, but its columns have others")
        frame, index = _frame(table), _pandas_index(data.schema)
        return frame if index is None else frame.set_index(index)


def _frame(table: Any) -> Any:
    """Columns of numbers of any kind as floating point; others as they are."""
    for j, kind in enumerate(table.schema.types):
        if any(is_(kind) for is_ in NUMERIC_TYPES) and not pa.types.is_floating(kind):
            cast = table.column(j).cast(pa.float64(), safe=False)
            table = table.set_column(j, table.schema.names[j], cast)
    return table.to_pandas(ignore_metadata=True)


def open_dataset(path: Path) -> Any:
    """pyarrow's data set of a file, or of the files of a folder."""
    return dataset(path, format="parquet")


def read_rows(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of a table of texts, as dictionaries by column name."""
    with parquet_errors(path.name):
        for batch in open_dataset(path).to_batches(batch_size=ROWS_AT_ONCE):
            yield from batch.to_pylist()


@dataclass(frozen=True)
class ColumnMatrix:
    """Columns of numbers as one matrix, read as a whole or, unpacked, by rows."""

    path: Path
    data: Any
    names: list[str]
    shape: tuple[int, int]
    dtype: np.dtype[Any]

    def __getitem__(self, rows: slice) -> Array:
        return self.numbers(self.data, self.shape[0])[rows]

    def batches(self, part: Any, n: int) -> Iterator[Array]:
        """The n rows of a part of the data, some at a time: a copy of all doubles the memory."""
        size = max(1, ENTRIES_PER_BATCH // max(1, len(self.names)))
        kind = pa.from_numpy_dtype(self.dtype)
        with parquet_errors(self.path.name):
            done = 0
            for batch in part.to_batches(
                columns=self.names,
                batch_size=size,
                batch_readahead=1,
                fragment_readahead=1,
                use_threads=False,
                fragment_scan_options=IN_ORDER,
            ):
                done += batch.num_rows
                if done > n:
                    break
                X = np.empty((batch.num_rows, len(self.names)), self.dtype)
                for j, column in enumerate(batch.columns):
                    X[:, j] = column.cast(kind, safe=False).to_numpy(zero_copy_only=False)
                yield X
            if done != n:
                raise ValueError(f"it declares {n:,} rows, but its columns have others")

    def numbers(self, part: Any, n: int) -> Array:
        """All n rows of a part of the data, whose own count of a row group is that of its file."""
        X, done = np.empty((n, len(self.names)), self.dtype), 0
        for rows in self.batches(part, n):
            X[done : done + len(rows)] = rows
            done += len(rows)
        pa.default_memory_pool().release_unused()
        return X

    def unpacked(self) -> FlatFile:
        """All rows in a temporary file."""
        n, m = self.shape
        folder = room_for(n * m * self.dtype.itemsize, self.path.name)
        with (folder.path / "rows").open("wb") as file:
            for batch in self.batches(self.data, n):
                batch.tofile(file)
        return FlatFile(folder.path / "rows", 0, self.shape, self.dtype, folder)

    def by_groups(self) -> "RowGroups | None":
        """The matrix by row groups, unless one of them is large."""
        with parquet_errors(self.path.name):
            files = self.data.get_fragments()
            every = [group for file in files for group in file.split_by_row_group()]
        groups = [group for group in every if group.row_groups[0].num_rows]
        sizes = [group.row_groups[0].num_rows for group in groups]
        if max(sizes, default=0) * self.shape[1] > LARGEST_ROW_GROUP:
            return None
        return RowGroups(self, groups, [0, *accumulate(sizes)], self.shape, self.dtype)


@dataclass(frozen=True)
class RowGroups:
    """The same matrix; a slice reads only the row groups it needs."""

    whole: ColumnMatrix
    groups: list[Any]
    edges: list[int]
    shape: tuple[int, int]
    dtype: np.dtype[Any]

    def __getitem__(self, rows: slice) -> Array:
        i, j, _ = rows.indices(self.shape[0])
        first = bisect_right(self.edges, i) - 1
        last = max(bisect_left(self.edges, j), first + 1)
        sizes = np.diff(self.edges[first : last + 1]).tolist()
        read = zip(self.groups[first:last], sizes, strict=True)
        parts = [self.whole.numbers(group, size) for group, size in read]
        X = parts[0] if len(parts) == 1 else np.concatenate(parts)
        return X[i - self.edges[first] : j - self.edges[first]]


def _column(data: Any, name: str) -> Any:
    """A column, as pyarrow keeps it."""
    return data.to_table(columns=[name]).column(0)


@dataclass(frozen=True, eq=False, repr=False)
class ColumnNames(Names):
    """The values of a column as names."""

    file: str
    column: Any

    def __len__(self) -> int:
        return len(self.column)

    def texts(self, start: int, stop: int) -> list[str]:
        with parquet_errors(self.file):
            return [*map(str, self.column.slice(start, stop - start).to_pylist())]


def _pandas_index(schema: Any) -> str | None:
    """The column that pandas wrote as the index, if any."""
    metadata = schema.metadata or {}
    index = json.loads(metadata.get(b"pandas", "{}")).get("index_columns", [])
    known = index if isinstance(index, list) else []
    return next((name for name in schema.names if name in known), None)
