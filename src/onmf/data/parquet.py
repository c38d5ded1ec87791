"""Parquet data sets by pyarrow, which is imported when one is opened.

Columns are packed one by one, so a sweep by rows would unpack the data set again every time. It is
unpacked once, batch by batch, into a temporary file of plain numbers.
"""

from pathlib import Path
from typing import Any

import numpy as np

from onmf.data.npy import NoRoomError, room_for
from onmf.data.sources import Dense, Plain, Source
from onmf.io.table import one_line

BATCH_ENTRIES = 4_000_000


def open_parquet(path: Path) -> Source:
    """The columns of numbers of a file, or of a folder of files."""
    try:
        import pyarrow as pa
        import pyarrow.dataset
    except ImportError as missing:
        raise ImportError(
            f'{path.name} is read by pyarrow, which `pip install "onmf[parquet]"` installs.'
        ) from missing
    try:
        data = pyarrow.dataset.dataset(path, format="parquet")
        n, names = data.count_rows(), data.schema.names
        text = [field.name for field in data.schema if not is_number(pa, field.type)]
        if text:
            raise ValueError(
                f"columns {', '.join(text[:10])} are not numbers: leave them out of the data set"
            )
        single = all(pa.types.is_float32(field.type) for field in data.schema)
        dtype = np.dtype(np.float32 if single else np.float64)
        folder = room_for(n * len(names) * dtype.itemsize, path.name)
        place = folder.path / "rows"
        with place.open("wb") as file:
            for batch in data.to_batches(batch_size=max(1, BATCH_ENTRIES // max(1, len(names)))):
                np.stack([column(c, dtype) for c in batch.columns], axis=1).tofile(file)
    except NoRoomError:
        raise
    except (pa.ArrowException, ValueError, OSError, OverflowError) as error:
        said = one_line(error).removesuffix(".")
        raise ValueError(f"{path.name} cannot be read as Parquet: {said}.") from error
    return Dense(Plain(place, 0, (n, len(names)), dtype, folder), dtype, names)


def is_number(pa: Any, kind: Any) -> bool:
    types = pa.types
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind))


def column(values: Any, dtype: np.dtype[Any]) -> Any:
    """One column of a batch; what is missing becomes NaN, which is refused by its place later."""
    return np.asarray(values.to_numpy(zero_copy_only=False), dtype)
