"""What the map promises: every cluster in proportion, near samples near, the same every time."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.neighbors import NearestNeighbors

from cases import few
from onmf.page import embedding
from onmf.page.embedding import embed, interpolate, stratified_order


@pytest.fixture
def blobs():
    """300 samples on six rays, of very different lengths."""
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(6), 50)
    X = rng.gamma(1.0, size=(6, 80))[labels] + 0.3 * rng.random((300, 80))
    return X * rng.choice([0.25, 1, 8], size=(300, 1)), labels


@pytest.mark.parametrize("size", [120, 500, 2_000])
def test_every_beginning_holds_each_cluster_in_proportion(size):
    labels = np.repeat([0, 1, 2, -1], [2_500, 1_200, 300, 3])
    first = stratified_order(labels, np.random.default_rng(0), size)
    assert len(np.unique(first)) == size
    for k in (0, 1, 2):
        share = np.mean(labels == k) * size
        assert abs(np.sum(labels[first] == k) - share) <= 4 * embedding.FIRST_PER_CLUSTER
    assert np.sum(labels[first] == -1) == 3  # so small a group is shown whole


def test_the_choice_within_a_cluster_is_random():
    labels = np.zeros(1_000, int)
    first = stratified_order(labels, np.random.default_rng(0), 100)
    assert abs(first.mean() - 499.5) < 100
    assert not np.array_equal(first, stratified_order(labels, np.random.default_rng(1), 100))


@pytest.mark.parametrize("landmarks", [pytest.param(300, marks=pytest.mark.slow), 120])
@pytest.mark.parametrize(
    "container", [np.asarray, pytest.param(sp.csr_array, marks=pytest.mark.slow)]
)
def test_neighbours_on_the_map_are_of_the_same_ray(blobs, container, landmarks, monkeypatch):
    monkeypatch.setattr(embedding, "MAX_TSNE_SAMPLES", landmarks)
    monkeypatch.setattr(embedding, "LANDMARKS", landmarks)
    X, labels = blobs
    found = embed(container(X), labels)
    assert sorted(found.samples) == list(range(300))
    assert found.interpolated.sum() == 300 - landmarks
    search = NearestNeighbors(n_neighbors=6).fit(found.points)
    near = search.kneighbors(return_distance=False)
    mine = labels[found.samples]
    assert np.mean(mine[near] == mine[:, None]) > 0.97


@pytest.mark.slow
def test_the_length_of_a_sample_does_not_matter(blobs, monkeypatch):
    monkeypatch.setattr(embedding, "TSNE_ITERATIONS", (250, 250))
    X, labels = blobs
    powers = 2.0 ** np.random.default_rng(1).integers(-9, 9, size=(300, 1))  # exact in floats
    np.testing.assert_array_equal(embed(X, labels).points, embed(powers * X, labels).points)


def test_a_sample_equal_to_a_landmark_lands_on_it():
    rng = np.random.default_rng(0)
    landmarks, points = rng.random((20, 5)), rng.random((20, 2))
    np.testing.assert_allclose(
        interpolate(landmarks[[7, 3]], landmarks, points), points[[7, 3]], atol=1e-6
    )
    others = interpolate(rng.random((50, 5)), landmarks, points)
    assert (others.min(axis=0) >= points.min(axis=0)).all()  # a mean of landmarks
    assert (others.max(axis=0) <= points.max(axis=0)).all()


def test_beyond_the_limit_a_choice_is_shown_and_stated(blobs, monkeypatch):
    monkeypatch.setattr(embedding, "MAX_MAP_SAMPLES", 100)
    monkeypatch.setattr(embedding, "MAX_TSNE_SAMPLES", 60)
    monkeypatch.setattr(embedding, "LANDMARKS", 60)
    X, labels = blobs
    found = embed(X, labels)
    assert len(found.samples) == len(np.unique(found.samples)) == 100
    assert "100 of the 300 samples" in found.note
    assert "60 of them" in found.note
    assert "the other 40" in found.note
    np.testing.assert_array_equal(np.bincount(labels[found.samples]) > 10, True)


@pytest.mark.parametrize("n", few([1, 4, 2, 3, 7], 2))
@pytest.mark.parametrize("kind", ["one feature", "identical", "zero", "random"])
def test_tiny_and_degenerate_data_have_a_map(n, kind):
    X = {
        "one feature": np.arange(1.0, n + 1)[:, None],
        "identical": np.ones((n, 4)),
        "zero": np.zeros((n, 4)),
        "random": np.random.default_rng(0).random((n, 4)),
    }[kind]
    found = embed(X, np.zeros(n, int))
    assert found.points.shape == (n, 2)
    assert np.isfinite(found.points).all()
