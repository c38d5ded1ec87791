"""A K that can be trusted, whatever the clusterer, whatever happens on the way."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from onmf import ONMF, choose_k
from onmf.datasets import make_paper_synthetic, make_rays


@pytest.fixture(scope="module")
def rays():
    return make_rays(240, 30, 4, noise=0.3, random_state=0)


class Told:
    """A progress callback that remembers."""

    def __init__(self):
        self.seen = []

    def __call__(self, done, total):
        self.seen.append((done, total))


@pytest.mark.parametrize(
    ("m", "sparsity"), [(60, 0.0), pytest.param(400, 0.8, marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("k", [3, *(pytest.param(k, marks=pytest.mark.slow) for k in (2, 5, 7))])
def test_the_number_of_rays_is_found(k, m, sparsity):
    X, y = make_rays(300, m, k, noise=0.5, imbalance=3, sparsity=sparsity, random_state=k)
    choice = choose_k(ONMF(random_state=0), X, range(2, 10), n_runs=4)
    assert choice.best_k == k
    assert choice.evidence
    assert choice.reason.startswith(f"{k} clusters: ")
    assert adjusted_rand_score(y, choice.model.labels_) > 0.95


@pytest.mark.slow
@pytest.mark.parametrize("k", [3, 12])
def test_the_true_k_of_the_papers_generator(k):
    X, _ = make_paper_synthetic(0, n_clusters=k, smallest=15, outliers=0, random_state=7)
    around = range(max(k - 3, 2), k + 4)
    assert choose_k(ONMF(random_state=0), X, around, n_runs=2).best_k == k


@pytest.mark.slow
def test_neither_the_seed_nor_the_range_changes_what_is_said_of_a_k(rays):
    X = rays[0]
    rows = []
    for seed, ks in [(0, range(2, 9)), (1, range(4, 7)), (7, [2, 4, 6, 19])]:
        choice = choose_k(ONMF(random_state=seed), X, ks, n_runs=4)
        rows.append(next(row for row in choice.table if row.k == 4))
        assert choice.best_k == 4
    assert rows[0] == rows[1] == rows[2]


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["frobenius", "kl"])
def test_the_order_of_the_samples_does_not_matter(loss):
    X = np.random.default_rng(0).poisson(make_rays(150, 40, 5, noise=1.0, random_state=0)[0] * 9)
    order = np.random.default_rng(1).permutation(150)
    model = ONMF(random_state=0, loss=loss)
    tables = [choose_k(model, Y.astype(float), range(2, 9), n_runs=4).table for Y in (X, X[order])]
    for one, other in zip(*tables, strict=True):
        np.testing.assert_allclose(one[:-1], other[:-1], atol=1e-6)


def test_the_labels_are_those_of_the_one_fit(rays):
    X = rays[0]
    choice = choose_k(ONMF(random_state=3), X, range(2, 7), n_runs=2)
    own = ONMF(choice.best_k, random_state=3).fit(X)
    np.testing.assert_array_equal(choice.model.labels_, own.labels_)
    np.testing.assert_array_equal(choice.model.labels_, own.labels_)
    named = pd.DataFrame(X, columns=[f"f{j}" for j in range(30)])
    model = choose_k(ONMF(random_state=3), named, range(2, 7), n_runs=2).model
    assert list(model.feature_names_in_) == list(named.columns)


def test_counts_are_judged_by_the_divergence_in_few_steps():
    rng = np.random.default_rng(0)
    topics, y, told = rng.gamma(0.2, size=(3, 50)), np.arange(150) % 3, Told()
    X = sp.csr_array(rng.poisson(40 * topics[y] / topics[y].sum(axis=1, keepdims=True)) * 1.0)
    model = ONMF(loss="kl", random_state=0)
    choice = choose_k(model, X, range(2, 7), n_runs=4, progress=told)
    assert choice.best_k == 3
    assert adjusted_rand_score(y, choice.model.labels_) == 1
    assert told.seen[-1] == (2, 2)  # one step a cut
    assert choice.table[1].comes_back > 0.99


def test_without_a_range_it_looks_up_to_twice_the_best_k(rays):
    choice = choose_k(ONMF(random_state=0), rays[0], n_runs=2)
    assert choice.best_k == 4
    assert [row.k for row in choice.table] == list(range(2, 21))
    few = choose_k(ONMF(random_state=0), rays[0][:40], n_runs=2)
    assert [row.k for row in few.table] == list(range(2, 6))  # an eighth of the samples
    assert "No K above 5 was tried." in few.reason


@pytest.mark.slow
def test_many_clusters_are_looked_for_beyond_the_first_path():
    X, _ = make_rays(900, 100, 30, noise=0.3, random_state=0)
    choice = choose_k(ONMF(random_state=0), X, n_runs=2)
    assert choice.best_k == 30
    assert choice.table[-1].k >= 60  # on while the best is above half of the last


def test_the_search_goes_on_past_the_range_unless_told_not_to(rays):
    further = choose_k(ONMF(random_state=0), rays[0], [3, 4], n_runs=2)
    assert further.best_k == 4
    assert [row.k for row in further.table] == [3, 4, 5]
    assert "The search went on to K=5, past the range." in further.reason
    here = choose_k(ONMF(random_state=0), rays[0], [3, 4], n_runs=2, beyond=False)
    assert [row.k for row in here.table] == [3, 4]
    assert "largest K asked for" in here.reason


@pytest.mark.slow
def test_many_clusters_of_the_same_size_are_looked_for():
    rng = np.random.default_rng(0)
    rays, y = rng.random((30, 100)), np.repeat(np.arange(30), 20)
    X = rays[y] * rng.uniform(0.5, 2, (600, 1)) + 0.1 * rng.random((600, 100))
    choice = choose_k(ONMF(random_state=0), X)  # up to 20 all halves merge others
    assert choice.best_k == 30
    assert choice.table[-1].k >= 60  # on while the best is above half of the last


@pytest.mark.slow
def test_scales_come_with_the_tree_between_them():
    rng = np.random.default_rng(0)
    coarse = np.kron(np.eye(3), np.ones(40))  # three groups of features
    fine = np.repeat(coarse, 3, axis=0) * rng.exponential(size=(9, 120))
    y = np.repeat(np.arange(9), 60)
    X = fine[y] * rng.uniform(0.5, 2, (540, 1)) + 0.1 * rng.random((540, 120))
    choice = choose_k(ONMF(random_state=0), X, range(2, 13))
    assert choice.best_k == 9
    assert [scale.k for scale in choice.scales] == [3, 9]
    assert choice.scales[0].inside is None
    inside = choice.scales[1].inside
    assert inside.shape == (9, 3)
    np.testing.assert_allclose(inside.sum(axis=1), 1)
    np.testing.assert_allclose(inside.max(axis=1), 1)
    assert "Also possible: 3 coarser ones, 100 %." in choice.reason
    parents = [name.split("_")[0] for name in choice.scales[1].names]
    assert [parents.count(name) for name in choice.scales[0].names] == [3, 3, 3]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["noise", "gradient"])
def test_no_clusters_are_no_evidence(kind):
    rng = np.random.default_rng(0)
    X, t = rng.random((200, 60)), rng.random((200, 1))
    if kind == "gradient":
        a, b = rng.exponential(size=(2, 60))
        X = (1 - t) * a + t * b + 0.2 * X
    choice = choose_k(ONMF(random_state=0), X, range(2, 6), n_runs=4)
    assert not choice.evidence
    assert choice.reason.startswith("No evidence of separate clusters; ")
    assert choice.best_k == max(choice.table, key=lambda row: row.score).k  # evidence changes words


def test_equal_samples_are_no_evidence():
    X = np.repeat(np.random.default_rng(0).random((40, 30)), 5, axis=0)
    assert not choose_k(ONMF(random_state=0), X, range(2, 7), n_runs=4).evidence


@pytest.mark.parametrize("place", [np.asarray, sp.csr_array])
def test_a_half_without_anything_in_it_is_told(place):
    X = place(np.array([[0, 0], [1, 0], [0, 1]]))
    with pytest.raises(
        ValueError, match="a half of the samples has fewer than 1 distinct directions"
    ):
        choose_k(ONMF(random_state=0), X, [1, 2], beyond=False)


@pytest.mark.slow
def test_copies_of_the_samples_change_no_figure_much(rays):
    X = rays[0]
    once, twice = (choose_k(ONMF(random_state=0), Y, [3, 4, 5]) for Y in (X, np.vstack([X, X])))
    assert once.best_k == twice.best_k == 4
    for a, b in zip(once.table, twice.table, strict=True):
        assert a.found_again == pytest.approx(b.found_again, abs=0.15)


def test_a_choice_is_shown_by_its_figures(rays):
    choice = choose_k(ONMF(random_state=0), rays[0], [3, 4], n_runs=2)
    assert repr(choice) == f"KChoice(best_k=4, reason={choice.reason!r}, evidence=True)"


def test_all_work_is_told_also_that_of_a_second_path(rays):
    """One part a cut for K up to 20, one more for those up to 40."""
    told = Told()
    choose_k(ONMF(random_state=0), rays[0], [4, 21], n_runs=4, n_jobs=1, progress=told)
    assert told.seen[-1] == (4, 4)
    assert [done for done, _ in told.seen] == sorted({done for done, _ in told.seen})


def test_few_samples_are_a_guess(rays):
    assert (
        "24 samples are few: take it as a guess."
        in choose_k(ONMF(random_state=0), rays[0][:24], [2, 3]).reason
    )


def test_weights_count(rays):
    X, y = rays
    weight = np.where(y < 3, 1.0, 0.0)
    choice = choose_k(ONMF(random_state=0), X, range(2, 7), n_runs=4, sample_weight=weight)
    assert choice.best_k == 3


def test_the_model_is_left_alone(rays):
    model = ONMF(3, random_state=0, callback=lambda event: True)
    choose_k(model, rays[0], [2, 3], n_runs=2)
    assert model.n_clusters == 3
    assert model.callback is not None
    assert not hasattr(model, "labels_")


def test_more_clusters_than_directions_fail_for_those_k_alone():
    rng = np.random.default_rng(0)
    X = rng.uniform(1, 2, (60, 1)) * np.repeat(rng.random((3, 10)), 20, axis=0)
    choice = choose_k(ONMF(random_state=0), X, [2, 3, 4, 5], n_runs=2)
    assert choice.best_k == 3
    assert "fewer than 4 distinct directions" in choice.table[2].failed
    assert choice.table[1].failed == ""


@pytest.mark.parametrize(
    ("model", "options", "sentence"),
    [
        (ONMF(), {"n_runs": 1}, "one run always agrees with itself: ask for at least two"),
        (ONMF(), {"n_runs": 0}, "n_runs must be a whole number >= 1"),
        (ONMF(), {"k_range": []}, "k_range is empty"),
        (ONMF(), {"k_range": [3, 2]}, "k_range must increase, unlike 3, 2: sort it"),
        (ONMF(), {"k_range": [2, 2]}, "k_range must increase"),
        (ONMF(), {"k_range": [0, 2]}, "k_range must be a whole number >= 1, not 0"),
        (ONMF(), {"k_range": [2.5]}, "k_range must be a whole number"),
        (ONMF(), {"k_range": [2, 300]}, "only 240 distinct sample.s., fewer than the 300 clusters"),
        (KMeans(), {}, "choose_k needs an ONMF, not KMeans"),
        (ONMF(solver="slow"), {}, "solver must be one of"),
    ],
)
def test_bad_input_is_answered_by_a_sentence(rays, model, options, sentence):
    with pytest.raises(ValueError, match=sentence):
        choose_k(model, rays[0], **{"k_range": range(2, 5)} | options)


def test_empty_samples_have_no_cluster_and_do_no_harm(rays):
    X = np.vstack([rays[0], np.zeros((3, 30))])
    choice = choose_k(ONMF(random_state=0), X, range(2, 6), n_runs=2)
    assert choice.best_k == 4
    assert (choice.model.labels_[-3:] == -1).all()
    assert (choice.model.labels_[:-3] >= 0).all()


def test_bad_data_are_answered_by_a_sentence(rays):
    with pytest.raises(ValueError, match="Negative values"):
        choose_k(ONMF(loss="kl"), -rays[0], range(2, 4))
    for make in (np.asarray, sp.csr_array):
        with pytest.raises(ValueError, match="only 3 distinct sample"):
            choose_k(ONMF(), make(np.repeat(np.eye(3), 5, axis=0)), [2, 4])


def test_a_file_is_read_as_fit_reads_it(rays, tmp_path):
    np.save(tmp_path / "x.npy", rays[0])
    here = choose_k(ONMF(random_state=0), rays[0], range(2, 5), n_runs=2, beyond=False)
    for path in (tmp_path / "x.npy", str(tmp_path / "x.npy")):
        there = choose_k(ONMF(random_state=0), path, range(2, 5), n_runs=2, beyond=False)
        assert there.best_k == here.best_k
        np.testing.assert_array_equal(there.model.labels_, here.model.labels_)


@pytest.mark.parametrize("loss", ["frobenius", "kl"])
def test_the_same_table_for_any_number_of_threads(rays, loss):
    model = ONMF(loss=loss, random_state=0)
    one, two = (choose_k(model, rays[0], range(2, 7), n_runs=4, n_jobs=jobs) for jobs in (1, 2))
    assert one.table == two.table
