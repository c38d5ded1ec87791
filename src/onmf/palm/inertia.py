"""PALM with momentum: each factor is extrapolated before it takes its step.

    G = [H + beta (H - H_before)]_+,   H_new = the step of PALM from G at W
    V = clip( W + beta (W - W_before) ),   W_new = the step of PALM from V at H_new

(Pock and Sabach 2016). A pass must lower the objective F by a share of what its steps promise,

    F(H_new, W_new) <= F(H, W) - SUFFICIENT (L_H ||H_new - G||^2 + L_W ||W_new - V||^2),

or it is undone, and the next one goes without inertia and so slowly that it descends for certain
(Theorems 4 and 5). So F never rises, and as it is bounded the steps from G and V die out: the rule
that ends a stage, which measures them, is always met. F comes from the sums of the sweep.

While the factors still change by half in a pass there is no inertia. The first passes settle how
long H is and how long W, which the fit does not care about but the penalty does: with inertia H
ends up longer, the penalty weighs more from the beginning, and the clusters found are worse.
"""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from onmf.palm.palm import (
    Position,
    Problem,
    root_ratio,
    sqdistance_of_rows,
    sqnorm_of_rows,
)
from onmf.palm.penalties import Penalty
from onmf.palm.steps import SUFFICIENT, largest_eigenvalue
from onmf.result import error_from_sums
from onmf.rows.sweep import Array, Block, Data

SAFE_MARGIN = 1.01  # margin of steps that descend for every penalty (Theorem 5)
RISE_ROUNDING = 8  # units in the last place of F that are no rise


class Pair(NamedTuple):
    """Memberships of a block, and those before the last pass."""

    H: Array
    before: Array


class GlideStats(NamedTuple):
    """The stats of a pass, and the penalty of the new memberships."""

    gram: Array  # H'DH (k, k)
    cross: Array  # H'DX (k, m)
    moved: float  # squared length of the step from G
    phi: float  # sum_i d_i phi(h_i)


class Past(NamedTuple):
    """What the next pass must know besides H and W."""

    rows: Any  # H before the last pass; None within a stage, where it is in the pairs
    W: Array  # W before the last pass
    sums: GlideStats | None  # of H; None before the first pass
    residual: float  # of the last pass that was not undone
    undone: bool = False  # the last pass


class Momentum(NamedTuple):
    """How a pass goes."""

    beta: float
    margin: float  # at least this much times the curvature is the inverse step length


@dataclass(frozen=True)
class Inertia:
    """A `Pace` with momentum; an undone pass is a restart."""

    beta: float = 0.85
    margin: float = 0.75  # steps as long as the paper's (0.51) would swing with inertia
    calm: float = 0.5  # residual from which on there is inertia
    strict: float = 2.0  # times the paper's measure: without it weak clusters are lost at -5 dB

    def begin(self, problem: Problem, rows: Any, W: Array, past: Past | None) -> Position:
        data = problem.data
        past = past or Past(rows, W, None, np.inf)
        pairs = data.map_blocks(Pair, rows, past.rows)
        length = data.reduce_blocks(sqnorm_of_rows, rows)
        return Position(pairs, W, length, past.sums, past=past._replace(rows=None))

    def advance(self, problem: Problem, point: Position) -> Position:
        palm, data, penalty, rho = problem
        past, momentum = point.past, self._momentum(point.past)
        move = palm.move(data, point.W, with_margin(penalty, momentum.margin), rho)
        rows, sums = data.sweep(Glide(move.cW, move.step, momentum.beta, penalty), point.rows)
        V = palm.bounds.clip(point.W + momentum.beta * (point.W - past.W))
        W = with_margin(palm, momentum.margin).centroids(data, V, sums)
        drift = float(np.vdot(W - V, W - V))
        if not past.undone and not descends(problem, point, W, sums, drift):
            return point._replace(residual=np.inf, past=past._replace(undone=True))
        # A shorter step is no sign of rest: what the paper's step length would have made of it.
        residual = stretch(penalty, momentum.margin) * root_ratio(sums.moved, point.length)
        size = float(np.vdot(point.W, point.W))
        residual += stretch(palm, momentum.margin) * root_ratio(drift, size)
        residual *= self.strict if momentum.beta else 1.0
        now = Past(None, point.W, sums, residual)
        return Position(rows, W, float(np.trace(sums.gram)), sums, residual, now)

    def _momentum(self, past: Past) -> Momentum:
        if past.undone:
            return Momentum(0.0, SAFE_MARGIN)
        return Momentum(self.beta, self.margin) if past.residual < self.calm else Momentum(0.0, 0.0)

    def memberships(self, data: Data, point: Position) -> Any:
        return data.map_blocks(newer, point.rows)

    def past(self, data: Data, point: Position) -> Past:
        past: Past = point.past
        return past._replace(rows=data.map_blocks(older, point.rows))


@dataclass(frozen=True)
class Glide:
    """One step on the memberships of a block, from where inertia carries them."""

    cW: Array  # (m, k), times the step's scale
    step: Any
    beta: float
    penalty: Penalty

    def __call__(self, block: Block, pair: Pair) -> tuple[Pair, GlideStats]:
        G = np.maximum(pair.H + self.beta * (pair.H - pair.before), 0)
        H = self.step(G, block.X @ self.cW)
        weighted = H * block.weight
        moved = sqdistance_of_rows(block.weight, H, G)
        phi = float(self.penalty.rows(H) @ block.weight[:, 0])
        return Pair(H, pair.H), GlideStats(weighted.T @ H, weighted.T @ block.X, moved, phi)


def newer(pair: Pair) -> Array:
    return pair.H


def older(pair: Pair) -> Array:
    return pair.before


def descends(problem: Problem, point: Position, W: Array, sums: GlideStats, drift: float) -> bool:
    """Whether a pass lowers the objective enough; `drift` is ||W - V||^2."""
    before = value_from_sums(problem, point.W, point.stats)
    c = 2 / problem.data.sqnorm
    promise = largest_eigenvalue(c * (point.W @ point.W.T)) * sums.moved
    promise += largest_eigenvalue(c * sums.gram) * drift
    slack = RISE_ROUNDING * np.finfo(W.dtype).eps * before
    return value_from_sums(problem, W, sums) <= before - SUFFICIENT * promise + slack


def value_from_sums(problem: Problem, W: Array, sums: GlideStats | None) -> float:
    """F = ||X - HW||^2 / ||X||^2 + rho sum_i phi(h_i) + mu_h/2 ||H||^2 + mu_w/2 ||W||^2."""
    if sums is None:  # nothing is known before the first pass
        return np.inf
    palm, data, _, rho = problem
    fit = error_from_sums(data.sqnorm, sums.gram, sums.cross, W)
    ridge = palm.mu_h * float(np.trace(sums.gram)) + palm.mu_w * float(np.vdot(W, W))
    return fit + rho * sums.phi + ridge / 2


def with_margin(steps: Any, margin: float) -> Any:
    """PALM or a penalty with steps at least so short; one that finds its own is left alone."""
    own = getattr(steps, "margin", margin)
    return steps if own >= margin else replace(steps, margin=margin)


def stretch(steps: Any, margin: float) -> float:
    """How much longer its own steps are."""
    own = getattr(steps, "margin", margin)
    return max(margin / own, 1.0) if own else 1.0
