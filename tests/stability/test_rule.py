"""The rule on curves whose answer is known."""

import numpy as np
import pytest

from onmf.stability import rule


def grouped(errors, n=20, noise=0.0, seed=0):
    """A curve whose errors come from n groups of samples."""
    rng = np.random.default_rng(seed)
    errors = np.asarray(errors, float)
    return errors[:, None] / n + noise * rng.standard_normal((len(errors), n))


@pytest.mark.parametrize("ks", [range(1, 12), [2, 4, 8, 9, 20]])
def test_a_continuum_has_score_one_everywhere(ks):
    errors = grouped([7.0 / k for k in ks])
    np.testing.assert_allclose(rule.steps(ks, errors).score[1:-1], 1)


def test_gains_and_scores_by_hand():
    # e = 10, 6, 5, 5.5 at K = 1, 2, 4, 5: gains 4, 1/2 a cluster, -1/2
    found = rule.steps([1, 2, 4, 5], grouped([10, 6, 5, 5.5], n=1))
    np.testing.assert_allclose(found.gain, [4, 0.5, -0.5])
    assert found.score[1] == pytest.approx(4 / 0.5 * 1 / 4)
    assert np.isnan(found.score[[0, -1]]).all()


def test_a_step_is_compared_with_the_best_one_still_to_come():
    # gains 1, 0.1, 1, 0.05: the second cluster is no end, for the fourth gains as much
    found = rule.steps([1, 2, 3, 4, 5], grouped([10, 9, 8.9, 7.9, 7.85], n=1))
    np.testing.assert_allclose(found.score[1:4], [1 / 3, 0.1 * 2 / 4, 1 / 0.05 * 3 / 5])


def test_the_standard_error_is_that_of_a_sum_over_groups():
    errors = grouped([3, 2], noise=0.1)
    gains = errors[0] - errors[1]
    expected = np.sqrt(len(gains) * gains.var(ddof=1))
    assert rule.steps([1, 2], errors).se[0] == pytest.approx(expected)


def test_a_gain_within_its_noise_has_no_score():
    errors = grouped([10, 9.99, 5, 4.9], noise=0.01)
    assert rule.steps([1, 2, 3, 4], errors).score[1] == 0


CURVE = grouped([10, 8, 6, 4, 3.9, 3.85, 3.84], noise=1e-4)  # K = 1 to 7: the last that pays is 4
KS = range(1, 8)
ALL = dict.fromkeys(range(2, 7), 1.0)


def test_the_last_step_that_pays_is_chosen_and_resampling_agrees():
    verdict = rule.decide(KS, CURVE, ALL, seed=0)
    assert (verdict.best, verdict.share, verdict.evidence) == (4, 1.0, True)
    assert verdict.runner_up in ALL


def test_clusters_that_are_not_found_again_are_not_recommended():
    assert rule.decide(KS, CURVE, ALL | {4: 0.9}, seed=0).best != 4
    assert rule.decide(KS, CURVE, ALL | {4: 0.96}, seed=0).best == 4


def test_only_those_asked_for_are_recommended():
    asked = dict.fromkeys((2, 3, 5), 1.0)
    assert rule.decide(KS, CURVE, asked, seed=0).best in asked


def test_noise_is_no_evidence():
    verdict = rule.decide(KS, grouped([1, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6]), ALL, seed=0)
    assert (verdict.best, verdict.runner_up, verdict.share, verdict.evidence) == (2, 3, 0, False)


def test_a_doubtful_curve_makes_resamplings_differ():
    errors = grouped([10, 8, 6, 4, 3.0, 2.6, 2.5], noise=0.03)
    assert 0 < rule.decide(KS, errors, ALL, seed=0).share < 1


def test_the_curve_is_settled_three_places_after_the_last_that_pays():
    errors = grouped([10, 8, 6, 6.1, 6.2, 6.3, 6.4])
    assert rule.last_of_interest(KS, errors) == 6
    assert rule.last_of_interest(KS, CURVE) == 7
