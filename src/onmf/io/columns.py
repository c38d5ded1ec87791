"""Which column of a table is what, for text tables, workbooks and Parquet; classes from files.

    names     the index of a pandas table; else the first column, if its heading is one of
              ID_HEADINGS, or if it holds text that hardly repeats
    classes   the column that `labels` names
    features  all other columns of numbers

Columns to `drop` are left out, and so are columns without numbers, with a warning.
"""

import csv
import warnings
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from onmf.exceptions import TableWarning
from onmf.io.cells import unguard_cell
from onmf.io.table import Options, Table, check_unique, listing, one_line
from onmf.io.text_files import text_lines

ID_HEADINGS = {"", "id", "index", "sample", "sample_id"}
ROWS_INSPECTED = 20  # enough to tell text from one wrong cell, and classes from names


class Columns(NamedTuple):
    """Positions of the columns, and the names in `drop` that must be rows."""

    names: int | None
    classes: int | None
    features: list[int]
    rows_to_drop: set[str]


def find_columns(
    headings: Sequence[str],
    text: Collection[int],
    first_cells: Sequence[str],
    file: str,
    options: Options,
    *,
    header: bool = True,
    index: int | None = None,
    named_rows: bool = True,
) -> Columns:
    """What each column of a table holds.

    Parameters
    ----------
    headings : of all columns; without a `header`, any names.
    text : positions of the columns without numbers.
    first_cells : of the first column if it holds text, otherwise none.
    file : its name, for messages.
    index : position of the index of a pandas table.
    named_rows : whether rows can be dropped by name.
    """
    known = [*headings] if header else []
    classes = known.index(options.labels) if options.labels in known else None
    if options.labels is not None and classes is None:
        check_file(options.labels, file)  # before a warning blames a column of text
    dropped = {j for j, heading in enumerate(known) if heading in options.drop}
    is_id = len(headings) > 1 and headings[0].strip().lower() in ID_HEADINGS
    is_name = bool(first_cells) and not (header and are_classes(first_cells))
    candidates = [index, 0 if is_id or is_name else None]
    names = next((j for j in candidates if j not in {None, classes, *dropped}), None)
    unknown = {*options.drop} - {known[j] for j in dropped}
    if unknown and (names is None or not named_rows):
        raise ValueError(f"{file} has no column {listing(map(repr, sorted(unknown)))} to drop.")
    others = [j for j in range(len(headings)) if j not in {names, classes, *dropped}]
    features = [j for j in others if j not in text]
    if others and not features:
        raise ValueError(f"{file} has no column of numbers.")
    if unused := [one_line(headings[j]) for j in others if j in text]:
        warnings.warn(
            f"{file} has columns without numbers, which are not used: {listing(unused)}.",
            TableWarning,
            stacklevel=2,
        )
    return Columns(names, classes, features, unknown)


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


def with_classes(table: Table, labels: str | Path | None, file: str) -> Table:
    """The table with its true classes, from a file if no column of it has them."""
    if labels is None or table.labels is not None:
        return table
    check_file(labels, file)
    return table._replace(labels=read_labels(Path(labels), table.samples))


def check_file(labels: str | Path, table: str) -> None:
    """Refuse `labels` that are neither a column of a table nor a file."""
    if not Path(labels).is_file():
        raise ValueError(
            f"{table} has no column {str(labels)!r} of true classes, and there is no file of "
            "that name."
        )


def read_labels(path: Path, samples: Sequence[str]) -> list[str]:
    """The class of each sample: in order, or by name if each line is `sample,class`."""
    text = list(text_lines(path))
    reader = csv.reader(text, delimiter="\t" if "\t" in "".join(text[:1]) else ",")
    try:
        rows = [[unguard_cell(cell) for cell in row] for row in reader if row]
    except csv.Error as error:
        raise ValueError(
            f"{path.name} is not a list of classes at line {reader.line_num}: {error}."
        ) from error
    widths = {len(row) for row in rows}
    if widths == {1}:
        heading = path.suffix.lower() in (".csv", ".tsv") and len(rows) == len(samples) + 1
        classes = [row[0] for row in rows[heading:]]
        if len(classes) != len(samples):
            raise ValueError(f"{path.name} has {len(classes)} classes for {len(samples)} samples.")
    elif widths == {2}:
        check_unique([row[0] for row in rows], "samples", path.name)
        known = dict(rows)
        if missing := [repr(name) for name in samples if name not in known]:
            raise ValueError(
                f"{path.name} has no class for {len(missing)} of {len(samples)} samples: "
                f"{listing(missing)}."
            )
        classes = [known[name] for name in samples]
    else:
        raise ValueError(
            f"{path.name} must have lines of one class, or of `sample,class`; its lines have "
            f"{listing(sorted(widths)) or 'no'} cells."
        )
    return class_names(classes, samples, path.name)
