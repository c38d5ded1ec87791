"""`loss="kl"`: from parameters to a solver with frozen settings, and the rule that predicts.

It is the default solver under another loss, and takes of the parameters what makes sense there.
"""

from dataclasses import dataclass, replace
from typing import Any, Self

from numpy.typing import NDArray

from onmf.estimators.initialization import Initialization
from onmf.estimators.parameters import CenterBounds, check_number, without_none
from onmf.estimators.solvers import Solution, Solver
from onmf.losses.kl_alternation import Kullback, cluster_counts
from onmf.losses.profiles import CountProfiles, Influence, by_count, by_sample
from onmf.paper.penalties import Penalty
from onmf.result import CheckpointStore, Watch
from onmf.rows import Placement

Array = NDArray[Any]


def influence_of(equal_votes: bool) -> Influence:
    """What a sample counts for: its total, or one vote."""
    return by_sample if equal_votes else by_count


def shares_rule(centers: Array, unit: Any, equal_votes: bool) -> CountProfiles:
    """What gives a sample to a cluster; memberships are in the unit of the user's samples."""
    shares = CountProfiles.of(centers, influence_of(equal_votes))
    return replace(shares, totals=shares.totals / unit)


@dataclass(frozen=True)
class CountSolver(Solver):
    """The default solver under the Kullback-Leibler divergence."""

    settings: Kullback

    @classmethod
    def of(
        cls,
        begin: Initialization,
        n_threads: int,
        *,
        equal_votes: bool,
        solver: str,
        penalty: str | Penalty,
        tol: float | None,
        max_iter: int | None,
        center_bounds: CenterBounds,
        **others: Any,
    ) -> Self:
        if solver != "fast":
            raise ValueError("loss='kl' needs solver='fast': the paper's method is for squares.")
        if unused := list(without_none(**others)) + ["penalty"] * (penalty != "sncp"):
            verb, them = ("belongs", "it") if len(unused) == 1 else ("belong", "them")
            raise ValueError(f"{', '.join(unused)} {verb} to loss='frobenius': leave {them} out.")
        if isinstance(center_bounds, str) or tuple(center_bounds) != (0, None):
            raise ValueError(
                "loss='kl' is for data that are not negative, and its centroids are means of "
                "them: leave center_bounds as (0, None)."
            )
        if max_iter is not None:
            check_number(max_iter, "max_iter", 3, whole=True)
        settings = Kullback(
            **without_none(tol=tol, max_sweeps=max_iter),
            n_starts=1 if begin.n_init == "auto" else int(begin.n_init),
            influence=influence_of(equal_votes),
        )
        return cls(begin, settings)

    @property
    def most_sweeps(self) -> int | None:
        return self.settings.max_sweeps

    def solve(self, rows: Placement, watch: Watch, checkpoints: CheckpointStore) -> Solution:
        data, begin = rows.data, self.begin
        seed = begin.seeds(checkpoints)[0]
        W = None if begin.is_search else begin.factors(data, rows.X, seed)[1]
        result, state, whole, stationarity = cluster_counts(
            self.settings, data, begin.n_clusters, seed, W, watch, checkpoints
        )
        labels = state.labels(data)
        unit = 1.0 if self.settings.influence is by_sample else rows.scale
        inertia = result.relative_error * whole / unit
        return Solution(result, labels, labels, stationarity, inertia=inertia)
