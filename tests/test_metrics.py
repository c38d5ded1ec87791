"""Scores against hand calculation and brute force over all matchings."""

import math
from itertools import permutations

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.special
import sklearn.metrics
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from onmf import ONMF, metrics
from onmf.datasets import make_rays
from onmf.metrics import (
    clustering_accuracy,
    orthogonality,
    purity,
    relative_error,
    stationarity,
)


def best_matching(true, pred, k):
    """Accuracy by trying every renaming of k clusters."""
    return max(np.mean(np.array(names)[pred] == true) for names in permutations(range(k)))


@pytest.mark.parametrize("seed", range(20))
def test_accuracy_is_that_of_the_best_of_all_matchings(seed):
    rng = np.random.default_rng(seed)
    n_classes, n_clusters = rng.integers(1, 6, 2)
    true, pred = rng.integers(n_classes, size=30), rng.integers(n_clusters, size=30)
    assert clustering_accuracy(true, pred) == pytest.approx(best_matching(true, pred, 5))


def test_accuracy_does_not_care_what_clusters_are_called():
    assert clustering_accuracy(["b", "b", "a"], [7, 7, 3]) == 1
    assert clustering_accuracy(np.array(["b", "b", "a"], dtype=object), [7, 7, 3]) == 1


def test_accuracy_counts_samples_of_surplus_clusters_as_wrong():
    assert clustering_accuracy([0, 0, 0, 0], [0, 0, 1, 2]) == 0.5
    assert clustering_accuracy([0, 0, 1, 2], [0, 0, 0, 0]) == 0.5


@pytest.mark.parametrize("score", [clustering_accuracy, purity])
def test_minus_one_agrees_only_with_minus_one(score):
    assert score([0, 0, 1, 1], [0, 0, 1, -1]) == 0.75
    assert score([0, 0, 1, -1], [0, 0, 1, 1]) == 0.75
    assert score([0, 0, 1, -1], [0, 0, 1, -1]) == 1
    assert score(["a", "a", "b", "b"], [0, 0, -1, -1]) == 0.5
    assert score([0, 0], [-1, -1]) == 0


@pytest.mark.parametrize("score", [clustering_accuracy, purity])
def test_scores_of_nothing_or_of_unequal_lengths_are_refused(score):
    with pytest.raises(ValueError, match="empty"):
        score([], [])
    with pytest.raises(ValueError, match="inconsistent"):
        score([0, 1], [0, 1, 1])


def test_purity_takes_the_commonest_class_of_each_cluster():
    # cluster 0: a a b, cluster 1: b b, cluster 2: c -> (2 + 2 + 1) / 6
    assert purity(list("aabbbc"), [0, 0, 0, 1, 1, 2]) == pytest.approx(5 / 6)
    assert purity(list("aabb"), [0, 1, 2, 2]) == 1


def test_purity_is_never_below_accuracy():
    rng = np.random.default_rng(0)
    true, pred = rng.integers(4, size=100), rng.integers(6, size=100)
    assert purity(true, pred) >= clustering_accuracy(true, pred)


def test_orthogonality_by_hand():
    # Unit columns (1, 1)/sqrt2 and (1, 0): the cosine 1/sqrt2 stands twice; sqrt(1/2 + 1/2) / 4.
    assert orthogonality([[3.0, 5.0], [3.0, 0.0]]) == pytest.approx(1 / 4)


def test_orthogonality_is_the_paper_s_definition():
    H = np.random.default_rng(0).random((20, 4))
    QH = np.diag(1 / np.linalg.norm(H, axis=0)) @ H.T
    expected = np.linalg.norm(QH @ QH.T - np.eye(4)) / 4**2
    assert orthogonality(H) == pytest.approx(expected, rel=1e-12)


def test_orthogonality_is_exactly_zero_for_one_entry_a_row():
    H = np.zeros((50, 3))
    H[np.arange(50), np.arange(50) % 3] = np.random.default_rng(0).random(50) + 0.1
    assert orthogonality(H) == 0


def test_an_empty_cluster_adds_one_to_the_squared_norm():
    assert orthogonality(np.diag([1.0, 2.0, 0.0])) == pytest.approx(1 / 9)
    assert orthogonality(np.zeros((5, 2))) == pytest.approx(np.sqrt(2) / 4)


def test_stationarity_is_zero_at_the_best_rank_one_fit_and_not_beside_it():
    X = np.random.default_rng(0).random((20, 6))
    u, s, v = np.linalg.svd(X)
    H, W = np.abs(u[:, :1]) * s[0], np.abs(v[:1])
    assert stationarity(X, H, W) < 1e-12
    assert stationarity(X, 1.1 * H, W) > 1e-2
    assert stationarity(sp.csr_array(X), H, W) < 1e-12


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_orthogonality_does_not_depend_on_the_scale(scale):
    H = np.random.default_rng(0).random((20, 4))
    assert orthogonality(scale * H) == pytest.approx(orthogonality(H), rel=1e-10)


def factors(dtype=np.float64):
    rng = np.random.default_rng(0)
    X = rng.random((60, 40)) * (rng.random((60, 40)) < 0.3)
    return X.astype(dtype), rng.random((60, 3)).astype(dtype), rng.random((3, 40)).astype(dtype)


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array, sp.csr_matrix, sp.csc_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_relative_error_is_the_definition_in_every_container(container, dtype):
    X, H, W = factors(dtype)
    residual = X.astype(np.float64) - H.astype(np.float64) @ W.astype(np.float64)
    expected = np.sum(residual**2) / np.sum(X.astype(np.float64) ** 2)
    assert relative_error(container(X), H, W) == pytest.approx(expected, rel=1e-12)


def test_relative_error_of_many_blocks_is_that_of_one(monkeypatch):
    X, H, W = factors()
    whole = relative_error(X, H, W)
    monkeypatch.setattr(metrics.factors, "RESIDUAL_ENTRIES", 7 * X.shape[1])
    assert relative_error(X, H, W) == pytest.approx(whole, rel=1e-14)


def test_a_perfect_fit_has_no_error():
    _, H, W = factors()
    assert relative_error(H @ W, H, W) == 0
    assert 0 <= relative_error(sp.csr_array(H @ W), H, W) < 1e-14


def test_an_all_zero_matrix_has_error_zero_or_infinity():
    X, H, W = np.zeros((2, 2)), np.ones((2, 1)), np.ones((1, 2))
    assert relative_error(X, 0 * H, W) == 0
    assert relative_error(X, H, W) == np.inf
    assert relative_error(sp.csr_array(X), H, W) == np.inf


def test_factors_that_do_not_fit_are_refused_with_their_shapes():
    X, H, W = factors()
    with pytest.raises(ValueError, match=r"\(40, 60\).*\(60, 3\).*\(3, 40\)"):
        relative_error(X.T, H, W)


def test_a_sparse_matrix_is_never_made_dense(monkeypatch):
    def refuse(*_args, **_kwargs):
        raise AssertionError("made dense")

    X, H, W = factors()
    X = sp.csr_array(X)
    monkeypatch.setattr(type(X), "toarray", refuse)
    monkeypatch.setattr(type(X), "todense", refuse)
    assert relative_error(X, H, W) > 0


def test_scikit_learn_s_scores_are_its_own():
    for name in ("adjusted_rand_score", "normalized_mutual_info_score"):
        assert getattr(metrics, name) is getattr(sklearn.metrics, name)
    assert set(metrics.__all__) <= set(dir(metrics))


def squares(x, y):
    return np.sum((x - y) ** 2)


def divergence(x, y):
    return np.sum(scipy.special.rel_entr(x, y) - x + y)


HALVES = {  # the loss, the best multiple of w for x, and what one cluster for all leaves
    "frobenius": (squares, lambda x, w: x @ w / (w @ w), lambda X: np.sum(X**2)),
    "kl": (
        divergence,
        lambda x, w: x.sum() / w.sum(),
        lambda X: divergence(X, np.outer(X.sum(axis=1), X.sum(axis=0)) / X.sum()),
    ),
}


@pytest.mark.parametrize("name", HALVES)
def test_the_held_out_score_is_its_definition(planted, name):
    X, _ = planted
    model = ONMF(3, loss=name, random_state=0).fit(X)
    loss, multiple, whole = HALVES[name]
    order = np.random.default_rng(0).permutation(30)
    left, W = 0.0, model.cluster_centers_
    for A, B in ((order[::2], order[1::2]), (order[1::2], order[::2])):
        for x in X:
            k = min(range(3), key=lambda k: loss(x[A], multiple(x[A], W[k, A]) * W[k, A]))
            left += loss(x[B], multiple(x[A], W[k, A]) * W[k, B])
    expected = 1 - left / whole(X)
    for other in (X, sp.csr_array(X)):
        assert metrics.held_out_score(model, other) == pytest.approx(expected)


def test_a_sample_that_shows_nothing_of_a_half_is_not_predicted(planted):
    X, _ = planted
    A = np.random.default_rng(0).permutation(30)[::2]
    X[0, A] = 0
    both = {name: ONMF(3, loss=name, random_state=0).fit(X) for name in HALVES}
    alone = X[:1]  # all of it is in the other half, from which nothing is in this one
    assert metrics.held_out_score(both["frobenius"], alone) < 0
    assert np.isfinite(metrics.held_out_score(both["kl"], X))


def test_the_held_out_score_of_a_pipeline_is_that_of_its_last_step(planted):
    X, _ = planted
    model = ONMF(3, random_state=0).fit(X)
    pipe = make_pipeline(FunctionTransformer(np.sqrt), model)
    expected = metrics.held_out_score(model, X)
    assert metrics.held_out_score(pipe, X**2) == pytest.approx(expected)
    with pytest.raises(ValueError, match="X has 29 features and the centroids 30"):
        metrics.held_out_score(model, X[:, 1:])


@pytest.mark.slow
@pytest.mark.parametrize("seed", [10, 11])
def test_a_search_with_the_held_out_score_finds_the_planted_number(seed):
    X, _ = make_rays(240, 40, 5, noise=0.5, random_state=seed)
    grid = {"n_clusters": [3, 4, 5, 6, 7, 8]}
    search = GridSearchCV(ONMF(random_state=0), grid, scoring=metrics.held_out_score, cv=4)
    assert search.fit(X).best_params_["n_clusters"] == 5


def npmi_in_loops(topics, X):
    """The definition, pair by pair."""
    n, means = len(X), []
    for topic in topics:
        values = []
        for a, i in enumerate(topic):
            for j in topic[a + 1 :]:
                both = sum(row[i] != 0 and row[j] != 0 for row in X) / n
                p, q = (sum(row[c] != 0 for row in X) / n for c in (i, j))
                values.append(-1 if both == 0 else 1 if both == 1 else
                              math.log(both / (p * q)) / -math.log(both))  # fmt: skip
        means.append(sum(values) / len(values))
    return sum(means) / len(means)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array, np.ndarray.tolist])
def test_coherence_is_the_mean_npmi_of_all_pairs(make):
    rng = np.random.default_rng(0)
    X = rng.poisson(0.4, (60, 12)).astype(float)
    X[:, 3], X[:, 5] = 1, np.arange(60) < 2  # in all samples; nearly never
    topics = [[0, 1, 2, 3], [4, 5, 6], [7, 0, 5]]
    names = [f"w{j}" for j in range(12)]
    expected = npmi_in_loops(topics, X.tolist())
    assert metrics.topic_coherence(topics, make(X)) == pytest.approx(expected, rel=1e-12)
    named = [[names[j] for j in topic] for topic in topics]
    assert metrics.topic_coherence(named, make(X), names) == pytest.approx(expected, rel=1e-12)
    again = [[*topic, topic[0]] for topic in topics]  # a word twice is one word
    assert metrics.topic_coherence(again, make(X)) == pytest.approx(expected, rel=1e-12)


def test_coherence_of_extreme_words():
    X = np.array([[1, 1, 0, 1], [2, 3, 0, 1], [0, 0, 1, 1], [0, 0, 4, 1]])
    assert metrics.topic_coherence([[0, 1]], X) == 1  # only together
    assert metrics.topic_coherence([[0, 2]], X) == -1  # never together
    assert metrics.topic_coherence([[0, 3]], X) == 0  # independent
    assert metrics.topic_coherence([[0, 1], [2]], X) == 0.5  # one word has no pair
    with pytest.raises(ValueError, match="'moon' is not among the features"):
        metrics.topic_coherence([["moon"]], X, list("abcd"))
    with pytest.raises(ValueError, match="no topics"):
        metrics.topic_coherence([], X)


def test_diversity_is_the_share_of_different_words():
    assert metrics.topic_diversity([["a", "b"], ["c", "d"]]) == 1
    assert metrics.topic_diversity([["a", "b"], ["b", "a"]]) == 0.5
    with pytest.raises(ValueError, match="no words"):
        metrics.topic_diversity([[], []])
