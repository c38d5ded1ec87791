"""Proximal alternating linearised minimisation at a fixed penalty weight (Algorithms 2 and 3).

    min_{H >= 0, W}  c/2 ||X - HW||^2 + rho sum_i phi(h_i) + mu_h/2 ||H||^2 + mu_w/2 ||W||^2

X (n, m) has one sample per row; H (n, k) are memberships and W (k, m) centroids, the transposes
of the paper's H and W. c = 2 / ||X||^2, so that the first term is the relative squared error:
rho = 1e-8 belongs to that scale. W is kept between two bounds, by default W >= 0.

A pass moves H with W fixed, then W with the new H, and costs one sweep: W, the step lengths, the
objective and all measures need only the summaries H'H, H'X and a few sums. A `Pace` decides how
passes follow each other: `Plain` here, with momentum in `inertia`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np

from onmf.palm.penalties import Penalty
from onmf.palm.steps import largest_eigenvalue
from onmf.rows.sweep import Array, Block, Data


class Stats(NamedTuple):
    """All a pass must know about H; weights d_i count a sample d_i times."""

    gram: Array  # H'DH (k, k)
    cross: Array  # H'DX (k, m)
    moved: float  # squared length of the step on H


class Factors(NamedTuple):
    """Factors after a pass. `rows` is whatever the place for rows uses."""

    rows: Any
    W: Array
    stats: Stats
    passes: int
    residual: float  # eps_PALM: relative change of both factors in the last pass
    stopped: bool  # by the watcher
    past: Any  # what the pace remembers from one stage to the next


class Bounds(NamedTuple):
    """lower <= W <= upper."""

    lower: float = 0.0
    upper: float = np.inf

    def clip(self, W: Array) -> Array:
        return np.clip(W, self.lower, self.upper, out=W)


NON_NEGATIVE = Bounds()


class Problem(NamedTuple):
    """What a stage minimises, and how."""

    palm: "PalmSettings"
    data: Data
    penalty: Penalty
    rho: float


class Position(NamedTuple):
    """Where a stage is. `rows` is whatever the pace keeps for each sample."""

    rows: Any
    W: Array
    length: float  # ||H||^2
    stats: Any = None  # of H: `Stats`, and perhaps more
    residual: float = np.inf  # eps_PALM of the last pass
    past: Any = None


class Pace(Protocol):
    """How one pass follows another; `past` is what it remembers from one stage to the next."""

    def begin(self, problem: Problem, rows: Any, W: Array, past: Any) -> Position:
        """The start of a stage."""

    def advance(self, problem: Problem, point: Position) -> Position:
        """One pass further: one sweep."""

    def memberships(self, data: Data, point: Position) -> Any:
        """H, cut like the data."""

    def past(self, data: Data, point: Position) -> Any:
        """What the next stage should know."""


@dataclass(frozen=True)
class Plain:
    """The paper's: every pass begins where the last one ended, and nothing is remembered."""

    def begin(self, problem: Problem, rows: Any, W: Array, past: Any) -> Position:
        return Position(rows, W, problem.data.reduce_blocks(sqnorm_of_rows, rows))

    def advance(self, problem: Problem, point: Position) -> Position:
        palm, data, penalty, rho = problem
        rows, stats = data.sweep(palm.move(data, point.W, penalty, rho), point.rows)
        W = palm.centroids(data, point.W, stats)
        residual = root_ratio(stats.moved, point.length) + relative_change(W, point.W)
        return Position(rows, W, float(np.trace(stats.gram)), stats, residual)

    def memberships(self, data: Data, point: Position) -> Any:
        return point.rows

    def past(self, data: Data, point: Position) -> None:
        return None


@dataclass(frozen=True)
class PalmSettings:
    """Settings of the inner loop; the defaults are those of the paper and its program."""

    mu_h: float = 1e-10
    mu_w: float = 0.0
    bounds: Bounds = NON_NEGATIVE
    margin: float = 0.51  # inverse step length of W over its curvature; more than 1/2 is needed
    tol: float = 3e-3
    max_passes: int = 1000
    pace: Pace = Plain()

    def run(
        self,
        data: Data,
        rows: Any,
        W: Array,
        penalty: Penalty,
        rho: float,
        watch: Callable[[Callable[[], Any], int], bool] = lambda rows, passes: False,
        past: Any = None,
    ) -> Factors:
        """Passes until the factors settle; `watch(rows, passes)` may stop them, rows() being H."""
        problem, pace = Problem(self, data, penalty, rho), self.pace
        point = pace.begin(problem, rows, W, past)
        for passes in range(1, self.max_passes + 1):
            point = pace.advance(problem, point)
            stopped = watch(partial(pace.memberships, data, point), passes)
            if stopped or point.residual < self.tol:
                break
        end, past = pace.memberships(data, point), pace.past(data, point)
        return Factors(end, point.W, point.stats, passes, point.residual, stopped, past)

    def move(self, data: Data, W: Array, penalty: Penalty, rho: float) -> Any:
        """The step on H, ready for any block."""
        c, A = self._row_curvature(data, W)
        step = penalty.step(A, rho, W.dtype)
        return MoveRows(np.ascontiguousarray((c * step.scale) * W.T), step)

    def _row_curvature(self, data: Data, W: Array) -> tuple[float, Array]:
        """c and A = c WW' + mu_h I."""
        c, W = 2 / data.sqnorm, W.astype(np.float64)  # it may grow, while H shrinks
        return c, c * (W @ W.T) + self.mu_h * np.eye(len(W))

    def centroids(self, data: Data, W: Array, stats: Stats) -> Array:
        """W <- clip( W - ((c H'H + mu_w I) W - c H'X) / s )."""
        c = 2 / data.sqnorm
        B = c * stats.gram.astype(np.float64) + self.mu_w * np.eye(len(W))
        s = self.margin * largest_eigenvalue(B) or 1.0
        W_new = (np.eye(len(W)) - B / s).astype(W.dtype) @ W
        W_new += (c / s) * stats.cross
        return self.bounds.clip(W_new)

    def stationarity(self, data: Data, rows: Any, W: Array, penalty: Penalty, rho: float) -> float:
        """Relative change that one gradient step of length 1/L on each factor would make.

        Zero exactly at a d-stationary point of the penalised problem. Reads X once.
        """
        c, A = self._row_curvature(data, W)
        probe = ProbeRows(c * W.T, A, largest_eigenvalue(A) or 1.0, penalty, rho)
        _, stats = data.sweep(probe, rows)
        B = c * stats.gram.astype(np.float64) + self.mu_w * np.eye(len(W))
        s = largest_eigenvalue(B) or 1.0
        W_step = self.bounds.clip(W - ((B @ W) - c * stats.cross) / s)
        return root_ratio(stats.moved, float(np.trace(stats.gram))) + relative_change(W_step, W)


@dataclass(frozen=True)
class MoveRows:
    """One step on the memberships of a block, and what PALM must know of it."""

    cW: Array  # (m, k), times the step's scale
    step: Any

    def __call__(self, block: Block, before: Array) -> tuple[Array, Stats]:
        H = self.step(before, block.X @ self.cW)
        return H, _stats(block, H, sqdistance_of_rows(block.weight, H, before))


@dataclass(frozen=True)
class ProbeRows:
    """How far a gradient step would move a block's memberships; moves nothing."""

    cW: Array
    A: Array
    t: float
    penalty: Penalty
    rho: float

    def __call__(self, block: Block, H: Array) -> tuple[Array, Stats]:
        g = self.penalty.gradient(H, H @ self.A - block.X @ self.cW, self.rho)
        return H, _stats(
            block, H, sqdistance_of_rows(block.weight, np.maximum(H - g / self.t, 0), H)
        )


def _stats(block: Block, H: Array, moved: float) -> Stats:
    weighted = H * block.weight
    return Stats(weighted.T @ H, weighted.T @ block.X, moved)


def sqdistance_of_rows(weight: Array, H: Array, other: Array) -> float:
    """Weighted squared distance of two blocks of memberships."""
    moved = H - other
    return float(np.vdot(moved * weight, moved))


def sqnorm_of_rows(weight: Array, H: Array) -> float:
    """Weighted ||H||^2 of a block."""
    return float(np.vdot(H * weight, H))


def relative_change(W: Array, before: Array) -> float:
    """||W - before|| / ||before||."""
    return root_ratio(float(np.vdot(W - before, W - before)), float(np.vdot(before, before)))


def root_ratio(moved: float, size: float) -> float:
    """sqrt(moved / size), for squared lengths."""
    return float(np.sqrt(moved / max(size, np.finfo(float).tiny)))
