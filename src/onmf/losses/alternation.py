"""What alternates on X: one sweep, and the state after it.

    W  ->  the code of every row, by one sweep  ->  the best W for these codes  ->  ...

What a sweep does and which W is best is an `Alternation`: of squares (`ray_alternation`), of
squares with missing values (`masked_alternation`), of the Kullback-Leibler divergence
(`kl_alternation`). With outliers the loss of a sample is capped by a limit, which is updated after
every sweep. `settling` goes on to a fixed point.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, ClassVar, NamedTuple, Self, TypeVar

import numpy as np

from onmf.palm.palm import Bounds
from onmf.palm.penalties import RowPenalty
from onmf.result import Recorder, Stage
from onmf.rows.assign import labels_of
from onmf.rows.sweep import Array, Data, Move
from onmf.search.outliers import OutlierLimit, next_limit, sample_counts
from onmf.search.solver import SearchSettings


@dataclass(frozen=True, eq=False, kw_only=True)
class AlternationState:
    """The clustering after a sweep with the centroids W."""

    W: Array
    rows: Any  # the codes, wherever the rows are
    sums: Any  # additive facts about the clusters, `samples` (k,) among them
    residual: float = np.inf  # how far the centroids moved before this sweep
    settled: bool = False  # they would not move any more
    limit: OutlierLimit | None = None  # beyond which samples of this sweep are outliers
    next_limit: OutlierLimit | None = None  # and those of the next sweep
    turn: int = 0  # sweeps before this one

    @property
    def empty(self) -> Array:
        """The clusters without samples."""
        return np.flatnonzero(self.sums.samples == 0)

    def labels(self, data: Data) -> Array:
        """Of all samples."""
        return data.gather(data.map_blocks(labels_of, self.rows))


NO_LIMIT = OutlierLimit(np.inf, 0.0)  # losses of samples are measured; none is an outlier
ROUNDING_STEPS = 4  # times eps: centroids at rest were seen to move by up to 0.8 eps
S = TypeVar("S", bound=AlternationState)


def is_still(residual: float, tol: float, dtype: Any) -> bool:
    """Whether centroids are at rest: they moved by no more than `tol`, or than rounding does."""
    return bool(residual <= max(tol, ROUNDING_STEPS * np.finfo(dtype).eps))


class Settings(NamedTuple):
    """What the alternation and the search for its starts need to know."""

    search: SearchSettings
    penalty: RowPenalty
    equal_votes: bool = False


class Starts(NamedTuple):
    """Centroids to start from, the alternation to start, and what led to them."""

    Ws: list[Array]
    alternation: Any
    path: list[Stage]
    sweeps: int = 0  # that no stage of the path counts


@dataclass(frozen=True)
class Alternation:
    """One way to alternate on these rows; the settings are those of the fit.

    A subclass says what a sweep does (`move`, `after`), what the clusters leave unexplained
    (`loss`), and where to start (`starts`).
    """

    data: Data
    settings: Settings
    limit: OutlierLimit | None = None  # to begin with; samples beyond it have no cluster

    kind_of_state: ClassVar[Any]

    @property
    def bounds(self) -> Bounds:
        return self.settings.search.bounds

    def assignment(self, W: Array, limit: OutlierLimit | None = None) -> Any:
        """What gives a sample to one of these centroids."""
        raise NotImplementedError

    def starts(
        self, k: int, rng: np.random.Generator, recorder: Recorder, given: "Given | None" = None
    ) -> Starts:
        """Centroids to start from, by a search or from given ones."""
        raise NotImplementedError

    def move(self, W: Array, limit: OutlierLimit | None) -> Move:
        """What a sweep with the centroids W does to a block: the codes, and the sums."""
        raise NotImplementedError

    def as_start(self, W: Array) -> Array:
        """Given centroids, such as a sweep can begin with."""
        return self.bounds.clip(W.astype(self.data.dtype))

    def begin(self, W: Array) -> Any:
        """The state after a first sweep with W."""
        rows, sums = self.sweep(W, self.limit)
        limits = {"limit": self.limit, "next_limit": self.limit}
        return self.with_next_limit(self.kind_of_state(W=W, rows=rows, sums=sums, **limits))

    def sweep(self, W: Array, limit: OutlierLimit | None, last: Any = None) -> tuple[Any, Any]:
        """The codes and sums of all samples, `last` being their codes before."""
        return self.data.sweep(self.move(W, limit), last)

    def after(self, state: Any) -> Any:
        """The state after the next sweep; None if it would be no better."""
        raise NotImplementedError

    @property
    def whole(self) -> float:
        """What the relative error is a share of."""
        return self.data.sqnorm

    def error(self, state: Any) -> float:
        """The relative error."""
        return self.loss(state) / self.whole if self.whole else 0.0

    def loss(self, state: Any) -> float:
        """What the clusters leave unexplained, in units of the loss."""
        raise NotImplementedError

    def explained(self, state: Any) -> float:
        """What the clusters explain, up to a constant."""
        return -self.loss(state)

    def stationarity(self, state: Any) -> float:
        """How far the centroids are from the best ones for their samples."""
        raise NotImplementedError

    def resumed(self, state: Any) -> Self:
        """This alternation, as it was in that state."""
        return replace(self, data=in_precision(self.data, state.W.dtype), limit=state.limit)

    def moved_to(self, data: Data, totals: Any) -> Self:
        """This alternation for other rows, of which `Loss.measure` gave these totals."""
        return replace(self, data=in_precision(data, self.data.dtype))

    def for_rival_of(self, best: Any) -> Self:
        """The alternation for another start: outliers are compared at one limit."""
        return replace(self, limit=best.limit, settings=without_outliers(self.settings))

    def membership(self, state: Any) -> Any:
        """H (n, k), as the place keeps arrays of that size."""
        assignment = self.assignment(state.W)
        return self.data.dense(len(state.W), assignment.memberships, state.rows)

    def objective(self, state: Any) -> float:
        """The higher, the better: what is explained; with outliers minus the capped loss."""
        if state.limit is None:
            return self.explained(state)
        pairs = self._totals_and_scores(state)
        return -float(self.data.reduce_blocks(state.limit.capped_loss, pairs))

    def excess(self, state: Any) -> Array | None:
        """Loss of each sample over its cap, above 1 for outliers; None without outliers."""
        if state.limit is None:
            return None
        pairs = self._totals_and_scores(state)
        return self.data.gather(self.data.map_blocks(partial(_excess, state.limit), pairs))

    def with_next_limit(self, state: S) -> S:
        """The state with the limit for the next sweep; reads no X."""
        outliers = self.settings.search.outliers
        if outliers is None or state.limit is None:
            return state
        limit, same = next_limit(
            outliers, *self._gathered_pairs(state), self._counts, state.limit, state.turn
        )
        return replace(state, next_limit=limit, settled=state.settled and same)

    def with_first_limit(self, W: Array) -> Self:
        """This alternation with the limit for the samples around W; reads X once."""
        outliers = self.settings.search.outliers
        if outliers is None:
            return self
        plain = replace(self, settings=without_outliers(self.settings), limit=NO_LIMIT)
        state = plain.begin(W)
        limit = outliers.limit(*self._gathered_pairs(state), self._counts)
        return replace(self, limit=limit)

    def _totals_and_scores(self, state: Any) -> Any:
        pair = self.assignment(state.W).total_and_score
        return self.data.map_blocks(pair, self.data.row_sqnorms, state.rows)

    def _gathered_pairs(self, state: Any) -> tuple[Array, Array]:
        pairs = self.data.map_blocks(np.column_stack, self._totals_and_scores(state))
        total, scores = self.data.gather(pairs).T
        return total, scores

    def outside(self, state: Any) -> float:
        """How many samples are outliers; one of weight w is w of them."""
        return float(self._counts @ (state.labels(self.data) < 0))

    @cached_property
    def _counts(self) -> Array:
        return sample_counts(self.data)


class Given(NamedTuple):
    """Centroids to start from; an earlier model may have another number of them."""

    W: Array
    is_model: bool


def in_precision(data: Data, dtype: Any) -> Data:
    """The rows in double precision if what is computed with them is."""
    return data.in_double() if dtype == np.float64 else data


def without_outliers(settings: Settings) -> Settings:
    return settings._replace(search=replace(settings.search, outliers=None))


def _excess(limit: OutlierLimit, pair: tuple[Array, Array]) -> Array:
    return limit.excess(*pair)


def no_membership(data: Data, k: int, rows: Any) -> Callable[[], Any]:
    """H (n, k) of zeros, for a callback before there are clusters; `rows` are cut like the data."""
    return partial(data.dense, k, partial(_zeros, k, data.dtype), rows)


def _zeros(k: int, dtype: Any, rows: Array) -> Array:
    return np.zeros((len(rows), k), dtype)
