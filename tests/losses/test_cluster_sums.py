"""Sums over clusters and what follows from them, sample by sample."""

from types import SimpleNamespace

import numpy as np
import pytest

from onmf.losses.alternation import AlternationState, is_still
from onmf.losses.ray_alternation import (
    LEAST_ENERGY,
    Worst,
    explained_in_full,
    influence_by_score,
    next_rays,
    tallies,
    with_length,
)
from onmf.losses.squares import Squares
from onmf.rows.assign import Code
from onmf.search.numpy_kernels import unit


def test_tallies_are_sums_over_the_samples_of_each_cluster():
    labels, last = np.array([0, 1, -1, 1, 0, 2, -1, 2]), np.array([0, 1, 2, 0, -1, 2, -1, 0])
    scores, weight = np.arange(1.0, 9), np.array([1.0, 2, 5, 0, 3, 0.5, 7, 0])
    explained, mass, samples, moves = tallies(Code(labels, scores), Code(last, scores), weight, 4)
    for c in range(4):
        own = [i for i in range(8) if labels[i] == c]
        assert explained[c] == sum(weight[i] * scores[i] ** 2 for i in own)
        assert mass[c] == sum(weight[i] for i in own)
        assert samples[c] == sum(weight[i] > 0 for i in own)
        assert moves[c] == sum(
            c in pair and pair[0] != pair[1] for pair in zip(labels, last, strict=True)
        )
    assert not tallies(Code(labels, scores), None, weight, 4)[3].any()


def test_short_samples_of_weight_have_a_least_energy():
    scores, weight = np.array([2.0, 0, 1e-150, 1e-150, 1e-150]), np.array([3.0, 1, 1, 0, 1e11])
    found = influence_by_score(scores, weight)
    np.testing.assert_allclose(found, [6, 0, LEAST_ENERGY / 1e-150, 0, 1e-139])


def test_nothing_is_left_to_explain_of_samples_without_a_cluster():
    code = Code(np.array([-1, 0, 1]), np.array([0.5, 2.0, 3.0]))
    found = explained_in_full(np.array([4.0, 9, 16]), code)
    np.testing.assert_array_equal(found.scores, [2, 2, 3])
    np.testing.assert_array_equal(found.labels, code.labels)


def test_the_worst_samples_of_two_blocks_are_those_of_both():
    def of(left, first, weight):
        sqnorms = np.full(len(left), 10.0)
        code = Code(np.zeros(len(left), int), np.sqrt(10 - np.array(left)))
        return Worst.of(2, 1e-16, np.array(weight)[:, None], first, sqnorms, code)

    one, other = of([1.0, 5, 3], 0, [1, 1, 1.0]), of([4.0, 0, 1e-15], 3, [1, 9, 9.0])
    np.testing.assert_array_equal(one.numbers, [1, 2])
    np.testing.assert_array_equal(other.numbers, [3, 4])
    np.testing.assert_allclose(other.left, [4, 0], atol=0)  # the rest is rounding
    np.testing.assert_array_equal((one + other).numbers, [1, 3])
    np.testing.assert_array_equal(of([2.0, 1], 7, [1, 3.0]).numbers, [8, 7])


def test_a_centroid_is_as_long_as_a_typical_sample():
    """Of energy 4, 25 and nothing: lengths 2, 5 and 1."""
    U = np.array([[0.6, 0.8], [-0.6, 0.8], [1, 0]])
    found = with_length(U, np.array([4.0, 25, 0]), np.float64)
    np.testing.assert_allclose(found, [[1.2, 1.6], [-3, 4], [1, 0]], atol=1e-15)


def test_the_first_steps_go_to_the_images_and_empty_clusters_stay():
    cross, W = np.array([[3.0, 4], [0, 0]]), np.array([[1.0, 0], [0, 2]])
    sums = SimpleNamespace(cross=cross, moves=np.zeros(2))
    state = AlternationState(W, None, sums)
    np.testing.assert_allclose(next_rays(state, False), [[0.6, 0.8], [0, 1]])


def test_later_steps_explain_more_than_the_image_alone():
    """With the ray before, the best vector in the span of both and their images."""
    B = np.random.default_rng(0).random((5, 5))
    A = B @ B.T
    last = unit(np.random.default_rng(1).random((1, 5)))
    W = unit(last @ A)
    sums = SimpleNamespace(cross=W @ A, moves=np.zeros(1))
    state = AlternationState(W, None, sums, last=(last, last @ A))
    ((found,),) = (next_rays(state, True),)
    image = unit(W @ A)[0]
    assert found @ A @ found > image @ A @ image
    assert np.linalg.norm(found) == pytest.approx(1)


def test_centroids_are_still_if_they_move_by_no_more_than_rounding_or_tol():
    eps = np.finfo(np.float32).eps
    assert is_still(4 * eps, 0.0, np.float32)
    assert not is_still(4.1 * eps, 0.0, np.float32)
    assert is_still(1e-3, 1e-3, np.float32)
    assert not is_still(1.1e-3, 1e-3, np.float32)


def test_squares_by_their_definition():
    rng, loss = np.random.default_rng(0), Squares()
    X, H, W = rng.random((6, 4)), rng.random((6, 2)), rng.random((2, 4))
    assert loss.value(X, H, W) == pytest.approx(np.square(X - H @ W).sum())
