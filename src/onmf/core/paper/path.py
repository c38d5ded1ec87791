"""The growing penalty (Algorithm 1): tighten until no sample belongs to two clusters.

    rho_r = growth rho_{r-1};   (H, W)_r = PALM at rho_r started from (H, W)_{r-1}

The paper raises rho "whenever eps_orth >= 1e-10". Its printed iteration counts arise only when rho
grows after every stage (1601 at -3 dB; 1624 with the condition), so that is what happens here. They
also show that a start which loses a cluster ran on to the limit of 500 stages, for both penalties.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onmf.core.paper.palm import PALM, State, change, distance, relative, size, value_of
from onmf.core.paper.penalties import Penalty
from onmf.core.result import (
    FORGETFUL,
    Event,
    Factorization,
    Journal,
    Stage,
    Watch,
    orthogonality,
    relative_error,
)
from onmf.core.rows import Data

Array = NDArray[Any]


@dataclass(frozen=True)
class Path:
    """Settings of the outer loop; the defaults are the paper's for SNCP."""

    start: float = 1e-8
    growth: float = 1.1
    tol: float = 1e-5
    max_stages: int = 500
    max_sweeps: int | None = None


def tighten(
    palm: PALM,
    data: Data,
    rows: Any,
    W: Array,
    penalty: Penalty,
    path: Path,
    watch: Watch = lambda event: False,
    restart: int = 0,
    journal: Journal = FORGETFUL,
) -> Factorization:
    """Warm-started PALM along the path; `watch(event)` sees every sweep and may stop.

    `rows` are the memberships H, cut like the data. What the journal knows of this restart comes
    before the start given.
    """
    rho = path.start
    history: list[Stage] = []
    if (found := journal.recall("path")) and found["restart"] == restart:
        rows, W, rho = data.scatter(found["H"]), found["W"], found["rho"]
        history = [Stage(*stage) for stage in found["history"]]
    sweeps = history[-1].sweeps if history else 0
    most = path.max_stages * palm.max_passes if path.max_sweeps is None else path.max_sweeps
    stop, k = "max_stages", len(W)

    def tell(rows: Any, passes: int, done: int, stage: Stage | None = None) -> bool:
        return watch(Event(restart, done + passes, most, stage, partial(data.array, k, same, rows)))

    def position() -> dict[str, Any]:
        H = data.gather(rows)
        return {"restart": restart, "H": H, "W": W, "rho": rho, "history": history}

    for _ in range(len(history), path.max_stages):
        limited = replace(palm, max_passes=min(palm.max_passes, most - sweeps))
        look = partial(tell, done=sweeps)
        state = limited.run(data, rows, W, penalty, rho, look)
        sweeps += state.passes
        history.append(stage := summary(data, state, rows, W, penalty, rho, sweeps))
        rows, W = state.rows, state.W
        if tell(rows, 0, sweeps, stage) or state.stopped:
            stop = "callback"
        elif max(stage.orthogonality, stage.residual) < path.tol:
            stop = "converged"
        elif sweeps >= most:
            stop = "max_iter"
        else:
            rho *= path.growth
            journal.note("path", position)
            continue
        break
    H = data.array(k, same, rows)
    return Factorization(H, W, rho, history, sweeps, sweeps, history[-1].relative_error, stop)


def same(H: Array) -> Array:
    return H


def summary(
    data: Data,
    state: State,
    rows_before: Any,
    W_before: Array,
    penalty: Penalty,
    rho: float,
    sweeps: int,
) -> Stage:
    """The measures of the paper at the end of a stage."""
    stats, W = state.stats, state.W
    moved = relative(data.total(distance, state.rows, rows_before), data.total(size, rows_before))
    return Stage(
        rho=rho,
        sweeps=sweeps,
        relative_error=relative_error(data.sqnorm, stats.gram, stats.cross, W),
        penalty=data.total(value_of(penalty), state.rows),
        orthogonality=orthogonality(stats.gram),
        residual=moved + change(W, W_before),
        empty_clusters=int(np.sum(stats.gram.diagonal() == 0)),
        sent=data.traffic.sent,
        received=data.traffic.received,
    )
