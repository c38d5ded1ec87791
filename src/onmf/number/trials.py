"""The fits behind a consensus and a choice of K, from a checked model and checked data.

Trials are rows of a ledger whose key has a fingerprint of the data and of the model's parameters:
what is done is never done twice, and never mistaken for something else.
"""

import pickle
import warnings
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import joblib
import numpy as np
import scipy.sparse as sp
from joblib import parallel_config
from numpy.typing import NDArray
from sklearn.base import ClusterMixin, clone
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import _check_sample_weight

from onmf.estimators import ONMF
from onmf.estimators.fitting import FastSolver
from onmf.estimators.parameters import check_number, check_parameters
from onmf.exceptions import UnassignedSampleWarning, UnobservedWarning
from onmf.ledger import Ledger, Trial, run
from onmf.losses import KullbackLeibler, Squares
from onmf.losses.filling import filled_copy
from onmf.number.counts import CountHalf
from onmf.number.evidence import ByPath, Evidence, Progress
from onmf.number.fits import ByFits
from onmf.number.halves import groups_of
from onmf.number.rays import RayHalf
from onmf.rows import matrix_of, open_rows
from onmf.rows.scale import rescale_to_safe_range
from onmf.rows.threads import blas_threads, single_threaded_blas
from onmf.rows.validation import as_samples

Array = NDArray[Any]

PATHS: dict[type, Any] = {Squares: RayHalf, KullbackLeibler: CountHalf}  # other losses: by fits
UNIMPORTANT = ("n_jobs", "verbose", "callback", "random_state", "n_clusters", "n_components")


@dataclass(frozen=True)
class Run:
    """The work of one trial; small enough to be sent to another process with the data."""

    model: ClusterMixin
    name: str
    X: Any

    def __call__(self, trial: Trial) -> tuple[dict[str, Any], Array]:
        model = clone(self.model)
        model.set_params(**{self.name: trial["k"], "random_state": trial["seed"]})
        return {}, np.asarray(model.fit_predict(self.X))


class Experiment(NamedTuple):
    """A checked model and data, ready to run."""

    model: ClusterMixin
    solver: FastSolver | None  # of a model whose starts are found by its search
    X: Any
    weight: Array | None
    seeds: list[int]
    name: str  # of the parameter that holds K
    key: Trial  # what all trials have in common
    n_jobs: int | None

    def runs(self, k: int) -> list[Trial]:
        """One trial a seed."""
        return [self.key | {"k": k, "seed": seed} for seed in self.seeds]

    def fits(self, book: Ledger, trials: list[Trial], progress: Progress | None) -> None:
        """Fit the model from each seed; those of `ONMF` are threads, others processes."""
        model, n_jobs, backend = self.model, self.n_jobs or 1, "loky"
        if self.solver is not None:
            n_jobs, backend = self.solver.settings.n_threads, "threading"
            model = clone(model)
            model.n_jobs = 1  # plain attributes: a subclass may not have them as parameters
            if model.n_init == "auto":
                model.n_init = 1  # the runs themselves are starts
        work = Run(model, self.name, self.X)
        with single_threaded_blas(), parallel_config(backend):
            run(book, trials, work, n_jobs=n_jobs, progress=progress)

    def evidence(self, book: Ledger, n_cuts: int, progress: Progress | None) -> Evidence:
        """What halves of the data say about each K."""
        groups, key = groups_of(self.X), self.key
        if self.weight is not None:
            key = key | {"weight": _hash(self.weight)}
        if self.solver is None or type(self.solver.loss) not in PATHS:
            fits = ByFits(self.X, self.weight, groups, self.model, self.name)
            return Evidence(fits, key, book, n_cuts, self.n_jobs or 1, progress)
        X, _ = rescale_to_safe_range(self.X)
        weight = np.ones(X.shape[0]) if self.weight is None else self.weight
        half = partial(PATHS[type(self.solver.loss)], X, weight)
        n_threads = self.solver.settings.n_threads
        return Evidence(ByPath(half, X.shape[1], groups), key, book, n_cuts, n_threads, progress)

    def fit(self, k: int, X: Any) -> Any:
        """The model with k clusters, fitted to all samples as the user gave them, names and all."""
        weights = {} if self.weight is None else {"sample_weight": self.weight}
        with warnings.catch_warnings():  # samples without a cluster had none in the halves either
            warnings.simplefilter("ignore", UnassignedSampleWarning)
            warnings.simplefilter("ignore", UnobservedWarning)
            return clone(self.model).set_params(**{self.name: k}).fit(X, **weights)


def prepare(
    model: ClusterMixin, X: Any, n_runs: int, n_jobs: int | None, sample_weight: Any = None
) -> Experiment:
    """Check everything that can be checked before the first fit."""
    check_number(n_runs, "n_runs", 1, whole=True)
    if n_runs < 2:
        raise ValueError(
            "n_runs=1 says nothing about stability, for one run always agrees with itself: "
            "ask for at least two."
        )
    name, X = _parameter_of_k(model), _in_memory(X)
    X = X.to_memory() if hasattr(X, "to_memory") else X  # of an AnnData object on disk
    if isinstance(model, ONMF):
        own: ONMF = clone(model)
        own.callback = None  # which a subclass may not have as a parameter
        check_parameters(own.get_params(deep=False))
        model, (X, span) = own, as_samples(X, own._check)
        X = filled_copy(X) if span.n_missing else X
    else:
        X = check_array(X, accept_sparse="csr", order="C", dtype=[np.float64, np.float32])
        X = sp.csr_array(X) if sp.issparse(X) else X
    parameters = model.get_params()
    seeds = _seeds(parameters.get("random_state"), n_runs)
    weight = None if sample_weight is None else _check_sample_weight(sample_weight, X)
    solver = _fast_solver(model, n_jobs)
    compared = {key: v for key, v in parameters.items() if key not in UNIMPORTANT}
    key = {"model": f"{type(model).__name__} {_hash(compared)}", "data": _hash(X)}
    return Experiment(model, solver, X, weight, seeds, name, key, n_jobs)


def _in_memory(X: Any) -> Any:
    """The matrix of X; the rows of a file are read, as halves are compared many times."""
    source = open_rows(X) if isinstance(X, str | Path) else None
    return matrix_of(X) if source is None else source.rows(0, source.shape[0])


def _fast_solver(model: ClusterMixin, n_jobs: int | None) -> FastSolver | None:
    """The default solver of a model whose runs can share it, having no start but their seeds."""
    if not isinstance(model, ONMF):
        return None
    solver = model._solver(blas_threads() if n_jobs is None else joblib.effective_n_jobs(n_jobs))
    return solver if isinstance(solver, FastSolver) and solver.begin.is_search else None


def _parameter_of_k(model: ClusterMixin) -> str:
    """The parameter that holds the number of clusters."""
    if not hasattr(model, "fit_predict") or not hasattr(model, "get_params"):
        raise ValueError(f"{model!r} is no scikit-learn clusterer: it has no fit_predict.")
    parameters = model.get_params()
    for name in ("n_clusters", "n_components"):
        if name in parameters:
            return name
    raise ValueError(
        f"{type(model).__name__} has neither n_clusters nor n_components: K cannot be set."
    )


def has_starts(model: ClusterMixin) -> None:
    """Refuse a model whose runs would all be the same."""
    if "random_state" not in model.get_params():
        raise ValueError(
            f"{type(model).__name__} has no random_state, so that all runs would be the same: "
            "stability over starts has no meaning for it."
        )


def _seeds(random_state: Any, n_runs: int) -> list[int]:
    """s, s + 1, ... for an integer s (0 for None); drawn from a RandomState."""
    if random_state is None or isinstance(random_state, int | np.integer):
        return [(int(random_state or 0) + i) % 2**32 for i in range(n_runs)]
    rng = check_random_state(random_state)
    seeds: list[int] = rng.randint(np.iinfo(np.int32).max, size=n_runs).tolist()
    return seeds


def _hash(content: Any) -> str:
    """A short text that differs when the content does."""
    try:
        return str(joblib.hash(content))[:16]
    except (pickle.PicklingError, AttributeError, TypeError):  # a function without a name
        return str(joblib.hash(repr(content)))[:16]


def has_more_than(X: Any, k: int) -> bool:
    """Whether X has more than k distinct samples; fewer than k are an error."""
    distinct: set[bytes] = set()
    for i in range(X.shape[0]):
        row = X[i : i + 1]
        if sp.issparse(row):
            distinct.add(row.indices.tobytes() + row.data.tobytes())
        else:
            distinct.add(row.tobytes())
        if len(distinct) > k:
            return True
    if len(distinct) < k:
        raise ValueError(
            f"X has only {len(distinct)} distinct sample(s), fewer than the {k} clusters asked "
            "for: ask for fewer."
        )
    return False
