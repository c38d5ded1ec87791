"""When an alternation ends, and which result is kept, on an alternation of made-up states."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from onmf.losses.settling import improved, settle


@dataclass(frozen=True)
class State:
    number: int = 0
    settled: bool = False
    rows: Any = "codes"
    limit: Any = None
    empty: tuple = ()
    good: float = 1.0  # what is explained
    left: float = 0.5  # the error
    outliers: int = 0


@dataclass(frozen=True)
class Counting:
    """Every sweep adds one; after `last` there is nothing better, at `rest` it is settled."""

    last: int = 99
    rest: int = 99

    def begin(self, W):
        return State(int(W))

    def after(self, state):
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


@dataclass(frozen=True)
class Rivals:
    """The alternation from known centroids ends in `rival`; from its own limit in `own`."""

    rival: State
    own: State | None = None

    def for_rival_of(self, state):
        return Ends(self.rival)

    def with_first_limit(self, W):
        return Ends(self.own)

    def objective(self, state):
        return state.good

    def loss(self, state):
        return 10 * state.left

    def error(self, state):
        return state.left

    def outside(self, state):
        return state.outliers


@dataclass(frozen=True)
class Ends:
    end: State

    def begin(self, W):
        return replace(self.end, settled=True)


STATE = State()


@pytest.mark.parametrize(("rival", "better"), [
    (State(good=1 + 1e-8), True),
    (State(good=1 + 1e-10), False),  # rounding of a loss of 5
    (State(good=1.0), False),
    (State(good=0.9), False),
    (State(good=2.0, empty=(1,)), False),
])  # fmt: skip
def test_known_centroids_are_kept_if_they_explain_more(rival, better):
    found = improved(Rivals(rival), STATE, None, 5)
    assert (found.good == rival.good) == (better or rival.good == STATE.good)
    assert (found is STATE) != better
    found = improved(Rivals(rival), replace(STATE, empty=(3,)), None, 5)
    assert (found.empty == (3,)) == (rival.good <= 1 + 1e-9)  # it has no more empty clusters


@pytest.mark.parametrize(("own", "better"), [
    (State(left=0.4, outliers=2), True),
    (State(left=0.4, outliers=3), False),
    (State(left=0.4, outliers=1, empty=(1,)), False),
    (State(left=0.5, outliers=1), False),
    (State(left=0.5 * (1 - 1e-11), outliers=1), False),
    (State(left=0.6, outliers=1), False),
])  # fmt: skip
def test_with_outliers_also_at_their_own_limit_with_no_more_outliers(own, better):
    state = replace(STATE, limit="limit", outliers=2)
    found = improved(Rivals(replace(state, good=0.5), own), state, None, 5)
    assert (found is not state) == better
