"""Text tables: `.csv` and `.tsv`, also packed with gzip; read as a whole when they are opened."""

import csv
from array import array
from collections.abc import Callable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from onmf.io.cells import is_number, to_number, unguarded
from onmf.io.flat import check_memory
from onmf.io.source import InMemoryTable, Source
from onmf.io.stream import text_lines
from onmf.io.table import (
    ID_HEADINGS,
    MOST_LISTED,
    Options,
    Table,
    check_file,
    class_names,
    numbered,
    one_line,
)

STRIDE = 4096  # rows between two looks at the memory
Lines = Iterator[tuple[int, list[str]]]  # number of the line, and its cells


class Layout(NamedTuple):
    """Where the names and the numbers are."""

    header: bool
    named: bool
    features: list[str]
    label: int | None  # place of the true classes among the cells
    width: int


def open_file(path: Path, options: Options) -> Source:
    text = text_lines(path, options.progress)
    first = next(text, "")
    tabs = path.name.lower().removesuffix(".gz").endswith(".tsv")
    reader = csv.reader(chain([first], text), delimiter="\t" if tabs else _separator(first))
    lines = ((reader.line_num, row) for row in reader if row)
    try:
        top = list(islice(lines, 2))
        if not top:
            raise ValueError(f"{path.name} is empty.")
        layout = _layout([cells for _, cells in top], path.name, options.labels)
        if options.labels is not None and layout.label is None:
            check_file(options.labels, path.name)  # before a text column is blamed for it
        table = _parse(chain(top[layout.header :], lines), layout, path.name)
    except csv.Error as error:
        raise ValueError(
            f"{path.name} is not a text table at line {reader.line_num}: {error}."
        ) from error
    return InMemoryTable.of(table, path.name)


def _separator(line: str) -> str:
    """What stands between the cells of a `.csv` file: some programs write semicolons or tabs."""
    return next((mark for mark in ",;\t" if mark in line), ",")


def _layout(top: list[list[str]], name: str, label: str | None) -> Layout:
    """Header and names, from the first two lines."""
    first, second = top[0], top[-1]
    short = len(top) > 1 and len(first) == len(second) - 1  # R leaves the first heading out
    headed = len(first) > 1 and first[0].strip().lower() in ID_HEADINGS
    counted = len(first) > 1 and first == numbered(len(first))  # as pandas numbers columns
    header = short or headed or counted or not all(map(is_number, first[1:] or first))
    if header and len(top) < 2:
        raise ValueError(f"{name} has a header but no samples.")
    headings = [unguarded(cell.strip()) for cell in (["", *first] if short else first)]
    named = short or headed or not is_number(second[0])
    place = headings.index(label) if header and label in headings else None
    if named and place == 0:
        named = False
    features = headings if header else numbered(len(first) - named)
    if header:
        features = [h for j, h in enumerate(headings) if j != place and not (named and j == 0)]
    return Layout(header, named, features, place, len(headings))


def _parse(lines: Lines, layout: Layout, name: str) -> Table:
    samples: list[str] = []
    labels: list[str] = []
    values = array("d")
    bad: list[str] = []
    for line, cells in lines:
        if len(cells) != layout.width:
            raise ValueError(
                f"{name} has {len(cells)} cells in line {line} but {layout.width} above it."
            )
        if layout.label is not None:
            labels.append(unguarded(cells.pop(layout.label)))
        if not len(samples) % STRIDE:
            check_memory(values.itemsize * len(values), name)  # which the next ones may take
        samples.append(unguarded(cells.pop(0)) if layout.named else str(len(samples)))
        try:
            values.extend(map(_convert(cells), cells))
        except ValueError:
            bad += _bad_cells(line, cells, layout.features)
            if len(bad) >= MOST_LISTED:
                break
    if bad:
        raise ValueError(f"{name} has cells that are not numbers: {'; '.join(bad[:MOST_LISTED])}.")
    X = np.frombuffer(values).reshape(len(samples), len(layout.features))
    return Table(X, samples, layout.features, None if layout.label is None else class_names(labels))


def _bad_cells(line: int, cells: list[str], features: list[str]) -> list[str]:
    pairs = zip(features, cells, strict=True)
    return [
        f"{c[:50]!r} in line {line}, column {one_line(f)}" for f, c in pairs if not is_number(c)
    ]


def _convert(cells: list[str]) -> Callable[[str], float]:
    """What makes numbers of these cells: the fast way if nothing in them can deceive it."""
    text = "".join(cells)
    return float if text.isascii() and "_" not in text else to_number
