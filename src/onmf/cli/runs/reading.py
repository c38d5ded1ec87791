"""Reading the input of a command, with notes on what was done to it and what looks wrong."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from onmf.cli.console import note, notes, waiting, within_memory
from onmf.cli.runs.hints import before_fit
from onmf.cli.runs.inputs import Input, one_of_each
from onmf.estimators.parameters import allows_negative
from onmf.io import Table
from onmf.io.table import Progress
from onmf.losses import LOSSES
from onmf.preparation.expression import DEFAULT_WORDS


@contextmanager
def reading(source: Input) -> Iterator[Progress]:
    """A progress bar while the input is read; warnings and lack of memory name it."""
    name = source.path.name
    with within_memory(name), notes(name, source.terms), waiting(f"Reading {name}") as progress:
        yield progress


def read_and_learn(
    source: Input, loss: str = "frobenius", bounds: Any = "auto"
) -> tuple[Input, Table]:
    """The input with its default steps, and the table after them; notes on what looks wrong."""
    with reading(source) as progress:
        table = source.read(progress)
    source = note_before_fit(source, table, loss, bounds)
    return source, source.learn(one_of_each(table, source.duplicates)[0])[0]


def note_before_fit(
    source: Input, table: Table, loss: str = "frobenius", bounds: Any = "auto"
) -> Input:
    """The input with its default steps; prints them and what looks wrong."""
    given = source
    if not LOSSES[loss].takes_counts:
        source = source.with_default_steps(table)
    with waiting(f"Checking {source.path.name}"):
        signed = allows_negative(bounds) and "signed" in LOSSES[loss].supports
        said = before_fit(source, table, signed)
    if added := [name for name in source.steps if name in {*DEFAULT_WORDS} - {*given.steps}]:
        done = ", ".join(DEFAULT_WORDS[name] for name in added).format(len(table.features))
        said = [f"gene expression: {done}; --raw leaves it as it is.", *said]
    note(source.path.name, said, source.terms)
    return source
