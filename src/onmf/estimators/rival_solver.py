"""The methods that ONMF is compared with, as a solver: from the start that all of them share."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from numpy.typing import NDArray

from onmf.baselines import METHODS, Means, Start, shared_draws, single_codes
from onmf.core.assign import Rays
from onmf.core.result import Journal, Watch
from onmf.core.rows import Data
from onmf.core.threads import openmp_threads
from onmf.data import Placement
from onmf.data.validation import Scale, check_scale
from onmf.estimators.beginning import Beginning
from onmf.estimators.solvers import Solution, with_labels

Array = NDArray[Any]

# How `predict` places a sample; by the nearest ray where nothing else is said.
NEAREST: dict[str, Callable[[Array], Means]] = {"k-means": Means, "k-means++": Means}


@dataclass(frozen=True)
class RivalSolver:
    """A method that ONMF is compared with, from the start that all methods share."""

    begin: Beginning
    watch: Watch
    n_threads: int
    method: str
    settings: dict[str, Any]

    scale: ClassVar[Scale] = staticmethod(check_scale)

    @property
    def most_sweeps(self) -> int | None:
        return self.settings.get("max_iter")

    def solve(self, rows: Placement, journal: Journal) -> Solution:
        data, seed = rows.data, self.begin.seeds()[0]
        zero = data.gather(data.energy) == 0
        H, W = self._start(data, rows.X, seed)
        H[zero] = 0  # nothing to explain, hence no cluster
        H.flags.writeable = W.flags.writeable = False  # shared by all methods
        with openmp_threads(self.n_threads):
            result = METHODS[self.method](
                data, Start(H, W, seed), watch=self.watch, **self.settings
            )
        result.H[zero] = 0
        rule = NEAREST.get(self.method, Rays.of)
        return with_labels(data, result, rule(result.W), result.history[-1].residual)

    def _start(self, data: Data, X: Any, seed: int) -> tuple[Array, Array]:
        """Starting factors as the rivals take them: H full, for what is zero often stays zero."""
        named = isinstance(self.begin.init, str)
        if named and self.begin.init == "random":
            return shared_draws(data, self.begin.n_clusters, seed)
        H, W = self.begin.factors(data, X, seed)
        if W.min() < 0:
            raise ValueError("the centroids W in init must not be negative.")
        if H is None or named:
            return single_codes(data, W), W
        return data.gather(H), W
