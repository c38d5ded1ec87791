"""The alternation to a fixed point, with which every fit by the default solver ends.

    W  ->  sweep  ->  W  ->  sweep  ->  ...  until no sample changes its cluster and no W moves

Each sweep from the first start is a stage. The other starts follow without a record, and the best
result is one more stage. With outliers the loss of a sample is capped by a limit, which is updated
before every sweep.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from onmf.losses.alternation import Alternation, AlternationState
from onmf.result import Factorization, Recorder, Stage
from onmf.rows.sweep import Array
from onmf.search.outliers import NO_LIMIT, OutlierLimit, next_limit

EQUAL_LOSSES = 1e-10  # relative difference below which two results are one, rounded otherwise


def fit(
    alternation: Alternation,
    k: int,
    seed: int,
    recorder: Recorder,
    given: Array | None = None,
) -> tuple[Factorization, AlternationState, Alternation]:
    """k clusters: starts, then the alternation. The factors, the state, the alternation."""
    starts = alternation.starts(k, np.random.default_rng(seed), recorder, given)
    alternation, known = starts.alternation, None
    if given is not None and len(given) == k:
        known = alternation.as_start(given)
    return *finish(alternation, starts.Ws, recorder, starts.sweeps, known), alternation


def settle(
    alternation: Alternation,
    W: Array,
    sweeps: int,
    watch: Callable[[AlternationState], Any] = lambda state: False,
    limit: OutlierLimit | None = None,
    *,
    fixed: bool = False,
) -> AlternationState:
    """Alternate from W for at most `sweeps` sweeps; `watch(state)` may stop earlier.

    `limit` is that of outliers to begin with, and to the end if it is `fixed`; if None, it is that
    for the samples around W, for which X is read once more.
    """
    outliers, weight = alternation.settings.outliers, alternation.data.weight
    if fixed or outliers is None:
        outliers = None
    elif limit is None:
        total, scores = alternation.gathered_pairs(alternation.begin(W, NO_LIMIT))
        limit = outliers.limit(total, scores, weight)
    state = alternation.begin(W, limit)
    for turn in range(sweeps):
        if watch(state):
            break
        if outliers is not None and limit is not None:
            total, scores = alternation.gathered_pairs(state)
            before, limit = limit, next_limit(outliers, total, scores, weight, limit, turn)
            same = (before.beyond(total, scores) == limit.beyond(total, scores)).all()
            state = state._replace(settled=state.settled and bool(same))
        if state.settled or turn == sweeps - 1:
            break
        new = alternation.after(state, limit)
        if new is None:
            return state._replace(settled=True)
        state = new
    return state


def finish(
    alternation: Alternation,
    Ws: Sequence[Array],
    recorder: Recorder,
    before: int = 0,
    known: Array | None = None,
    limit: OutlierLimit | None = None,
) -> tuple[Factorization, AlternationState]:
    """The best result of alternating from the starts Ws; `before` are sweeps not recorded.

    A search may lead away from an optimum: from centroids that were `known`, the alternation runs
    as well, and is told of if its result is better. Outliers of all starts are those of one limit.
    """
    data, (W, *others) = alternation.data, Ws

    def record(state: AlternationState, sweeps: int) -> bool:
        clusters = 0.0, 0.0, state.residual, len(state.empty)
        stage = Stage(0.0, sweeps, alternation.error(state), *clusters, *data.traffic)
        return recorder.record(stage, lambda: alternation.membership(state))

    def enter(state: AlternationState) -> bool:
        return record(state, (recorder.sweeps or before) + 1)

    most = recorder.max_sweeps - before
    state = settle(alternation, W, recorder.max_sweeps - (recorder.sweeps or before), enter, limit)
    if others and not recorder.stopped:
        sweeps = recorder.sweeps

        def count(state: AlternationState) -> None:
            nonlocal sweeps
            sweeps += 1

        for W in others:
            rival = settle(alternation, W, most, count, state.limit, fixed=True)
            state = max(state, rival, key=alternation.objective)
        record(state, sweeps)
    if known is not None and not recorder.stopped:
        found = with_known(alternation, state, known, most)
        if found is not state:
            state = found
            record(state, recorder.sweeps + 1)
    stop = "callback" if recorder.stopped else "max_iter"
    stop = "converged" if state.settled else stop
    return recorder.result(alternation.membership(state), state.W, 0.0, stop), state


def with_known(
    alternation: Alternation, state: AlternationState, known: Array, sweeps: int
) -> AlternationState:
    """The state, or what the alternation makes of known centroids, if that is better.

    With outliers that is: at the limit of the state, or at its own limit with no more outliers.
    """
    rival = settle(alternation, known, sweeps, limit=state.limit, fixed=True)
    gain = alternation.objective(rival) - alternation.objective(state)
    if gain > EQUAL_LOSSES * alternation.loss(state) and len(rival.empty) <= len(state.empty):
        state = rival
    if state.limit is None:
        return state
    rival, weight = settle(alternation, known, sweeps), alternation.data.weight
    outside = [weight @ (one.labels(alternation.data) < 0) for one in (rival, state)]
    less = alternation.error(state) - alternation.error(rival)
    good = less > EQUAL_LOSSES * alternation.error(state) and outside[0] <= outside[1]
    return rival if good and len(rival.empty) <= len(state.empty) else state
