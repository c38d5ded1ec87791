"""From an estimator's parameters to a solver's settings, one function a solver.

A parameter that is None takes the solver's own default: the paper's for "palm" and the rivals, the
best we have for "fast".
"""

import logging
from collections.abc import Callable
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from onmf import validation as door
from onmf.baselines import METHODS, Start
from onmf.core.assign import Fit, nearest_mean, nearest_ray
from onmf.core.blocks import InMemory, openmp_threads
from onmf.core.fast import Fast, cluster
from onmf.core.palm import PALM, Bounds
from onmf.core.path import Path, tighten
from onmf.core.penalties import PENALTIES, Penalty
from onmf.core.result import Event, Factorization
from onmf.core.search import ROW_PENALTIES
from onmf.core.start import STARTS, from_centroids, shared, single_codes

Array = NDArray[Any]

LOG = logging.getLogger("onmf")


class Solution(NamedTuple):
    """The factors, and the label that `predict` gives to each sample of X."""

    result: Factorization
    nearest: Array
    stationarity: float


def palm(model: Any, data: InMemory, X: Any, n_threads: int) -> Solution:
    """The paper's method, once for each start; the lowest error wins."""
    penalty: Penalty = PENALTIES.get(model.penalty, model.penalty)
    settings = PALM(
        **given(mu_h=model.mu_h, mu_w=model.mu_w, tol=model.inner_tol),
        bounds=Bounds(*door.as_bounds(model.center_bounds, X)),
    )
    path = Path(
        max_sweeps=model.max_iter,
        **{"tol": penalty.tol} | given(start=model.rho, growth=model.growth, tol=model.tol),
    )
    zero = data.gather(data.energy) == 0
    results: list[Factorization] = []
    for restart, seed in enumerate(seeds(model, model.n_init)):
        H, W = start(model, data, X, seed)
        H = from_centroids(data, W) if H is None else H
        H[zero] = 0  # nothing to explain, hence no cluster
        results.append(tighten(settings, data, H, W, penalty, path, watcher(model), restart))
        if results[-1].stop == "callback":
            break
    best = min(results, key=lambda result: result.relative_error)
    nearest, _, _ = nearest_ray(data, best.W)
    rows = data.scatter(best.H)
    return Solution(best, nearest, settings.stationarity(data, rows, best.W, penalty, best.rho))


def fast(model: Any, data: InMemory, X: Any, n_threads: int) -> Solution:
    """The default solver: all starts at once."""
    unused = [name for name in ("mu_h", "mu_w", "inner_tol") if getattr(model, name) is not None]
    if unused:
        raise ValueError(f"{', '.join(unused)} belong to solver='palm': leave them out.")
    known = {type(PENALTIES[name]): rows for name, rows in ROW_PENALTIES.items()}
    penalty = ROW_PENALTIES.get(model.penalty) or known.get(type(model.penalty))
    if penalty is None:
        raise ValueError(f"solver='fast' does not know {model.penalty!r}: use solver='palm'.")
    if model.max_iter is not None:
        door.check_number(model.max_iter, "max_iter", 2, whole=True)
    settings = Fast(
        **given(start=model.rho, growth=model.growth, tol=model.tol, max_sweeps=model.max_iter),
        n_starts=None if model.n_init == "auto" else model.n_init,
        bounds=Bounds(*door.as_bounds(model.center_bounds, X)),
        n_threads=n_threads,
        blurred=model.init == "random",
    )
    seed = seeds(model, model.n_init)[0]
    searched = isinstance(model.init, str) and model.init != "nndsvd"
    W = None if searched else start(model, data, X, seed)[1]
    result, stationarity = cluster(
        settings, data, model.n_clusters, penalty, seed, W, watcher(model)
    )
    nearest = np.where(result.H.any(axis=1), result.H.argmax(axis=1), -1)
    return Solution(result, nearest, stationarity)


def rival(model: Any, data: InMemory, X: Any, n_threads: int) -> Solution:
    """The method that the model names, from the start that all methods share."""
    seed, zero = seeds(model, 1)[0], data.gather(data.energy) == 0
    H, W = raw_start(model, data, X, seed)
    H[zero] = 0  # nothing to explain, hence no cluster
    H.flags.writeable = W.flags.writeable = False  # shared by all methods
    settings = given(tol=model.tol, max_iter=model.max_iter)
    with openmp_threads(n_threads):
        result = METHODS[model.method](data, Start(H, W, seed), watch=watcher(model), **settings)
    result.H[zero] = 0
    nearest, _, _ = NEAREST.get(model.method, nearest_ray)(data, result.W)
    return Solution(result, nearest, result.history[-1].residual)


def raw_start(model: Any, data: InMemory, X: Any, seed: int) -> tuple[Array, Array]:
    """Starting factors as the rivals take them: H full, for what is zero often stays zero."""
    if isinstance(model.init, str) and model.init == "random":
        return shared(data, model.n_clusters, seed)
    H, W = start(model, data, X, seed)
    if W.min() < 0:
        raise ValueError("the centroids W in init must not be negative.")
    if H is None or isinstance(model.init, str):
        return single_codes(data, W), W
    return H, W


# How `predict` places a sample; nearest_ray where nothing else is said.
NEAREST: dict[str, Callable[..., tuple[Array, Array, Fit]]] = {
    "k-means": nearest_mean,
    "k-means++": nearest_mean,
}


def as_it_is(X: Any) -> tuple[Any, float]:
    """For the faithful solver, which depends on the scale of X."""
    door.check_scale(X)
    return X, 1.0


SOLVERS: dict[str, Callable[..., Solution]] = {"fast": fast, "palm": palm}
SCALES: dict[str, Callable[[Any], tuple[Any, float]]] = {"fast": door.scaled, "palm": as_it_is}


def seeds(model: Any, n_init: int | str) -> list[int]:
    """One seed a start; an integer `random_state` is itself the first."""
    always_the_same = model.init == "nndsvd" or not (
        isinstance(model.init, str) or callable(model.init)
    )
    n = 1 if n_init == "auto" or always_the_same else n_init
    drawn = check_random_state(model.random_state).randint(np.iinfo(np.int32).max, size=n).tolist()
    if isinstance(model.random_state, Integral):
        drawn[0] = int(model.random_state)
    return drawn


def start(model: Any, data: InMemory, X: Any, seed: int) -> tuple[Array | None, Array]:
    """Starting factors for one seed, writable; H is None if only centroids are given."""
    if isinstance(model.init, str):
        return STARTS[model.init](data, model.n_clusters, seed)
    first = model.init
    if callable(first):
        first = first(X, model.n_clusters, np.random.RandomState(seed))
    return door.as_start(first, data.shape, model.n_clusters, data.dtype)


def given(**parameters: Any) -> dict[str, Any]:
    """Those that are not None; the solver's own defaults stand for the rest."""
    return {name: value for name, value in parameters.items() if value is not None}


def watcher(model: Any) -> Callable[[Event], bool]:
    """The one channel through which progress leaves."""

    if model.verbose and not LOG.hasHandlers():  # nobody has said where the log goes
        LOG.addHandler(logging.StreamHandler())
        LOG.setLevel(logging.INFO)

    def watch(event: Event) -> bool:
        if model.verbose and event.stage is not None:
            LOG.info("start %d, %s", event.start, event.stage)
        return bool(model.callback(event)) if model.callback is not None else False

    return watch
