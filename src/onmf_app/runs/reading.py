"""Reading the input of a command, with notes on what was done to it and what looks wrong."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from onmf.losses import LOSSES
from onmf.prepare import Words
from onmf.prepare.arrays import parts_of
from onmf.prepare.expression import DEFAULT_WORDS, are_counts_of_events
from onmf.prepare.steps import suited_loss
from onmf.rows import Progress, Table
from onmf_app.console import note, notes, waiting, within_memory
from onmf_app.runs.hints import before_fit
from onmf_app.runs.inputs import Input


@contextmanager
def reading(source: Input) -> Iterator[Progress]:
    """A progress bar while the input is read; warnings and lack of memory name it."""
    name = source.path.name
    with within_memory(name), notes(name, source.terms), waiting(f"Reading {name}") as progress:
        yield progress


def note_before_fit(source: Input, table: Table, loss: str | None) -> tuple[Input, Table, str]:
    """The input with its default steps, its features, and the loss; prints what looks wrong, too.

    loss : None takes the one that suits the data.
    """
    said: list[str] = []
    given = source
    if loss is None or not LOSSES[loss].takes_counts:
        source = source.with_default_steps(table)
    if loss is None:
        loss = suited_loss(source.steps)
        counts = not source.steps and not source.raw and are_counts_of_events(table.X)
        if counts and not any(np.isnan(part.sum()) for part in parts_of(table.X)):
            loss = Words.loss
            said += [f"these are counts: they are clustered by --loss {loss}; --raw takes squares."]
    if added := [name for name in source.steps if name in {*DEFAULT_WORDS} - {*given.steps}]:
        done = ", ".join(DEFAULT_WORDS[name] for name in added).format(len(table.features))
        said += [f"gene expression: {done}; --raw leaves it as it is."]
    with waiting(f"Checking {source.path.name}"):
        said += before_fit(source, table, "signed" in LOSSES[loss].supports)
    note(source.path.name, said, source.terms)
    return source, table, loss
