"""What alternates on X: one sweep, and the state after it.

    W  ->  the code of every row, by one sweep  ->  the best W for these codes  ->  ...

What a sweep does and which W is best is an `Alternation`: of squares (`ray_alternation`), of
squares with missing values (`masked_alternation`), of the Kullback-Leibler divergence
(`kl_alternation`). `settling` goes on to a fixed point. Where there may be outliers, a sweep gets a
limit beyond which a sample has no cluster.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np

from onmf.result import Recorder
from onmf.rows.assign import labels_of
from onmf.rows.sweep import Array, Data, Move
from onmf.search.outliers import OutlierLimit
from onmf.search.starts import Settings

ROUNDING_STEPS = 4  # times eps: centroids at rest were seen to move by up to 0.8 eps


class AlternationState(NamedTuple):
    """The clustering after a sweep with the centroids W."""

    W: Array
    rows: Any  # the codes, wherever the rows are
    sums: Any  # additive facts about the clusters, `samples` (k,) among them
    limit: OutlierLimit | None = None  # beyond which samples of this sweep are outliers
    residual: float = np.inf  # how far the centroids moved before this sweep
    settled: bool = False  # they would not move any more
    last: tuple[Array, Array] | None = None  # W of the sweep before, and their images

    @property
    def empty(self) -> Array:
        """The clusters without samples."""
        return np.flatnonzero(self.sums.samples == 0)

    def labels(self, data: Data) -> Array:
        """Of all samples."""
        return data.gather(data.map_blocks(labels_of, self.rows))


def is_still(residual: float, tol: float, dtype: Any) -> bool:
    """Whether centroids are at rest: they moved by no more than `tol`, or than rounding does."""
    return bool(residual <= max(tol, ROUNDING_STEPS * np.finfo(dtype).eps))


class Starts(NamedTuple):
    """Centroids to start from, the alternation to start, and the sweeps that led to them."""

    Ws: list[Array]
    alternation: Any
    sweeps: int


@dataclass(frozen=True)
class Alternation:
    """One way to alternate on these rows; the settings are those of the fit.

    A subclass says what a sweep does (`move`, `after`), what the clusters leave unexplained
    (`loss`), and where to start (`starts`).
    """

    data: Data
    settings: Settings

    def assignment(self, W: Array, limit: OutlierLimit | None = None) -> Any:
        """What gives a sample to one of these centroids."""
        raise NotImplementedError

    def starts(
        self, k: int, rng: np.random.Generator, recorder: Recorder, given: Array | None = None
    ) -> Starts:
        """Centroids to start from, by a search or from given ones."""
        raise NotImplementedError

    def move(self, W: Array, limit: OutlierLimit | None) -> Move:
        """What a sweep with the centroids W does to a block: the codes, and the sums."""
        raise NotImplementedError

    def as_start(self, W: Array) -> Array:
        """Given centroids, such as a sweep can begin with."""
        W = W.astype(self.data.dtype)
        return W if self.settings.signed else np.maximum(W, 0)

    def begin(self, W: Array, limit: OutlierLimit | None = None) -> AlternationState:
        """The state after a first sweep with W."""
        return AlternationState(W, *self.data.sweep(self.move(W, limit)), limit)

    def after(self, state: AlternationState, limit: OutlierLimit | None) -> AlternationState | None:
        """The state after the next sweep; None if it would be no better."""
        raise NotImplementedError

    @property
    def whole(self) -> float:
        """What the relative error is a share of."""
        return self.data.sqnorm

    def error(self, state: AlternationState) -> float:
        """The relative error."""
        return self.loss(state) / self.whole if self.whole else 0.0

    def loss(self, state: AlternationState) -> float:
        """What the clusters leave unexplained, in units of the loss."""
        raise NotImplementedError

    def explained(self, state: AlternationState) -> float:
        """What the clusters explain, up to a constant."""
        return -self.loss(state)

    def stationarity(self, state: AlternationState) -> float:
        """How far the centroids are from the best ones for their samples."""
        raise NotImplementedError

    def unobserved(self, state: AlternationState) -> Array | None:
        """The features that no sample of any cluster shows, where values are missing."""
        return None

    def moved_to(self, data: Data, totals: Any) -> Self:
        """This alternation for other rows, of which `Loss.measure` gave these totals."""
        return replace(self, data=data.in_double() if self.data.dtype == np.float64 else data)

    def membership(self, state: AlternationState) -> Any:
        """H (n, k), as the place keeps arrays of that size."""
        assignment = self.assignment(state.W)
        return self.data.dense(len(state.W), assignment.memberships, state.rows)

    def objective(self, state: AlternationState) -> float:
        """The higher, the better: what is explained; with outliers minus the capped loss."""
        if state.limit is None:
            return self.explained(state)
        pairs = self.totals_and_scores(state)
        return -float(self.data.reduce_blocks(state.limit.capped_loss, pairs))

    def totals_and_scores(self, state: AlternationState) -> Any:
        """Pairs (total_i, score_i) with loss_i = total_i - score_i^2, cut like the data."""
        pair = self.assignment(state.W).total_and_score
        return self.data.map_blocks(pair, self.data.row_sqnorms, state.rows)

    def gathered_pairs(self, state: AlternationState) -> Array:
        """The same of all samples (2, n)."""
        pairs = self.data.map_blocks(np.column_stack, self.totals_and_scores(state))
        return self.data.gather(pairs).T


def no_membership(data: Data, k: int, rows: Any) -> Callable[[], Any]:
    """H (n, k) of zeros, for a callback before there are clusters; `rows` are cut like the data."""
    return partial(data.dense, k, partial(_zeros, k, data.dtype), rows)


def _zeros(k: int, dtype: Any, rows: Array) -> Array:
    return np.zeros((len(rows), k), dtype)
