"""The consensus by its definitions, on the n x n matrix that the package never makes."""

import tracemalloc

import numpy as np
import pytest
from scipy.cluster.hierarchy import cophenet, linkage
from scipy.spatial.distance import squareform

from onmf.number import agreement
from onmf.number.agreement import agree, majority, smallest_type, stratified_sample


def some_runs(n=60, k=4, n_runs=7, noise=0.15, seed=0):
    """Runs that agree on most samples, each with its own ids."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, k, n)
    drawn, wrong = rng.integers(0, k, (n, n_runs)), rng.random((n, n_runs)) < noise
    runs = np.where(wrong, drawn, truth[:, None])
    return np.column_stack([rng.permutation(k)[run] for run in runs.T])


def dense_consensus(runs):
    return np.mean([run[:, None] == run for run in runs.T], axis=0)


@pytest.mark.parametrize("seed", range(5))
def test_every_figure_is_that_of_the_full_matrix(seed):
    runs = some_runs(seed=seed)
    C, found = dense_consensus(runs), agree(runs, 4)
    np.testing.assert_allclose(found.values(range(60)), C)
    np.testing.assert_allclose(found.values([3, 5], [0, 1, 2]), C[[3, 5], :3])
    assert found.dispersion == pytest.approx(np.mean(4 * (C - 0.5) ** 2))
    pairs = C[np.triu_indices(60, 1)]
    unclear = (pairs > 0.1 + 1e-9) & (pairs < 0.9 - 1e-9)
    assert found.ambiguous == pytest.approx(np.mean(unclear))
    apart = squareform(np.mean([run[:, None] != run for run in runs.T], axis=0))
    tree = linkage(apart, "average")
    assert found.cophenetic == pytest.approx(np.corrcoef(apart, cophenet(tree))[0, 1])
    assert found.cophenetic_se is None
    np.testing.assert_array_equal(found.shown, np.arange(60))


def test_runs_that_differ_in_the_ids_alone_agree_perfectly():
    truth = np.array([0, 0, 0, 1, 1, 2])
    found = agree(np.column_stack([truth, 2 - truth, [1, 1, 1, 2, 2, 0]]), 3)
    assert (found.cophenetic, found.dispersion, found.ambiguous) == (1, 1, 0)
    np.testing.assert_array_equal(found.labels, truth)
    np.testing.assert_array_equal(found.sample_stability, 1)
    np.testing.assert_array_equal(found.cluster_stability, 1)


def test_the_ids_of_the_runs_do_not_matter():
    runs, rng = some_runs(), np.random.default_rng(1)
    other = np.column_stack([rng.permutation(4)[run] for run in runs.T])
    first, second = agree(runs, 4), agree(other, 4)
    assert first.cophenetic == pytest.approx(second.cophenetic)
    np.testing.assert_array_equal(first.labels, second.labels)
    np.testing.assert_allclose(first.sample_stability, second.sample_stability)


def test_the_majority_decides():
    runs = np.array([[0, 1, 0], [0, 1, 0], [0, 1, 1], [1, 0, 1], [1, 0, 1]])
    np.testing.assert_array_equal(agree(runs, 2).labels, [0, 0, 0, 1, 1])


@pytest.mark.parametrize(("apart", "unclear"), [(1, 0), (2, 1), (8, 1), (9, 0)])
def test_a_pair_is_ambiguous_strictly_between_a_tenth_and_nine_tenths(apart, unclear):
    runs = np.zeros((2, 10), int)
    runs[1, :apart] = 1
    assert agree(runs, 2).ambiguous == unclear


def test_stability_of_a_sample_is_the_mean_overlap_of_its_clusters():
    runs = some_runs(n=30)
    found = agree(runs, 4)
    for i in range(30):
        final = set(np.flatnonzero(found.labels == found.labels[i]))
        overlaps = []
        for run in runs.T:
            own = set(np.flatnonzero(run == run[i]))
            overlaps.append(len(own & final) / len(own | final))
        assert found.sample_stability[i] == pytest.approx(np.mean(overlaps))
    for c in range(4):
        expected = found.sample_stability[found.labels == c].mean()
        assert found.cluster_stability[c] == pytest.approx(expected)


def test_samples_in_no_cluster_stay_there():
    runs = np.array([[0, 0, 1], [0, 0, 1], [1, 1, 0], [-1, -1, -1], [1, -1, -1]])
    np.testing.assert_array_equal(agree(runs, 2).labels, [0, 0, 1, -1, -1])


def test_labels_are_kept_in_the_smallest_type():
    for k, dtype in [(4, np.int8), (127, np.int8), (128, np.int16), (1 << 15, np.int32)]:
        runs = np.array([[-1, 0], [k - 1, k - 1]])
        kept = smallest_type(runs, k)
        assert kept.dtype == dtype
        np.testing.assert_array_equal(kept, runs)


def test_many_samples_are_judged_by_stratified_subsamples(monkeypatch):
    runs = some_runs(n=1200)
    exact = agree(runs, 4)
    monkeypatch.setattr(agreement, "EXACT", 1000)
    monkeypatch.setattr(agreement, "SUBSAMPLE", 400)
    found = agree(runs, 4)
    assert 0 < found.cophenetic_se < 0.02
    assert found.cophenetic == pytest.approx(exact.cophenetic, abs=5 * found.cophenetic_se)
    assert found.dispersion == exact.dispersion
    assert len(found.shown) == 400
    assert found.linkage.shape == (399, 4)
    rng = np.random.default_rng(0)  # five subsamples, each judged as a whole
    each = [agree(runs[stratified_sample(found.labels, 400, rng)], 4) for _ in range(5)]
    own = [one.cophenetic for one in each]
    assert found.cophenetic == pytest.approx(np.mean(own))
    assert found.cophenetic_se == pytest.approx(np.std(own, ddof=1) / 5**0.5)
    assert found.ambiguous == pytest.approx(np.mean([one.ambiguous for one in each]))


def test_up_to_5000_samples_all_pairs_count_and_beyond_five_times_2000(monkeypatch):
    seen = []

    def count(runs):
        seen.append(len(runs))
        return agreement.Pairs(1.0, 0.0, np.zeros((0, 4)))

    monkeypatch.setattr(agreement, "_pairs_of", count)
    for n in (5000, 5001):
        agree(np.zeros((n, 2), int), 1)
    assert seen == [5000] + 5 * [2000]


def test_one_sample_agrees_with_itself():
    found = agree(np.array([[0, 1, 0]]), 2)
    assert (found.cophenetic, found.dispersion, found.ambiguous) == (1, 1, 0)
    assert found.linkage.shape == (0, 4)


def test_two_samples_are_one_pair():
    found = agree(np.array([[0, 0], [0, 1]]), 2)
    assert (found.cophenetic, found.dispersion, found.ambiguous) == (1, 0.5, 1)


def test_the_consensus_numbers_clusters_by_size_and_counts_empty_ones():
    found = agree(np.repeat([[2, 1], [0, 0], [1, 2]], [1, 4, 2], axis=0), 4)
    np.testing.assert_array_equal(found.labels, [2, 0, 0, 0, 0, 1, 1])
    np.testing.assert_array_equal(found.cluster_stability, [1, 1, 1, 0])


def test_a_subsample_has_each_cluster_in_proportion():
    labels = np.repeat([0, 1, 2], [700, 250, 50])
    chosen = stratified_sample(labels, 100, np.random.default_rng(0))
    assert len(np.unique(chosen)) == 100
    np.testing.assert_allclose(np.bincount(labels[chosen]), [70, 25, 5], atol=1)


@pytest.mark.slow
def test_memory_grows_with_the_samples_not_with_their_pairs():
    runs = some_runs(n=50_000, n_runs=5).astype(np.int8)
    tracemalloc.start()
    try:
        agree(runs, 4)
        assert tracemalloc.get_traced_memory()[1] < 100e6  # pairs would need 10 GB
    finally:
        tracemalloc.stop()


def test_two_votes_outweigh_the_typical_run():
    """The first run differs from the two others in three samples each, these in four from each
    other: it is the typical one. In the last sample it is alone."""
    first = np.repeat([0, 1], 6)
    second, third, expected = first.copy(), first.copy(), first.copy()
    second[[0, 2, 11]] = [1, 1, 0]
    third[[6, 8, 11]] = 0
    expected[11] = 0
    np.testing.assert_array_equal(majority(np.column_stack([first, second, third]), 2), expected)
