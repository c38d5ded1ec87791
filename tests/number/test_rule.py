"""The rule by hand: one score, its peak, the other peaks, and words that never change K."""

import numpy as np
import pytest

from onmf.number import rule
from onmf.number.choice import nested_names, sentence, shares
from onmf.number.rule import Figures, decide, peaks


def known(valley=0.0, **shares_back):
    """Figures with given S for each K, all samples inside their clusters."""
    return {int(k[1:]): Figures(s, s, 1.0, 0.0, valley) for k, s in shares_back.items()}


def test_the_score_is_what_a_label_says_times_how_much_comes_back():
    figures = Figures(found=0.6, kept=0.8, alike=0.1, border=0.9, valley=3.0)
    assert figures.comes_back == pytest.approx(0.7)
    assert figures.score(5) == pytest.approx(np.log(5) * 0.7**2.5 / 1.4)
    assert figures._replace(valley=0.1).score(5) == pytest.approx(np.log(5) * 0.7**2.5 / 1.1)
    assert figures.score(1) == 0


def test_the_largest_score_wins_and_ties_go_to_the_smaller_k():
    assert decide(known(k2=1.0, k5=0.9, k10=0.7), 1000).best == 5
    assert decide(known(k2=1.0, k5=0.9, k10=0.8), 1000).best == 10  # 5 -> 10 may cost a seventh
    assert decide(known(k4=0.0, k7=0.0), 1000).best == 4
    assert decide(known(k1=1.0, k2=0.1), 1000).best == 2


def test_more_candidates_change_the_answer_only_by_winning():
    few = known(k2=0.5, k3=0.9)
    assert decide(few, 1000).best == decide(few | known(k4=0.7, k30=0.3, k50=0.2), 1000).best == 3


def test_clusters_of_fewer_than_eight_samples_do_not_win():
    facts = known(k2=0.8, k5=0.8, k6=1.0)
    assert decide(facts, 48).best == 6
    assert decide(facts, 47).best == 5
    assert decide(known(k6=0.5, k9=0.9), 20).best == 9  # nothing else was asked for


def test_neither_evidence_nor_its_absence_changes_k():
    good, cloud = known(k2=0.6, k3=0.9, k4=0.6), known(k2=0.6, k3=0.9, k4=0.6, valley=1.0)
    assert decide(good, 1000)[:3] == decide(cloud, 1000)[:3]
    assert decide(good, 1000).evidence
    assert not decide(cloud, 1000).evidence


def test_evidence_is_about_every_k_up_to_the_best():
    facts = known(k2=0.5, k3=0.9, k4=0.5)
    apart = {k: fact.apart for k, fact in facts.items()}
    assert apart == pytest.approx({2: 0.5, 3: 0.9, 4: 0.5})
    smooth = facts | {2: facts[2]._replace(valley=1.5), 3: facts[3]._replace(valley=0.74)}
    assert smooth[3].apart == pytest.approx(0.9 * 0.26)
    assert not decide(smooth, 1000).evidence  # (0 + .234) / 2
    assert decide(smooth | {2: facts[2]}, 1000).evidence
    assert Figures(0.5, 0.9, 0.8, 0.25, 0.5).apart == pytest.approx(0.5 * 0.8 * 0.75 * 0.5)
    assert not decide(known(k1=1.0), 1000).evidence


def test_a_peak_beats_its_neighbours_and_all_within_a_factor():
    score = {2: 1.0, 3: 0.9, 4: 1.1, 5: 0.8, 10: 2.0, 12: 2.2, 14: 2.1, 15: 2.3, 16: 1.0, 30: 0.5}
    assert peaks(score) == [2, 4, 15]  # 12 is too near to 15
    assert peaks({1: 5.0, 2: 1.0}) == []


def test_other_peaks_are_scales_if_they_are_worth_it_or_come_back_as_well():
    fine = known(k2=0.5, k3=1.0, k4=0.6, k6=0.5, k11=0.7, k12=0.9, k13=0.7, k25=0.5, k30=0.65)
    assert decide(fine, 1000).scales == [3, 12]  # 3 has half of the score, 30 has three fifths
    worth = decide(fine | known(k30=0.76), 1000)
    assert (worth.scales, worth.close) == ([3, 12, 30], [12])
    both = decide(fine | known(k30=0.78), 1000)
    assert (both.best, both.close) == (12, [12, 30])


def test_scales_differ_by_a_factor_and_are_few():
    near = known(k10=0.9, k12=0.6, k13=0.9)
    assert decide(near, 1000).scales == [13]
    many = {k: Figures(s, s, 1, 0, 0) for k in range(2, 80) for s in [1.0 if k % 10 == 0 else 0.1]}
    assert len(decide(many, 10_000).scales) <= rule.MOST_SCALES


def test_rare_groups_name_the_finest_k_at_which_most_clusters_are_found_again():
    facts = known(k2=0.5, k5=0.93, k6=0.5, k12=0.5, k15=0.5, k20=0.4)
    found = {2: 2, 5: 5, 6: 5.9, 12: 8, 15: 7.3, 20: 7.1}
    facts = {k: fact._replace(n_found=found[k]) for k, fact in facts.items()}
    verdict = decide(facts, 1000)
    assert (verdict.best, verdict.rare, verdict.scales) == (5, 15, [5, 15])  # 15 has nine tenths
    said = "Also possible: 15 finer ones, 50 % (for rare groups: 7 of them are found again)."
    assert sentence(verdict, facts, 1000, "").endswith(said)
    assert decide(facts | {5: facts[5]._replace(n_found=6.4)}, 1000).rare is None  # not one more
    near = {k: facts[k] for k in (2, 5, 6)}
    assert decide(near | {6: facts[6]._replace(n_found=6)}, 1000).scales == [5]  # not far enough


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        (
            known(k2=0.5, k5=0.93, k10=0.5),
            "5 clusters: 93 % of each comes back when other samples are used.",
        ),
        (
            known(k2=0.5, k5=0.93, k10=0.5, k20=0.67),
            "5 clusters: 93 % of each comes back when other samples are used. "
            "Also possible: 20 finer ones, 67 %.",
        ),
        (
            known(k2=0.5, k5=0.93, k8=0.5, k12=0.77),
            "5 or 12 clusters: the data do not decide; 93 % and 77 % of each come back when other "
            "samples are used. 5 has the best score.",
        ),
        (
            known(k2=0.5, k4=0.62, k8=0.3, valley=1.2),
            "No evidence of separate clusters; 4 is the finest cut that comes back: 62 % of each "
            "when other samples are used.",
        ),
    ],
)
def test_the_answer_is_a_sentence(facts, said):
    assert sentence(decide(facts, 1000), facts, 1000, "") == said
    few = sentence(decide(facts, 1000), facts, 99, " More.")
    assert few == f"{said} 99 samples are few: take it as a guess. More."


def test_names_of_finer_clusters_lie_within_those_of_coarser_ones():
    coarse = np.repeat([0, 1], [20, 20])
    fine = np.repeat([2, 0, 3, 1], [10, 9, 2, 19])  # cluster 3 is half in each
    inside = shares(fine, 4, coarse, 2)
    np.testing.assert_allclose(inside, [[1, 0], [0, 1], [1, 0], [0.5, 0.5]])
    assert nested_names(inside, ["0", "1"]) == ["0_0", "1_0", "0_1", "3"]
    assert nested_names(inside, ["4_1", "4_2"]) == ["4_1_0", "4_2_0", "4_1_1", "3"]


def test_samples_without_a_cluster_are_no_part_of_a_tree():
    """Fine cluster 0 has three samples, one of them in no coarse cluster; cluster 1 has one."""
    fine, coarse = np.array([0, 0, 0, 1, -1, -1]), np.array([0, 1, -1, 1, 0, -1])
    np.testing.assert_allclose(shares(fine, 2, coarse, 2), [[0.5, 0.5], [0, 1]])
