"""Where a fit starts: `init`, `n_init` and `random_state`, resolved.

A fit may start from another model, a `PreviousModel`. Its centroids get the features of X:

    w_kj = w_kj of the old centroid where feature j has the same name;    0 for a new feature

Features that X does not have are dropped.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from numbers import Integral
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state

from onmf.estimators.lineage import Lineage
from onmf.palm.start import STARTS
from onmf.rows.sweep import Array, Data
from onmf.rows.table import numbered
from onmf.rows.validation import Features

MODEL_SUFFIX = ".onmf"  # of a saved model, which tells a path from the name of a start
DEFAULT_N_CLUSTERS = 8  # of clusters


class PreviousModel(NamedTuple):
    """The model that a fit starts from: its centroids (k, m), their ids, and names by id."""

    centers: Array
    lineage: Lineage
    names: Array | None = None
    new_features: int = 0
    lost_features: int = 0
    cluster_names: tuple[tuple[int, str], ...] = ()  # that a person gave

    @classmethod
    def of(cls, given: Any) -> Self:
        """From a fitted model, or the path of a saved one."""
        from onmf.estimators.storage import read_model  # which knows the solvers, and they this

        facts = read_model(given).attributes if isinstance(given, str | Path) else vars(given)
        if "cluster_centers_" not in facts:
            raise ValueError(
                f"the {type(given).__name__} given as init is not fitted: fit it first, or give "
                "the path of a saved model."
            )
        centers = np.asarray(facts["cluster_centers_"])
        before = facts.get("lineage_") or Lineage.first(len(centers))
        names = facts.get("names_given_", ())
        return cls(centers, before, facts.get("feature_names_in_"), cluster_names=names)

    def with_features(self, features: Features) -> Self:
        """With the features of X: by their names, if both have names, or one by one."""
        old, new = names_of(self.names), names_of(features.names)
        if old is None or new is None:
            if features.count != self.centers.shape[1]:
                raise ValueError(
                    f"X has {features.count} features, the model given as init "
                    f"{self.centers.shape[1]}: give both names, by which they are matched."
                )
            return self
        place = {name: j for j, name in enumerate(old)}
        there = [j for j, name in enumerate(new) if name in place]
        if not there:
            raise ValueError(
                "X has no feature of the model given as init: their names must be the same."
            )
        centers = np.zeros((len(self.centers), len(new)), self.centers.dtype)
        centers[:, there] = self.centers[:, [place[new[j]] for j in there]]
        return self._replace(
            centers=centers,
            names=features.names,
            new_features=len(new) - len(there),
            lost_features=len(old) - len(there),
        )

    def heirs(self, centers: Array, view: Callable[[Array], Array]) -> tuple[Lineage, Array]:
        """What became of the clusters, and the order of the new ones in which their ids rise.

        Centroids are compared by the angles of their `view`, that of the loss.
        """
        lineage, order = Lineage.between(view(self.centers), self.lineage, view(centers))
        return lineage._replace(
            new_features=self.new_features, lost_features=self.lost_features
        ), order


@dataclass(frozen=True)
class Initialization:
    """How many clusters, from which starting factors, from how many starts and which seed."""

    n_clusters: int
    init: Any  # a name, centroids W, a pair (H, W), or a callable that gives either
    n_init: int | str
    random_state: Any
    previous: PreviousModel | None = None  # the model to start from: `init` are its centroids

    @classmethod
    def of(cls, n_clusters: int | None, init: Any, n_init: int | str, random_state: Any) -> Self:
        """With as many clusters as the model or classes given as `init`, if no number is given."""
        if not is_model(init):
            k = n_clusters or len(getattr(init, "names", ())) or DEFAULT_N_CLUSTERS
            return cls(k, init, n_init, random_state)
        old = PreviousModel.of(init)
        return cls(n_clusters or len(old.centers), old.centers, n_init, random_state, old)

    @property
    def is_search(self) -> bool:
        """Whether the default solver finds its own starts, which is where its seed matters."""
        return isinstance(self.init, str) and self.init != "nndsvd"

    def with_features(self, features: Features) -> "Initialization":
        """The same, now that the features of X are known."""
        if self.previous is None:
            return self
        old = self.previous.with_features(features)
        return replace(self, init=old.centers, previous=old)

    def seeds(self) -> list[int]:
        """One per start, drawn; an integer `random_state` is the first."""
        varies = self.is_search or callable(self.init)
        n = 1 if self.n_init == "auto" or not varies else self.n_init
        rng = check_random_state(self.random_state)
        numbers: list[int] = rng.randint(np.iinfo(np.int32).max, size=n).tolist()
        if isinstance(self.random_state, Integral):
            numbers[0] = int(self.random_state)
        return numbers

    def factors(self, data: Data, X: Any, seed: int) -> tuple[Any, Array]:
        """Starting factors for one seed, H cut like the data; None if only centroids are given."""
        if isinstance(self.init, str):
            return STARTS[self.init](data, self.n_clusters, seed)
        given = self.init
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


def names_of(names: Any) -> list[str] | None:
    """Names that say something; numbers in place of names do not."""
    known = None if names is None else [str(name) for name in names]
    return None if known == numbered(len(known or ())) else known


def is_model(init: Any) -> bool:
    """Whether `init` is a model, or the path of one, rather than a name, arrays or a function."""
    if isinstance(init, str | Path):
        return str(init).endswith(MODEL_SUFFIX)
    return hasattr(init, "get_params") and not isinstance(init, type)
