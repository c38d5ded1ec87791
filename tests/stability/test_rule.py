"""From figures to one K: by hand."""

import numpy as np
import pytest

from onmf.stability import rule
from onmf.stability.halves import Clusters


def clusters(q, border=0.0, valley=(0.0, 100.0), astray=(), kept=1.0):
    """Both halves have clusters of this quality, those of these numbers are astray."""
    q = np.array([q, q], float)
    lost = np.isin(np.arange(q.shape[1]), astray) & (q > -1)
    border = np.full_like(q, border)
    return Clusters(q, np.ones_like(q), border, lost, np.array(valley), np.array(kept), q[:, :0])


def known(**scores):
    """Figures with given scores in each of two cuts, all clusters kept, none at a border."""
    made = {}
    for name, score in scores.items():
        k, each = int(name[1:]), np.atleast_1d(np.array(score, float))
        total = each.mean() + rule.COST * k
        made[k] = rule.Figures(each, total, k, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0)
    return made


def worth(**totals):
    """Figures with given sums of the q_k."""
    return known(**{name: t - rule.COST * int(name[1:]) for name, t in totals.items()})


def test_the_score_counts_solid_clusters_and_doubtful_ones_against_it():
    found = rule.figures([clusters([1.0, 0.9, 0.2]), clusters([1.0, 0.85, 0.25])])
    c = rule.COST
    np.testing.assert_allclose(found.scores, [2.1 - 3 * c, 2.1 - 3 * c])
    assert found.solid == 2
    assert found.score == pytest.approx(2.1 - 3 * c)
    near = rule.figures([clusters([1.0, 1.0], border=0.25)])
    assert near.score == pytest.approx(2 * (0.75**3 - c))
    noisy = clusters([1.0, 1.0])
    noisy = rule.figures([noisy._replace(alike=0.64 * noisy.alike)])
    assert noisy.score == pytest.approx(2 * (0.8 - c))


def test_clusters_astray_do_not_count_for_or_against():
    found = rule.figures([clusters([1.0, 0.9, 0.1], astray=[2]), clusters([1.0, 0.9, 0.1])])
    c = rule.COST
    np.testing.assert_allclose(found.scores, [1.9 - 2 * c, 2.0 - 3 * c])
    assert found.astray == 0.5
    assert found.has_outliers
    assert found.found == pytest.approx((4 * 1.9 + 2 * 0.1) / 10)  # of those that count
    alone = rule.figures([clusters([0.9], astray=[0])])
    assert (alone.score, alone.found) == (0, pytest.approx(0.9))


def test_samples_that_do_not_keep_their_cluster_cost_every_cluster():
    whole, torn = (rule.figures([clusters([1.0] * 5, kept=kept)]) for kept in (0.9, 0.8))
    assert whole.score == pytest.approx(5 * (1 - rule.COST))
    assert torn.score == pytest.approx(whole.score - 5 * rule.PRICE * 0.1)
    many = rule.figures([clusters([1.0] * 40, kept=0.8)])  # but not without end
    assert many.score == pytest.approx(40 * (1 - rule.COST) - rule.PAYERS * rule.PRICE * 0.1)


def test_one_ray_more_is_for_the_outliers_if_it_helps():
    own = rule.figures([clusters([0.8, 0.8])])
    better = rule.figures([clusters([0.9, 0.9, 0.1], astray=[2])])
    worse = rule.figures([clusters([0.7, 0.7, 0.1], astray=[2])])
    split = rule.figures([clusters([0.9, 0.9, 0.9])])
    assert rule.beside_outliers(own, better) is better
    for other in (worse, split, None):
        assert rule.beside_outliers(own, other) is own
    verdict = rule.decide({2: better, 3: better})  # 3 rays: two clusters and the outliers
    assert verdict.best == 2
    assert verdict.scales == [2]
    lone = rule.decide({2: better}).confidence
    assert verdict.confidence == lone  # the same fits are no rival


def test_the_valley_is_the_density_at_borders_over_that_inside():
    cuts = [clusters([1.0], valley=(10, 50)), clusters([1.0], valley=(20, 50))]
    assert rule.figures(cuts).valley == pytest.approx(0.3)


def test_the_largest_score_wins_and_ties_go_to_the_smaller_k():
    assert rule.decide(known(k2=0.5, k3=2.0, k4=1.0)).best == 3
    assert rule.decide(known(k2=1.0, k5=1.0)).best == 2


def test_more_candidates_change_the_answer_only_by_winning():
    few, many = known(k2=0.5, k3=2.0), known(k2=0.5, k3=2.0, k4=1.9, k30=1.0, k50=-9.0)
    assert rule.decide(few).best == rule.decide(many).best == 3


def test_scales_are_best_at_some_cost_of_a_cluster():
    # From 3 to 6 a cluster more is worth 0.5, on to 12 0.25, then 0.1.
    facts = worth(k2=1.2, k3=2.8, k4=2.9, k5=3.4, k6=4.3, k8=4.4, k10=4.7, k12=5.8, k15=6.1)
    behind = rule.shortfalls(facts)
    assert [k for k in facts if behind[k] == 0] == [3, 6, 12]
    assert behind[15] == pytest.approx(0.3)  # three more than 12, worth 0.1 each, at 0.2
    assert behind[10] == pytest.approx(0.6)  # halfway between 6 and 12, where these are equal
    verdict = rule.decide(facts)
    assert (verdict.best, verdict.runner_up, verdict.scales) == (6, 3, [3, 6, 12])


def test_shortfalls_are_those_of_trying_every_cost():
    rng = np.random.default_rng(0)
    facts = worth(**{f"k{k}": t for k, t in enumerate(0.6 * np.cumsum(rng.random(15)), 2)})
    behind = rule.shortfalls(facts)
    for k, fact in facts.items():
        least = np.inf
        for x in rule.COSTS:
            values = {j: other.total - x * j for j, other in facts.items()}
            if values[k] > 0:
                least = min(least, max(values.values()) - values[k])
        assert behind[k] == pytest.approx(least)
        assert fact.counted == k


def test_a_peak_is_a_scale_where_finer_clusters_are_as_solid():
    scores = known(k2=0.2, k3=2.0, k4=1.2, k5=1.1, k8=0.4, k12=8.0, k13=7.7, k14=7.0)
    assert rule.shortfalls(scores)[3] > 2
    assert rule.decide(scores).scales == [3, 12]
    assert rule.decide(known(k2=0.1, k6=3.0)).scales == [6]  # 2 is not worth naming
    assert rule.decide(known(k2=-0.9, k6=-0.1)).scales == [6]


def test_pieces_of_a_solid_cluster_are_no_scale():
    whole, pieces = rule.figures([clusters([0.9] * 4)]), [0.9] * 3 + [0.4, 0.4]
    verdict = rule.decide({4: whole, 5: rule.figures([clusters(pieces)])})
    assert verdict.scales == [4]


def test_of_scales_close_together_one_is_named():
    facts = worth(k10=6.0, k11=6.45, k20=9.0)
    assert rule.shortfalls(facts)[10] == rule.shortfalls(facts)[11] == 0
    assert rule.decide(facts).scales == [11, 20]  # the recommended K rather than 10


def test_no_evidence_where_nothing_is_found_again_or_without_valleys():
    weak = {k: fact._replace(found=0.5, alike=0.5) for k, fact in known(k2=-0.5, k3=-1.0).items()}
    nothing = rule.decide(weak)
    assert (nothing.evidence, nothing.confidence) == (False, rule.GUESS)
    assert nothing.scales == [nothing.best]
    slope = {2: known(k2=1.0)[2]._replace(valley=1.0)}
    assert not rule.decide(slope).evidence
    assert rule.decide({1: known(k1=0.5)[1], **slope}).best == 1
    assert rule.decide(known(k1=0.5, k2=0.9)).best == 2


def test_where_no_k_scores_above_zero_most_must_be_found_again():
    pieces = [0.9, 0.3], [0.8, 0.7, 0.6, 0.5], [0.8, 0.7, 0.3, 0.2, 0.2, 0.2]
    facts = {len(own): rule.figures([clusters(own, kept=0.5)]) for own in pieces}
    assert max(facts, key=lambda k: facts[k].score) == 2  # the fewest pay least
    assert all(fact.score < 0 for fact in facts.values())
    for own in pieces:
        assert facts[len(own)].again == pytest.approx(sum(own) - rule.AGAIN * len(own))
    assert rule.decide(facts).best == 4
    good = facts | {2: rule.figures([clusters([0.9, 0.9])])}
    assert rule.decide(good).best == 2


def test_confidence_grows_with_the_lead_and_with_cuts_that_agree():
    clear = rule.decide(known(k2=[0.1, 0.2], k3=[2.0, 2.1])).confidence
    close = rule.decide(known(k2=[1.9, 2.0], k3=[2.0, 2.1])).confidence
    torn = rule.decide(known(k2=[2.5, 1.5], k3=[1.9, 2.2])).confidence
    assert 1 >= clear > close > torn >= 0
