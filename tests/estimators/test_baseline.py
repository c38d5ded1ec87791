"""What Baseline promises to people who know ONMF."""

import tracemalloc
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import parametrize_with_checks

import contract
from onmf import ONMF, Baseline
from onmf.baselines import METHODS, shared_draws
from onmf.datasets import make_rays
from onmf.exceptions import ConvergenceWarning, EmptyClusterWarning, UnassignedSampleWarning
from onmf.palm.start import paper_start
from onmf.rows.memory import InMemory

QUICK = 40  # iterations that are enough for a check
# The shared start draws a row for each sample, so repeating samples changes it: hence nndsvd.
FIRST, *OTHERS = (Baseline(method, 2, init="nndsvd", max_iter=QUICK) for method in METHODS)
WEIGHTS = "check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data"  # fmt: skip # noqa: E501


def expected_failures(model):
    failures = {"check_clustering": "feeds X < 0 to every clusterer"}
    reasons = {
        "k-means++": "draws its seeds among the samples, repeated ones too",
        "alternation": "fills an empty cluster with the one sample that loses most, by its weight",
    }
    if model.method in reasons:
        failures |= dict.fromkeys(WEIGHTS, reasons[model.method])
    return failures


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks([FIRST], expected_failed_checks=expected_failures)
def test_keeps_the_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@contract.arithmetic(OTHERS, expected_failures)
def test_keeps_the_scikit_learn_contract_with_every_method(estimator, check):
    check(estimator)


@pytest.fixture(params=METHODS)
def model(request):
    return Baseline(request.param, 4, random_state=1, max_iter=QUICK)


pytestmark = pytest.mark.filterwarnings("ignore:Baseline did not converge", "ignore:.*are empty")


def test_the_attributes_are_those_of_onmf(model, planted):
    X, _ = planted
    model.fit(X)
    ours = ONMF(4, random_state=0).fit(X)
    fitted = {name for name in vars(ours) if name.endswith("_")}
    fitted -= {"lineage_", "ray_weight_"}  # of models that continue
    assert fitted == {name for name in vars(model) if name.endswith("_")}
    assert model.membership_.shape == (120, 4)
    assert model.cluster_centers_.shape == (4, 30)
    assert model.labels_.tolist() == model.membership_.argmax(axis=1).tolist()
    assert 0 <= model.relative_error_ < 1
    assert 1 <= model.n_iter_ <= QUICK
    assert model.n_disagreements_ == np.sum(model.predict(X) != model.labels_)
    assert model.stationarity_ == model.history_[-1].residual


def test_the_same_seed_is_the_same_start_as_that_of_onmf(monkeypatch, planted):
    X, _ = planted
    seen = []

    def spy(data, start, **settings):
        seen.append(start)
        return METHODS["dtpp"](data, start, **settings)

    monkeypatch.setitem(METHODS, "hals", spy)
    Baseline("hals", 4, random_state=7, max_iter=2).fit(X)
    (start,) = seen
    data = InMemory(X)
    rows, W = paper_start(data, 4, 7)  # what solver="palm" begins with
    np.testing.assert_array_equal(start.W, W)
    np.testing.assert_array_equal(start.H.argmax(axis=1), data.gather(rows).argmax(axis=1))
    np.testing.assert_array_equal(start.H, shared_draws(data, 4, 7)[0])
    with pytest.raises(ValueError, match="read-only"):
        start.W[0] = 0


def test_containers_do_not_matter(model, planted, container):
    X, _ = planted
    plain, other = clone(model).fit(X), model.fit(container(X))
    np.testing.assert_array_equal(other.labels_, plain.labels_)
    np.testing.assert_allclose(other.cluster_centers_, plain.cluster_centers_, atol=1e-8)


def test_the_same_answer_for_any_number_of_threads(model):
    X, _ = make_rays(3000, 200, 4, noise=0.5, random_state=0)
    one, two = (clone(model).set_params(n_jobs=n, max_iter=5).fit(X) for n in (1, 2))
    np.testing.assert_array_equal(one.labels_, two.labels_)
    exact = model.method not in {"k-means", "k-means++"}
    close = {"rtol": 0 if exact else 1e-10}
    np.testing.assert_allclose(one.cluster_centers_, two.cluster_centers_, **close)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_zero_samples_have_no_cluster_and_change_nothing(model, planted, make):
    X = planted[0].copy()
    X[[3, 50]] = 0
    rest = np.delete(np.arange(120), [3, 50])
    model.set_params(init=(None, X[:4] + 0.01))
    with pytest.warns(UnassignedSampleWarning, match="3, 50"):
        model.fit(make(X))
    assert np.flatnonzero(model.labels_ == -1).tolist() == [3, 50]
    assert not model.membership_[[3, 50]].any()
    assert model.predict(make(X[[3]])).tolist() == [-1]
    if model.method != "k-means++":  # which draws among the samples
        without = clone(model).fit(X[rest])
        np.testing.assert_array_equal(model.labels_[rest], without.labels_)
        np.testing.assert_allclose(model.cluster_centers_, without.cluster_centers_, atol=1e-8)


@pytest.mark.parametrize("method", ["k-means", "k-means++"])
def test_k_means_predicts_the_nearest_centroid_not_the_nearest_ray(method):
    rng = np.random.default_rng(0)
    length = np.repeat([1.0, 5.0], 50)  # one direction, two lengths
    X = length[:, None] * (1 + 0.1 * rng.random((100, 3)))
    model = Baseline(method, 2, init=(None, X[[0, 99]]), random_state=0).fit(X)
    assert adjusted_rand_score(length, model.labels_) == 1
    assert model.n_disagreements_ == 0
    np.testing.assert_array_equal(model.predict(1e-3 * X), model.labels_[0])
    np.testing.assert_array_equal(model.transform(X), np.eye(2)[model.labels_])
    assert model.score(X) == pytest.approx(1 - model.relative_error_)
    np.testing.assert_array_equal(model.predict(1e200 * X), model.labels_[99])


def test_the_scores_of_k_means_are_shares_of_the_sample(planted):
    X, _ = planted
    model = Baseline("k-means", 4, random_state=0).fit(X)
    squares = np.array([((X - w) ** 2).sum(axis=1) for w in model.cluster_centers_]).T
    shares = 1 - squares / np.sum(X**2, axis=1, keepdims=True)
    np.testing.assert_allclose(model.decision_function(X), shares, atol=1e-12)
    np.testing.assert_array_equal(shares.argmax(axis=1), model.predict(X))


@pytest.mark.parametrize("init", ["random", "k-means++", "nndsvd"])
def test_every_named_start_works(model, planted, init):
    X, _ = planted
    model.set_params(init=init).fit(X)
    assert np.isfinite(model.membership_).all()
    if init != "random" and model.method not in {"k-means++", "onp-mf", "nmf"}:
        assert adjusted_rand_score(planted[1], model.labels_) > 0.6


def test_given_starts_keep_their_ids(planted):
    X, y = planted
    rays = np.array([X[y == c].mean(axis=0) for c in (2, 0, 3, 1)])
    for method in ("hals", "dtpp", "onmf-s", "alternation", "nmf"):
        labels = Baseline(method, 4, init=(None, rays), max_iter=QUICK).fit(X).labels_
        np.testing.assert_array_equal(labels, np.array([1, 3, 0, 2])[y])


def test_a_data_frame_keeps_its_names(planted):
    frame = pd.DataFrame(planted[0], columns=[f"gene {j}" for j in range(30)])
    model = Baseline("alternation", 4, random_state=0).set_output(transform="pandas").fit(frame)
    assert model.feature_names_in_[3] == "gene 3"
    assert list(model.transform(frame).columns) == [f"baseline{j}" for j in range(4)]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"method": "hal"}, "method must be one of 'dtpp', 'onmf-s', 'hals'"),
        ({"n_clusters": 0}, "n_clusters must be"),
        ({"n_clusters": None}, "n_clusters must be"),
        ({"n_clusters": 121}, "n_clusters=121"),
        ({"init": "svd"}, "init must be one of"),
        ({"max_iter": 0}, "max_iter must be"),
        ({"tol": -1}, "tol must be"),
        ({"callback": 3}, "callback must be callable"),
        ({"init": (None, -np.ones((4, 30)))}, "W in init must not be negative"),
    ],
    ids=str,
)
def test_bad_parameters_are_answered_in_one_sentence(planted, settings, said):
    with pytest.raises(ValueError, match=said):
        Baseline(**{"n_clusters": 4} | settings).fit(planted[0])


def test_negative_data_are_for_k_means_alone(model, planted):
    X = planted[0] - planted[0].mean(axis=0)
    if model.method in ("k-means", "k-means++"):
        np.testing.assert_array_equal(model.fit(X).predict(X), model.labels_)
        return
    with pytest.raises(ValueError, match=r"Negative values .*: only K-means and ONMF take"):
        model.fit(X)


@pytest.mark.parametrize("scale", [1e-300, 1e300])
def test_data_that_cannot_be_squared_are_refused(model, planted, scale):
    with pytest.raises(ValueError, match="divide X by its largest entry"):
        model.fit(scale * planted[0])


def test_a_limit_and_an_empty_cluster_are_warned_of():
    X, _ = make_rays(300, 60, 4, noise=2, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ConvergenceWarning, match=r"Baseline did not .* max_iter=3 iterations"):
            Baseline("hals", 4, random_state=0, max_iter=3).fit(X)
        far = np.vstack([X[:3], 1e3 * X.max(axis=0)])
        with pytest.raises(EmptyClusterWarning, match="ask for fewer, or try another"):
            Baseline("k-means", 4, init=(None, far), max_iter=1).fit(np.repeat(X[:2], 9, axis=0))


def test_the_callback_sees_every_iteration_and_may_stop(planted):
    events = []
    model = Baseline("hals", 4, random_state=0, max_iter=QUICK, callback=events.append)
    model.fit(planted[0])
    assert [event.stage for event in events] == model.history_
    stopped = model.set_params(callback=lambda event: event.sweep >= 6).fit(planted[0])
    assert stopped.n_iter_ == 3
    assert not stopped.converged_


def test_sparse_data_are_never_made_dense(model):
    X, _ = make_rays(500, 20_000, 4, sparsity=0.997, random_state=0)
    model.set_params(max_iter=2).fit(X[:100])  # what is imported or compiled is not counted
    tracemalloc.start()
    try:
        model.fit(X)
        assert tracemalloc.get_traced_memory()[1] < X.shape[0] * X.shape[1] * 8 / 8
    finally:
        tracemalloc.stop()
