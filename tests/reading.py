"""Files as tests read them: the notes of `read_input` are warnings here, and numbers an array."""

import warnings
from typing import Any, NamedTuple

import pandas as pd

from onmf.exceptions import TableWarning
from onmf_app import tables
from onmf_app.read import read_input


class Table(NamedTuple):
    X: Any
    samples: list[str]
    features: list[str]
    labels: list[str] | None = None


def read_table(path, *, text=False, labels=None, **options):
    found = read_input(path, text=text, labels=None if labels is None else str(labels), **options)
    for note in found.notes:
        warnings.warn(note, TableWarning, stacklevel=2)
    X = found.data.to_numpy() if hasattr(found.data, "to_numpy") else found.data
    return Table(X, [*map(str, found.samples)], found.features, found.classes)


def read_documents(path, *, column=None, **options):
    return read_table(path, text=True, text_column=column, **options)


def csv_text(names, rows):
    """A table as the command writes it."""
    return tables.csv_text(pd.DataFrame([*map(list, rows)], columns=pd.Index(names, dtype=object)))
