"""The paper's data to the digit, and what the generators promise."""

import hashlib

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.cluster import KMeans

from cases import few
from onmf.datasets import make_paper_synthetic, make_rays, make_three_rays
from onmf.metrics import clustering_accuracy

PUBLISHED_SIZES = [117, 62, 36, 124, 15, 24, 119, 43, 122, 338]


@pytest.fixture(scope="module")
def paper():
    return make_paper_synthetic()


def sha256(array):
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()


def test_paper_data_has_the_published_cluster_sizes(paper):
    assert np.bincount(paper[1]).tolist() == PUBLISHED_SIZES


def test_paper_data_has_samples_as_rows(paper):
    X, y = paper
    assert X.shape == (1000, 2000)
    assert y.shape == (1000,)
    assert X.dtype == np.float64
    assert X.flags.c_contiguous
    assert X.min() == 0


def test_paper_data_is_the_paper_s_to_the_second_decimal(paper):
    # Hundredths: no platform's last digits can move 2 million entries across a rounding edge.
    X, y = paper
    hundredths = np.rint(100 * X).astype("<i4")
    assert sha256(y.astype("<i4")) == (
        "1357bef0f5ac76d3a130ed04794e15237b4126305878763a49e62837e48614d9"
    )
    assert sha256(hundredths) == "35f0736e071f00d24d0e282fbe3ce8514cbb87ac4278e9687feda1fa90fa6056"


@pytest.mark.parametrize(
    ("snr_db", "total"),
    few(
        [
            (-3, 1649101.1766322134),
            (5, 1374723.2606303438),
            (-5, 1861557.7557312725),
            (-1, 1542791.549084919),
            (1, 1473493.199275861),
            (3, 1418447.5634027265),
        ],
        2,
    ),
)
def test_paper_data_at_every_snr_has_its_known_sum_and_the_same_labels(paper, snr_db, total):
    X, y = make_paper_synthetic(snr_db)
    assert X.sum() == pytest.approx(total, rel=1e-11)
    np.testing.assert_array_equal(y, paper[1])


@pytest.mark.parametrize("snr_db", few([-3, -40, 1, 40]))
def test_paper_data_has_the_asked_snr_where_there_are_no_outliers(snr_db):
    X, y = make_paper_synthetic(snr_db)
    rays = np.random.RandomState(1).uniform(0, 1, (2000, 10)).T
    # An outlier is uniform on [0, 5]: other samples of these few clusters come nowhere near it.
    inlier = np.abs(X - rays[y]).mean(axis=1) < 1.5 if snr_db > -10 else np.full(1000, True)
    signal, noise = rays[y][inlier], (X - rays[y])[inlier]
    measured = 10 * np.log10(np.sum(signal**2) / np.sum(noise**2))
    assert measured == pytest.approx(snr_db, abs=0.3)
    assert 950 <= inlier.sum() <= 1000


@pytest.mark.parametrize("snr_db", [-41, 300, np.nan])
def test_an_snr_out_of_range_is_refused(snr_db):
    with pytest.raises(ValueError, match="snr_db must lie between -40 and 40"):
        make_paper_synthetic(snr_db)


def test_three_rays_is_the_supplement_s_example():
    X, y, centroids = make_three_rays()
    assert X.shape == (1000, 2)
    assert X.min() >= 0
    assert np.bincount(y).tolist() == [200, 300, 500]
    for label, center in enumerate([(8, 20), (10, 15), (15, 7.5)]):
        np.testing.assert_allclose(X[y == label].mean(axis=0), center, atol=0.25)
    largest = {tuple(point) for point in X[y == 2]}
    assert {tuple(point) for point in centroids} <= largest
    assert len(np.unique(centroids, axis=0)) == 3


def test_three_rays_mislead_k_means_into_merging_the_small_clusters():
    X, y, centroids = make_three_rays()
    labels = KMeans(3, init=centroids, n_init=1).fit_predict(X)
    assert clustering_accuracy(y, labels) < 0.7
    assert clustering_accuracy(y > 1, labels == labels[y < 2][0]) > 0.99


CASES = [
    {},
    {"noise": 0.0},
    {"outliers": 0.1, "imbalance": 4.0},
    {"sparsity": 0.9},
    {"sparsity": 0.995, "outliers": 0.2},
    {"dtype": np.float32},
    {"dtype": np.float32, "sparsity": 0.5},
]


def dense(X):
    return X.toarray() if sp.issparse(X) else X


@pytest.mark.parametrize("case", CASES, ids=str)
def test_rays_keep_their_contract(case):
    X, y = make_rays(300, 100, 4, random_state=0, **case)
    assert X.shape == (300, 100)
    assert y.shape == (300,)
    assert X.dtype == case.get("dtype", np.float64)
    assert isinstance(X, sp.csr_array) == ("sparsity" in case)
    values = X.data if sp.issparse(X) else X
    assert np.isfinite(values).all()
    assert values.min() >= 0
    assert dense(X).max(axis=1).min() > 0, "a sample is all zeros"
    assert set(np.unique(y)) - {-1} == {0, 1, 2, 3}
    assert np.sum(y == -1) == round(case.get("outliers", 0) * 300)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_rays_depend_on_the_seed_alone(case):
    first, again = (make_rays(50, 20, 3, random_state=7, **case) for _ in range(2))
    np.testing.assert_array_equal(dense(first[0]), dense(again[0]))
    np.testing.assert_array_equal(first[1], again[1])
    other, _ = make_rays(50, 20, 3, random_state=8, **case)
    assert not np.array_equal(dense(first[0]), dense(other))


def test_without_noise_every_cluster_is_one_ray_with_varying_scale():
    X, y = make_rays(100, 20, 3, noise=0.0, random_state=0)
    for label in range(3):
        part = X[y == label]
        assert np.linalg.matrix_rank(part) == 1
        norms = np.linalg.norm(part, axis=1)
        assert norms.max() > 1.5 * norms.min()


@pytest.mark.parametrize("imbalance", [1.0, 5.0, 50.0])
def test_cluster_sizes_fall_by_the_asked_imbalance(imbalance):
    _, y = make_rays(5000, 2, 4, imbalance=imbalance, random_state=0)
    sizes = np.bincount(y)
    np.testing.assert_allclose(sizes[:-1] / sizes[1:], imbalance ** (1 / 3), rtol=0.05)


@pytest.mark.parametrize("sparsity", few([0.9, 0.3, 0.99]))
@pytest.mark.parametrize("outliers", [0.0, 0.5])
def test_the_asked_share_of_entries_is_zero(sparsity, outliers):
    X, _ = make_rays(500, 800, 5, sparsity=sparsity, outliers=outliers, random_state=0)
    assert 1 - X.nnz / 4e5 == pytest.approx(sparsity, abs=0.05 * (1 - sparsity) + 0.005)
    assert X.has_canonical_format


def test_every_cluster_keeps_a_sample_however_few_there_are():
    _, y = make_rays(5, 3, 5, imbalance=100.0, random_state=0)
    assert sorted(y) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"n_samples": 3}, "too few for n_clusters=4"),
        ({"outliers": 0.9}, "too few for n_clusters=4"),
        ({"n_clusters": 0}, "at least 1"),
        ({"n_features": 0}, "at least 1"),
        ({"noise": -1}, "noise"),
        ({"imbalance": 0.5}, "imbalance"),
        ({"sparsity": 1.0}, "sparsity"),
        ({"outliers": -0.1}, "outliers"),
    ],
)
def test_impossible_sizes_are_refused_with_a_reason(bad, message):
    with pytest.raises(ValueError, match=message):
        make_rays(**{"n_samples": 20, "n_features": 5, "n_clusters": 4} | bad)


@pytest.mark.parametrize(("k", "smallest"), few([(12, 1), (3, 15), (12, 15), (100, 5)]))
def test_other_draws_of_the_papers_recipe(k, smallest):
    X, y = make_paper_synthetic(0, n_clusters=k, smallest=smallest, outliers=0, random_state=4)
    sizes = np.bincount(y)
    assert len(sizes) == k
    assert sizes.min() >= smallest
    assert sizes.sum() == len(X) == 1000
    other, _ = make_paper_synthetic(0, n_clusters=k, smallest=smallest, outliers=0, random_state=5)
    assert not np.array_equal(X, other)


def test_without_outliers_the_signal_to_noise_ratio_is_as_asked():
    clean, y = make_paper_synthetic(40, n_clusters=3, outliers=0)
    noisy, same = make_paper_synthetic(0, n_clusters=3, outliers=0)
    np.testing.assert_array_equal(y, same)
    rays = np.array([clean[y == c].mean(axis=0) for c in range(3)])  # 40 dB: nearly the rays
    assert np.sum(rays[y] ** 2) / np.sum((noisy - rays[y]) ** 2) == pytest.approx(1, rel=0.02)


@pytest.mark.parametrize(
    "wrong", [{"n_clusters": 0}, {"n_clusters": 101}, {"smallest": 51}, {"outliers": -1}]
)
def test_impossible_draws_of_the_papers_recipe_are_refused(wrong):
    with pytest.raises(ValueError, match="n_clusters must lie between 1 and 100"):
        make_paper_synthetic(**wrong)
