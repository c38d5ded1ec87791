"""Held-out error, centroids and silhouette against loops over samples."""

import numpy as np
import pytest
import scipy.sparse as sp

from onmf.core.memory import InMemory
from onmf.datasets import make_rays
from onmf.stability.columns import Columns
from onmf.stability.errors import Clustering, centres, held_out_errors, silhouette

MAKE = pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "csr"])


@pytest.fixture
def data():
    X, y = make_rays(60, 20, 3, noise=0.5, random_state=0)
    return np.where(X > 0.6, X, 0), y


@MAKE
@pytest.mark.parametrize("rays", [True, False])
def test_held_out_error_is_leave_one_out_by_least_squares(data, make, rays):
    X, y = data
    rng = np.random.default_rng(1)
    labels = np.where(rng.random(60) < 0.1, -1, y)
    labels[7] = 3  # alone in its cluster
    codes = rng.random(60) if rays else np.ones(60)
    columns, groups = np.array([1, 4, 5, 9, 17]), np.arange(60) % 4
    expected = np.zeros(4)
    for i in range(60):
        others = np.flatnonzero((labels == labels[i]) & (np.arange(60) != i))
        guess = np.zeros(5)
        if labels[i] >= 0 and len(others):
            h = codes[others]
            guess = codes[i] * (h @ X[np.ix_(others, columns)]) / (h @ h)
        expected[groups[i]] += np.sum((X[i, columns] - guess) ** 2)
    part = Columns(make(X), columns)
    both = [Clustering(labels, codes, 4), Clustering(np.zeros(60, int), codes, 1)]
    found = held_out_errors(part, both, groups, 4)
    np.testing.assert_allclose(found[0], expected)
    np.testing.assert_allclose(held_out_errors(part, both[1:], groups, 4)[0], found[1])


def test_splitting_noise_raises_the_held_out_error():
    X = np.random.default_rng(0).random((200, 60))
    half, rest = InMemory(X[:, :30].copy()), InMemory(X[:, 30:].copy())
    axis = np.linalg.svd(half.X - half.X.mean(axis=0))[2][0]
    split = (half.X @ axis > np.median(half.X @ axis)).astype(int)  # explains much of the half
    whole = np.zeros(200, int)
    errors = {}
    for name, test in (("seen", half), ("held out", rest)):
        clusterings = [Clustering(whole, np.ones(200), 1), Clustering(split, np.ones(200), 2)]
        errors[name] = held_out_errors(test, clusterings, whole, 1).ravel()
    assert errors["seen"][1] < 0.99 * errors["seen"][0]
    assert errors["held out"][1] > errors["held out"][0]


@MAKE
def test_centres_are_means_or_leading_singular_vectors(data, make):
    X, y = data
    means = centres(InMemory(make(X)), y, 3, rays=False)
    np.testing.assert_allclose(means.W, [X[y == c].mean(axis=0) for c in range(3)])
    left = np.sum((X - means.W[y]) ** 2) / np.sum(X**2)
    assert means.relative_error == pytest.approx(left)
    rays = centres(InMemory(make(X)), y, 3, rays=True)
    leading = sum(np.linalg.norm(X[y == c], 2) ** 2 for c in range(3))
    assert rays.relative_error == pytest.approx(1 - leading / np.sum(X**2), rel=1e-4)


@MAKE
@pytest.mark.parametrize("rays", [True, False])
def test_silhouette_compares_own_and_next_centroid(data, make, rays):
    X, y = data
    W = np.random.default_rng(0).random((3, 20))
    labels = y.copy()
    labels[:3] = -1
    widths = []
    for x, own in zip(X[3:], y[3:], strict=True):
        apart = []
        for w in W:
            nearest = max(x @ w, 0) / (w @ w) * w if rays else w
            apart.append(np.linalg.norm(x - nearest))
        a = apart.pop(own)
        widths.append((min(apart) - a) / max(a, min(apart)))
    assert silhouette(InMemory(make(X)), labels, W, rays) == pytest.approx(np.mean(widths))
    assert np.isnan(silhouette(InMemory(make(X)), np.zeros(60, int), W[:1], rays))
