"""The paper's solver: PALM along the growing penalty, once per start."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from onmf.estimators.fitting import Solution, Solver
from onmf.estimators.parameters import BoundsOf
from onmf.palm.palm import PalmSettings
from onmf.palm.path import Path, tighten
from onmf.palm.penalties import Penalty
from onmf.palm.start import from_centroids
from onmf.result import Factorization, Watch
from onmf.rows import Placement
from onmf.rows.assign import Assignment, Code, Rays, labels_of
from onmf.rows.scale import Scale, check_scale
from onmf.rows.sweep import Array, Data


@dataclass(frozen=True)
class PaperSolver(Solver):
    """The paper's method, once per start; the lowest error wins."""

    penalty: Penalty
    palm: PalmSettings
    path: Path
    bounds: BoundsOf

    # It depends on the scale of X as the paper's does, and must be given X as it is.
    scale: ClassVar[Scale] = staticmethod(check_scale)

    @property
    def most_sweeps(self) -> int | None:
        starts = 1 if self.begin.n_init == "auto" else int(self.begin.n_init)
        return None if self.path.max_sweeps is None else starts * self.path.max_sweeps

    def solve(self, rows: Placement, watch: Watch) -> Solution:
        data = rows.data
        palm = replace(self.palm, bounds=self.bounds(data.extremes))
        best: Factorization | None = None
        for restart, seed in enumerate(self.begin.seeds()):
            H, W = self.begin.factors(data, rows.X, seed)
            H = from_centroids(data, W) if H is None else H
            H = data.map_blocks(_without_empty, data.row_sqnorms, H)
            new = tighten(palm, data, H, W, self.penalty, self.path, watch, restart)
            best = new if best is None or new.relative_error < best.relative_error else best
            if new.stop == "callback":
                break
        assert best is not None  # there is at least one start
        stationarity = palm.stationarity(data, data.scatter(best.H), best.W, self.penalty, best.rho)
        return with_labels(data, best, Rays.of(best.W), stationarity)


def with_labels(
    data: Data, result: Factorization, assignment: Assignment | Any, stationarity: float
) -> Solution:
    """With the labels of the factors, and those that the assignment gives; reads X once."""
    near, _ = data.sweep(assignment)
    labels = data.gather(data.map_blocks(_largest, data.scatter(result.H), near))
    nearest = data.gather(data.map_blocks(labels_of, near))
    return Solution(result, labels, nearest, stationarity, data.sqnorm)


def _without_empty(sqnorms: Array, H: Array) -> Array:
    """A sample of zeros has nothing to explain, hence no cluster."""
    return np.where((sqnorms == 0)[:, None], H.dtype.type(0), H)


def _largest(H: Array, near: Code) -> Array:
    """The paper's label, where the membership is largest; the nearest ray's if there is none."""
    return np.where(H.any(axis=1), H.argmax(axis=1), near.labels)
