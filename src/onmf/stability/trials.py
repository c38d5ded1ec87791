"""The fits behind a consensus and a choice of K, from a checked model and checked data.

Trials are rows of a ledger whose key has a fingerprint of the data and of the model's parameters:
what is done is never done twice, and never mistaken for something else.
"""

import pickle
import warnings
from typing import Any, NamedTuple

import joblib
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import _check_sample_weight

from onmf.data import validation as door
from onmf.estimators import ONMF
from onmf.estimators.solvers import searched
from onmf.exceptions import UnassignedSampleWarning
from onmf.ledger import Ledger, Trial
from onmf.stability.evidence import ByFits, ByPath, Evidence
from onmf.stability.halves import groups_of
from onmf.stability.runners import Alone, Progress, Runner, Together

Array = NDArray[Any]

UNIMPORTANT = ("n_jobs", "verbose", "callback", "random_state", "n_clusters", "n_components")


class Setting(NamedTuple):
    """A checked model and data, ready to run."""

    model: Any
    runner: Runner
    X: Any
    weight: Array | None
    seeds: list[int]
    name: str  # of the parameter that holds K
    key: Trial  # what all trials have in common
    n_jobs: int | None

    def runs(self, k: int) -> list[Trial]:
        """One trial a seed."""
        return [self.key | {"k": k, "seed": seed} for seed in self.seeds]

    def evidence(self, book: Ledger, n_cuts: int, progress: Progress | None) -> Evidence:
        """What halves of the data say about each K."""
        groups, key = groups_of(self.X), self.key
        if self.weight is not None:
            key = key | {"weight": fingerprint(self.weight)}
        if isinstance(self.runner, Together):
            weight = np.ones(self.X.shape[0]) if self.weight is None else self.weight
            work: ByPath | ByFits = ByPath(self.runner.X, weight, groups)
            return Evidence(work, key, book, n_cuts, self.runner.n_threads, progress)
        work = ByFits(self.X, self.weight, groups, self.model, self.name)
        return Evidence(work, key, book, n_cuts, self.n_jobs or 1, progress)

    def fit(self, k: int) -> Any:
        """The model with k clusters, fitted to all samples."""
        weights = {} if self.weight is None else {"sample_weight": self.weight}
        with warnings.catch_warnings():  # samples without a cluster had none in the halves either
            warnings.simplefilter("ignore", UnassignedSampleWarning)
            return clone(self.model).set_params(**{self.name: k}).fit(self.X, **weights)


def prepare(
    model: Any, X: Any, n_runs: int, n_jobs: int | None, sample_weight: Any = None
) -> Setting:
    """Check everything that can be checked before the first fit."""
    door.check_number(n_runs, "n_runs", 1, whole=True)
    if n_runs < 2:
        raise ValueError(
            "n_runs=1 says nothing about stability, for one run always agrees with itself: "
            "ask for at least two."
        )
    name = check_model(model)
    together = isinstance(model, ONMF) and model.solver == "fast" and searched(model)
    if isinstance(model, ONMF):
        model = clone(model).set_params(callback=None)
        model._check_parameters()
        signed = door.allows_signs(model.center_bounds)
        X = door.as_samples(model, X, reset=True, signed=signed)
    else:
        X = check_array(X, accept_sparse="csr", order="C", dtype=[np.float64, np.float32])
        X = sp.csr_array(X) if sp.issparse(X) else X
    weight = None if sample_weight is None else _check_sample_weight(sample_weight, X)
    seeds = seeds_of(model.random_state, n_runs)
    runner: Runner = (Together if together else Alone)(model, name, X, n_jobs)
    settings = {key: v for key, v in model.get_params().items() if key not in UNIMPORTANT}
    key = {"model": f"{type(model).__name__} {fingerprint(settings)}", "data": fingerprint(X)}
    return Setting(model, runner, X, weight, seeds, name, key, n_jobs)


def check_model(model: Any) -> str:
    """The parameter that holds the number of clusters."""
    if not hasattr(model, "fit_predict") or not hasattr(model, "get_params"):
        raise ValueError(f"{model!r} is no scikit-learn clusterer: it has no fit_predict.")
    parameters = model.get_params()
    if "random_state" not in parameters:
        raise ValueError(
            f"{type(model).__name__} has no random_state, so that all runs would be the same: "
            "stability over starts has no meaning for it."
        )
    for name in ("n_clusters", "n_components"):
        if name in parameters:
            return name
    raise ValueError(
        f"{type(model).__name__} has neither n_clusters nor n_components: K cannot be set."
    )


def seeds_of(random_state: Any, n_runs: int) -> list[int]:
    """s, s + 1, ... for an integer s (0 for None); drawn from a RandomState."""
    if random_state is None or isinstance(random_state, int | np.integer):
        return [(int(random_state or 0) + i) % 2**32 for i in range(n_runs)]
    rng = check_random_state(random_state)
    seeds: list[int] = rng.randint(np.iinfo(np.int32).max, size=n_runs).tolist()
    return seeds


def fingerprint(content: Any) -> str:
    """A short text that differs when the content does."""
    try:
        return str(joblib.hash(content))[:16]
    except (pickle.PicklingError, AttributeError, TypeError):  # a function without a name
        return str(joblib.hash(repr(content)))[:16]


def check_distinct(X: Any, k: int) -> bool:
    """Whether X has more than k distinct samples; fewer than k are an error."""
    seen: set[bytes] = set()
    for i in range(X.shape[0]):
        row = X[i : i + 1]
        if sp.issparse(row):
            seen.add(row.indices.tobytes() + row.data.tobytes())
        else:
            seen.add(row.tobytes())
        if len(seen) > k:
            return True
    if len(seen) < k:
        raise ValueError(
            f"X has only {len(seen)} distinct sample(s), fewer than the {k} clusters asked for: "
            "ask for fewer."
        )
    return False
