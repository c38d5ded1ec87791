"""One alternation for every rule: what it keeps, when it stops, what it records. By hand."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest

from onmf.losses import settling
from onmf.losses.alternation import AlternationState
from onmf.losses.settling import finish, settle
from onmf.result import Recorder
from onmf.rows.assign import Rays
from onmf.rows.memory import InMemory
from onmf.search.outliers import OutlierLimit, Outliers
from onmf.search.starts import Settings
from solving import ray_alternation

DATA = InMemory(np.eye(3) + 1)


class Sums(NamedTuple):
    samples: np.ndarray


@dataclass(frozen=True)
class Climb:
    """The first entry of W is its worth. Each sweep gains one, up to the next multiple of ten;
    no better is `None`, or settled.
    """

    settles: bool = True
    data: InMemory = DATA
    settings: Settings = Settings()

    def begin(self, W, limit=None):
        rows, _ = self.data.sweep(Rays.of(W))
        settled = self.settles and W[0, 0] % 10 == 0
        return AlternationState(W, rows, Sums(np.array([3])), settled=settled)

    def after(self, state, limit):
        return None if state.W[0, 0] % 10 == 0 else self.begin(state.W + 1)

    def error(self, state):
        return 1 / state.W[0, 0]

    def loss(self, state):
        return 1.0

    def objective(self, state):
        return state.W[0, 0]

    def membership(self, state):
        return self.data.dense(1, Rays.of(state.W).memberships, state.rows)


def at(height):
    return np.full((1, 3), float(height))


@pytest.mark.parametrize("starts", [(28, 8, 18), (8, 28, 18), (8, 18, 28)])
def test_the_best_of_all_starts_is_kept_and_every_sweep_is_counted(starts):
    recorder = Recorder(max_sweeps=20)
    result, state = finish(Climb(), [at(start) for start in starts], recorder)
    assert state.W[0, 0] == 30
    assert (result.stop, result.sweeps) == ("converged", 9)  # three from each start
    first = starts[0]
    heights = [round(1 / stage.relative_error) for stage in recorder.history]
    assert heights == [first, first + 1, first + 2, 30]


def test_a_callback_that_stops_ends_all_starts():
    recorder = Recorder(lambda event: event.sweep == 2, max_sweeps=20)
    result, state = finish(Climb(), [at(11), at(28)], recorder, known=at(38))
    assert (result.stop, state.W[0, 0], recorder.sweeps) == ("callback", 12, 2)


def test_no_start_has_more_sweeps_than_there_are():
    recorder = Recorder(max_sweeps=5)
    result, state = finish(Climb(), [at(11), at(21)], recorder, before=2)
    assert (result.stop, state.W[0, 0]) == ("max_iter", 23)  # three sweeps each
    assert [stage.sweeps for stage in recorder.history] == [3, 4, 5, 8]


def test_a_state_that_no_sweep_betters_is_settled():
    assert settle(Climb(settles=False), at(18), 20).settled
    short = settle(Climb(), at(11), 4)
    assert (short.W[0, 0], short.settled) == (14, False)
    stopped = settle(Climb(), at(11), 20, lambda state: state.W[0, 0] == 13)
    assert stopped.W[0, 0] == 13


def test_the_limit_of_outliers_is_found_again_before_every_sweep(monkeypatch):
    far, turns = OutlierLimit(1e9, 0.0), []

    def next_limit(asked, total, scores, weight, last, turn):
        turns.append((turn, last.height))
        return OutlierLimit(last.height / 2, 0.0)

    monkeypatch.setattr(settling, "next_limit", next_limit)
    rule = ray_alternation(DATA, tol=0.0, outliers=Outliers())
    W = np.eye(3)[:2] + 0.1
    end = settle(rule, W, 4, lambda state: len(turns) == 2, limit=far)
    assert turns == [(0, 1e9), (1, 5e8)]
    assert end.limit.height == 2.5e8
    assert settle(rule, W, 4, limit=far, fixed=True).limit == far
    assert len(turns) == 2
