"""Where a fit begins: `init`, `n_init` and `random_state`, resolved."""

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from onmf.core.paper.start import STARTS
from onmf.core.result import FORGETFUL, Journal
from onmf.core.rows import Data
from onmf.estimators.ancestor import Ancestor

Array = NDArray[Any]


@dataclass(frozen=True)
class Beginning:
    """How many clusters, from which starting factors, from how many starts and which seed."""

    n_clusters: int
    init: Any  # a name, centroids W, a pair (H, W), a callable that gives either, an Ancestor
    n_init: int | str
    random_state: Any

    @property
    def is_search(self) -> bool:
        """Whether the default solver finds its own starts, which is where its seed matters."""
        return isinstance(self.init, str) and self.init != "nndsvd"

    @property
    def ancestor(self) -> Ancestor | None:
        """The model that the fit goes on from, its features those of X."""
        return self.init if isinstance(self.init, Ancestor) else None

    def seeds(self, journal: Journal = FORGETFUL) -> list[int]:
        """One a start: those of the journal, or drawn; an integer `random_state` is the first."""
        varies = self.is_search or callable(self.init)
        if noted := journal.recall("seeds"):
            return list(noted["seeds"])
        n = 1 if self.n_init == "auto" or not varies else self.n_init
        rng = check_random_state(self.random_state)
        drawn: list[int] = rng.randint(np.iinfo(np.int32).max, size=n).tolist()
        if isinstance(self.random_state, Integral):
            drawn[0] = int(self.random_state)
        journal.note("seeds", lambda: {"seeds": drawn})
        return drawn

    def factors(self, data: Data, X: Any, seed: int) -> tuple[Any, Array]:
        """Starting factors for one seed, H cut like the data; None if only centroids are given."""
        if isinstance(self.init, str):
            return STARTS[self.init](data, self.n_clusters, seed)
        given = self.init.centers if isinstance(self.init, Ancestor) else self.init
        if callable(given):
            given = given(X, self.n_clusters, np.random.RandomState(seed))
        H, W = as_start(given, data.shape, self.n_clusters, data.dtype)
        return None if H is None else data.scatter(H), W


def as_start(given: Any, shape: tuple[int, int], k: int, dtype: Any) -> tuple[Array | None, Array]:
    """Centroids W (k, m), or (H, W) with H >= 0 (n, k) or None; finite, not all zero. Copies."""
    n, m = shape
    if not _is_pair(given):
        if np.ndim(given) != 2:
            raise ValueError(
                "init must be a name, a callable, centroids (n_clusters, n_features), or a pair "
                "(H, W): memberships (n_samples, n_clusters), or None, and centroids."
            )
        return None, _as_factor(given, "init", (k, m), dtype)
    W = _as_factor(given[1], "W in init", (k, m), dtype)
    if given[0] is None:
        return None, W
    H = _as_factor(given[0], "H in init", (n, k), dtype)
    if H.min() < 0:
        raise ValueError("the memberships H in init must not be negative.")
    return H, W


def _is_pair(given: Any) -> bool:
    """(H, W) rather than two rows of numbers, which are centroids."""
    return isinstance(given, tuple | list) and len(given) == 2 and np.ndim(given[1]) != 1


def _as_factor(value: Any, name: str, shape: tuple[int, int], dtype: Any) -> Array:
    try:
        factor = np.array(value.toarray() if sp.issparse(value) else value, dtype=dtype, order="C")
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be an array of numbers of shape {shape}.") from None
    if factor.shape != shape:
        raise ValueError(f"{name} has shape {factor.shape}, expected {shape}.")
    if not np.isfinite(factor).all() or not factor.any():
        raise ValueError(f"{name} must be finite and not all zero.")
    return factor
