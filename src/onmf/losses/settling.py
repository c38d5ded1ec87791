"""The alternation to a fixed point, with which every fit by the default solver ends.

    W  ->  sweep  ->  W  ->  sweep  ->  ...  until no sample changes its cluster and no W moves

Each sweep from the first start is a stage. The other starts follow without a record, and the best
result is one more stage.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from onmf.losses.alternation import Alternation, Given
from onmf.result import Factorization, Recorder, Stage
from onmf.rows.sweep import Array

EQUAL_LOSSES = 1e-10  # relative difference below which two results are one, rounded otherwise


def fit(
    alternation: Alternation,
    k: int,
    seed: int,
    recorder: Recorder,
    given: Given | None = None,
) -> tuple[Factorization, Any, Alternation]:
    """k clusters: starts, then the alternation. The factors, the state, the alternation."""
    starts = alternation.starts(k, np.random.default_rng(seed), recorder, given)
    recorder.history += starts.path
    alternation, known = starts.alternation, None
    if given is not None and len(given.W) == k:
        known = alternation.as_start(given.W)
    return *finish(alternation, starts.Ws, recorder, starts.sweeps, known), alternation


def settle(
    alternation: Alternation,
    W: Array,
    sweeps: int,
    watch: Callable[[Any], bool] = lambda state: False,
) -> Any:
    """Alternate from W for at most `sweeps` sweeps; `watch(state)` may stop earlier."""
    state = alternation.begin(W)
    for _ in range(sweeps - 1):
        if watch(state) or state.settled:
            return state
        new = alternation.after(state)
        if new is None:
            return replace(state, settled=True)
        state = new
    watch(state)
    return state


def finish(
    alternation: Alternation,
    Ws: Sequence[Array],
    recorder: Recorder,
    before: int = 0,
    known: Array | None = None,
) -> tuple[Factorization, Any]:
    """The best result of alternating from the starts Ws; `before` are sweeps not recorded.

    A search may lead away from an optimum: from centroids that were `known`, the alternation runs
    as well, and is told of if its result is better.
    """
    data, (W, *others) = alternation.data, Ws

    def record(state: Any, sweeps: int) -> bool:
        clusters = 0.0, 0.0, state.residual, len(state.empty)
        stage = Stage(1.0, sweeps, alternation.error(state), *clusters, *data.traffic)
        return recorder.record(stage, lambda: alternation.membership(state))

    def enter(state: Any) -> bool:
        return record(state, (recorder.sweeps or before) + 1)

    begun = max((stage.sweeps for stage in recorder.history if stage.rho < 1), default=before)
    left, most = recorder.max_sweeps - (recorder.sweeps or before), recorder.max_sweeps - begun
    state = settle(alternation, W, left, enter)
    if others and not recorder.stopped:
        sweeps = recorder.sweeps

        def count(state: Any) -> bool:
            nonlocal sweeps
            sweeps += 1
            return False

        for W in others:
            rival = settle(alternation.for_rival_of(state), W, most, count)
            state = max(state, rival, key=alternation.objective)
        record(state, sweeps)
    if known is not None and not recorder.stopped:
        better = improved(alternation, state, known, most)
        if better is not state:
            state = better
            record(state, recorder.sweeps + 1)
    stop = "callback" if recorder.stopped else "max_iter"
    stop = "converged" if state.settled else stop
    return recorder.result(alternation.membership(state), state.W, 1.0, stop), state


def improved(alternation: Alternation, state: Any, known: Array, sweeps: int) -> Any:
    """The state, or what the alternation makes of centroids that were known, if it is better.

    With outliers that is: at the limit of the state, or at its own limit with no more outliers.
    """
    rival = settle(alternation.for_rival_of(state), known, sweeps)
    gain = alternation.objective(rival) - alternation.objective(state)
    if gain > EQUAL_LOSSES * alternation.loss(state) and len(rival.empty) <= len(state.empty):
        state = rival
    if state.limit is None:
        return state
    rival = settle(alternation.with_first_limit(known), known, sweeps)
    outside = [alternation.outside(own) for own in (rival, state)]
    less = alternation.error(state) - alternation.error(rival)
    good = less > EQUAL_LOSSES * alternation.error(state) and outside[0] <= outside[1]
    return rival if good and len(rival.empty) <= len(state.empty) else state
