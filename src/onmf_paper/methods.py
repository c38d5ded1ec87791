"""The methods of the studies, by name, each with the settings the paper gives it.

The faithful solver takes the paper's settings for each kind of data; everything that the paper does
not change keeps its default. A trial may change some of them: those are the studies of parameters.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.cluster import KMeans, kmeans_plusplus

from onmf import NSNCP, ONMF, PALM, SNCP, General
from onmf_paper.rivals import Rival, shared_draws

NAMES = {  # as tables show them, in their order
    "k-means": "K-means",
    "k-means++": "K-means++",
    "dtpp": "DTPP",
    "onp-mf": "ONP-MF",
    "onmf-s": "ONMF-S",
    "hals": "HALS",
    "sncp": "SNCP",
    "nsncp": "NSNCP",
    "default": "onmf (default solver)",
    "k-means-10": "K-means, 10 starts",
    "alternation": "exact alternation",
    "sncp-accelerated": "SNCP, accelerated",
    "nsncp-accelerated": "NSNCP, accelerated",
}
PAPER = tuple(NAMES)[:8]
FAITHFUL = ("sncp", "nsncp")
ACCELERATED = {f"{method}-accelerated": method for method in FAITHFUL}  # the study of iterations
# The order of running: what the paper is about first, what takes longest last.
ORDER = ("sncp", "nsncp", "default", "k-means-10", "k-means", "k-means++", "alternation", "hals",
         "dtpp", "onmf-s", "onp-mf", *ACCELERATED)  # fmt: skip


@dataclass(frozen=True)
class Settings:
    """What the paper sets for one kind of data."""

    mu_h: float = 1e-10
    mu_w: float = 0.0
    margin: float = 0.51  # of the non-smooth method's steps
    bounded: str = ""  # how the centroids are bounded, beside W >= 0

    def center_bounds(self, X: Any) -> Any:
        if self.bounded == "range":
            return "data"
        return (0, float(X.max()) if self.bounded == "largest" else None)


FAMILIES = {
    "synthetic": Settings(),
    "plane": Settings(),
    "documents": Settings(mu_h=1e-8, margin=1.0),
    "expression": Settings(margin=1.0, bounded="largest"),
    "reduced": Settings(mu_h=0.0, margin=1.0, bounded="range"),
}


def build_estimator(
    method: str, family: str, X: Any, k: int, seed: int, changes: dict[str, Any]
) -> Any:
    """The estimator of a trial.

    Parameters
    ----------
    method : str
        A key of `NAMES`.
    family : str
        A key of `FAMILIES`.
    X : array or csr_array
    k, seed : int
    changes : dict
        Parameters of `ONMF` or of the method; p, q and v choose the penalty. An `init`, memberships
        and centroids, is for all methods.

    Returns
    -------
    estimator
    """
    settings = FAMILIES[family]
    if method in ACCELERATED:
        quick = {"accelerate": True} | changes
        return build_estimator(ACCELERATED[method], family, X, k, seed, quick)
    if method in FAITHFUL:
        chosen = {"mu_h": settings.mu_h, "mu_w": settings.mu_w} | changes
        exponents = [chosen.pop(name) for name in ("p", "q", "v") if name in chosen]
        penalty = SNCP() if method == "sncp" else NSNCP(settings.margin)
        steps = {name: chosen.pop(name) for name in PALM().get_params() if name in chosen}
        steps["penalty"] = General(*exponents) if exponents else penalty
        steps["center_bounds"] = settings.center_bounds(X)
        return ONMF(k, solver=PALM(**steps), random_state=seed, n_jobs=1, **chosen)
    if method == "default":
        return ONMF(k, random_state=seed, n_jobs=1, **changes)
    if method == "k-means-10":
        return KMeans(k, n_init=10, random_state=seed)
    if family == "plane":
        return KMeans(k, n_init=1, **changes | {"init": changes["init"][1]})
    if family == "reduced":  # scikit-learn's own rule of stopping
        draw = one_draw_seeds if method == "k-means++" else first_centroids
        first = draw(X, k, seed)
        return KMeans(k, init=first, n_init=1, random_state=seed)
    return Rival(method, k, random_state=seed, **changes)


def first_centroids(X: Any, k: int, seed: int) -> Any:
    """The centroids of the paper's shared start; on these data by the mean size of an entry."""
    return shared_draws(np.abs(X), k, seed)[1]


def one_draw_seeds(X: Any, k: int, seed: int) -> Any:
    """The seeds of K-means++, one draw each."""
    return kmeans_plusplus(X, k, random_state=seed, n_local_trials=1)[0]


def lowest(X: Any) -> float:
    return float(np.min(X.data if sp.issparse(X) else X, initial=0))
