"""The promises of the default solver."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import adjusted_rand_score

from cases import few
from onmf import ONMF
from onmf.datasets import make_paper_synthetic, make_rays, make_three_rays
from onmf.exceptions import EmptyClusterWarning, UnassignedSampleWarning
from onmf.metrics import clustering_accuracy, relative_error
from onmf.rows import memory as blocks
from onmf.search import sketch
from onmf.search import starts as search

SPARSITY = pytest.mark.parametrize("sparsity", [0.0, 0.9])


def hard(sparsity=0.0, seed=0, n=400, m=80, k=7):
    """Clusters that overlap: many local optima."""
    return make_rays(n, m, k, noise=0.8, imbalance=5, sparsity=sparsity, random_state=seed)[0]


@pytest.fixture
def model():
    return ONMF(7, random_state=0)


@SPARSITY
@pytest.mark.parametrize(
    "scale",
    few([1e-300, 1e300, 1e-100, 1e-6, 1e6, 1e100], 2),
)
def test_scale_does_not_matter(model, sparsity, scale):
    X = hard(sparsity)
    plain = model.fit(X).labels_
    assert np.array_equal(model.fit(X * scale).labels_, plain)
    assert model.relative_error_ < 1
    assert np.isfinite(model.cluster_centers_).all()
    np.testing.assert_array_equal(model.predict(X * scale), plain)
    assert model.score(X * scale) == pytest.approx(1 - model.relative_error_)
    np.testing.assert_allclose(model.transform(X * scale), model.membership_, rtol=1e-6)


@pytest.mark.parametrize("scale", few([1e-30, 1e30]))
def test_scale_does_not_matter_in_single_precision(model, scale):
    X = hard().astype(np.float32)
    plain = model.fit(X).labels_
    np.testing.assert_array_equal(model.fit(X * np.float32(scale)).labels_, plain)


@SPARSITY
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("seed", few(range(5)))
def test_what_a_fit_promises(sparsity, dtype, seed):
    X = hard(sparsity, seed).astype(dtype)
    model = ONMF(7, random_state=seed).fit(X)
    assert model.converged_
    assert ((model.membership_ > 0).sum(axis=1) == 1).all()
    assert len(np.unique(model.labels_)) == 7
    np.testing.assert_array_equal(model.labels_, model.predict(X))
    np.testing.assert_array_equal(model.labels_, model.membership_.argmax(axis=1))
    np.testing.assert_allclose(model.transform(X), model.membership_, rtol=1e-5)
    error = relative_error(X, model.membership_, model.cluster_centers_)
    assert model.relative_error_ == pytest.approx(error, rel=1e-4)
    settling = [row.relative_error for row in model.history_]
    assert np.diff(settling).max(initial=0) <= 10 * np.finfo(dtype).eps  # of ||X||^2, rounding
    assert model.n_iter_ <= 40


def test_no_reassignment_and_no_other_centroid_lowers_the_error(model):
    X = hard()
    model.set_params(tol=1e-9).fit(X)
    rays = model.cluster_centers_ / np.linalg.norm(model.cluster_centers_, axis=1, keepdims=True)
    scores = X @ rays.T
    np.testing.assert_array_equal(scores.argmax(axis=1), model.labels_)
    for k in range(7):
        own = X[model.labels_ == k]
        assert np.sum((own @ rays[k]) ** 2) == pytest.approx(np.linalg.norm(own, 2) ** 2, rel=1e-10)


@pytest.mark.parametrize("sparsity", few([0.9, 0.0]))
def test_the_same_labels_for_any_block_size_and_number_of_threads(model, sparsity, monkeypatch):
    X = hard(sparsity, n=600)
    labels = []
    for entries, rows, n_jobs in [(96_000, 32, 1), (96_000, 32, 2), (5_000, 8, 3), (10**9, 32, 1)]:
        monkeypatch.setattr(blocks, "BLOCK_ENTRIES", entries)
        monkeypatch.setattr(blocks, "MIN_BLOCK_ROWS", rows)
        labels.append(model.set_params(n_jobs=n_jobs).fit(X).labels_)
    for other in labels[1:]:
        np.testing.assert_array_equal(other, labels[0])


def test_permuted_samples_with_the_same_start_have_permuted_labels(model):
    X = hard()
    order = np.random.default_rng(1).permutation(len(X))
    model.set_params(init=(None, X[:7]))
    np.testing.assert_array_equal(model.fit(X[order]).labels_, model.fit(X).labels_[order])


def test_ids_follow_a_given_start(model):
    X, y = make_rays(300, 40, 7, noise=0.1, random_state=3)
    rays = np.array([X[y == c].mean(axis=0) for c in (3, 1, 6, 0, 2, 5, 4)])
    labels = model.set_params(init=(None, rays)).fit(X).labels_
    np.testing.assert_array_equal(labels, np.argsort([3, 1, 6, 0, 2, 5, 4])[y])


def test_bad_starts_are_overcome():
    """The supplement's example: all three first centroids in the largest cluster."""
    X, y, _ = make_three_rays()
    assert clustering_accuracy(y, ONMF(3, random_state=0).fit(X).labels_) > 0.97


@pytest.mark.slow
def test_on_the_papers_data_it_beats_the_faithful_solver():
    X, y = make_paper_synthetic(-3)
    model = ONMF(10, random_state=11).fit(X)
    assert model.relative_error_ <= 0.43652 * 1.0002
    assert adjusted_rand_score(y, model.labels_) > 0.89
    assert model.n_iter_ <= 40


@pytest.mark.parametrize("k", [1, 2, 40])
def test_any_number_of_clusters_up_to_the_number_of_samples(k):
    X = np.random.default_rng(0).random((40, 12))
    model = ONMF(k, random_state=0).fit(X)
    assert len(np.unique(model.labels_)) == k
    if k == 1:
        expected = 1 - np.linalg.norm(X, 2) ** 2 / np.sum(X**2)
        assert model.relative_error_ == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("X", "k", "found"),
    [
        (np.outer(np.arange(1, 9), np.ones(3)), 2, 1),
        (np.ones((10, 4)), 3, 1),
        (np.repeat(np.eye(3), 4, axis=0), 4, 3),
        (np.arange(1.0, 9)[:, None], 2, 1),
        (np.eye(6)[[0, 0, 1, 1, 2, 2]] * [[1], [2], [3], [4], [5], [6]], 4, 3),
    ],
    ids=["parallel", "constant", "duplicates", "one feature", "rays"],
)
@pytest.mark.parametrize("make", few([sp.csr_array, np.asarray]))
def test_fewer_directions_than_clusters_are_told(X, k, found, make):
    with pytest.warns(EmptyClusterWarning, match=f"only {found} distinct direction"):
        many = ONMF(k, random_state=0).fit(make(X))
    assert len(np.unique(many.labels_)) == found
    assert not many.cluster_centers_[found:].any()
    model = ONMF(found, random_state=0).fit(make(X))
    assert len(np.unique(model.labels_)) == found
    assert model.relative_error_ == pytest.approx(0, abs=1e-12)


def test_one_giant_outlier_gets_its_own_cluster_and_the_rest_theirs():
    X, y = make_rays(300, 60, 4, noise=0.1, random_state=0)
    X[17] = 1e6 * np.random.default_rng(1).random(60)
    for dtype in (np.float64, np.float32):
        model = ONMF(5, random_state=0).fit(X.astype(dtype))
        assert np.sum(model.labels_ == model.labels_[17]) == 1
        rest = np.arange(300) != 17
        assert adjusted_rand_score(y[rest], model.labels_[rest]) == 1


def test_almost_all_rows_zero():
    X = np.zeros((1000, 20))
    X[::100] = np.random.default_rng(0).random((10, 20))
    for made in (X, sp.csr_array(X)):
        with pytest.warns(UnassignedSampleWarning, match="990 sample"):
            model = ONMF(3, random_state=0).fit(made)
        assert np.sum(model.labels_ >= 0) == 10
        assert len(np.unique(model.labels_)) == 4


def test_a_single_nonzero_feature():
    X = np.zeros((30, 10))
    X[:, 4] = np.arange(1, 31)
    assert not ONMF(1).fit(X).labels_.any()


def test_samples_that_share_no_feature_all_get_a_cluster():
    """Ten groups with features of their own: no ray may be left out of the sketch."""
    X = np.kron(np.eye(10), np.ones((5, 6))) * np.random.default_rng(0).uniform(1, 2, (50, 1))
    model = ONMF(10, random_state=0).fit(sp.csr_array(X))
    assert adjusted_rand_score(np.repeat(np.arange(10), 5), model.labels_) == 1


def test_weights_count_and_zero_weight_is_absence():
    X = hard(n=200)
    weight = np.r_[np.ones(150), np.zeros(50)]
    model = ONMF(4, init=(None, X[:4]), tol=1e-9, random_state=0)
    weighted = model.fit(X, sample_weight=weight).cluster_centers_
    np.testing.assert_allclose(weighted, model.fit(X[:150]).cluster_centers_, rtol=1e-6)


def test_samples_beyond_the_picture_are_clustered_too(monkeypatch):
    monkeypatch.setattr(sketch, "MAX_SKETCH_ROWS", 200)
    monkeypatch.setattr(search, "MIN_START_ROWS", 100)
    monkeypatch.setattr(search, "START_ROWS_PER_CLUSTER", 20)
    X, y = make_rays(2000, 50, 5, noise=0.2, random_state=0)
    assert adjusted_rand_score(y, ONMF(5, random_state=0).fit_predict(X)) == 1


def test_few_samples_among_many_empty_ones_are_found(monkeypatch):
    monkeypatch.setattr(sketch, "MAX_SKETCH_ROWS", 150)
    monkeypatch.setattr(search, "MIN_START_ROWS", 60)
    monkeypatch.setattr(search, "START_ROWS_PER_CLUSTER", 10)
    X, y = make_rays(100, 50, 5, noise=0.1, random_state=0)
    wide = np.zeros((4000, 50))
    wide[::40] = X
    with pytest.warns(UnassignedSampleWarning, match="3900 sample"):
        labels = ONMF(5, random_state=0).fit_predict(sp.csr_array(wide))
    assert adjusted_rand_score(y, labels[::40]) == 1


def test_luck_plays_no_part():
    X = hard(n=600)
    errors = [ONMF(7, random_state=seed).fit(X).relative_error_ for seed in range(10)]
    assert max(errors) <= min(errors) * 1.003


@pytest.mark.slow
def test_more_starts_never_give_a_higher_error():
    """Where the picture of X would choose another start than X itself."""
    X, _ = make_paper_synthetic(-3)
    errors = [ONMF(10, n_init=n, random_state=2102).fit(X).relative_error_ for n in (1, 2, 4)]
    assert np.diff(errors).max() <= 0


@pytest.mark.parametrize(("n", "count"), [(1200, 3), (1000, 3), (600, 5), (200, 10)])
def test_starts_are_the_same_in_any_number_of_threads(monkeypatch, n, count):
    """Three, or as many as look at 3,000 rows in all, at most ten."""
    X, _ = make_rays(n, 20, 4, noise=0.5, random_state=0)
    starts, real = [], search.spread
    monkeypatch.setattr(search, "spread", lambda *rows: starts.append(1) or real(*rows))
    one = ONMF(4, random_state=0, n_jobs=1).fit(X)
    assert len(starts) == count
    two = ONMF(4, random_state=0, n_jobs=2).fit(X)
    np.testing.assert_array_equal(one.cluster_centers_, two.cluster_centers_)
    starts.clear()
    ONMF(4, n_init=5, random_state=0, n_jobs=1).fit(X)
    assert len(starts) == 5  # as many as were asked for


def test_the_order_of_arrays_and_read_only_data_do_not_matter(model):
    X = hard()
    plain = model.fit(X).labels_
    frozen = X.copy()
    frozen.flags.writeable = False
    for other in (np.asfortranarray(X), frozen):
        np.testing.assert_array_equal(model.fit(other).labels_, plain)
