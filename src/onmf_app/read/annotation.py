"""Values of samples from another file: classes, times, batches.

    classes.txt              one class per line, or lines `sample,class`
    metadata.csv:cell_type   a column of a table with one row per sample, matched by their names

The names of the samples may be in any column of such a table, and its rows in any order.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from onmf_app.read.documents import cell_lines, table_rows
from onmf_app.read.sources import open_workbook
from onmf_app.read.streams import File, listing


def value_file(spec: str | Path) -> tuple[Path, str | None] | None:
    """The file of FILE or FILE:COLUMN, and the column; None if there is no such file."""
    if Path(spec).is_file():
        return Path(spec), None
    file, colon, column = str(spec).rpartition(":")
    return (Path(file), column) if colon and Path(file).is_file() else None


def read_labels(spec: str | Path, samples: Sequence[str], file: str = "") -> list[str]:
    """The value of each sample of `file`, from FILE or FILE:COLUMN."""
    found = value_file(spec)
    if found is None:
        raise ValueError(
            f"{file} has no column {str(spec)!r} of true classes, and there is no file of that "
            "name."
        )
    path, column = found
    if column is None:
        return class_names(_listed(path, samples), samples, path.name)
    known: list[str] = []
    for header, body in _tables(File(path)):
        if column in header:
            values = _matched(header, body, column, samples, path.name)
            return class_names(values, samples, f"column {column!r} of {path.name}")
        known += filter(None, header)
    raise ValueError(f"{path.name} has no column {column!r}; its columns are {listing(known)}.")


def class_names(values: Iterable[Any], samples: Sequence[str], where: str) -> list[str]:
    """Classes as text, whole numbers without a decimal point; none may be missing."""
    classes = [
        "" if v is None or v != v
        else str(int(v)) if isinstance(v, float) and v.is_integer() else str(v).strip()
        for v in values
    ]  # fmt: skip
    if missing := [repr(s) for s, name in zip(samples, classes, strict=True) if not name]:
        raise ValueError(f"{where} has no value for {listing(missing)}: fill it in.")
    return classes


def check_unique(names: Sequence[str], what: str, file: str) -> None:
    """Refuse samples, or features, that share a name."""
    if len({*names}) < len(names):
        repeated = [repr(name) for name, times in Counter(names).items() if times > 1]
        raise ValueError(
            f"{file} has {what} of the same name: {listing(repeated)}. Rename or drop them; "
            "features can be summed (--set read.duplicates=sum), also if they are rows "
            "(--transpose). If the column holds classes, use --labels or --drop."
        )


def _tables(file: File) -> Iterator[tuple[list[str], list[list[str]]]]:
    """Headings and cells of a table; of all sheets of a workbook, one after another."""
    if file.ending in (".parquet", ".pq"):
        rows = [*table_rows(file)]
        values = [[str("" if v is None else v) for v in row.values()] for row in rows]
        yield [*rows[0]] if rows else [], values
        return
    sheets: list[str | None] = [None]
    if file.ending == ".xlsx":
        with open_workbook(file) as book:
            sheets = [*book.sheet_names]
    for sheet in sheets:
        cells = [row for _, row in cell_lines(file, sheet) if row and not row[0].startswith("#")]
        if cells:
            short = len(cells) > 1 and len(cells[0]) == len(cells[1]) - 1  # as R writes it
            yield [cell.strip() for cell in (["", *cells[0]] if short else cells[0])], cells[1:]


def _matched(
    header: list[str], body: list[list[str]], column: str, samples: Sequence[str], file: str
) -> list[str]:
    """The values by the column in which most samples are named."""
    place, wanted = header.index(column), {*samples}
    body = [row for row in body if len(row) > place]
    others = [j for j in range(len(header)) if j != place]
    shared = {j: len(wanted & {row[j].strip() for row in body if len(row) > j}) for j in others}
    names = max(shared, key=lambda j: (shared[j], -j), default=None)
    if names is None or not shared[names]:
        few = listing([repr(name) for name in samples[:3]], len(samples))
        raise ValueError(f"no column of {file} has the names of the samples: {few}.")
    rows = [row for row in body if len(row) > names and row[names].strip() in wanted]
    by = f" (by column {header[names]!r})" if header[names] else ""
    return _by_name([(row[names].strip(), row[place]) for row in rows], samples, file, by)


def _by_name(
    pairs: list[tuple[str, str]], samples: Sequence[str], file: str, by: str = ""
) -> list[str]:
    check_unique([name for name, _ in pairs], "samples", file)
    known = dict(pairs)
    if missing := [repr(name) for name in samples if name not in known]:
        raise ValueError(
            f"{file} has no class for {len(missing)} of {len(samples)} samples: "
            f"{listing(missing)}{by}."
        )
    return [known[name] for name in samples]


def _listed(path: Path, samples: Sequence[str]) -> list[str]:
    """In order, or by name if each line is `sample,class`."""
    rows = [row for _, row in cell_lines(File(path), spaces=False)]
    widths = {len(row) for row in rows}
    if widths == {1}:
        heading = path.suffix.lower() in (".csv", ".tsv") and len(rows) == len(samples) + 1
        classes = [row[0] for row in rows[heading:]]
        if len(classes) != len(samples):
            raise ValueError(f"{path.name} has {len(classes)} classes for {len(samples)} samples.")
        return classes
    if widths == {2}:
        return _by_name([(row[0], row[1]) for row in rows], samples, path.name)
    if min(widths, default=0) > 2:
        raise ValueError(
            f"{path.name} has several columns: name that of the classes as {path.name}:COLUMN. "
            f"They are {listing(filter(None, rows[0]))}."
        )
    raise ValueError(
        f"{path.name} must have lines of one class, or of `sample,class`; its lines have "
        f"{listing(sorted(widths)) or 'no'} cells."
    )
