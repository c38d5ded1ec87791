"""Parquet, by pyarrow: the only module that imports it."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from onmf.io.table import ID_HEADINGS, SHOWN, Table, Wish, class_names, numbered, one_line

try:
    import pyarrow as pa
    from pyarrow import parquet
except ImportError as missing:
    raise ImportError(
        'Parquet files are read by pyarrow, which `pip install "onmf[parquet]"` installs.'
    ) from missing


def read(path: Path, wish: Wish) -> Table:
    path.stat()  # pyarrow's words for a missing file are long
    try:
        table = parquet.ParquetFile(path).read()
        pandas = json.loads((table.schema.metadata or {}).get(b"pandas", "{}"))
        index = pandas.get("index_columns", [])
    except (pa.ArrowException, OSError, ValueError, AttributeError) as error:
        raise ValueError(f"{path.name} is not a Parquet file: {one_line(error)}.") from error
    columns = dict(zip(table.column_names, table.columns, strict=True))
    if len(columns) != table.num_columns:
        raise ValueError(f"{path.name} has two columns of one name: rename or drop one.")
    labels = columns.pop(wish.labels, None) if wish.labels is not None else None
    place = name_column(columns, index)
    names = columns.pop(place).to_pylist() if place is not None else numbered(table.num_rows)
    check_numbers(columns, path.name)
    X = np.empty((table.num_rows, len(columns)), common_type(columns))
    for j, column in enumerate(columns.values()):
        X[:, j] = column.cast(pa.from_numpy_dtype(X.dtype)).to_numpy()
    classes = None if labels is None else class_names(labels.to_pylist())
    return Table(X, [str(name) for name in names], list(columns), classes)


def name_column(columns: dict[str, Any], index: Any) -> str | None:
    """The column of sample names: the index of a pandas table, or a first one that looks it."""
    for name in columns:
        if isinstance(index, list) and name in index:
            return name
    first = next(iter(columns), None)
    if first is None:
        return None
    text = pa.types.is_string(columns[first].type) or pa.types.is_large_string(columns[first].type)
    return first if text or first.strip().lower() in ID_HEADINGS else None


def check_numbers(columns: dict[str, Any], file: str) -> None:
    """All columns are numbers without gaps; else the cells that are not are named."""
    bad: list[str] = []
    for name, column in columns.items():
        numeric = is_numeric(column.type)
        if numeric and not column.null_count:
            continue
        values = column.to_pylist()
        rows = [i for i, value in enumerate(values) if value is None or not numeric]
        bad += [
            f"{str(values[i])[:50]!r} in row {i}, column {one_line(name)}" for i in rows[:SHOWN]
        ]
    if bad:
        raise ValueError(f"{file} has cells that are not numbers: {'; '.join(bad[:SHOWN])}.")


def is_numeric(kind: Any) -> bool:
    return any(
        test(kind)
        for test in (
            pa.types.is_integer,
            pa.types.is_floating,
            pa.types.is_boolean,
            pa.types.is_decimal,
        )
    )


def common_type(columns: dict[str, Any]) -> type:
    """Single precision if all columns are, double otherwise."""
    single = all(pa.types.is_float32(column.type) for column in columns.values())
    return np.float32 if single else np.float64
