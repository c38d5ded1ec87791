"""The alternation on samples with holes promises exact steps, and an error that never rises."""

import numpy as np
import pytest
import scipy.sparse as sp

from cases import few
from onmf.datasets import make_rays
from onmf.losses.filling import common_ray, estimate_fill
from onmf.losses.masked_alternation import MaskedAlternation
from onmf.losses.missing import Fill
from onmf.losses.ray_alternation import TooFewDirectionsError
from onmf.losses.settling import fit, settle
from onmf.result import Recorder
from onmf.rows.memory import InMemory
from onmf.rows.sweep import count_missing
from onmf.search.starts import Settings
from solving import cluster


def samples(seed, n=150, m=14, k=5, share=0.4, noise=0.5):
    """Noisy rays with holes, and weights."""
    rng = np.random.default_rng(seed)
    X, _ = make_rays(n, m, k, noise=noise, random_state=seed)
    return np.where(rng.random(X.shape) < share, np.nan, X), rng.uniform(0.5, 2, n)


def placed(X, weight=None):
    return InMemory(X, weight, n_missing=count_missing(X))


def alternation_of(data, signed=False):
    settings = Settings(tol=1e-6, signed=signed)
    return MaskedAlternation(data, settings, common=common_ray(data).astype(float))


def loss(X, weight, H, W):
    """The definition."""
    return float(weight @ np.nansum((X - H @ W) ** 2, axis=1))


@pytest.mark.parametrize("signed", [False, True])
def test_centroids_are_the_least_squares_of_each_feature_over_those_who_show_it(signed):
    X, weight = samples(0)
    X = X - 0.4 * np.nanmean(X) if signed else X
    data, W = placed(X, weight), np.random.default_rng(1).random((5, 14))
    alternation = alternation_of(data, signed)
    state = alternation.begin(W)
    H, new = alternation.membership(state), alternation.next_centroids(state)
    for k in range(5):
        own = H[:, k] > 0
        best = np.empty(14)
        for j in range(14):
            seen = own & ~np.isnan(X[:, j])
            root = np.sqrt(weight[seen])
            best[j] = np.linalg.lstsq((root * H[seen, k])[:, None], root * X[seen, j])[0][0]
        np.testing.assert_allclose(new[k] / np.linalg.norm(new[k]), best / np.linalg.norm(best))
        # As long as a typical sample: the mean of h^2 is one, h being that for the old centroids.
        stretch = np.sqrt(weight[own] @ H[own, k] ** 2 / weight[own].sum())
        assert np.linalg.norm(new[k]) == pytest.approx(stretch * np.linalg.norm(best))


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, lambda X: X.astype(np.float32)])
@pytest.mark.parametrize("seed", few(range(3)))
def test_the_observed_error_never_rises_and_is_that_of_the_definition(form, seed):
    X, weight = samples(seed)
    zero = np.random.default_rng(seed).random(X.shape) < 0.1
    X[zero & ~np.isnan(X)] = 0
    data = placed(form(X), weight)
    W, errors = np.random.default_rng(seed).random((5, 14)).astype(data.dtype), []

    def watch(state):
        H = np.asarray(alternation.membership(state), float)
        errors.append(loss(X, np.asarray(data.weight, float), H, np.asarray(state.W, float)))
        assert errors[-1] == pytest.approx(data.sqnorm - state.sums.explained.sum(), rel=1e-4)
        return False

    alternation = alternation_of(data)
    state = settle(alternation, W, 200, watch)
    assert state.settled
    assert len(errors) > 3
    assert (np.diff(errors) <= 1e-6 * errors[0]).all()
    assert alternation.stationarity(state) < 1e-3


def test_where_all_is_observed_the_ends_are_those_of_the_plain_alternation():
    X, _ = samples(4, share=0)
    plain, _ = cluster(Settings(), InMemory(X), 5)
    masked = MaskedAlternation(InMemory(X), Settings())
    seen, state, _ = fit(masked, 5, 0, Recorder(max_sweeps=40))
    assert seen.relative_error == pytest.approx(plain.relative_error, rel=1e-6)
    np.testing.assert_array_equal(seen.H.argmax(axis=1), plain.H.argmax(axis=1))
    np.testing.assert_allclose(seen.W, plain.W, rtol=1e-3)
    assert len(masked.unobserved(state)) == 0


def test_an_empty_cluster_gets_the_sample_of_which_most_is_unexplained():
    X, _ = samples(5)
    X[3] = np.where(np.isnan(X[3]), np.nan, 0)
    X[3, 0] = 1e3  # on no ray
    data, W = placed(X), np.random.default_rng(0).random((5, 14)) + 0.5
    W[2] = 1e-9 * np.eye(14)[1]
    alternation = alternation_of(data)
    state = alternation.begin(W)
    assert state.empty.tolist() == [2]
    new, filled = alternation.next_centroids(state)[2], Fill.by(W)(X[3:4])[0]
    np.testing.assert_allclose(new / np.linalg.norm(new), filled / np.linalg.norm(filled))


def test_a_feature_that_a_cluster_never_shows_lies_along_the_ray_of_all():
    rays = np.zeros((2, 12))
    rays[0, :5], rays[1, 5:10], rays[:, 10:] = 1, 1, 1
    labels = np.arange(40) % 2
    X = rays[labels] * np.random.default_rng(0).uniform(1, 2, (40, 12))
    X[labels == 0, 10] = np.nan  # nobody in cluster 0 shows it, others do
    X[:, 11] = np.nan  # nobody at all
    data = placed(X)
    alternation = alternation_of(data)
    state = alternation.begin(rays)
    assert np.array_equal(state.labels(data), labels)
    images, g = alternation.images(state), alternation.common
    shown = state.sums.shown > 0
    assert alternation.unobserved(state).tolist() == [11]
    assert not images[:, 11].any()
    assert shown[:, 10].tolist() == [False, True]
    along = images[0, shown[0]] @ g[shown[0]] / (g[shown[0]] @ g[shown[0]])
    assert images[0, 10] == pytest.approx(along * g[10])
    assert images[0, 10] > 0


def test_the_filling_is_better_than_the_mean_of_each_feature():
    X, _ = make_rays(400, 60, 5, noise=0.1, random_state=1)
    Z = np.where(np.random.default_rng(1).random(X.shape) < 0.3, np.nan, X)
    data, n_missing = placed(Z), np.isnan(Z)
    full = estimate_fill(data, 5, np.random.default_rng(0), 9).view(data).take(np.arange(400)).X
    mean = np.broadcast_to(np.nanmean(Z, axis=0), X.shape)
    errors = [np.linalg.norm((guess - X)[n_missing]) for guess in (full, mean)]
    assert errors[0] < 0.9 * errors[1]


def test_more_starts_never_give_a_higher_error():
    X, _ = samples(8, k=7, noise=1.5, share=0.5)
    errors = [cluster(Settings(n_starts=n), placed(X), 7)[0].relative_error for n in (1, 2, 4)]
    assert errors == sorted(errors, reverse=True)


def test_too_few_directions_are_said():
    X = np.outer(np.arange(1.0, 9), np.arange(1.0, 6))
    X[2, 3] = np.nan
    with pytest.raises(TooFewDirectionsError):
        cluster(Settings(), placed(X), 3)
