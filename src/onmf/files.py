"""Samples from files, and results into files.

Nothing is ever unpickled, and no result is lost to a failed write.
"""

import csv
import io
import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import BadZipFile

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

__all__ = ["Table", "csv_text", "read_table", "replace_files"]

DELIMITERS = {".csv": ",", ".tsv": "\t"}
ID_HEADINGS = {"", "id", "index", "sample", "sample_id"}
SHOWN = 10  # bad cells that an error lists


class Table(NamedTuple):
    """Samples as rows, with their names and those of the features; true classes if asked for."""

    X: Any  # ndarray or csr_array
    samples: list[str]
    features: list[str]
    labels: list[str] | None = None


def read_table(path: str | Path, *, labels: str | None = None) -> Table:
    """Read samples x features from a .npy, .npz, .csv or .tsv file.

    A .npz file holds one matrix saved by `scipy.sparse.save_npz`, or one array. A text file may
    have a header, known by a cell after the first that is not a number, and a column of sample
    names in front: text, or under a heading that is empty, `id`, `index`, `sample` or `sample_id`.

    Parameters
    ----------
    path : str or Path
    labels : str, optional
        Column of true classes of a text table, which is then no feature.

    Returns
    -------
    Table
        Names are numbers counted from zero where the file gives none.

    Raises
    ------
    ValueError
        If the file does not hold one table of numbers; the message says where it fails.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "tumours.csv")
    >>> _ = path.write_text("sample,BRCA1,TP53\\na,1,0\\nb,0,2.5\\n")
    >>> read_table(path).samples
    ['a', 'b']
    """
    path = Path(path)
    ending = path.suffix.lower()
    if ending in DELIMITERS:
        return _read_text(path, DELIMITERS[ending], labels)
    if labels is not None:
        raise ValueError(f"{path.name} has no columns with names: take {labels!r} from a .csv.")
    if ending not in (".npy", ".npz"):
        raise ValueError(f"{path.name} does not end in .npy, .npz, .csv or .tsv.")
    try:
        X = _read_binary(path)
    except (ValueError, EOFError, KeyError, BadZipFile) as error:
        raise ValueError(f"{path.name} does not hold one table of numbers: {error}") from error
    n, m = X.shape
    return Table(X, [str(i) for i in range(n)], [str(j) for j in range(m)])


def _read_binary(path: Path) -> Any:
    """The one array of a .npy file, or the one array or sparse matrix of a .npz file."""
    with path.open("rb") as file:  # opened here, for NumPy forgets to close a broken archive
        X = np.load(file, allow_pickle=False)
        if not isinstance(X, np.ndarray):
            names = X.files
            if "format" in names:
                file.seek(0)
                X = sp.csr_array(sp.load_npz(file))
                X.check_format(full_check=True)  # a forged index would read outside the arrays
            elif len(names) == 1:
                X = X[names[0]]
            else:
                raise ValueError(f"it has {len(names)} arrays ({', '.join(names)}).")
    if X.ndim != 2:
        raise ValueError(f"its array has {X.ndim} dimension(s) instead of 2.")
    if X.dtype.kind not in "biuf":
        raise ValueError(f"its entries are of type {X.dtype}.")
    return X


def _read_text(path: Path, delimiter: str, column: str | None) -> Table:
    classes: list[str] = []
    with path.open(newline="", encoding="utf-8-sig") as file:
        reader = csv.reader(file, delimiter=delimiter)
        lines = ((reader.line_num, row) for row in reader if row)
        try:
            if column is None:
                return _parse(lines, path.name)
            table = _parse(_without(lines, column, classes, path.name), path.name)
            return table._replace(labels=classes[1:])
        except (csv.Error, UnicodeDecodeError) as error:
            raise ValueError(f"{path.name} is not a text table in UTF-8: {error}.") from error


def _without(
    lines: Iterator[tuple[int, list[str]]], column: str, taken: list[str], name: str
) -> Iterator[tuple[int, list[str]]]:
    """The lines without a column, whose cells, the heading first, go into `taken`."""
    place = None
    for line, cells in lines:
        if place is None:
            if column not in cells:
                raise ValueError(f"{name} has no column {column!r} for the true classes.")
            place = cells.index(column)
        taken += cells[place : place + 1]
        yield line, cells[:place] + cells[place + 1 :]


def _parse(lines: Iterator[tuple[int, list[str]]], name: str) -> Table:
    top = list(islice(lines, 2))
    if not top:
        raise ValueError(f"{name} is empty.")
    first, second = top[0][1], top[-1][1]
    header = not all(map(_is_number, first[1:] or first))
    if header and len(top) < 2:
        raise ValueError(f"{name} has a header but no samples.")
    named = header and len(first) > 1 and first[0].strip().lower() in ID_HEADINGS
    named = named or not _is_number(second[0])

    features = first[named:] if header else [str(j) for j in range(len(first) - named)]
    samples: list[str] = []
    rows: list[NDArray] = []
    bad: list[str] = []
    for line, cells in chain(top[header:], lines):
        if len(cells) != len(first):
            raise ValueError(
                f"{name} has {len(cells)} cells in line {line} but {len(first)} above it."
            )
        samples.append(cells[0] if named else str(len(rows)))
        try:
            rows.append(np.array(cells[named:], dtype=np.float64))
        except ValueError:
            bad += _bad_cells(line, cells[named:], features)
            if len(bad) >= SHOWN:
                break
    if bad:
        raise ValueError(f"{name} has cells that are not numbers: {'; '.join(bad[:SHOWN])}.")
    return Table(np.array(rows), samples, features)


def _bad_cells(line: int, cells: list[str], features: list[str]) -> list[str]:
    pairs = zip(features, cells, strict=True)
    return [f"{c!r} in line {line}, column {f}" for f, c in pairs if not _is_number(c)]


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def csv_text(header: Sequence[str], rows: Iterable[Iterable[Any]]) -> str:
    """The rows as comma-separated text."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue()


def replace_files(folder: Path, files: dict[str, str]) -> None:
    """Put all files in place, or leave what was there: each is written in full beside its place."""
    staged = {folder / name: folder / f".{name}.{os.getpid()}" for name in files}
    try:
        for text, temporary in zip(files.values(), staged.values(), strict=True):
            temporary.write_text(text, encoding="utf-8", newline="")
        for place, temporary in staged.items():
            os.replace(temporary, place)
    finally:
        for temporary in staged.values():
            temporary.unlink(missing_ok=True)
