"""The steps do what scikit-learn's transformers do, on samples they have never seen, too."""

import signal

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfTransformer, TfidfVectorizer

from onmf.prepare.arrays import feature_variances
from onmf.prepare.expression import are_raw_counts
from onmf.prepare.steps import STEPS, Depth, Log, Rescale, Tfidf, Unit, Variable, apply
from onmf.prepare.texts import Words
from onmf.prepare.units import default_scaling

TEXTS = [
    "Stars and planets, planets and moons.",
    "The moons of the planets",
    "genes in cells; cells and genes",
    "a gene and a cell",
]
COUNTS = np.array([[3.0, 0.0, 1.0], [0.0, 7.0, 0.0], [1.0, 1.0, 0.0]])


def dense(X):
    return X.toarray() if sp.issparse(X) else X


@pytest.fixture(params=[np.asarray, sp.csr_array, lambda X: sp.csr_array(X.astype(np.float32))])
def make(request):
    return request.param


@pytest.mark.parametrize("limits", [{}, {"min_df": 2}, {"max_df": 0.5}])
def test_words_and_tfidf_are_scikit_learns_vectorizer(limits):
    theirs = TfidfVectorizer(**limits).fit(TEXTS)
    words = Words.fit(TEXTS, **limits)
    chain = [words, Tfidf.fit(words(TEXTS))]
    assert words.vocabulary == tuple(theirs.get_feature_names_out())
    for texts in (TEXTS, ["unknown words", "", "planets, planets and genes"]):
        ours = apply(chain, texts)
        assert isinstance(ours, sp.csr_array)
        np.testing.assert_allclose(ours.toarray(), theirs.transform(texts).toarray(), atol=1e-15)


def test_tfidf_is_scikit_learns_and_keeps_the_kind_of_data(make):
    X = make(COUNTS)
    ours = Tfidf.fit(X)(X)
    theirs = TfidfTransformer().fit_transform(COUNTS).toarray()
    assert sp.issparse(ours) == sp.issparse(X)
    assert ours.dtype == X.dtype
    np.testing.assert_allclose(dense(ours), theirs, rtol=1e-6)


def test_log_and_unit_by_hand(make):
    X = make(COUNTS)
    np.testing.assert_allclose(dense(Log.fit(X)(X)), [[2, 0, 1], [0, 3, 0], [1, 1, 0]], rtol=1e-6)
    half = np.sqrt(1 / 2)
    units = [[3 / np.sqrt(10), 0, 1 / np.sqrt(10)], [0, 1, 0], [half, half, 0]]
    np.testing.assert_allclose(dense(Unit.fit(X)(X)), units, rtol=1e-6)
    np.testing.assert_array_equal(dense(X), COUNTS)


def test_negative_values_have_no_logarithm(make):
    X = make(-COUNTS)
    for step in (Log.fit(X), Tfidf.fit):
        with pytest.raises(ValueError, match="Negative values in data"):
            step(X)


def test_no_words_left_is_said_with_what_to_do():
    with pytest.raises(ValueError, match="at least 3 and at most 50% of the 4 documents: lower"):
        Words.fit(TEXTS, min_df=3, max_df=0.5)
    with pytest.raises(ValueError, match="no word"):
        Words.fit(["", "?"])


@pytest.mark.parametrize(
    "step",
    [
        Words(("a", "b")),
        Words(("a", "a", "b")),
        Words((1, 2, 3)),
        *(
            kind(np.array(numbers))
            for kind in (Tfidf, Rescale)
            for numbers in ([1, 1.0], [1, 0, 1], [1, np.nan, 1], [1, np.inf, 1])
        ),
    ],
)
def test_a_step_that_does_not_fit_the_model_is_found_out(step):
    with pytest.raises(ValueError, match=r"vocabulary|idf|sizes"):
        step.check(3)
    assert STEPS[step.name] is type(step)


def test_depth_is_the_same_for_all_samples_that_have_any(make):
    X = make(np.vstack([COUNTS, np.zeros(3)]))
    scaled = dense(Depth.fit(X, 100)(X))
    np.testing.assert_allclose(scaled.sum(axis=1), [100, 100, 100, 0], rtol=1e-6)
    np.testing.assert_allclose(scaled[0], [75, 0, 25], rtol=1e-6)
    assert Depth.fit(X).total == 4  # of 4, 7 and 2
    assert Depth.fit(X)(X).dtype == X.dtype
    for total in (0.0, -1.0, np.inf, "many"):
        with pytest.raises(ValueError, match="positive number"):
            Depth(total).check(3)


def test_depth_counts_no_gaps(make):
    X = make(np.array([[3.0, np.nan, 1.0], [0.0, 2.0, 2.0]]))
    scaled = dense(Depth(8.0)(X))
    np.testing.assert_allclose(scaled, [[6, np.nan, 2], [0, 4, 4]])
    assert Depth.fit(X).total == 4
    with pytest.raises(ValueError, match="Infinity"):
        Depth(8.0)(make(np.array([[1.0, np.inf]])))


def test_the_most_variable_features_stay_and_all_others_are_zero(make):
    X = np.array([[5.0, 1.0, np.nan, 0.0], [5.0, 2.0, 3.0, 0.0], [5.5, 0.0, 9.0, 0.0]])
    variances = np.nanvar(X, axis=0)  # 0.06, 0.67, 9, 0
    np.testing.assert_allclose(feature_variances(make(X)), variances, rtol=1e-6)
    step = Variable.fit(make(X), 2)
    np.testing.assert_array_equal(step.used, [0, 1, 1, 0])
    np.testing.assert_array_equal(dense(step(make(X))), X * [0, 1, 1, 0])
    assert step(make(X)).dtype == make(X).dtype
    np.testing.assert_array_equal(Variable.fit(make(X), 9).used, np.ones(4))
    ties = Variable.fit(make(np.array([[1.0, 2.0, 1.0], [2.0, 1.0, 2.0]])), 2)
    np.testing.assert_array_equal(ties.used, [1, 1, 0])
    step.check(4)
    for used in (np.ones(3), np.zeros(4), np.full(4, 0.5), [1, 1, 0, 0]):
        with pytest.raises(ValueError, match="numbers 0 and 1"):
            Variable(used).check(4)


def test_scaled_features_have_mean_square_one_and_zeros_stay(make):
    X = make(np.column_stack([COUNTS * [1.0, 1e3, 1e-3], np.zeros(3)]))
    step = Rescale.fit(X)
    scaled = dense(step(X))
    np.testing.assert_allclose((scaled**2).mean(axis=0), [1, 1, 1, 0], rtol=1e-6)
    np.testing.assert_allclose(scaled[0, 0] / scaled[2, 0], 3, rtol=1e-6)
    assert step(X).dtype == X.dtype
    np.testing.assert_allclose(dense(step(X[:1])), scaled[:1])  # new samples, by what it has learnt


def test_scaling_passes_gaps_on_and_leaves_them_out(make):
    X = make(np.array([[3.0, np.nan], [4.0, 5.0], [np.nan, 0.0]]))
    scaled = dense(Rescale.fit(X)(X))
    by_hand = [[3 / np.sqrt(12.5), np.nan], [4 / np.sqrt(12.5), np.sqrt(2)], [np.nan, 0]]
    np.testing.assert_allclose(scaled, by_hand, rtol=1e-6)


@pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="nothing can interrupt it here")
def test_a_pattern_that_does_not_end_is_given_up(monkeypatch):
    monkeypatch.setattr("onmf.prepare.texts.MIN_SECONDS", 0.1)
    before = signal.getsignal(signal.SIGALRM)
    with pytest.raises(ValueError, match="took over 0 s"):
        Words(("aa",), (1, 1), "(?:a+)+b")(["a" * 60])
    assert signal.getsignal(signal.SIGALRM) is before
    assert Words(("aa",), (1, 1), "a+")(["aa b"]).toarray().tolist() == [[1]]


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


def test_large_amounts_are_scaled_also_beside_negative_entries_and_large_scores_are_not():
    rng = np.random.default_rng(0)
    mass, ratio = 3000 + 900 * rng.random(50), rng.random((50, 3))
    assert default_scaling(np.column_stack([mass, ratio])) == {"scale": {}}
    assert default_scaling(np.column_stack([mass, -ratio])) == {"scale": {}}
    assert default_scaling(np.column_stack([mass, ratio - 0.5])) == {"scale": {}}
    assert default_scaling(np.column_stack([-mass, ratio])) == {"scale": {}}
    assert default_scaling(np.column_stack([mass - mass.mean(), ratio - 0.5])) == {}
