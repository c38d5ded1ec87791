"""The steps by hand and beside scikit-learn's; every step keeps the same promises."""

import signal

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfTransformer, TfidfVectorizer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from onmf import ONMF
from onmf.prepare import (
    CenterBatches,
    Depth,
    Log,
    Rescale,
    Tfidf,
    Unit,
    Variable,
    Words,
    default_preparation,
    known_from_words,
)
from onmf.prepare.arrays import feature_variances
from onmf.prepare.batches import batch_sentence
from onmf.prepare.default import STEPS, are_raw_counts
from onmf.rows import open_rows

TEXTS = [
    "Stars and planets, planets and moons.",
    "The moons of the planets",
    "genes in cells; cells and genes",
    "a gene and a cell",
]
COUNTS = np.array([[3.0, 0.0, 1.0], [0.0, 7.0, 0.0], [1.0, 1.0, 0.0]])
NUMBERS = [Depth(), Depth(100.0), Log(), Variable(2), Rescale(), Tfidf(), Unit()]
STEP = pytest.mark.parametrize("step", NUMBERS, ids=str)


def dense(X):
    return X.toarray() if sp.issparse(X) else np.asarray(X)


@pytest.fixture(params=[np.asarray, sp.csr_array, lambda X: sp.csr_array(X.astype(np.float32))])
def make(request):
    return request.param


# --- every step -----------------------------------------------------------------------------------


@STEP
def test_a_step_keeps_the_container_and_the_precision(step, make):
    X = make(COUNTS)
    found = clone(step).fit(X).transform(X)
    assert sp.issparse(found) == sp.issparse(X)
    assert found.dtype == X.dtype
    np.testing.assert_array_equal(dense(X), COUNTS)
    whole = clone(step).fit(COUNTS).transform(COUNTS)
    np.testing.assert_allclose(dense(found), whole, rtol=1e-6)
    np.testing.assert_allclose(dense(clone(step).fit(X).transform(X[:1])), whole[:1], rtol=1e-6)


@STEP
def test_rows_on_disk_are_changed_as_they_are_read(step, tmp_path):
    X = np.random.default_rng(0).poisson(3, (50, 6)).astype(float)
    np.save(tmp_path / "x.npy", X)
    rows = open_rows(tmp_path / "x.npy")
    fitted = clone(step).fit(rows)
    there = fitted.transform(rows)
    np.testing.assert_allclose(there.rows(10, 20), clone(step).fit_transform(X)[10:20])


@STEP
def test_frames_keep_their_names_and_other_names_are_refused(step):
    frame = pd.DataFrame(COUNTS, list("xyz"), list("abc"))
    found = clone(step).set_output(transform="pandas").fit_transform(frame)
    assert list(found.columns) == list("abc")
    assert list(found.index) == list("xyz")
    with pytest.raises(ValueError, match="feature names should match"):
        clone(step).fit(frame).transform(frame[list("cba")])


@parametrize_with_checks([Depth(), Log(), Variable(), Rescale(), Unit()])
def test_keeps_the_scikit_learn_contract(estimator, check):
    check(estimator)


def test_a_pipeline_is_searched_over_its_preparation():
    rng = np.random.default_rng(0)
    X = rng.gamma(0.5, 9, (3, 20))[np.arange(60) % 3] * rng.uniform(0.5, 2, (60, 1))
    pipeline = make_pipeline(Depth(), Log(), ONMF(2, random_state=0))
    grid = {"onmf__n_clusters": [2, 3], "depth__total": ["median", 100.0]}
    found = GridSearchCV(pipeline, grid, cv=2).fit(X, np.arange(60) % 3)
    assert found.best_params_["onmf__n_clusters"] == 3


@pytest.mark.parametrize(
    ("step", "learnt"),
    [
        *((kind, {name: np.array(numbers)}) for kind, name in ((Tfidf, "idf_"), (Rescale, "sizes_"))
          for numbers in ([1, 1.0], [1, 0, 1], [1, np.nan, 1], [1, np.inf, 1])),
        *((Variable, {"used_": used}) for used in (np.ones(2), np.zeros(3), np.full(3, 0.5), [1])),
        *((Depth, {"total_": total}) for total in (0.0, -1.0, np.inf, "many")),
        (Words, {"vocabulary_": ("a", "a"), "left_out_": (), "pattern_": "a"}),
        (Words, {"vocabulary_": (1, 2), "left_out_": (), "pattern_": "a"}),
        (CenterBatches, {"names_": ("a",), "means_": np.ones((2, 3)), "total_": np.ones(3)}),
    ],
)  # fmt: skip
def test_what_cannot_have_been_learnt_is_found_out(step, learnt):
    forged = step()
    vars(forged).update(learnt | {"n_features_in_": 3})
    with pytest.raises(ValueError, match=r"numbers|number|vocabulary|means"):
        forged.check()


def test_the_list_of_steps_has_each_by_its_name():
    assert all(STEPS[kind.name] is kind for kind in (Depth, Log, Variable, Rescale, Tfidf, Unit))
    assert all(step.sentence() for step in (Log(), Rescale().fit(COUNTS), Depth().fit(COUNTS)))


# --- their formulas -------------------------------------------------------------------------------


@pytest.mark.parametrize("limits", [{"min_df": 1}, {"min_df": 2}, {"min_df": 1, "max_df": 0.5}])
def test_words_and_tfidf_are_scikit_learns_vectorizer(limits):
    theirs = TfidfVectorizer(**{"max_df": 1.0} | limits).fit(TEXTS)
    ours = make_pipeline(Words("none", **{"max_df": 1.0} | limits), Tfidf()).fit(TEXTS)
    assert list(ours[0].get_feature_names_out()) == list(theirs.get_feature_names_out())
    for texts in (TEXTS, ["unknown words", "", "planets, planets and genes"]):
        found = ours.transform(texts)
        np.testing.assert_allclose(dense(found), theirs.transform(texts).toarray(), atol=1e-15)


def test_tfidf_is_scikit_learns(make):
    theirs = TfidfTransformer().fit_transform(COUNTS).toarray()
    np.testing.assert_allclose(dense(Tfidf().fit_transform(make(COUNTS))), theirs, rtol=1e-6)


def test_log_and_unit_by_hand(make):
    found = dense(Log().fit_transform(make(COUNTS)))
    np.testing.assert_allclose(found, [[2, 0, 1], [0, 3, 0], [1, 1, 0]], rtol=1e-6)
    half = np.sqrt(1 / 2)
    units = [[3 / np.sqrt(10), 0, 1 / np.sqrt(10)], [0, 1, 0], [half, half, 0]]
    np.testing.assert_allclose(dense(Unit().fit_transform(make(COUNTS))), units, rtol=1e-6)


@pytest.mark.parametrize("step", [Log(), Tfidf(), Depth()], ids=str)
def test_negative_values_are_refused_where_amounts_are_needed(step, make):
    with pytest.raises(ValueError, match="Negative values in data"):
        step.fit_transform(make(-COUNTS))


def test_depth_is_the_same_for_all_samples_that_have_any(make):
    X = make(np.vstack([COUNTS, np.zeros(3)]))
    scaled = dense(Depth(100.0).fit_transform(X))
    np.testing.assert_allclose(scaled.sum(axis=1), [100, 100, 100, 0], rtol=1e-6)
    np.testing.assert_allclose(scaled[0], [75, 0, 25], rtol=1e-6)
    assert Depth().fit(X).total_ == 4  # of 4, 7 and 2


def test_gaps_stay_and_are_left_out_of_what_is_learnt(make):
    X = make(np.array([[3.0, np.nan, 1.0], [0.0, 2.0, 2.0]]))
    np.testing.assert_allclose(dense(Depth(8.0).fit_transform(X)), [[6, np.nan, 2], [0, 4, 4]])
    assert Depth().fit(X).total_ == 4
    Y = make(np.array([[3.0, np.nan], [4.0, 5.0], [np.nan, 0.0]]))
    by_hand = [[3 / np.sqrt(12.5), np.nan], [4 / np.sqrt(12.5), np.sqrt(2)], [np.nan, 0]]
    np.testing.assert_allclose(dense(Rescale().fit_transform(Y)), by_hand, rtol=1e-6)


def test_the_most_variable_features_stay_and_all_others_are_zero(make):
    X = np.array([[5.0, 1.0, np.nan, 0.0], [5.0, 2.0, 3.0, 0.0], [5.5, 0.0, 9.0, 0.0]])
    np.testing.assert_allclose(feature_variances(make(X)), np.nanvar(X, axis=0), rtol=1e-6)
    step = Variable(2).fit(make(X))
    np.testing.assert_array_equal(step.used_, [0, 1, 1, 0])
    np.testing.assert_array_equal(dense(step.transform(make(X))), X * [0, 1, 1, 0])
    np.testing.assert_array_equal(Variable(9).fit(make(X)).used_, np.ones(4))
    ties = Variable(2).fit(make(np.array([[1.0, 2.0, 1.0], [2.0, 1.0, 2.0]])))
    np.testing.assert_array_equal(ties.used_, [1, 1, 0])


def test_scaled_features_have_mean_square_one_and_zeros_stay(make):
    X = make(np.column_stack([COUNTS * [1.0, 1e3, 1e-3], np.zeros(3)]))
    scaled = dense(Rescale().fit_transform(X))
    np.testing.assert_allclose((scaled**2).mean(axis=0), [1, 1, 1, 0], rtol=1e-6)
    np.testing.assert_allclose(scaled[0, 0] / scaled[2, 0], 3, rtol=1e-6)


def test_batches_get_the_same_means_and_new_ones_too():
    rng = np.random.default_rng(0)
    X, batch = rng.random((60, 4)) + 5, np.repeat(["a", "b", "c"], 20)
    X[batch == "b"] += [1.0, 2.0, 0.0, 3.0]
    X[3, 2] = np.nan
    step = CenterBatches().fit(X[:40], batch=batch[:40])
    found = step.transform(X[:40], batch=batch[:40])
    means = [np.nanmean(found[batch[:40] == name], axis=0) for name in "ab"]
    np.testing.assert_allclose(means, [np.nanmean(X[:40], axis=0)] * 2)
    assert np.isnan(found[3, 2])
    new = step.transform(X[40:], batch=batch[40:])
    np.testing.assert_allclose(new.mean(axis=0), np.nanmean(X[:40], axis=0))
    np.testing.assert_array_equal(step.transform(X[:5]), X[:5])
    with pytest.raises(ValueError, match="3 batches for 40 samples"):
        CenterBatches().fit(X[:40], batch="abc")


def test_clusters_that_are_batches_are_counted():
    batch = np.repeat(["a", "b"], 30)
    assert batch_sentence(np.repeat([0, 1], 30), batch).startswith("2 of 2 clusters lie in one")
    assert batch_sentence(np.arange(60) % 2, batch) is None
    assert batch_sentence(np.repeat([0, 1], 30), ["a"] * 60) is None


# --- words ----------------------------------------------------------------------------------------


def test_no_words_left_is_said_with_what_to_do():
    with pytest.raises(ValueError, match="at least 3 and at most 50% of the 4 documents: lower"):
        Words("none", min_df=3).fit(TEXTS)
    with pytest.raises(ValueError, match="Words takes texts"):
        Words().fit(np.eye(3))


def test_stop_words_are_those_of_the_language_of_the_texts():
    german = ["der Mond und die Sterne sind nicht hier", "die Sterne und der Mond sind dort"] * 3
    assert Words(max_df=1.0).fit(german).vocabulary_ == ("mond", "sterne")
    english = ["the moon and the stars are not here", "the stars and the moon are there"] * 3
    assert Words(max_df=1.0).fit(english).vocabulary_ == ("moon", "stars")


def test_scripts_without_spaces_are_counted_by_pairs_of_characters():
    words = Words("none", min_df=1, max_df=1.0).fit(["東京大学", "京都大学"])
    assert "大学" in words.vocabulary_
    assert list(words.in_order(["東京"])) == [[]]


def test_what_is_no_text_is_removed_and_said():
    texts = ["<p>moons</p> and stars", "stars &amp; moons", "plain moons"]
    words = Words("none", min_df=1, max_df=1.0).fit(texts)
    assert "amp" not in words.vocabulary_
    assert words.sentence().startswith("HTML were removed, and texts were turned")


@pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="nothing can interrupt it here")
def test_a_pattern_that_does_not_end_is_given_up(monkeypatch):
    monkeypatch.setattr("onmf.prepare.texts.MIN_SECONDS", 0.1)
    before = signal.getsignal(signal.SIGALRM)
    slow = Words("none", 1, 1.0, pattern="(?:a+)+b").fit(["aab"])
    with pytest.raises(ValueError, match="took over 0 s"):
        slow.transform(["a" * 60])
    assert signal.getsignal(signal.SIGALRM) is before


def test_seed_words_say_what_samples_are():
    X = [[1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1]]
    names, seeds = (
        ["moon", "star", "gene", "cell"],
        {"sky": ["Moon", "star"], "life": ["gene", "cell"]},
    )
    assert known_from_words(X, names, seeds) == ["sky", "", "life"]
    assert known_from_words(sp.csr_array(X), names, seeds) == ["sky", "", "life"]
    with pytest.raises(ValueError, match="no seed of sea is a feature"):
        known_from_words(X, names, {"sea": ["tide"]})
    with pytest.raises(ValueError, match="no sample has 2 seeds of odd"):
        known_from_words(X, names, seeds | {"odd": ["moon", "cell"]})


# --- what is done by default ----------------------------------------------------------------------


def counts_with(change):
    """Counts of 1,200 samples, changed."""
    X = np.random.default_rng(0).poisson(2, (1200, 5)) * np.linspace(1, 9, 1200)[:, None] // 1
    change(X)
    return X


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (lambda X: None, True),
        (lambda X: X.__setitem__((0, 0), np.nan), True),
        (lambda X: X.__setitem__((0, 0), 0.5), False),
        (lambda X: X.__setitem__((-1, 0), 0.5), False),
        (lambda X: X.__setitem__((0, 0), -1), False),
        (lambda X: X.__setitem__((0, 0), np.inf), False),
    ],
)
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_raw_counts_are_whole_in_every_row(change, found, kind):
    assert are_raw_counts(kind(counts_with(change))) == found


GENES = [f"ENSG{j:011}" for j in range(3200)]


@pytest.mark.parametrize(
    ("case", "steps", "loss"),
    [
        ("counts of genes", "depth log", "frobenius"),
        ("amounts of genes", "log", "frobenius"),
        ("many logarithms of genes", "variable", "frobenius"),
        ("counts of words", "", "kl"),
        ("counts with gaps", "", "frobenius"),
        ("units", "scale", "frobenius"),
        ("scores of both signs", "", "frobenius"),
        ("one unit", "", "frobenius"),
        ("texts", "words", "kl"),
    ],
)
def test_what_is_done_by_default(case, steps, loss):
    rng = np.random.default_rng(0)
    counts = rng.poisson(2 * rng.gamma(0.5, 2, (80, 120)) * rng.uniform(1, 9, (80, 1))).astype(
        float
    )
    mass, ratio = 3000 + 900 * rng.random((50, 1)), rng.random((50, 3))
    gaps = counts.copy()
    gaps[0, 0] = np.nan
    data = {
        "counts of genes": pd.DataFrame(counts, columns=GENES[:120]),
        "amounts of genes": pd.DataFrame(100 * rng.gamma(1.0, 9, (40, 120)), columns=GENES[:120]),
        "many logarithms of genes": pd.DataFrame(rng.random((20, 3200)), columns=GENES),
        "counts of words": sp.csr_array(counts),
        "counts with gaps": gaps,
        "units": np.hstack([mass, ratio]),
        "scores of both signs": np.hstack([mass - mass.mean(), ratio - 0.5]),
        "one unit": ratio,
        "texts": TEXTS,
    }[case]
    found = default_preparation(data)
    assert " ".join(step.name for step in found.steps) == steps
    assert found.loss == loss
    assert bool(found.notes) == (case not in ("texts", "one unit", "scores of both signs",
                                              "counts with gaps"))  # fmt: skip
    assert default_preparation(data, loss="frobenius").loss == "frobenius"
