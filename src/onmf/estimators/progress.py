"""What a fit tells while it runs: sentences in the log, events to a callback."""

import logging
from collections.abc import Callable
from math import isfinite

from onmf.core.result import Event, Stage, Watch, unwatched

LOG = logging.getLogger("onmf")


def watcher(verbose: int, callback: Callable[[Event], bool] | None) -> Watch:
    """The one channel through which progress leaves."""
    if not verbose:
        return callback or unwatched
    if not LOG.hasHandlers():  # nobody has said where the log goes
        LOG.addHandler(logging.StreamHandler())
        LOG.setLevel(logging.INFO)

    def watch(event: Event) -> bool:
        if event.stage is not None:
            LOG.info(stage_sentence(event.start, event.stage))
        return bool(callback(event)) if callback is not None else False

    return watch


def stage_sentence(start: int, stage: Stage) -> str:
    """A stage as people say it."""
    empty = stage.empty_clusters
    rest = f", {empty} cluster{'s are' if empty > 1 else ' is'} empty" if empty else ""
    if isfinite(stage.residual):  # the first has no step behind it
        rest = f", the last step moved by {stage.residual:.1e}{rest}"
    return (
        f"Start {start + 1}, penalty weight {stage.rho:.2g}, X read {stage.sweeps} times: "
        f"{stage.relative_error:.2%} of X is unexplained{rest}."
    )
