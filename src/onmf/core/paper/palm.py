"""Proximal alternating linearised minimisation at a fixed penalty weight (Algorithms 2 and 3).

    min_{H >= 0, W}  c/2 ||X - HW||^2 + rho sum_i phi(h_i) + mu_h/2 ||H||^2 + mu_w/2 ||W||^2

X (n, m) has one sample per row; H (n, k) are memberships and W (k, m) centroids, the transposes
of the paper's H and W. c = 2 / ||X||^2, so that the first term is the relative squared error:
rho = 1e-8 belongs to that scale. W is kept between two bounds, by default W >= 0.

A pass moves H with W fixed, then W with the new H, and costs one sweep: W, the step lengths, the
objective and all measures need only the summaries H'H, H'X and a few sums.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onmf.core.paper.penalties import Penalty
from onmf.core.paper.steps import largest_eigenvalue
from onmf.core.result import relative_error
from onmf.core.rows import Block, Data

Array = NDArray[Any]


class Stats(NamedTuple):
    """All a pass must know about H; weights d_i count a sample d_i times."""

    gram: Array  # H'DH (k, k)
    cross: Array  # H'DX (k, m)
    moved: float  # ||H - H_before||^2


class State(NamedTuple):
    """Factors after a pass. `rows` is whatever the place for rows uses."""

    rows: Any
    W: Array
    stats: Stats
    passes: int
    residual: float  # eps_PALM: relative change of both factors in the last pass
    stopped: bool  # by the watcher


class Bounds(NamedTuple):
    """lower <= W <= upper."""

    lower: float = 0.0
    upper: float = np.inf

    def clip(self, W: Array) -> Array:
        return np.clip(W, self.lower, self.upper, out=W)


NON_NEGATIVE = Bounds()


@dataclass(frozen=True)
class PALM:
    """Settings of the inner loop; the defaults are those of the paper and its program."""

    mu_h: float = 1e-10
    mu_w: float = 0.0
    bounds: Bounds = NON_NEGATIVE
    margin: float = 0.51  # inverse step length of W over its curvature; more than 1/2 is needed
    tol: float = 3e-3
    max_passes: int = 1000

    def run(
        self,
        data: Data,
        rows: Any,
        W: Array,
        penalty: Penalty,
        rho: float,
        watch: Callable[[Any, int], bool] = lambda rows, passes: False,
    ) -> State:
        """Passes until the factors settle; `watch(rows, passes)` may stop them."""
        length = data.total(size, rows)
        for passes in range(1, self.max_passes + 1):
            before, W_before = length, W
            rows, stats = data.sweep(self.move(data, W, penalty, rho), rows)
            W, length = self.centroids(data, W, stats), float(np.trace(stats.gram))
            residual = relative(stats.moved, before) + change(W, W_before)
            if (stopped := watch(rows, passes)) or residual < self.tol:
                break
        return State(rows, W, stats, passes, residual, stopped)

    def move(self, data: Data, W: Array, penalty: Penalty, rho: float) -> Any:
        """The step on H, ready for any block."""
        c = 2 / data.sqnorm
        A = c * (W @ W.T).astype(np.float64) + self.mu_h * np.eye(len(W))
        step = penalty.step(A, rho, W.dtype)
        return MoveRows(np.ascontiguousarray((c * step.scale) * W.T), step)

    def centroids(self, data: Data, W: Array, stats: Stats) -> Array:
        """W <- clip( W - ((c H'H + mu_w I) W - c H'X) / s )."""
        c = 2 / data.sqnorm
        B = c * stats.gram.astype(np.float64) + self.mu_w * np.eye(len(W))
        s = self.margin * largest_eigenvalue(B) or 1.0
        W_new = (np.eye(len(W)) - B / s).astype(W.dtype) @ W
        W_new += (c / s) * stats.cross
        return self.bounds.clip(W_new)

    def objective(self, data: Data, state: State, penalty: Penalty, rho: float) -> float:
        """Penalised objective, from the summaries and H: does not read X."""
        stats, W = state.stats, state.W
        ridge = (self.mu_h * np.trace(stats.gram) + self.mu_w * sqnorm(W)) / 2
        error = relative_error(data.sqnorm, stats.gram, stats.cross, W)
        return error + rho * data.total(value_of(penalty), state.rows) + float(ridge)

    def stationarity(self, data: Data, rows: Any, W: Array, penalty: Penalty, rho: float) -> float:
        """Relative change that one gradient step of length 1/L on each factor would make.

        Zero exactly at a d-stationary point of the penalised problem. Reads X once.
        """
        c = 2 / data.sqnorm
        A = c * (W @ W.T).astype(np.float64) + self.mu_h * np.eye(len(W))
        probe = ProbeRows(c * W.T, A, largest_eigenvalue(A) or 1.0, penalty, rho)
        _, found = data.sweep(probe, rows)
        B = c * found.gram.astype(np.float64) + self.mu_w * np.eye(len(W))
        s = largest_eigenvalue(B) or 1.0
        W_step = self.bounds.clip(W - ((B @ W) - c * found.cross) / s)
        return relative(found.moved, float(np.trace(found.gram))) + change(W_step, W)


@dataclass(frozen=True)
class MoveRows:
    """One step on the memberships of a block, and what PALM must know of it."""

    cW: Array  # (m, k), times the step's scale
    step: Any

    def __call__(self, block: Block, before: Array) -> tuple[Array, Stats]:
        H = self.step(before, block.X @ self.cW)
        weighted = H * block.weight
        stats = Stats(
            weighted.T @ H,
            weighted.T @ block.X,
            distance(block.weight, H, before),
        )
        return H, stats


class Probe(NamedTuple):
    """Summaries of H as it is, and how far it would move."""

    gram: Array
    cross: Array
    moved: float


@dataclass(frozen=True)
class ProbeRows:
    """How far a gradient step would move a block's memberships; moves nothing."""

    cW: Array
    A: Array
    t: float
    penalty: Penalty
    rho: float

    def __call__(self, block: Block, H: Array) -> tuple[Array, Probe]:
        weighted = H * block.weight
        g = self.penalty.gradient(H, H @ self.A - block.X @ self.cW, self.rho)
        moved = distance(block.weight, np.maximum(H - g / self.t, 0), H)
        return H, Probe(weighted.T @ H, weighted.T @ block.X, moved)


def distance(weight: Array, H: Array, other: Array) -> float:
    """Weighted squared distance of two blocks of memberships."""
    moved = H - other
    return float(np.vdot(moved * weight, moved))


def value_of(penalty: Penalty) -> Callable[[Array, Array], float]:
    """Weighted sum of phi over a block, for `data.total`."""
    return lambda weight, H: float(penalty.rows(H) @ weight[:, 0])


def size(weight: Array, H: Array) -> float:
    """Weighted ||H||^2 of a block."""
    return float(np.vdot(H * weight, H))


def sqnorm(W: Array) -> float:
    return float(np.vdot(W, W))


def change(W: Array, before: Array) -> float:
    return relative(sqnorm(W - before), sqnorm(before))


def relative(change: float, size: float) -> float:
    return float(np.sqrt(change / max(size, np.finfo(float).tiny)))
