"""`ONMF` says what, `Fast` and `PALM` how: parameters of both, and none that is ignored."""

import inspect

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

import onmf
from onmf import ONMF, PALM, Fast
from onmf.datasets import make_rays
from onmf.estimators.solvers import SOLVERS
from onmf.exceptions import UnusedParameterWarning

X, _ = make_rays(200, 20, 4, noise=0.5, random_state=0)
NAMES = [
    *("n_clusters", "loss", "outliers", "init"),
    *("n_init", "solver", "tol", "max_iter", "random_state", "n_jobs", "verbose", "callback"),
]


def parameters(kind):
    return list(inspect.signature(kind).parameters)


def test_there_are_twelve_parameters_in_the_order_of_the_design():
    assert parameters(ONMF) == NAMES
    assert sorted(ONMF().get_params(deep=False)) == sorted(NAMES)
    kinds = [parameter.kind for parameter in inspect.signature(ONMF).parameters.values()]
    assert kinds[1:] == [inspect.Parameter.KEYWORD_ONLY] * 11
    assert parameters(Fast) == ["passes"]
    own = ["rho", "growth", "mu_h", "mu_w", "inner_tol", "accelerate"]
    assert parameters(PALM) == ["penalty", "center_bounds", *own]


def test_every_parameter_is_documented():
    for kind in (ONMF, Fast, PALM):
        for name in parameters(kind):
            assert f"{name} :" in kind.__doc__ or f"{name}, " in kind.__doc__ or name == "mu_w"


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.filterwarnings("ignore::onmf.exceptions.ConvergenceWarning")
def test_a_name_is_the_object_without_settings(name):
    settings = {"random_state": 0, "max_iter": 30 if name == "palm" else None}
    one, other = (ONMF(4, solver=s, **settings).fit(X) for s in (name, SOLVERS[name]()))
    np.testing.assert_array_equal(one.cluster_centers_, other.cluster_centers_)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("penalty", ("sncp", "nsncp")),
        ("center_bounds", ("auto", (0, 0.3))),
        ("rho", (1e-3, 1e-1)),
        ("growth", (1.1, 4.0)),
        ("mu_h", (0.0, 1.0)),
        ("mu_w", (0.0, 1e-3)),
        ("inner_tol", (1e-4, 1e-1)),
        ("accelerate", (False, True)),
    ],
)
@pytest.mark.filterwarnings("ignore::onmf.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::onmf.exceptions.EmptyClusterWarning")
def test_every_parameter_of_a_solver_does_something(name, values):
    fits = [
        ONMF(4, solver=PALM(**{name: value}), max_iter=300, random_state=0).fit(X)
        for value in values
    ]
    assert fits[0].history_ != fits[1].history_


def test_a_clone_has_its_own_solver():
    model = ONMF(4, solver=Fast(passes=2), random_state=0)
    copy = clone(model).set_params(solver__passes=3)
    assert (model.solver.passes, copy.solver.passes) == (2, 3)
    assert copy.get_params()["solver__passes"] == 3
    with pytest.raises(ValueError, match="Invalid parameter 'mu_h'"):
        copy.set_params(solver__mu_h=1.0)


def test_a_search_sets_the_parameters_of_a_solver():
    grid = {"onmf__solver__rho": [1e-3, 1e-2], "onmf__solver__growth": [2.0, 3.0]}
    pipe = make_pipeline(Normalizer(), ONMF(4, solver=PALM(), random_state=0))
    search = GridSearchCV(pipe, grid, cv=2).fit(X)
    best = search.best_estimator_[-1].solver
    chosen = {f"onmf__solver__{name}": value for name, value in vars(best).items()}
    assert search.best_params_.items() <= chosen.items()
    assert len(search.cv_results_["params"]) == 4
    solvers = GridSearchCV(pipe, {"onmf__solver": [Fast(passes=2), "palm"]}, cv=2).fit(X)
    assert solvers.best_score_ > 0.5


@pytest.mark.parametrize(
    ("solver", "words"),
    [
        ("slow", r"solver must be one of 'fast', 'palm', Fast\(...\) or PALM\(...\), not 'slow'"),
        (Fast, "solver must be one of"),
        (None, "solver must be one of"),
        (Fast(passes=0), "passes must be a whole number >= 1, not 0"),
        (Fast(passes=2.5), "passes must be a whole number >= 1"),
        (PALM(rho=-1.0), "rho must be a number > 0"),
        (PALM(growth=1.0), "growth must be a number > 1"),
        (PALM(mu_h=-1), "mu_h must be a number >= 0"),
        (PALM(mu_w=np.nan), "mu_w must be a number >= 0"),
        (PALM(inner_tol="small"), "inner_tol must be a number >= 0"),
        (PALM(accelerate=1), "accelerate must be True or False, not 1"),
    ],
)
def test_a_solver_that_makes_no_sense_is_refused(solver, words):
    with pytest.raises(ValueError, match=words):
        ONMF(4, solver=solver).fit(X)


# Starts


def start(X, k, random_state):
    return X[random_state.choice(len(X), k, replace=False)]


@pytest.mark.parametrize("solver", ["fast", PALM(growth=3.0)], ids=["fast", "palm"])
@pytest.mark.parametrize("init", [X[:4], (None, X[:4]), "nndsvd"], ids=["W", "pair", "nndsvd"])
def test_several_starts_from_given_centroids_are_one_and_a_warning_says_so(init, solver):
    with pytest.warns(UnusedParameterWarning, match="n_init=3 is not used") as said:
        model = ONMF(4, init=init, n_init=3, solver=solver).fit(X)
    assert said[0].filename == __file__
    one = ONMF(4, init=init, solver=solver).fit(X)
    np.testing.assert_array_equal(model.cluster_centers_, one.cluster_centers_)


def test_a_callable_gives_several_starts_to_the_paper_s_method_alone():
    calls = []

    def counted(X, k, random_state):
        calls.append(k)
        return start(X, k, random_state)

    ONMF(4, init=counted, n_init=3, solver=PALM(growth=3.0), random_state=0).fit(X)
    assert calls == [4, 4, 4]
    with pytest.warns(UnusedParameterWarning, match="n_init=3 is not used"):
        ONMF(4, init=counted, n_init=3, random_state=0).fit(X)
    assert len(calls) == 4


def test_a_saved_model_has_its_solver(tmp_path):
    for solver in ("palm", Fast(passes=3), PALM("nsncp", (0, 5), accelerate=True)):
        ONMF(4, solver=solver, random_state=0).fit(X).save(tmp_path / "m.onmf")
        assert repr(onmf.ONMF.load(tmp_path / "m.onmf").solver) == repr(solver)


def test_the_defaults_of_the_papers_method_are_those_that_are_documented():
    """Bit for bit: rho 1e-8, growth 1.1, ridges 1e-10 and 0, relative change 3e-3."""
    X = make_rays(40, 6, 3, noise=0.5, random_state=0)[0]
    said = PALM(rho=1e-8, growth=1.1, mu_h=1e-10, mu_w=0.0, inner_tol=3e-3)
    one, other = (ONMF(3, solver=s, random_state=0).fit(X) for s in (PALM(), said))
    np.testing.assert_array_equal(one.cluster_centers_, other.cluster_centers_)
    assert one.n_iter_ == other.n_iter_
