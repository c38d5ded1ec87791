"""True classes from a file: one a line, or `sample,class`."""

import csv
from collections.abc import Sequence
from pathlib import Path

from onmf.io.cells import unguard_cell
from onmf.io.columns import class_names
from onmf.io.stream import text_lines
from onmf.io.table import check_unique, listing


def read_labels(path: Path, samples: Sequence[str]) -> list[str]:
    """The class of each sample, by name where the file has names, by order otherwise."""
    text = [line.rstrip("\r\n") for line in text_lines(path)]
    mark = "\t" if any("\t" in line for line in text[:1]) else ","
    reader = csv.reader(text, delimiter=mark)
    try:
        rows = [[unguard_cell(cell) for cell in row] for row in reader if row]
    except csv.Error as error:
        raise ValueError(
            f"{path.name} is not a list of classes at line {reader.line_num}: {error}."
        ) from error
    widths = {len(row) for row in rows}
    if widths == {1}:
        return _in_order([row[0] for row in rows], samples, path)
    if widths == {2}:
        return _by_name([(row[0], row[1]) for row in rows], samples, path)
    raise ValueError(
        f"{path.name} must have one class a line, or lines of `sample,class`; its lines have "
        f"{listing(sorted(widths)) or 'no'} cells."
    )


def _in_order(classes: list[str], samples: Sequence[str], path: Path) -> list[str]:
    table = path.suffix.lower() in (".csv", ".tsv")
    if table and len(classes) == len(samples) + 1:
        classes = classes[1:]  # a heading
    if len(classes) != len(samples):
        raise ValueError(
            f"{path.name} has {len(classes)} classes for {len(samples)} samples: give one for each."
        )
    return class_names(classes, samples, path.name)


def _by_name(pairs: list[tuple[str, str]], samples: Sequence[str], path: Path) -> list[str]:
    check_unique([name for name, _ in pairs], "samples", path.name)
    known = dict(pairs)
    missing = [repr(name) for name in samples if name not in known]
    if missing:
        raise ValueError(
            f"{path.name} has no class for {len(missing)} of {len(samples)} samples: "
            f"{listing(missing)}."
        )
    return class_names([known[name] for name in samples], samples, path.name)
