"""Each cluster against the rest: against SciPy's tests and sums by hand."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy import stats

from onmf import explain

rng = np.random.default_rng(0)
X = rng.gamma(2.0, 1.0, (40, 7)) * (rng.random((40, 7)) < 0.7)
LABELS = np.repeat([0, 1, 2, -1], [8, 10, 20, 2])


def inside_and_outside(k):
    return X[LABELS == k], X[(LABELS != k) & (LABELS >= 0)]


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, lambda X: X.astype(np.float32)])
def test_means_and_shares_are_those_of_the_two_sets_of_samples(form):
    facts = explain.groups(LABELS, form(X)).facts
    for k in range(3):
        a, b = inside_and_outside(k)
        np.testing.assert_allclose(facts.mean_inside[k], a.mean(axis=0), rtol=1e-6)
        np.testing.assert_allclose(facts.mean_outside[k], b.mean(axis=0), rtol=1e-6)
        np.testing.assert_allclose(facts.share_inside[k], (a != 0).mean(axis=0))
        np.testing.assert_allclose(facts.share_outside[k], (b != 0).mean(axis=0))
        change = np.log2(a.mean(axis=0) / b.mean(axis=0))
        np.testing.assert_allclose(facts.log2_fold_change[k], change, atol=1e-6)


def test_the_test_is_the_more_careful_of_welch_and_student():
    table = explain.groups(LABELS, X)
    chosen = set()
    for k in range(3):
        a, b = inside_and_outside(k)
        tests = {equal: stats.ttest_ind(a, b, equal_var=equal) for equal in (True, False)}
        equal = np.abs(tests[True].statistic) <= np.abs(tests[False].statistic)
        chosen.update(equal.tolist())
        for name, own in (("statistic", table.facts.score[k]), ("pvalue", table.p_value[k])):
            expected = np.where(equal, getattr(tests[True], name), getattr(tests[False], name))
            np.testing.assert_allclose(own, expected, rtol=1e-8)
    assert chosen == {True, False}


def test_effects_are_cohens():
    a, b = inside_and_outside(1)
    pooled = (9 * a.var(axis=0, ddof=1) + 27 * b.var(axis=0, ddof=1)) / 36
    expected = (a.mean(axis=0) - b.mean(axis=0)) / np.sqrt(pooled)
    np.testing.assert_allclose(explain.groups(LABELS, X).facts.effect[1], expected)


def test_adjusted_p_values_are_scipys_cluster_by_cluster():
    table = explain.groups(LABELS, X)
    for p, adjusted in zip(table.p_value, table.p_adjusted, strict=True):
        np.testing.assert_allclose(adjusted, stats.false_discovery_control(p))


def test_whole_weights_count_as_repeated_samples_in_means_and_shares():
    weight = rng.integers(1, 4, len(X))
    one = explain.groups(LABELS, X, sample_weight=weight).facts
    many = explain.groups(np.repeat(LABELS, weight), np.repeat(X, weight, axis=0)).facts
    for own, expected in zip(one[:5], many[:5], strict=True):
        np.testing.assert_allclose(own, expected)


def test_weights_buy_no_significance():
    plain = explain.groups(LABELS, X)
    for factor in (0.01, 100):
        other = explain.groups(LABELS, X, sample_weight=factor)
        np.testing.assert_allclose(other.p_value, plain.p_value)
        np.testing.assert_allclose(other.facts.effect, plain.facts.effect)


def test_a_sample_without_weight_is_as_good_as_absent():
    weight = np.ones(len(X))
    weight[::5] = 0
    part = weight > 0
    one = explain.groups(LABELS, X, sample_weight=weight)
    other = explain.groups(LABELS[part], X[part])
    np.testing.assert_allclose(one.p_value, other.p_value)
    assert one.sizes.tolist() == other.sizes.tolist()


@pytest.mark.parametrize("factor", [2.0**-700, 2.0**300])
def test_only_the_means_depend_on_the_unit_of_x(factor):
    plain, other = explain.groups(LABELS, X), explain.groups(LABELS, factor * X)
    np.testing.assert_array_equal(other.facts.score, plain.facts.score)
    np.testing.assert_array_equal(other.facts.mean_inside, factor * plain.facts.mean_inside)
    np.testing.assert_array_equal(other.facts.log2_fold_change, plain.facts.log2_fold_change)


def test_fold_changes_of_logarithms_are_told_for_what_they_are_logarithms_of():
    counts = np.array([[7.0, 3], [7, 3], [3, 0], [3, 0]])
    for base in (2, 10, np.e):
        logs = np.log1p(counts) / np.log(base)
        facts = explain.groups([0, 0, 1, 1], logs, log_base=base).facts
        assert facts.log2_fold_change[0, 0] == pytest.approx(np.log2(7 / 3), abs=1e-6)
        assert facts.log2_fold_change[0, 1] > 20  # absent outside: large, but a number


def test_a_constant_feature_and_one_of_zeros_say_nothing():
    Y = np.column_stack([X, np.full(len(X), 0.1), np.zeros(len(X))])
    table = explain.groups(LABELS, Y)
    assert not table.facts.score[:, -2:].any()
    assert (table.p_value[:, -2:] == 1).all()
    assert not table.facts.log2_fold_change[:, -1].any()
    assert all({"x7", "x8"}.isdisjoint(top) for top in table.top(9))


def test_a_feature_that_separates_perfectly_comes_first_with_a_finite_score():
    Y = np.column_stack([X, LABELS == 1])
    table = explain.groups(LABELS, Y)
    assert table.top(1)[1] == ["x7"]
    assert np.isfinite(table.facts.score).all()
    assert np.isfinite(table.facts.effect).all()


def test_a_cluster_of_one_sample_is_tested_with_the_variance_of_the_others():
    Y = np.array([[9.0, 1], [1, 1], [2, 2], [3, 1], [2, 3]])
    table = explain.groups([1, 0, 0, 0, 0], Y)
    outside = Y[1:, 0]
    t = (9 - outside.mean()) / (outside.std(ddof=1) * np.sqrt(1 + 1 / 4))
    assert table.facts.score[1, 0] == pytest.approx(t)
    assert table.p_value[1, 0] == pytest.approx(2 * stats.t.sf(t, 3))


def test_two_samples_that_make_two_clusters_have_no_p_value_to_speak_of():
    table = explain.groups([0, 1], [[1.0, 0], [0, 1]])
    assert (table.p_value == 1).all()
    assert table.top(1) == [["x0"], ["x1"]]


def test_a_rare_feature_that_one_side_happens_to_lack_is_not_significant():
    """Four of 300 samples have it, none of them in the smaller cluster: chance alone does that
    in one of five cases, and Welch's test would say p = 0.045."""
    labels = np.repeat([0, 1], [100, 200])
    rare = np.zeros((300, 1))
    rare[[150, 160, 170, 180]] = 1
    assert stats.ttest_ind(rare[:100], rare[100:], equal_var=False).pvalue[0] < 0.05
    assert explain.groups(labels, rare).p_value[0, 0] > 0.1


def test_words_are_ranked_by_the_likelihood_ratio_of_their_shares():
    table, means = explain.groups(LABELS, X, rank="presence"), explain.groups(LABELS, X)
    for k in range(3):
        a, b = (side != 0 for side in inside_and_outside(k))
        for j in range(X.shape[1]):
            counts = [[np.sum(a[:, j]), np.sum(~a[:, j])], [np.sum(b[:, j]), np.sum(~b[:, j])]]
            g = stats.chi2_contingency(counts, correction=False, lambda_="log-likelihood")
            expected = np.sign(a[:, j].mean() - b[:, j].mean()) * np.sqrt(g.statistic)
            assert table.facts.score[k, j] == pytest.approx(expected, abs=1e-7)
    np.testing.assert_array_equal(table.p_value, means.p_value)
    np.testing.assert_array_equal(table.facts.effect, means.facts.effect)


def test_one_text_that_repeats_a_word_does_not_make_it_the_word_of_its_cluster():
    counts = np.zeros((40, 3))
    counts[:20, 0] = 1  # in every text of the first cluster
    counts[0, 1] = 500  # in one of them
    counts[:, 2] = 1  # in all texts
    table = explain.groups(np.arange(40) // 20, counts, rank="presence")
    assert [own.tolist() for own in table.ranked] == [[0, 1], []]
    assert table.facts.score[1].tolist()[2] == 0


def test_groups_of_the_same_size_have_the_freedom_of_welch_whatever_the_rounding():
    rng = np.random.default_rng(0)
    Y = rng.gamma(2, 1, (40, 300)) * np.where(np.arange(40) < 20, 3, 1)[:, None]
    table = explain.groups(np.arange(40) < 20, Y)
    expected = stats.ttest_ind(Y[:20], Y[20:], equal_var=False).pvalue
    np.testing.assert_allclose(table.p_value[1], expected, rtol=1e-6)
