"""Results into files: in full or not at all."""

import csv
import io
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np

Content = str | bytes | Callable[[IO[bytes]], object]  # or what writes it into a file


def csv_text(header: Sequence[str], rows: Iterable[Iterable[Any]]) -> str:
    """The rows as comma-separated text."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue()


def to_json_values(value: Any) -> Any:
    """The same in JSON's own types: arrays as lists, None for numbers that are not finite."""
    if hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, Mapping):
        return {str(key): to_json_values(part) for key, part in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [to_json_values(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def replace_files(folder: Path, files: Mapping[str, Content]) -> None:
    """Put all files in place, or leave what was there: each is written in full beside its place."""
    staged = {folder / name: folder / f".{name}.{os.getpid()}" for name in files}
    try:
        for content, (place, temporary) in zip(files.values(), staged.items(), strict=True):
            with _named(place), temporary.open("wb") as file:
                _write(file, content)
                file.flush()
                os.fsync(file.fileno())  # a full disk may say so only now
        for place, temporary in staged.items():
            os.replace(temporary, place)
    finally:
        for temporary in staged.values():
            temporary.unlink(missing_ok=True)


@contextmanager
def _named(place: Path) -> Iterator[None]:
    """What the system says of writing names the file, not its temporary name or none at all."""
    try:
        yield
    except OSError as error:
        if error.errno is None:
            raise
        raise type(error)(error.errno, error.strerror, str(place)) from error


def _write(file: IO[bytes], content: Content) -> None:
    if callable(content):
        content(file)
    else:
        file.write(content.encode("utf-8") if isinstance(content, str) else content)
