"""Sums of batches, field by field in loops."""

import numpy as np
import pytest

from onmf.losses.batches import CountBatches, MaskedBatches, RayBatches
from onmf.palm.palm import NON_NEGATIVE, Bounds
from onmf.search.row_problems import unit

SIGNED = Bounds(-np.inf, np.inf)


def some_sums(seed, had=(1, 0, 1)):
    """Three clusters, four features; a cluster without samples has zeros."""
    rng, had = np.random.default_rng(seed), np.array(had)
    parts = {"weight": rng.random(3), "image": rng.random((3, 4)), "explained": rng.random(3)}
    parts = {name: part * had.reshape(-1, *[1] * (part.ndim - 1)) for name, part in parts.items()}
    return RayBatches(batches=had, **parts)


def test_the_mean_moves_by_a_step_for_each_batch_that_had_samples():
    batches = [some_sums(0, (1, 0, 1)), some_sums(1, (1, 1, 0)), some_sums(2, (1, 0, 1))]
    mean = batches[0]
    for batch in batches[1:]:
        mean = mean.after(batch)
    for c in range(3):
        number, weight, image, explained = 0, 0.0, np.zeros(4), 0.0
        for batch in batches:
            if batch.batches[c]:
                number += 1
                step = number**-0.75
                weight = (1 - step) * weight + step * batch.weight[c]
                image = (1 - step) * image + step * batch.image[c]
                explained = (1 - step) * explained + step * batch.explained[c]
        assert mean.batches[c] == number
        assert mean.weight[c] == pytest.approx(weight)
        assert mean.explained[c] == pytest.approx(explained)
        np.testing.assert_allclose(mean.image[c], image)


def test_sums_of_several_batches_at_once_are_their_mean():
    whole = some_sums(0)
    mean = whole.as_mean_of(4)
    np.testing.assert_array_equal(mean.batches, [4, 0, 4])
    np.testing.assert_array_equal(mean.image, whole.image / 4)
    np.testing.assert_array_equal(mean.weight, whole.weight / 4)


def test_merged_clusters_add_up_and_had_as_many_batches_as_the_oldest():
    one = some_sums(0)
    parts = one.as_dict() | {"batches": np.array([5, 2, 3])}
    both = RayBatches(**parts).merged(np.array([1, 0, 1]), 2)
    np.testing.assert_array_equal(both.batches, [2, 5])
    np.testing.assert_allclose(both.image, [one.image[1], one.image[0] + one.image[2]])
    np.testing.assert_allclose(both.weight, [one.weight[1], one.weight[0] + one.weight[2]])


def test_all_observed_is_a_mask_of_ones():
    """Batches with and without missing values are put together in the order they came."""
    plain = some_sums(0, (1, 1, 1))
    masked = plain.masked()
    np.testing.assert_array_equal(masked.shown, np.repeat(plain.explained[:, None], 4, axis=1))
    np.testing.assert_array_equal(masked.mass, plain.explained)
    W = np.random.default_rng(1).random((3, 4))
    for first, second in ((plain, masked), (masked, plain)):
        both = first.with_more(second)
        assert type(both) is MaskedBatches
        assert both.image.shape == (6, 4)
        later = first.after(second)
        assert type(later) is MaskedBatches
        np.testing.assert_allclose(later.image, plain.image)  # the same batch twice
    U = unit(plain.centroids(W, SIGNED))
    np.testing.assert_allclose(unit(masked.centroids(W, SIGNED)), U)


def test_a_centroid_is_the_image_and_as_long_as_a_typical_sample():
    sums, W = some_sums(0), np.random.default_rng(1).random((3, 4))
    found = sums.centroids(W, NON_NEGATIVE)
    for c in (0, 2):
        length = np.sqrt(sums.explained[c] / sums.weight[c])
        np.testing.assert_allclose(found[c], length * unit(sums.image[[c]])[0])
    np.testing.assert_allclose(found[1], unit(W[[1]])[0])  # no samples: its old direction
    turned = RayBatches(**sums.as_dict() | {"image": sums.image * [1, -1, 1, 1]})
    assert (turned.centroids(W, NON_NEGATIVE) >= 0).all()
    assert (turned.centroids(W, SIGNED)[[0, 2], 1] < 0).all()


def test_an_unseen_feature_keeps_its_share_of_the_old_centroid():
    rng, W = np.random.default_rng(0), np.array([[1.0, 2, 2, 4]])
    shown = np.array([[2.0, 3, 0, 0]])
    image, weight, mass = rng.random((1, 4)) * (shown > 0), np.array([3.0]), np.array([6.0])
    sums = MaskedBatches(np.array([1]), weight, image, np.array([1.0]), shown, mass)
    found, old = sums.centroids(W, SIGNED)[0], W[0] / 5
    w = [image[0, 0] / 2, image[0, 1] / 3]  # least squares of what was seen
    share = (w[0] * old[0] + w[1] * old[1]) / (old[0] ** 2 + old[1] ** 2)
    expected = np.array([*w, share * old[2], share * old[3]])
    np.testing.assert_allclose(found, expected * np.sqrt(6 / 3))


def test_counts_have_the_mean_sample_and_a_little_of_the_overall_mean():
    S, W = np.array([[4.0, 0, 2], [0, 0, 0], [1, 3, 0]]), np.ones((3, 3))
    sums = CountBatches(np.array([1, 0, 2]), np.array([2.0, 0, 4]), S)
    found, mean = sums.centroids(W, NON_NEGATIVE), S.sum(axis=0) / 10
    for c, total in ((0, 6), (2, 4)):
        profile = 0.99 * S[c] / total + 0.01 * mean
        np.testing.assert_allclose(found[c] / found[c].sum(), profile)
        assert found[c].sum() == pytest.approx(total / sums.weight[c])
    np.testing.assert_array_equal(found[1], W[1])
    np.testing.assert_array_equal(sums.directions(W, NON_NEGATIVE), [S[0], W[1], S[2]])
