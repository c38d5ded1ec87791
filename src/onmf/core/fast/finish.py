"""The end of every fast fit: the alternation from one or several starts, and its record.

Each sweep from the first start is a stage, noted in the journal. Its rivals go the same way unseen,
and the best of all is one stage more. What alternates, and what is best, is the caller's affair.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from onmf.core.result import Factorization, Recorder, Stage
from onmf.core.rows import Array, Data


class Rest(Protocol):
    """A state of an alternation."""

    @property
    def W(self) -> Array: ...  # noqa: N802  (the letter of the paper)
    @property
    def settled(self) -> bool: ...  # it would not move any more
    def facts(self) -> dict[str, Any]: ...
    def membership(self, data: Data) -> Any: ...


S = TypeVar("S", bound=Rest)
See = Callable[[S], bool]  # looks at each state, and may stop


@dataclass(frozen=True)
class Finish(Generic[S]):
    """Where the rows are, who keeps the record, a stage of a state after so many sweeps, and what
    a state is worth; `before` are sweeps that the record does not know of."""

    data: Data
    recorder: Recorder
    stage: Callable[[S, int], Stage]
    worth: Callable[[S], float]
    before: int = 0

    def run(
        self,
        Ws: Sequence[Array],
        first: Callable[[Array, See[S]], S],
        rival: Callable[[Array, See[S], S], S],
    ) -> tuple[Factorization, S]:
        """From the first of Ws by `first`, from the others by `rival`, which knows the best."""
        W, *others = Ws
        state = first(W, partial(self._enter, others))
        if others and not self.recorder.stopped:
            state = self._best(state, others, rival)
        stopped = "callback" if self.recorder.stopped else "max_iter"
        stop = "converged" if state.settled else stopped
        return self.recorder.result(state.membership(self.data), state.W, 1.0, stop), state

    def _enter(self, rivals: list[Array], state: S) -> bool:
        self.recorder.note("settle", lambda: state.facts() | {"rivals": rivals})
        return self._record(state, (self.recorder.sweeps or self.before) + 1)

    def _record(self, state: S, sweeps: int) -> bool:
        return self.recorder.record(self.stage(state, sweeps), lambda: state.membership(self.data))

    def _best(self, state: S, rivals: list[Array], settle: Callable[..., S]) -> S:
        sweeps = 0

        def count(state: S) -> bool:
            nonlocal sweeps
            sweeps += 1
            return False

        for W in rivals:
            state = max(state, settle(W, count, state), key=self.worth)
        self._record(state, self.recorder.sweeps + sweeps)
        return state


def nothing_yet(data: Data, k: int, rows: Any) -> Callable[[], Any]:
    """What a watcher sees of H (n, k) while there is none; `rows` are cut like the data."""
    return partial(data.array, k, partial(_zeros, k, data.dtype), rows)


def _zeros(k: int, dtype: Any, rows: Array) -> Array:
    return np.zeros((len(rows), k), dtype)
