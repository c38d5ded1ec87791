"""Progress of a fit: sentences to the log, events to callbacks, tasks to scikit-learn.

For scikit-learn's callbacks, which it has since 1.9, a fit is a task, its sweeps are the subtasks:

    fit  ->  sweep 0, sweep 1, ...      at most max_iter for each start, if that is known

One that returns True from `on_fit_task_end` of a sweep ends the fit with what it has. Under an
older scikit-learn there is no `set_callbacks`, and nothing else changes.
"""

import logging
import sys
from collections.abc import Callable
from math import isfinite
from types import FrameType
from typing import Any, Protocol

from onmf.estimators.bases import CallbackSupportMixin
from onmf.estimators.fitting import Solver
from onmf.result import Event, Stage, Watch, unwatched

INSIDE = ("onmf", "sklearn")  # packages whose lines a user did not write
FIT_LOG = logging.getLogger("onmf")


class Context(Protocol):
    """What is used of `sklearn.callback.CallbackContext`."""

    def subcontext(self, task_name: str) -> "Context": ...
    def call_on_fit_task_begin(self, **facts: Any) -> Any: ...
    def call_on_fit_task_end(self, **facts: Any) -> bool: ...


class Tasks:
    """The tasks of a fit, reported to the callbacks of the estimator."""

    def __init__(self, root: Context, most: int | None, facts: dict[str, Any]) -> None:
        self.root, self.most, self.facts = root, most, facts
        self.last, self.sweeps = (0, 0), 0

    @classmethod
    def begin(cls, estimator: CallbackSupportMixin, solver: Solver, **facts: Any) -> "Tasks | None":
        """The fit begins, by this solver; None if nobody wants to know."""
        if not (hasattr(estimator, "_skl_callbacks") or hasattr(estimator, "_parent_callback_ctx")):
            return None
        most = solver.most_sweeps
        root: Context = estimator._init_callback_context(max_subtasks=most)
        tasks = cls(root, most, {"estimator": estimator} | facts)
        root.call_on_fit_task_begin(**tasks.facts)
        return tasks

    def tell(self, event: Event) -> bool:
        """Of each sweep once, as a task that has begun and ended; True to stop."""
        again, self.last = (event.start, event.sweep) == self.last, (event.start, event.sweep)
        if again or self.sweeps == self.most:
            return False
        self.sweeps += 1
        task = self.root.subcontext(task_name="sweep")
        task.call_on_fit_task_begin(**self.facts)
        return bool(task.call_on_fit_task_end(**self.facts))

    def end(self) -> None:
        """The fit is done, and the estimator ready to be asked."""
        self.root.call_on_fit_task_end(**self.facts, reconstruction_attributes={})


def watcher(verbose: int, callback: Callable[[Event], bool] | None, tasks: Tasks | None) -> Watch:
    """The one channel through which progress leaves."""
    if not verbose and tasks is None:
        return callback or unwatched
    if verbose and not FIT_LOG.hasHandlers():  # nobody has said where the log goes
        FIT_LOG.addHandler(logging.StreamHandler())
        FIT_LOG.setLevel(logging.INFO)

    def watch(event: Event) -> bool:
        if verbose and event.stage is not None:
            FIT_LOG.info(stage_sentence(event.start, event.stage))
        stop = callback is not None and bool(callback(event))
        return (tasks is not None and tasks.tell(event)) or stop

    return watch


def caller_level() -> int:
    """The `stacklevel` of a warning that points at the line outside the package and scikit-learn.

    Between them are as many frames as the method has callers of its own, and decorators.
    """
    frame: FrameType | None = sys._getframe(1)
    level = 1
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in INSIDE:
        frame, level = frame.f_back, level + 1
    return level


def stage_sentence(start: int, stage: Stage) -> str:
    """A stage as people say it."""
    empty, weight = stage.empty_clusters, f", penalty weight {stage.rho:.2g}" if stage.rho else ""
    rest = f", {empty} cluster{'s are' if empty > 1 else ' is'} empty" if empty else ""
    if isfinite(stage.residual):  # the first has no step behind it
        rest = f", the last step moved by {stage.residual:.1e}{rest}"
    return (
        f"Start {start + 1}{weight}, X read {stage.sweeps} times: "
        f"{stage.relative_error:.2%} of X is unexplained{rest}."
    )
