"""From an estimator's parameters to a solver's settings, one function a solver.

A parameter that is None takes the solver's own default: the paper's for "palm" and the rivals, the
best we have for "fast".
"""

import logging
from collections.abc import Callable
from functools import partial
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from onmf.baselines import METHODS, Means, Start, shared_draws, single_codes
from onmf.core.assign import Code, Rays, labels_of
from onmf.core.fast.solver import Fast, cluster
from onmf.core.paper.palm import PALM, Bounds
from onmf.core.paper.path import Path, tighten
from onmf.core.paper.penalties import PENALTIES, Penalty, RowPenalty
from onmf.core.paper.start import STARTS, from_centroids
from onmf.core.result import FORGETFUL, Event, Factorization, Journal, Stage
from onmf.core.rows import Data
from onmf.data import validation as door
from onmf.data.threads import openmp_threads

Array = NDArray[Any]

LOG = logging.getLogger("onmf")


class Solution(NamedTuple):
    """The factors, the label of each sample of X, and the one that `predict` gives to it."""

    result: Factorization
    labels: Array
    nearest: Array
    stationarity: float


def palm(model: Any, data: Data, X: Any, n_threads: int, journal: Journal) -> Solution:
    """The paper's method, once for each start; the lowest error wins."""
    penalty: Penalty = PENALTIES.get(model.penalty, model.penalty)
    settings = PALM(
        **given(mu_h=model.mu_h, mu_w=model.mu_w, tol=model.inner_tol),
        bounds=Bounds(*door.as_bounds(model.center_bounds, data)),
    )
    path = Path(
        max_sweeps=model.max_iter,
        **{"tol": penalty.tol} | given(start=model.rho, growth=model.growth, tol=model.tol),
    )
    best, done = best_so_far(journal)
    for restart, seed in enumerate(seeds(model, model.n_init, journal)):
        if restart < done:
            continue
        rows, W = start(model, data, X, seed)
        rows = from_centroids(data, W) if rows is None else rows
        rows = data.each(without_empty, data.energy, rows)
        new = tighten(settings, data, rows, W, penalty, path, watcher(model), restart, journal)
        best = new if best is None or new.relative_error < best.relative_error else best
        if new.stop == "callback":
            break
        journal.note("best", partial(facts_of, best, restart + 1))
    if best is None:
        raise AssertionError("there is at least one start")
    stationarity = settings.stationarity(data, data.scatter(best.H), best.W, penalty, best.rho)
    return labelled(data, best, Rays.of(best.W), stationarity)


def labelled(
    data: Data, result: Factorization, rule: Rays | Means, stationarity: float
) -> Solution:
    """With the labels of the factors, and those that the rule gives; reads X once."""
    near, _ = data.sweep(rule)
    labels = data.gather(data.each(largest, data.scatter(result.H), near))
    return Solution(result, labels, data.gather(data.each(labels_of, near)), stationarity)


def best_so_far(journal: Journal) -> tuple[Factorization | None, int]:
    """The best result of the starts that an earlier process did, and how many they were."""
    found = journal.recall("best")
    if found is None:
        return None, 0
    history = [Stage(*stage) for stage in found["best"]["history"]]
    return Factorization(**found["best"] | {"history": history}), found["done"]


def facts_of(best: Factorization, done: int) -> dict[str, Any]:
    return {"best": best._asdict() | {"H": np.asarray(best.H)}, "done": done}


def without_empty(energy: Array, H: Array) -> Array:
    """A sample of zeros has nothing to explain, hence no cluster."""
    return np.where((energy == 0)[:, None], H.dtype.type(0), H)


def largest(H: Array, near: Code) -> Array:
    """The paper's label, where the membership is largest; the nearest ray's if there is none."""
    return np.where(H.any(axis=1), H.argmax(axis=1), near.labels)


def fast(model: Any, data: Data, X: Any, n_threads: int, journal: Journal) -> Solution:
    """The default solver: all starts at once."""
    settings, penalty = fast_settings(model, data, n_threads)
    seed = seeds(model, model.n_init, journal)[0]
    W = None if searched(model) else start(model, data, X, seed)[1]
    result, state = cluster(
        settings, data, model.n_clusters, penalty, seed, W, watcher(model), journal
    )
    labels = state.labels(data)
    return Solution(result, labels, labels, state.stationarity)


def fast_settings(model: Any, data: Data, n_threads: int) -> tuple[Fast, RowPenalty]:
    """Settings of the default solver."""
    unused = [name for name in ("mu_h", "mu_w", "inner_tol") if getattr(model, name) is not None]
    if unused:
        raise ValueError(f"{', '.join(unused)} belong to solver='palm': leave them out.")
    penalty = PENALTIES.get(model.penalty, model.penalty)
    if not isinstance(penalty, RowPenalty):
        raise ValueError(
            f"solver='fast' needs a penalty with the methods row_problem and pull, which "
            f"{model.penalty!r} has not: use solver='palm'."
        )
    if model.max_iter is not None:
        door.check_number(model.max_iter, "max_iter", 2, whole=True)
    settings = Fast(
        **given(start=model.rho, growth=model.growth, tol=model.tol, max_sweeps=model.max_iter),
        n_starts=None if model.n_init == "auto" else model.n_init,
        bounds=Bounds(*door.as_bounds(model.center_bounds, data)),
        n_threads=n_threads,
    )
    return settings, penalty


def searched(model: Any) -> bool:
    """Whether the default solver finds its own starts, which is where its seed matters."""
    return isinstance(model.init, str) and model.init != "nndsvd"


def rival(model: Any, data: Data, X: Any, n_threads: int) -> Solution:
    """The method that the model names, from the start that all methods share."""
    seed, zero = seeds(model, 1)[0], data.gather(data.energy) == 0
    H, W = raw_start(model, data, X, seed)
    H[zero] = 0  # nothing to explain, hence no cluster
    H.flags.writeable = W.flags.writeable = False  # shared by all methods
    settings = given(tol=model.tol, max_iter=model.max_iter)
    with openmp_threads(n_threads):
        result = METHODS[model.method](data, Start(H, W, seed), watch=watcher(model), **settings)
    result.H[zero] = 0
    rule = NEAREST.get(model.method, Rays.of)
    return labelled(data, result, rule(result.W), result.history[-1].residual)


def raw_start(model: Any, data: Data, X: Any, seed: int) -> tuple[Array, Array]:
    """Starting factors as the rivals take them: H full, for what is zero often stays zero."""
    if isinstance(model.init, str) and model.init == "random":
        return shared_draws(data, model.n_clusters, seed)
    rows, W = start(model, data, X, seed)
    if W.min() < 0:
        raise ValueError("the centroids W in init must not be negative.")
    if rows is None or isinstance(model.init, str):
        return single_codes(data, W), W
    return data.gather(rows), W


# How `predict` places a sample; by the nearest ray where nothing else is said.
NEAREST: dict[str, Callable[[Array], Means]] = {"k-means": Means, "k-means++": Means}


SOLVERS: dict[str, Callable[..., Solution]] = {"fast": fast, "palm": palm}
# The faithful solver depends on the scale of X and must be given it as it is.
SCALES: dict[str, Callable[..., float]] = {"fast": door.power_of_two, "palm": door.check_scale}


def seeds(model: Any, n_init: int | str, journal: Journal = FORGETFUL) -> list[int]:
    """One seed a start; an integer `random_state` is itself the first. The journal's come first."""
    if found := journal.recall("seeds"):
        return list(found["seeds"])
    drawn = drawn_seeds(model, n_init)
    journal.note("seeds", lambda: {"seeds": drawn})
    return drawn


def drawn_seeds(model: Any, n_init: int | str) -> list[int]:
    always_the_same = model.init == "nndsvd" or not (
        isinstance(model.init, str) or callable(model.init)
    )
    n = 1 if n_init == "auto" or always_the_same else n_init
    drawn = check_random_state(model.random_state).randint(np.iinfo(np.int32).max, size=n).tolist()
    if isinstance(model.random_state, Integral):
        drawn[0] = int(model.random_state)
    return drawn


def start(model: Any, data: Data, X: Any, seed: int) -> tuple[Any, Array]:
    """Starting factors for one seed, H cut like the data; None if only centroids are given."""
    if isinstance(model.init, str):
        return STARTS[model.init](data, model.n_clusters, seed)
    first = model.init
    if callable(first):
        first = first(X, model.n_clusters, np.random.RandomState(seed))
    H, W = door.as_start(first, data.shape, model.n_clusters, data.dtype)
    return None if H is None else data.scatter(H), W


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
