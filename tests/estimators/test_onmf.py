"""What ONMF promises to people who know scikit-learn."""

import _thread
import logging
import pickle
import threading
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import cosine_similarity
from sklearn.utils.estimator_checks import parametrize_with_checks
from threadpoolctl import threadpool_limits

import contract
from cases import few
from onmf import ONMF, PALM, Fast, General
from onmf.datasets import make_rays
from onmf.estimators.progress import stage_sentence
from onmf.exceptions import (
    ConvergenceWarning,
    EmptyClusterWarning,
    SignedDataWarning,
    UnassignedSampleWarning,
)
from onmf.result import Stage

# The paper's start draws a row for each sample, so repeating samples changes it: hence nndsvd.
OF_PALM = {"init": "nndsvd", "max_iter": 300}
OTHERS = [
    ONMF(2, loss="kl"),
    # 1e-5 leaves probabilities 1e-7 apart; from few starts copies may end in another optimum.
    ONMF(2, outliers="auto", tol=1e-12, n_init=5),
    ONMF(2, init="nndsvd"),  # swaps draw rows: of more clusters copies may end elsewhere
    ONMF(2, solver=Fast(passes=2)),
    ONMF(2, solver="palm", **OF_PALM),
    ONMF(2, solver=PALM(penalty="nsncp"), **OF_PALM),
]


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks([ONMF(2)])
def test_keeps_the_scikit_learn_contract(estimator, check):
    check(estimator)


# scikit-learn's checks of sparse data fit y of four classes, and count the columns of
# `predict_proba`: four, or two of estimators that know two classes only. Here they are clusters.
OF_CLASSIFIERS = dict.fromkeys(
    ("check_estimator_sparse_array", "check_estimator_sparse_matrix"),
    "takes the eight clusters of the default for classes of y",
)
# The loss of the last is for X >= 0, whatever `check_clustering` brings.
DEFAULTS = [
    ONMF(),
    ONMF(outliers="auto"),
    ONMF(init="k-means++"),
    ONMF(solver=Fast(passes=2)),
    ONMF(loss="kl"),
]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks([ONMF(4)])
def test_keeps_the_scikit_learn_contract_with_as_many_clusters_as_its_checks_have_classes(
    estimator, check
):
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(
    DEFAULTS,
    expected_failed_checks=lambda model: (
        OF_CLASSIFIERS
        | ({"check_clustering": "feeds X < 0 to every clusterer"} if model is DEFAULTS[-1] else {})
    ),
)
def test_keeps_the_scikit_learn_contract_by_default(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@contract.arithmetic(OTHERS)
def test_keeps_the_scikit_learn_contract_with_every_kind_of_fit(estimator, check):
    check(estimator)


SOLVERS = few(["fast", PALM(penalty="nsncp"), "palm"], 2)


@pytest.fixture(params=SOLVERS, ids=str)
def solver(request):
    return request.param


@pytest.fixture
def model(solver):
    return ONMF(4, solver=solver, random_state=0)


def test_finds_the_planted_clusters(model, planted):
    X, y = planted
    model.fit(X)
    assert adjusted_rand_score(y, model.labels_) == 1
    assert model.converged_
    assert model.relative_error_ == pytest.approx(
        np.sum((X - model.membership_ @ model.cluster_centers_) ** 2) / np.sum(X**2)
    )
    assert model.n_iter_ == model.history_[-1].sweeps
    assert model.stationarity_ < 1e-2
    assert model.n_disagreements_ == 0


def test_containers_do_not_matter(model, planted, container):
    X, _ = planted
    plain = clone(model).fit(X)
    other = model.fit(container(X))
    np.testing.assert_array_equal(other.labels_, plain.labels_)
    np.testing.assert_allclose(other.cluster_centers_, plain.cluster_centers_, atol=1e-8)
    np.testing.assert_array_equal(other.predict(container(X)), plain.predict(X))


def test_data_is_never_changed(model, planted, container):
    X = container(planted[0])
    before = X.copy()
    if sp.issparse(X):
        X.data.flags.writeable = False
    else:
        X.flags.writeable = False
    model.fit(X)
    assert abs(X - before).max() == 0


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_single_precision_stays_single(model, planted, make):
    X = make(planted[0].astype(np.float32))
    model.fit(X)
    assert model.membership_.dtype == model.cluster_centers_.dtype == np.float32
    assert model.transform(X).dtype == np.float32
    double = clone(model).fit(planted[0])
    np.testing.assert_array_equal(model.labels_, double.labels_)


@pytest.mark.filterwarnings("ignore:.*clusters are empty", "ignore:ONMF did not converge")
def test_integers_and_booleans_are_numbers(model):
    rays = np.kron(np.eye(4), [9, 5, 7])
    X = np.random.default_rng(0).poisson(1 + rays[np.arange(60) % 4])
    model.set_params(max_iter=20)  # enough for a difference to show
    for kind in (int, np.uint8, bool):
        answers = [
            clone(model).fit_predict(X.astype(kind).astype(dtype)) for dtype in (kind, float)
        ]
        np.testing.assert_array_equal(*answers)


def test_a_data_frame_keeps_its_names(model, planted):
    frame = pd.DataFrame(planted[0], columns=[f"gene {j}" for j in range(30)])
    model.set_output(transform="pandas").fit(frame)
    assert model.feature_names_in_[3] == "gene 3"
    out = model.transform(frame)
    assert list(out.columns) == ["onmf0", "onmf1", "onmf2", "onmf3"]


def test_names_of_kmeans_and_nmf_are_there_too(model, planted, container):
    X = planted[0]
    weight = np.arange(len(X)) % 3 + 1.0
    for size in (1, 1e-120, 1e120) if model.solver == "fast" else (1,):
        model.fit(container(size * X), sample_weight=weight)
        left = (size * X - model.membership_ @ model.cluster_centers_) ** 2
        assert model.inertia_ == pytest.approx(weight @ left.sum(axis=1), rel=1e-9)
        assert model.reconstruction_err_ == pytest.approx(np.sqrt(model.inertia_))
        assert model.components_ is model.cluster_centers_
    model.fit(container(X), sample_weight=1e100 * weight)
    left = (X - model.membership_ @ model.cluster_centers_) ** 2
    assert model.inertia_ == pytest.approx(1e100 * weight @ left.sum(axis=1), rel=1e-9)
    assert not hasattr(ONMF(), "components_")
    assert not hasattr(ONMF(), "reconstruction_err_")
    first = ONMF(4, random_state=0).fit(X[:60]).partial_fit(X[60:])
    left = np.sum((X[60:] - first.membership_ @ first.cluster_centers_) ** 2)
    assert first.inertia_ == pytest.approx(left)


def test_transform_is_the_best_single_cluster_code(model, planted):
    X, _ = planted
    model.fit(X)
    H = model.transform(X)
    assert ((H > 0).sum(axis=1) == 1).all()
    np.testing.assert_array_equal(H.argmax(axis=1), model.predict(X))
    left = np.sum((X - H @ model.cluster_centers_) ** 2) / np.sum(X**2)
    assert model.score(X) == pytest.approx(1 - left)
    np.testing.assert_allclose(clone(model).fit_transform(X), H)


def test_distance_is_that_of_the_largest_cosine(model, planted, container):
    X, _ = planted
    X = np.vstack([X, np.zeros(30)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnassignedSampleWarning)
        model.fit(X)
    cosines = cosine_similarity(X, model.cluster_centers_)
    first = cosines.max(axis=1)[:-1]
    np.testing.assert_allclose(model.distance(container(X)), [*np.sqrt(1 - first**2), 1], atol=1e-7)
    np.testing.assert_allclose(model.distance(X * 1e-200), model.distance(X), atol=1e-7)


def test_inverse_transform_gives_the_multiple_of_the_centroid(model, planted):
    X, _ = planted
    H = model.fit(X).transform(X)
    back = model.inverse_transform(H)
    assert np.sum((X - back) ** 2) / np.sum(X**2) == pytest.approx(1 - model.score(X))
    np.testing.assert_allclose(model.inverse_transform(sp.csr_array(H)), back)
    np.testing.assert_allclose(model.transform(back), H)
    assert model.inverse_transform(H.astype(np.float32)).shape == X.shape
    with pytest.raises(ValueError, match="X has 30 columns, but ONMF has 4 clusters"):
        model.inverse_transform(X)


def test_the_decision_function_is_the_cosine_with_every_centroid(model, planted, container):
    X = np.vstack([planted[0], np.zeros(30)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnassignedSampleWarning)
        model.fit(X)
    scores = model.decision_function(container(X))
    np.testing.assert_allclose(scores, cosine_similarity(X, model.cluster_centers_), atol=1e-12)
    np.testing.assert_array_equal(scores[:-1].argmax(axis=1), model.predict(X)[:-1])
    assert model.decision_function(X.astype(np.float32)).dtype == np.float32
    np.testing.assert_allclose(model.decision_function(X * 1e-200), scores, atol=1e-12)


def test_negative_cosines_count_as_zero():
    X = np.array([[1.0, 0], [-1, 0.1], [2, 0], [-2, 0.2]])
    with pytest.warns(SignedDataWarning):
        model = ONMF(2, random_state=0).fit(X)
    assert model.distance([[0, -1]]) == [1]


@pytest.mark.parametrize("penalty", few(["sncp", "nsncp", General(1, 3, 3)], 2), ids=str)
def test_weight_two_equals_the_row_twice(planted, penalty):
    X, _ = planted
    weight = np.arange(len(X)) % 3
    again = np.repeat(np.arange(len(X)), weight)
    H, W = np.random.default_rng(0).random((120, 4)), np.random.default_rng(1).random((4, 30))
    settings = {"solver": PALM(penalty)}
    weighted = ONMF(4, init=(H, W), **settings).fit(X, sample_weight=weight)
    repeated = ONMF(4, init=(H[again], W), **settings).fit(X[again])
    np.testing.assert_array_equal(weighted.labels_[again], repeated.labels_)
    np.testing.assert_allclose(
        weighted.cluster_centers_, repeated.cluster_centers_, rtol=1e-6, atol=1e-8
    )
    assert weighted.relative_error_ == pytest.approx(repeated.relative_error_)
    assert weighted.score(X, sample_weight=weight) == pytest.approx(repeated.score(X[again]))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:ONMF did not converge")
def test_the_same_answer_for_any_number_of_threads(solver):
    X, _ = make_rays(1500, 200, 4, noise=0.5, random_state=0)  # several blocks
    answers = []
    for n_jobs, threads in [(1, 1), (2, 1), (-1, 2), (None, 2), (3, 2)]:
        with threadpool_limits(threads, user_api="blas"):
            settings = {"random_state": 0, "max_iter": 12}
            answers.append(ONMF(4, solver=solver, n_jobs=n_jobs, **settings).fit(X))
    for other in answers[1:]:
        np.testing.assert_array_equal(other.labels_, answers[0].labels_)
        np.testing.assert_array_equal(other.cluster_centers_, answers[0].cluster_centers_)


@pytest.mark.slow
def test_more_starts_are_never_worse_and_the_first_is_the_seed(penalty_name):
    X, _ = make_rays(100, 20, 6, noise=0.3, random_state=1)
    one = ONMF(6, solver=PALM(penalty_name), random_state=3).fit(X)
    many = ONMF(6, solver=PALM(penalty_name), random_state=3, n_init=4).fit(X)
    assert many.relative_error_ <= one.relative_error_
    again = ONMF(6, solver=PALM(penalty_name), random_state=3, n_init=4, n_jobs=2).fit(X)
    np.testing.assert_array_equal(again.labels_, many.labels_)


@pytest.mark.parametrize("init", ["random", "k-means++", "nndsvd"])
def test_every_named_start_works(model, planted, init):
    assert adjusted_rand_score(planted[1], model.set_params(init=init).fit(planted[0]).labels_) == 1


def test_given_starts_keep_their_ids(model, planted):
    X, y = planted
    rays = np.array([X[y == c].mean(axis=0) for c in (2, 0, 3, 1)])
    frame = pd.DataFrame(rays)
    for init in [rays, rays.tolist(), frame, sp.csr_array(rays), lambda X, k, rng: rays]:
        labels = model.set_params(init=init).fit(X).labels_
        np.testing.assert_array_equal(labels, np.array([1, 3, 0, 2])[y])
    for init in [(None, rays), lambda X, k, rng: (None, rays)]:
        labels = model.set_params(init=init).fit(X).labels_
        np.testing.assert_array_equal(labels, np.array([1, 3, 0, 2])[y])


def test_a_fit_from_a_model_keeps_its_clusters(solver, planted):
    X, y = planted
    rays = np.array([X[y == c].mean(axis=0) for c in (2, 0, 3, 1)])
    first = ONMF(4, init=rays, solver=solver).fit(X[:60])
    then = ONMF(init=first, solver=solver, random_state=0).fit(X)
    np.testing.assert_array_equal(then.cluster_ids_[then.labels_], np.array([1, 3, 0, 2])[y])
    given = ONMF(4, init=first.cluster_centers_, solver=solver, random_state=0).fit(X)
    np.testing.assert_allclose(given.cluster_centers_, then.cluster_centers_, rtol=1e-6)
    with pytest.raises(ValueError, match="X has 29 features, the model given as init 30"):
        then.fit(X[:, 1:])


def test_a_fit_from_a_model_is_no_longer():
    X, _ = make_rays(300, 60, 4, noise=1, random_state=0)
    first = ONMF(4, random_state=0).fit(X)
    then = ONMF(init=first, random_state=0).fit(X)
    assert then.n_iter_ <= first.n_iter_
    assert then.converged_


def test_two_centroids_as_lists_are_no_pair(planted):
    X, y = planted
    X, y = X[y < 2], y[y < 2]
    rays = [X[y == c].mean(axis=0).tolist() for c in (1, 0)]
    np.testing.assert_array_equal(ONMF(2, init=rays).fit(X).labels_, 1 - y)


def test_labels_are_ordered_by_size(model):
    X, _ = make_rays(200, 20, 4, noise=0.05, imbalance=4, random_state=0)
    sizes = np.bincount(model.fit(X).labels_, minlength=4)
    assert (np.diff(sizes) <= 0).all()


def test_permuting_samples_permutes_the_labels(solver, planted):
    X, _ = planted
    order = np.random.default_rng(5).permutation(len(X))
    settings = {"solver": solver, "init": "nndsvd"}
    plain, mixed = ONMF(4, **settings).fit(X), ONMF(4, **settings).fit(X[order])
    assert adjusted_rand_score(plain.labels_[order], mixed.labels_) == 1


def signed_rays():
    rng = np.random.default_rng(0)
    y = np.arange(90) % 3
    rays = np.array([[1, -1, 0.5], [-1, 1, 0.5], [0.2, 0.2, -1]])
    return rng.uniform(0.5, 2, (90, 1)) * rays[y] + 0.05 * rng.normal(size=(90, 3)), y


@pytest.mark.slow
def test_signed_data_are_clustered_with_any_bounds_that_allow_it(penalty_name):
    X, y = signed_rays()
    settings = {"init": "k-means++", "n_init": 5, "random_state": 0}
    for bounds in ["data", (None, None), (-2, 2)]:
        model = ONMF(3, solver=PALM(penalty_name, bounds), **settings).fit(X)
        assert adjusted_rand_score(y, model.labels_) == 1
    assert model.cluster_centers_.min() < 0
    with pytest.raises(ValueError, match=r"Negative .* leave center_bounds at 'auto'"):
        ONMF(3, solver=PALM(penalty_name, (0, None))).fit(X)


@pytest.mark.parametrize("solver", ["fast", "palm"])
def test_by_default_signed_data_are_clustered_with_a_note(solver):
    X, y = signed_rays()
    settings = {"random_state": 0, "n_init": 5, "solver": solver}
    with pytest.warns(SignedDataWarning, match="directions of any sign") as said:
        model = ONMF(3, **settings).fit(X)
    assert len(said) == 1
    assert said[0].filename == __file__
    assert model.cluster_centers_.min() < 0
    assert adjusted_rand_score(y, model.labels_) == 1


def test_one_negative_entry_is_enough_for_the_note(planted):
    X = planted[0].copy()
    X[3, 7] = -1e-3
    with pytest.warns(SignedDataWarning):
        ONMF(4, random_state=0).fit(X)


def test_without_negative_entries_the_default_is_the_bound_at_zero(model, planted):
    W = model.fit(planted[0]).cluster_centers_
    assert W.min() >= 0
    bounded = ONMF(4, solver=PALM(center_bounds=(0, None)), random_state=0).fit(planted[0])
    plain = ONMF(4, solver="palm", random_state=0).fit(planted[0])
    np.testing.assert_array_equal(plain.cluster_centers_, bounded.cluster_centers_)


def test_bounds_are_kept(penalty_name, planted):
    X, _ = planted
    for bounds, most in (((0, 0.5), 0.5), ("data", X.max())):
        model = ONMF(4, solver=PALM(penalty_name, bounds), random_state=0).fit(X)
        assert model.cluster_centers_.max() <= most


def test_zero_samples_have_no_cluster_and_one_warning(model, planted):
    X = planted[0].copy()
    X[[3, 50]] = 0
    with pytest.warns(UnassignedSampleWarning, match="3, 50") as caught:
        model.fit(X)
    assert len(caught) == 1
    assert np.flatnonzero(model.labels_ == -1).tolist() == [3, 50]
    assert not model.membership_[[3, 50]].any()
    assert model.predict(X[[3]]).tolist() == [-1]
    assert np.isfinite(model.cluster_centers_).all()


def test_zero_columns_are_harmless(planted, solver):
    X, _ = planted
    settings = {"solver": solver, "init": "nndsvd"}
    wide = np.insert(X, [0, 7, 30], 0, axis=1)
    plain, padded = ONMF(4, **settings).fit(X), ONMF(4, **settings).fit(wide)
    np.testing.assert_array_equal(padded.labels_, plain.labels_)
    assert not padded.cluster_centers_[:, 0].any()


def test_duplicates_and_constant_data_are_answered(penalty_name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for X in [np.ones((10, 4)), np.repeat(np.eye(3), 5, axis=0), np.arange(1.0, 9)[:, None]]:
            model = ONMF(2, solver=PALM(penalty_name), random_state=0, max_iter=100).fit(X)
            assert np.isfinite(model.relative_error_)
            assert np.isfinite(model.cluster_centers_).all()


def test_empty_clusters_are_reported():
    X = np.repeat(np.eye(2), 20, axis=0)
    init = np.eye(4)[np.arange(40) // 20], np.eye(4, 2) + 1e-3
    with pytest.warns(EmptyClusterWarning, match="of 4 clusters are empty"):
        ONMF(4, solver="palm", init=init).fit(X)


@pytest.mark.parametrize("place", ["memory", "disk"])
def test_fewer_directions_than_clusters_leave_the_others_empty(place, tmp_path):
    rays = np.eye(5)[:3] + 0.1
    X = np.repeat(rays, 6, axis=0) * np.arange(1, 19)[:, None]
    np.save(tmp_path / "X.npy", X)
    model = ONMF(7, random_state=0)
    with pytest.warns(EmptyClusterWarning, match="only 3 distinct .* 4 of 7 clusters are empty"):
        model.fit(X if place == "memory" else tmp_path / "X.npy")
    assert sorted(np.bincount(model.labels_)) == [6, 6, 6]  # and ids 0, 1, 2
    assert model.cluster_centers_.shape == (7, 5)
    assert not model.cluster_centers_[3:].any()
    np.testing.assert_allclose(model.membership_ @ model.cluster_centers_, X, atol=1e-9)
    assert model.relative_error_ < 1e-12
    assert model.history_[-1].empty_clusters == 4
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert not model.decision_function(X)[:, 3:].any()


def test_given_starts_keep_their_ids_when_some_stay_empty():
    rays = np.eye(5)[:3] + 0.1
    X = np.repeat(rays, 6, axis=0) * np.arange(1, 19)[:, None]
    given = np.vstack([np.eye(5)[4], rays[2], rays[0], np.eye(5)[3], rays[1]])
    with pytest.warns(EmptyClusterWarning, match="only 3 distinct directions"):
        labels = ONMF(5, init=given).fit_predict(X)
    np.testing.assert_array_equal(labels, np.repeat([2, 4, 1], 6))


@pytest.mark.parametrize("method", ["fit", "fit_predict", "fit_transform", "partial_fit"])
def test_warnings_point_at_the_line_that_fits(method, planted):
    X = planted[0].copy()
    X[3] = 0
    with pytest.warns(UnassignedSampleWarning) as caught:
        getattr(ONMF(4, random_state=0), method)(X)
    assert caught[0].filename == __file__


@pytest.mark.parametrize("options", [{}, {"loss": "kl"}, {"solver": "palm"}], ids=str)
def test_one_iteration_is_allowed_and_labels_every_sample(options):
    X, _ = make_rays(300, 60, 4, noise=2, random_state=0)
    model = ONMF(4, max_iter=1, random_state=0, **options)
    with pytest.warns(ConvergenceWarning, match="max_iter=1 sweeps"):
        model.fit(X)
    assert model.n_iter_ <= 3
    assert np.unique(model.labels_).tolist() == [0, 1, 2, 3]
    assert model.score(X) > 0


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("holes", [0, 20])
def test_a_tolerance_of_zero_ends_when_nothing_moves(dtype, holes):
    X = make_rays(300, 60, 4, noise=1, random_state=0)[0].astype(dtype)
    X[:holes, 3] = np.nan
    model = ONMF(4, tol=0, max_iter=200, random_state=0).fit(X)
    assert model.converged_
    assert model.n_iter_ < 100
    assert model.stationarity_ < 100 * np.finfo(dtype).eps


def test_a_limit_says_which_knob_to_turn(model):
    X, _ = make_rays(300, 60, 4, noise=2, random_state=0)
    with pytest.warns(ConvergenceWarning, match="max_iter=2"):
        model.set_params(max_iter=2).fit(X)
    assert model.n_iter_ == 2
    assert not model.converged_


def test_the_callback_sees_every_sweep_and_every_last_stage(model, planted):
    events = []
    model.set_params(callback=events.append).fit(planted[0])
    stages = [event.stage for event in events if event.stage is not None]
    assert stages == model.history_[-len(stages) :]
    assert {event.sweep for event in events} == {*range(1, model.n_iter_ + 1)}
    np.testing.assert_array_equal(events[-1].membership().any(axis=1), np.ones(120, bool))
    assert all(event.sweep <= event.max_sweeps for event in events)


def test_the_callback_may_stop_the_fit(model, planted):
    model.set_params(callback=lambda event: event.sweep >= 2).fit(planted[0])
    assert model.n_iter_ == 2
    assert not model.converged_


def test_verbose_writes_a_sentence_a_stage(model, planted, caplog):
    caplog.set_level(logging.INFO, "onmf")
    model.set_params(verbose=1).fit(planted[0])
    said, last = [record.getMessage() for record in caplog.records], model.history_[-1]
    assert f"X read {last.sweeps} times: {last.relative_error:.2%} of X is unexplained" in said[-1]
    begin = "Start 1, X read " if model.solver == "fast" else "Start 1, penalty weight "
    assert all(line.startswith(begin) and line[-1] == "." for line in said)
    assert not any("Stage(" in line or "empty" in line for line in said)


def test_the_sentence_counts_empty_clusters():
    stage = Stage(1e-8, 3, 0.25, 0.0, 0.0, 1e-3, 0)
    assert stage_sentence(1, stage) == (
        "Start 2, penalty weight 1e-08, X read 3 times: 25.00% of X is unexplained, the last step "
        "moved by 1.0e-03."
    )
    assert stage_sentence(0, stage._replace(residual=np.inf)).endswith(
        "25.00% of X is unexplained."
    )
    assert stage_sentence(0, stage._replace(empty_clusters=1)).endswith(", 1 cluster is empty.")
    assert stage_sentence(0, stage._replace(empty_clusters=2)).endswith(", 2 clusters are empty.")


def test_an_interrupted_fit_changes_nothing(model, planted):
    X, _ = planted
    model.fit(X)
    before = {name: value for name, value in vars(model).items() if name.endswith("_")}
    blas = threading.active_count()

    def interrupt(event):
        if event.sweep == 3:
            _thread.interrupt_main()
        return False

    model.set_params(callback=interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X * 2)
    assert all(vars(model)[name] is value for name, value in before.items())
    assert threading.active_count() <= blas
    assert model.set_params(callback=None).fit(X).converged_


def test_survives_pickle(model, planted):
    X, _ = planted
    copy = pickle.loads(pickle.dumps(model.fit(X)))
    np.testing.assert_array_equal(copy.predict(X), model.predict(X))


@pytest.mark.parametrize("random_state", few([None, np.random.RandomState(0), 0], 2))
def test_every_kind_of_seed_works(planted, random_state):
    ONMF(4, solver="palm", random_state=random_state).fit(planted[0])


@pytest.mark.parametrize("loss", ["frobenius", "kl"])
def test_predict_follows_centroids_that_are_changed_in_place(loss):
    """What `predict` keeps of the centroids for the next call is compared with them."""
    X, _ = make_rays(60, 8, 3, noise=0.5, random_state=0)
    model = ONMF(3, loss=loss, random_state=0).fit(X)
    before, H = model.predict(X), model.transform(X)
    model.cluster_centers_ *= 2
    np.testing.assert_array_equal(model.predict(X), before)
    np.testing.assert_allclose(model.transform(X), H / 2)
    model.cluster_centers_[[0, 1]] = model.cluster_centers_[[1, 0]]
    np.testing.assert_array_equal(model.predict(X), np.array([1, 0, 2])[before])
    model.cluster_centers_ = model.cluster_centers_[:1].copy()
    assert set(model.predict(X)) <= {0}


def test_predict_in_both_precisions_and_with_missing_values_in_turn():
    X, _ = make_rays(60, 8, 3, noise=0.5, random_state=0)
    model = ONMF(3, random_state=0).fit(X)
    holes = X.copy()
    holes[::3, 1] = np.nan
    kinds = [X, X.astype(np.float32), holes, X.tolist()]
    alone = [pickle.loads(pickle.dumps(model)).predict(rows) for rows in kinds]
    for rows, labels in [*zip(kinds, alone, strict=True)] * 2:
        np.testing.assert_array_equal(model.predict(rows), labels)
        assert model.transform(rows).dtype == (np.float32 if rows is kinds[1] else np.float64)


@pytest.mark.parametrize("options", [{}, {"loss": "kl"}], ids=str)
@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_a_fit_from_its_own_optimum_is_no_worse(options, dtype):
    """A search leads away from it: it is compared with what the alternation makes of the start."""
    for seed in range(4):
        X = np.random.default_rng(seed).random((100, 5)).astype(dtype)
        first = ONMF(4, random_state=0, **options).fit(X)
        again = ONMF(4, init=first.cluster_centers_, random_state=1, **options).fit(X)
        same = ONMF(init=first, random_state=1, **options).fit(X)
        slack = 1e-5 if dtype == "f4" else 1e-9
        assert again.relative_error_ <= first.relative_error_ * (1 + slack)
        assert same.relative_error_ <= first.relative_error_ * (1 + slack)


@pytest.mark.parametrize("outliers", [0.1, 5, "auto"])
def test_a_fit_with_outliers_from_its_own_optimum_is_no_worse(outliers):
    """It counts at its own limit: at that of the new search other samples are outliers."""
    for seed in (8, 11, 12, 14, 17):
        rng = np.random.default_rng(seed)
        rays = rng.gamma(0.5, 1, (4, 20))[rng.integers(0, 4, 120)] * rng.gamma(2, 1, (120, 1))
        X = rng.random((100, 5)) if seed % 2 else rays + 0.6 * rng.random((120, 20))
        first = ONMF(4, outliers=outliers, random_state=0).fit(X)
        for start in (first, first.cluster_centers_):
            again = ONMF(4, outliers=outliers, init=start, random_state=1).fit(X)
            assert again.relative_error_ <= first.relative_error_ * (1 + 1e-9)
            np.testing.assert_array_equal(again.predict(X), again.labels_)
