"""Values of samples from a column of the input or of another file: times and batches."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from onmf.prepare import center_batches
from onmf.rows import Source, Table
from onmf_app.read.annotation import read_labels
from onmf_app.read.annotation import value_file as class_file

if TYPE_CHECKING:
    from onmf_app.runs.inputs import Input


def of_samples(source: "Input", name: str, option: str, samples: Sequence[str]) -> list[str]:
    """A column of the table, or of another file, with a value for each of these samples."""
    if class_file(name) is not None:
        return read_labels(name, samples)
    found = replace(source, labels=name, time=None, batch=None).read().labels
    if found is None:
        raise ValueError(f"{source.path.name} has no column {name!r} for {option}.")
    return found


def batches_of(source: "Input", samples: Sequence[str]) -> list[str] | None:
    """The batch of each of these samples, if there are batches."""
    return None if source.batch is None else of_samples(source, source.batch, "--batch", samples)


def corrected(source: "Input", table: Table) -> Table:
    """The table with centred batches, if that was asked for."""
    if not source.center_batches:
        return table
    if isinstance(table.X, Source):
        raise ValueError(f"{source.path.name} is too large for --center-batches.")
    return table._replace(X=center_batches(table.X, batches_of(source, table.samples) or ()))
