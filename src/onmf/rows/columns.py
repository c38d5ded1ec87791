"""Which column of a table is what, for text tables, workbooks and Parquet.

    names     the index of a pandas table; else the first column, if its heading is one of
              ID_HEADINGS, or if it holds text that hardly repeats
    classes   the column that `labels` names
    features  all other columns of numbers

Columns to `drop` are left out, and so are columns without numbers, with a warning.
"""

import shlex
import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from onmf.exceptions import TableWarning
from onmf.rows.table import Options, listing, one_line

ID_HEADINGS = {"", "id", "index", "sample", "sample_id", "unnamed: 0"}
ROWS_INSPECTED = 20  # enough to tell text from one wrong cell, and classes from names
WORDS_OF_A_TEXT = 4  # in most cells of a column; names and classes have fewer
MEASURED = 10  # columns of numbers, from which on they are what the table is about


class Columns(NamedTuple):
    """Positions of the columns, and the names in `drop` that must be rows.

    `texts` is the heading of a column of texts, if the table has few columns of numbers.
    """

    names: int | None
    classes: int | None
    features: list[int]
    rows_to_drop: set[str]
    texts: str | None


def find_columns(
    headings: Sequence[str],
    text: Mapping[int, Sequence[str]],
    first_cells: Sequence[str],
    file: str,
    options: Options,
    *,
    index: int | None = None,
    named_rows: bool = True,
    unused: Collection[int] = (),
) -> Columns:
    """What each column of a table holds.

    Parameters
    ----------
    headings : of all columns; their numbers if there is no header.
    text : the first cells of each column without numbers, by its position.
    first_cells : of the first column if it holds text, otherwise none.
    file : its name, for messages.
    index : position of the index of a pandas table.
    named_rows : whether rows can be dropped by name.
    unused : columns that are no features, whatever they hold.
    """
    classes = next((j for j, name in enumerate(headings) if name == options.labels), None)
    if options.labels is not None and classes is None:
        check_file(options.labels, file)  # before a warning blames a column of text
    dropped = {j for j, heading in enumerate(headings) if heading in options.drop}
    is_id = len(headings) > 1 and headings[0].strip().lower() in ID_HEADINGS
    is_name = bool(first_cells) and not are_classes(first_cells)
    candidates = [index, 0 if is_id or is_name else None]
    names = next((j for j in candidates if j not in {None, classes, *dropped}), None)
    unknown = {*options.drop} - {headings[j] for j in dropped}
    if unknown and (names is None or not named_rows):
        raise ValueError(f"{file} has no column {listing(map(repr, sorted(unknown)))} to drop.")
    others = [j for j in range(len(headings)) if j not in {names, classes, *dropped}]
    features = [j for j in others if j not in text and j not in unused]
    texts = column_of_texts(headings, text) if len(features) < MEASURED else None
    if not features:
        raise ValueError(
            f"{file} has no column of numbers; {remedy(texts)}, and classes of the samples of "
            "another table are read with --labels FILE:COLUMN."
        )
    plain = [headings[j] for j in others if j in text and j not in unused]
    if left := [one_line(heading) for heading in plain if heading]:
        warnings.warn(
            f"{file} has columns without numbers, which are not used: {listing(left)}"
            f"{'; ' + remedy(texts) if texts in plain else ''}.",
            TableWarning,
            stacklevel=2,
        )
    return Columns(names, classes, features, unknown, texts)


def column_of_texts(headings: Sequence[str], text: Mapping[int, Sequence[str]]) -> str | None:
    """The column whose cells have most words, if most have so many that they are texts."""
    words = {j: median(len(cell.split()) for cell in cells) for j, cells in text.items() if cells}
    longest = max(words, key=lambda j: words[j], default=None)
    if longest is None or words[longest] < WORDS_OF_A_TEXT:
        return None
    return headings[longest] or None


def remedy(texts: str | None) -> str:
    """How to cluster the texts of a table."""
    column = "" if texts is None else f" {shlex.quote(one_line(texts))}"
    return f"documents are read with --text-column{column}"


def are_classes(names: Sequence[str]) -> bool:
    """Whether the first names repeat so often that they are classes."""
    few = names[:ROWS_INSPECTED]
    return 4 * len(set(few)) <= len(few)


def class_names(values: Iterable[Any], samples: Sequence[str], where: str) -> list[str]:
    """Classes as text, whole numbers without a decimal point; none may be missing."""
    classes = [
        str(int(v)) if isinstance(v, float) and v.is_integer() else str("" if v is None else v)
        for v in values
    ]
    missing = [repr(s) for s, name in zip(samples, classes, strict=True) if not name.strip()]
    if missing:
        raise ValueError(f"{where} has no value for {listing(missing)}: fill it in.")
    return [name.strip() for name in classes]


def class_file(labels: str | Path) -> tuple[Path, str | None] | None:
    """The file of FILE or FILE:COLUMN, and the column; None if there is no such file."""
    if Path(labels).is_file():
        return Path(labels), None
    file, colon, column = str(labels).rpartition(":")
    return (Path(file), column) if colon and Path(file).is_file() else None


def check_file(labels: str | Path, table: str) -> None:
    """Refuse `labels` that are neither a column of a table nor a file."""
    if class_file(labels) is None:
        raise ValueError(
            f"{table} has no column {str(labels)!r} of true classes, and there is no file of "
            "that name."
        )
