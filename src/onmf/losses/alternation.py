"""The end of every fast fit: the alternation on X from one or several starts, and its record.

    W  ->  the code of every row, by one sweep  ->  the W that is best for the codes  ->  ...

to a fixed point. What a sweep does, and what is best, is a `Rule`: for squares (`settle`), for
squares where entries are missing (`observed`), for the Kullback-Leibler divergence (`divergence`).
Each sweep from the first start is a stage, noted in the journal. Its rivals go the same way unseen,
and the best of all is one stage more.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any, ClassVar, Protocol, Self, TypeVar

import numpy as np

from onmf.result import Factorization, Recorder, Stage
from onmf.rows.assign import labels_of
from onmf.rows.sweep import Array, Data


@dataclass(frozen=True, eq=False)
class AlternationState:
    """Where an alternation is: the clustering after a sweep with the centroids W."""

    W: Array
    rows: Any  # the codes, wherever the rows are
    cells: Any  # additive facts about the clusters, `samples` (k,) among them
    residual: float = np.inf  # how far the centroids moved before this sweep
    settled: bool = False  # they would not move any more

    code_rule: ClassVar[Any]  # what gives a row its code, made of W
    kind_of_cells: ClassVar[Any]

    @property
    def empty(self) -> Array:
        """The clusters without samples."""
        return np.flatnonzero(self.cells.samples == 0)

    def labels(self, data: Data) -> Array:
        """Of all samples."""
        return data.gather(data.map_blocks(labels_of, self.rows))

    def membership(self, data: Data) -> Any:
        """H (n, k), as the place keeps arrays of that size."""
        return data.dense(len(self.W), self.code_rule.of(self.W).memberships, self.rows)

    def facts(self) -> dict[str, Any]:
        """All but the codes, which one sweep with W gives again."""
        return vars(self) | {"rows": None, "cells": self.cells._asdict()}

    @classmethod
    def from_facts(cls, facts: dict[str, Any]) -> Self:
        known = {field.name: facts[field.name] for field in fields(cls)}
        return cls(**known | {"cells": cls.kind_of_cells(**facts["cells"])})


S = TypeVar("S", bound=AlternationState)


class Rule(Protocol[S]):
    """How an alternation goes on."""

    @property
    def data(self) -> Data: ...
    def begin(self, W: Array) -> S:
        """The state after a first sweep with W."""

    def after(self, state: S) -> S | None:
        """The state after the next sweep; None if it would be no better."""

    def error(self, state: S) -> float:
        """Relative."""

    def worth(self, state: S) -> float:
        """The larger, the better the state."""

    def beside(self, best: S) -> Self:
        """The rule for a rival of the best state so far."""


def settle(
    rule: Rule[S],
    W: Array,
    sweeps: int,
    watch: Callable[[S], bool] = lambda state: False,
    since: S | None = None,
) -> S:
    """Alternate from W for at most `sweeps` sweeps; `watch(state)` may stop earlier.

    `since` is the state with these W of an alternation that was broken off; it lacks the codes.
    """
    state = rule.begin(W) if since is None else replace(since, rows=rule.begin(W).rows)
    for _ in range(sweeps - 1):
        if watch(state) or state.settled:
            return state
        new = rule.after(state)
        if new is None:
            return replace(state, settled=True)
        state = new
    watch(state)
    return state


def finish(
    rule: Rule[S], Ws: Sequence[Array], recorder: Recorder, since: S | None = None, before: int = 0
) -> tuple[Factorization, S]:
    """The best that the alternation makes of the starts Ws; `before` are sweeps not recorded."""
    data, (W, *others) = rule.data, Ws

    def record(state: S, sweeps: int) -> bool:
        clusters = 0.0, 0.0, state.residual, len(state.empty)
        stage = Stage(1.0, sweeps, rule.error(state), *clusters, *data.traffic)
        return recorder.record(stage, lambda: state.membership(data))

    def enter(state: S) -> bool:
        recorder.note("settle", lambda: state.facts() | {"rivals": others})
        return record(state, (recorder.sweeps or before) + 1)

    begun = max((stage.sweeps for stage in recorder.history if stage.rho < 1), default=before)
    left, most = recorder.max_sweeps - (recorder.sweeps or before), recorder.max_sweeps - begun
    state = settle(rule, W, left, enter, since)
    if others and not recorder.stopped:
        sweeps = recorder.sweeps

        def count(state: S) -> bool:
            nonlocal sweeps
            sweeps += 1
            return False

        for W in others:
            rival = settle(rule.beside(state), W, most, count)
            state = max(state, rival, key=rule.worth)
        record(state, sweeps)
    stop = "callback" if recorder.stopped else "max_iter"
    stop = "converged" if state.settled else stop
    return recorder.result(state.membership(data), state.W, 1.0, stop), state


def nothing_yet(data: Data, k: int, rows: Any) -> Callable[[], Any]:
    """What a watcher sees of H (n, k) while there is none; `rows` are cut like the data."""
    return partial(data.dense, k, partial(_zeros, k, data.dtype), rows)


def _zeros(k: int, dtype: Any, rows: Array) -> Array:
    return np.zeros((len(rows), k), dtype)
