"""One alternation for every rule: what it keeps, when it stops, what it records. By hand."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pytest

from onmf.losses import alternation as module
from onmf.losses.alternation import AlternationState
from onmf.losses.settling import finish, settle
from onmf.result import CheckpointStore, Recorder
from onmf.rows.assign import Rays
from onmf.rows.memory import InMemory
from onmf.search.outliers import OutlierLimit, Outliers
from solving import ray_alternation

DATA = InMemory(np.eye(3) + 1)


class Sums(NamedTuple):
    samples: np.ndarray


class Height(AlternationState):
    """A state whose worth is the first entry of W."""

    kind_of_sums = Sums


@dataclass(frozen=True)
class Climb:
    """Each sweep gains one, up to the next multiple of ten; no better is `None`, or settled."""

    settles: bool = True
    data: InMemory = DATA

    def begin(self, W):
        rows, _ = self.data.sweep(Rays.of(W))
        settled = self.settles and W[0, 0] % 10 == 0
        return Height(W=W, rows=rows, sums=Sums(np.array([3])), settled=settled)

    def after(self, state):
        return None if state.W[0, 0] % 10 == 0 else self.begin(state.W + 1)

    def error(self, state):
        return 1 / state.W[0, 0]

    def loss(self, state):
        return 1.0

    def objective(self, state):
        return state.W[0, 0]

    def for_rival_of(self, best):
        return self

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


class Notes(CheckpointStore):
    def __init__(self):
        self.all = []

    def note(self, name, facts):
        self.all.append(facts())


@pytest.mark.parametrize(("known", "end"), [(38, 40), (18, 30)])
def test_every_sweep_of_the_first_start_is_noted_and_known_centroids_if_they_win(known, end):
    recorder = Recorder(max_sweeps=20, checkpoints=Notes())
    _, state = finish(Climb(), [at(28), at(8)], recorder, before=2, known=at(known))
    notes = recorder.checkpoints.all
    assert state.W[0, 0] == end
    assert [note["W"][0, 0] for note in notes] == [28, 29, 30, 40][: 3 + (end == 40)]
    for note in notes[:3]:
        assert [note["rivals"][0][0, 0], note["sweeps_before"]] == [8, 2]
        assert note["known"][0, 0] == known
    sweeps = [(stage.sweeps, round(1 / stage.relative_error)) for stage in recorder.history]
    assert sweeps[:4] == [(3, 28), (4, 29), (5, 30), (8, 30)]  # three of the rival
    assert sweeps[4:] == [(9, 40)] * (end == 40)
    if end == 40:
        assert (notes[3]["rivals"], notes[3]["known"]) == ([], None)


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


def test_a_broken_off_alternation_goes_on_from_its_facts():
    begun = replace(settle(Climb(), at(11), 3), residual=0.25)
    noted = Height.from_facts(begun.facts())
    assert noted.rows is None
    again = settle(Climb(), noted.W, 1, since=noted)
    assert again.residual == 0.25
    np.testing.assert_array_equal(again.labels(DATA), begun.labels(DATA))


@pytest.mark.parametrize("same", [True, False])
def test_where_the_outliers_still_change_nothing_is_settled(same, monkeypatch):
    far = OutlierLimit(1e9, 0.0)
    monkeypatch.setattr(module, "next_limit", lambda *facts: (far, same))
    rule = ray_alternation(DATA, tol=1.0, limit=far, outliers=Outliers())
    state = rule.after(rule.begin(np.ones((1, 3))))
    assert state.settled == same
