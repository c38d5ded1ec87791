"""The growing penalty (Algorithm 1): tighten until no sample belongs to two clusters.

    rho_r = growth rho_{r-1};   (H, W)_r = PALM at rho_r started from (H, W)_{r-1}

The paper raises rho "whenever eps_orth >= 1e-10". Its printed iteration counts arise only when rho
grows after every stage (1601 at -3 dB; 1624 with the condition), so that is what happens here. They
also show that a start which loses a cluster ran on to the limit of 500 stages, for both penalties.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from onmf.palm.palm import (
    PalmSettings,
    relative_change,
    root_ratio,
    sqdistance_of_rows,
    sqnorm_of_rows,
)
from onmf.palm.penalties import Penalty
from onmf.result import Factorization, Recorder, Watch, stage_from_sums, unwatched
from onmf.rows.sweep import Array, Data


@dataclass(frozen=True)
class Path:
    """Settings of the outer loop; the defaults are the paper's for SNCP."""

    start: float = 1e-8
    growth: float = 1.1
    tol: float = 1e-5
    max_stages: int = 500
    max_sweeps: int | None = None


def tighten(
    palm: PalmSettings,
    data: Data,
    rows: Any,
    W: Array,
    penalty: Penalty,
    path: Path,
    watch: Watch = unwatched,
    restart: int = 0,
) -> Factorization:
    """Warm-started PALM along the path; `watch(event)` sees every sweep and may stop.

    `rows` are the memberships H, cut like the data.
    """
    rho, stop, past = path.start, "max_stages", None
    most = path.max_stages * palm.max_passes if path.max_sweeps is None else path.max_sweeps
    recorder = Recorder(watch, most, restart)

    def whole(rows: Any) -> Any:
        return data.dense(len(W), lambda H: H, rows)

    def phi(weight: Array, H: Array) -> float:
        return float(penalty.rows(H) @ weight[:, 0])

    def look(rows: Callable[[], Any], passes: int) -> bool:
        return recorder.tell(recorder.sweeps + passes, lambda: whole(rows()))

    while len(recorder.history) < path.max_stages:
        done = recorder.sweeps
        limited = replace(palm, max_passes=min(palm.max_passes, most - done))
        end = limited.run(data, rows, W, penalty, rho, look, past)
        moved = data.reduce_blocks(sqdistance_of_rows, end.rows, rows)
        residual = root_ratio(moved, data.reduce_blocks(sqnorm_of_rows, rows)) + relative_change(
            end.W, W
        )
        rows, W, past = end.rows, end.W, end.past
        stage = stage_from_sums(
            data, W, end.stats.gram, end.stats.cross,
            rho=rho, sweeps=done + end.passes, residual=residual,
            penalty=data.reduce_blocks(phi, rows),
        )  # fmt: skip
        if recorder.record(stage, partial(whole, rows)):
            stop = "callback"
        elif max(stage.orthogonality, stage.residual) < path.tol:
            stop = "converged"
        elif stage.sweeps >= most:
            stop = "max_iter"
        else:
            rho *= path.growth
            continue
        break
    return recorder.result(whole(rows), W, rho, stop)
