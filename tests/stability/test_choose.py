"""A K that can be trusted, whatever the clusterer, whatever happens on the way."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.cluster import AgglomerativeClustering, KMeans, MeanShift
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture

from onmf import ONMF, choose_k
from onmf.datasets import make_paper_synthetic, make_rays
from onmf.ledger import Ledger
from onmf.stability import consensus

KMEANS = KMeans(n_init=1, random_state=0)


@pytest.fixture(scope="module")
def rays():
    return make_rays(240, 30, 4, noise=0.3, random_state=0)


class Told:
    """A progress callback that remembers."""

    def __init__(self):
        self.seen = []

    def __call__(self, done, total):
        self.seen.append((done, total))


def failing(k, when=lambda model: True):
    """A clusterer that breaks down at one K."""

    class Fussy(KMeans):
        def fit(self, X, y=None, sample_weight=None):
            if self.n_clusters == k and when(self):
                raise RuntimeError("no such luck")
            return super().fit(X)

    return Fussy(n_init=1, random_state=0)


@pytest.mark.parametrize(
    ("m", "sparsity"), [(60, 0.0), pytest.param(400, 0.8, marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("k", [3, *(pytest.param(k, marks=pytest.mark.slow) for k in (2, 5, 7))])
def test_the_number_of_rays_is_found(k, m, sparsity):
    X, y = make_rays(300, m, k, noise=0.5, imbalance=3, sparsity=sparsity, random_state=k)
    choice = choose_k(ONMF(random_state=0), X, range(2, 9), n_runs=3)
    assert choice.best_k == k
    assert choice.runner_up != k
    assert choice.confidence > 0.9
    assert f"K={k}" in choice.reason
    assert adjusted_rand_score(y, choice.consensus.labels) > 0.95


@pytest.mark.slow
@pytest.mark.parametrize("k", [3, 12])
def test_the_true_k_of_the_papers_generator(k):
    X, _ = make_paper_synthetic(0, n_clusters=k, smallest=15, outliers=0, random_state=7)
    around = range(max(k - 3, 2), k + 4)
    assert choose_k(ONMF(random_state=0), X, around, n_runs=2).best_k == k


@pytest.mark.parametrize("m", [2, 20])
@pytest.mark.parametrize("model", [KMEANS, GaussianMixture(random_state=0)], ids=str)
def test_any_clusterer_will_do_on_signed_data_too(model, m):
    X, _ = make_blobs(300, m, centers=4, cluster_std=1.0, center_box=(-15, 15), random_state=3)
    choice = choose_k(model, X, range(2, 7), n_runs=5)
    assert choice.best_k == 4
    row = choice.table[2]
    means = np.array([X[choice.consensus.labels == c].mean(axis=0) for c in range(4)])
    left = np.sum((X - means[choice.consensus.labels]) ** 2) / np.sum(X**2)
    assert row.relative_error == pytest.approx(left, rel=0.05)


def test_sparse_data_for_another_clusterer(rays):
    X = sp.csr_array(np.where(rays[0] > 0.5, rays[0], 0))
    dense = choose_k(KMEANS, X.toarray(), range(2, 5), n_runs=2)
    np.testing.assert_allclose(
        [row.held_out for row in choose_k(KMEANS, X, range(2, 5), n_runs=2).table],
        [row.held_out for row in dense.table],
        rtol=1e-2,
    )


def test_no_clusters_are_no_evidence():
    X = np.random.default_rng(0).random((200, 60))
    choice = choose_k(ONMF(random_state=0), X, range(2, 6), n_runs=2)
    assert choice.confidence == 0
    assert "no evidence" in choice.reason
    assert choose_k(ONMF(random_state=0), X, range(1, 4), n_runs=2).best_k == 1


def test_the_largest_k_asked_for_is_marked(rays):
    choice = choose_k(ONMF(random_state=0), rays[0], [2, 3, 4], n_runs=2)
    assert choice.best_k == 4
    assert "largest K asked for" in choice.reason


def test_past_a_settled_curve_no_runs_are_made(rays):
    early = choose_k(ONMF(random_state=0), rays[0], range(2, 11), n_runs=2)
    assert np.isnan([row.cophenetic for row in early.table if row.k > 7]).all()
    late = choose_k(ONMF(random_state=0), rays[0], range(2, 11), n_runs=2, early_stop=False)
    assert np.isfinite([row.cophenetic for row in late.table]).all()
    assert np.isfinite([row.held_out for row in early.table]).all()
    assert early.best_k == late.best_k == 4


def test_the_runs_are_fits_from_consecutive_seeds(rays):
    model = ONMF(3, solver="palm", random_state=5, growth=3)
    found = consensus(model, rays[0], n_runs=3)
    for i, labels in enumerate(found.labels_runs.T):
        own = model.set_params(random_state=5 + i).fit_predict(rays[0])
        np.testing.assert_array_equal(labels, own)


@pytest.mark.parametrize("model", [ONMF(5), KMeans(5, n_init=1)], ids=["together", "alone"])
def test_runs_on_noise_do_not_agree(model):
    X = np.random.default_rng(0).random((200, 40))
    found = consensus(model.set_params(random_state=0), X, n_runs=6)
    assert found.cophenetic < 0.95
    assert found.dispersion < 0.9
    assert len(np.unique(found.labels_runs, axis=1).T) == 6


def test_the_same_answer_for_any_number_of_jobs(rays):
    for model in (ONMF(4, random_state=0), KMeans(4, n_init=1, random_state=0)):
        one, two = (consensus(model, rays[0], n_runs=4, n_jobs=jobs) for jobs in (1, 2))
        np.testing.assert_array_equal(one.labels_runs, two.labels_runs)


def test_the_model_is_left_alone(rays):
    model = ONMF(3, random_state=0, callback=lambda event: True)
    choose_k(model, rays[0], [2, 3], n_runs=2)
    assert model.n_clusters == 3
    assert model.callback is not None
    assert not hasattr(model, "labels_")


def test_a_k_that_fails_is_recorded_and_the_rest_goes_on(rays):
    choice = choose_k(failing(5), rays[0], range(2, 8), n_runs=3)
    failed = {row.k: row.failed for row in choice.table}
    assert "3 of 3 runs: RuntimeError: no such luck" in failed.pop(5)
    assert not any(failed.values())
    assert choice.best_k in failed
    assert np.isnan(choice.table[3].held_out)


def test_a_run_that_fails_leaves_the_others(rays):
    model = failing(4, when=lambda model: model.random_state == 1)
    found = consensus(model.set_params(n_clusters=4), rays[0], n_runs=4)
    assert found.labels_runs.shape == (240, 3)


def test_more_clusters_than_directions_fail_for_those_k_alone():
    rng = np.random.default_rng(0)
    X = rng.uniform(1, 2, (60, 1)) * np.repeat(rng.random((3, 10)), 20, axis=0)
    choice = choose_k(ONMF(random_state=0), X, [2, 3, 4, 5], n_runs=2)
    assert "only 3 distinct directions" in choice.table[2].failed
    assert choice.table[1].failed == ""


def test_all_failing_is_told_with_the_reason(rays):
    with pytest.raises(ValueError, match="no such luck"):
        choose_k(failing(3), rays[0], [3], n_runs=2)
    with pytest.raises(ValueError, match="K=3 cannot be judged: 2 of 2 runs: RuntimeError"):
        consensus(failing(3).set_params(n_clusters=3), rays[0], n_runs=2)


@pytest.mark.parametrize("model", [ONMF(random_state=0), KMEANS], ids=["together", "alone"])
def test_a_killed_call_goes_on_where_it_was(rays, tmp_path, model):
    def killer(done, total):
        if done >= 8:
            raise KeyboardInterrupt

    path, told = tmp_path / "runs.ledger", Told()
    with pytest.raises(KeyboardInterrupt):
        choose_k(model, rays[0], range(3, 6), n_runs=2, ledger=path, progress=killer)
    with Ledger(path) as book:
        done = sum(row.state == "done" for row in book.rows())
    assert done >= 8
    again = choose_k(model, rays[0], range(3, 6), n_runs=2, ledger=path, progress=told)
    whole = choose_k(model, rays[0], range(3, 6), n_runs=2)
    assert told.seen[0][0] >= 8
    assert told.seen[-1] == (5 * 4 + 3 * 2, 5 * 4 + 3 * 2)
    assert (again.best_k, again.reason) == (whole.best_k, whole.reason)
    np.testing.assert_array_equal(again.consensus.labels_runs, whole.consensus.labels_runs)


def test_a_ledger_is_not_mistaken_for_that_of_other_data_or_parameters(rays, tmp_path):
    X, path = rays[0], tmp_path / "runs.ledger"
    fits = []
    for model, data in [
        (ONMF(3, random_state=0), X),
        (ONMF(3, random_state=0), X),
        (ONMF(3, random_state=0, n_jobs=2), X),
        (ONMF(3, random_state=0, penalty="nsncp"), X),
        (ONMF(3, random_state=0), X + 1e-9),
        (ONMF(4, random_state=0), X),
        (ONMF(3, random_state=2), X),
    ]:
        told = Told()
        consensus(model, data, n_runs=2, ledger=path, progress=told)
        fits.append(2 - told.seen[0][0])
    assert fits == [2, 0, 0, 2, 2, 2, 2]


@pytest.mark.parametrize(
    ("model", "options", "sentence"),
    [
        (ONMF(), {"n_runs": 1}, "one run always agrees with itself: ask for at least two"),
        (ONMF(), {"n_runs": 0}, "n_runs must be a whole number >= 1"),
        (ONMF(), {"k_range": []}, "k_range is empty"),
        (ONMF(), {"k_range": [3, 2]}, "k_range must increase, unlike 3, 2: sort it"),
        (ONMF(), {"k_range": [2, 2]}, "k_range must increase"),
        (ONMF(), {"k_range": [0, 2]}, "k_range must be a whole number >= 1, not 0"),
        (ONMF(), {"k_range": [2.5]}, "k_range must be a whole number"),
        (ONMF(), {"k_range": [2, 300]}, "only 240 distinct sample.s., fewer than the 300 clusters"),
        (AgglomerativeClustering(), {}, "AgglomerativeClustering has no random_state"),
        (MeanShift(), {}, "MeanShift has no random_state"),
        ("ward", {}, "'ward' is no scikit-learn clusterer"),
        (ONMF(solver="slow"), {}, "solver must be one of"),
    ],
)
def test_bad_input_is_answered_by_a_sentence(rays, model, options, sentence):
    with pytest.raises(ValueError, match=sentence):
        choose_k(model, rays[0], **{"k_range": range(2, 5)} | options)


def test_empty_samples_have_no_cluster_and_do_no_harm(rays):
    X = np.vstack([rays[0], np.zeros((3, 30))])
    choice = choose_k(ONMF(random_state=0), X, range(2, 6), n_runs=2)
    assert choice.best_k == 4
    assert (choice.consensus.labels[-3:] == -1).all()
    assert (choice.consensus.labels[:-3] >= 0).all()


def test_bad_data_are_answered_by_a_sentence(rays):
    with pytest.raises(ValueError, match="Negative values"):
        choose_k(ONMF(), -rays[0], range(2, 4))
    with pytest.raises(ValueError, match="only 3 distinct sample"):
        consensus(ONMF(4), np.repeat(np.eye(3), 5, axis=0))
    with pytest.raises(ValueError, match="only 3 distinct sample"):
        consensus(ONMF(4), sp.csr_array(np.repeat(np.eye(3), 5, axis=0)))
