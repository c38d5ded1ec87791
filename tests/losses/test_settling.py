"""When an alternation ends, and which result is kept, on an alternation of made-up states."""

from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from onmf.losses.settling import finish, settle
from onmf.result import Recorder
from onmf.search.starts import Settings


@dataclass(frozen=True)
class State:
    number: int = 0
    W: Any = None
    settled: bool = False
    rows: Any = "codes"
    limit: Any = None
    empty: tuple = ()
    good: float = 1.0  # what is explained
    residual: float = 0.0

    def _replace(self, **changes):
        return replace(self, **changes)


@dataclass(frozen=True)
class Counting:
    """Every sweep adds one; after `last` there is nothing better, at `rest` it is settled."""

    last: int = 99
    rest: int = 99

    settings = Settings()
    data = SimpleNamespace(weight=None)

    def begin(self, W, limit=None):
        return State(int(W))

    def after(self, state, limit):
        number = state.number + 1
        return (
            None
            if number > self.last
            else replace(state, number=number, settled=number == self.rest)
        )


def test_at_most_so_many_sweeps_and_each_is_seen():
    seen = []
    end = settle(Counting(), np.array(3), 5, lambda state: bool(seen.append(state.number)))
    assert (end.number, end.settled) == (7, False)
    assert seen == [3, 4, 5, 6, 7]
    assert settle(Counting(), np.array(3), 1).number == 3


def test_it_ends_where_nothing_is_better_or_moves_or_the_watcher_says_so():
    end = settle(Counting(last=5), np.array(3), 9)
    assert (end.number, end.settled) == (5, True)
    end = settle(Counting(rest=4), np.array(3), 9)
    assert (end.number, end.settled) == (4, True)
    end = settle(Counting(), np.array(3), 9, lambda state: state.number == 6)
    assert (end.number, end.settled) == (6, False)


class Ends:
    """An alternation that ends at once, in the state given as its start."""

    settings, data = Settings(), SimpleNamespace(weight=None, traffic=(0, 0))

    def begin(self, state, limit=None):
        return replace(state, settled=True)

    def objective(self, state):
        return state.good

    def loss(self, state):
        return 5.0

    def error(self, state):
        return 0.5

    def membership(self, state):
        return "H"


@pytest.mark.parametrize(("rival", "better"), [
    (State(good=1 + 1e-8), True),
    (State(good=1 + 1e-10), False),  # rounding of a loss of 5
    (State(good=1.0), False),
    (State(good=0.9), False),
    (State(good=2.0, empty=(1,)), False),
])  # fmt: skip
def test_known_centroids_are_kept_if_they_explain_more(rival, better):
    for empty in ((), (3,)):
        start = State(empty=empty, number=1)
        recorder = Recorder(max_sweeps=5)
        _, end = finish(Ends(), [replace(start, W="W")], recorder, known=replace(rival, W="V"))
        good = better or (len(empty) == len(rival.empty) == 1)  # it has no more empty clusters
        assert (end.number == 0) == good
        assert len(recorder.history) == 1 + good
