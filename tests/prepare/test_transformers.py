"""Transformers of counts, against the textbook formulas."""

import numpy as np
import pytest
import scipy.sparse as sp

from onmf.prepare import log_expression, tfidf, used_features

COUNTS = np.array([[3.0, 0, 1, 0], [0, 2, 0, 0], [1, 1, 4, 0]])
BOTH = pytest.mark.parametrize("kind", [np.asarray, sp.csr_array], ids=["dense", "sparse"])


def dense(X):
    return X.toarray() if sp.issparse(X) else X


@BOTH
def test_tfidf_is_the_textbook_formula_with_unit_documents(kind):
    n, df = 3, (COUNTS > 0).sum(axis=0)
    weighted = COUNTS * (np.log((1 + n) / (1 + df)) + 1)
    expected = weighted / np.linalg.norm(weighted, axis=1, keepdims=True)
    found = tfidf().fit_transform(kind(COUNTS))
    assert sp.issparse(found)
    np.testing.assert_allclose(found.toarray(), expected, rtol=1e-12)


@BOTH
def test_log_expression_keeps_zeros_and_the_container(kind):
    found = log_expression().fit_transform(kind(COUNTS))
    assert sp.issparse(found) == sp.issparse(kind(COUNTS))
    np.testing.assert_array_equal(dense(found), np.log2(1 + COUNTS))


@BOTH
def test_counts_are_scaled_to_the_total_first(kind):
    found = log_expression(total=1e6).fit_transform(kind(COUNTS))
    million = COUNTS / COUNTS.sum(axis=1, keepdims=True) * 1e6
    np.testing.assert_allclose(dense(found), np.log2(1 + million), rtol=1e-12)
    np.testing.assert_allclose((2 ** dense(found) - 1).sum(axis=1), 1e6, rtol=1e-9)


def test_negative_expression_is_refused():
    with pytest.raises(ValueError, match="Negative values in data: the logarithm needs"):
        log_expression().fit_transform(np.array([[1.0, -0.5]]))


@BOTH
def test_features_that_never_occur_are_found(kind):
    assert used_features(kind(COUNTS)).tolist() == [0, 1, 2]


@pytest.mark.parametrize("total", [None, 1e6, "median"])
def test_log_expression_takes_data_frames_and_keeps_their_names(total):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame([[30, 10], [0, 7]], ["a", "b"], ["TP53", "KRAS"])
    found = log_expression(total).fit_transform(frame)
    assert found.columns.tolist() == ["TP53", "KRAS"]
    factor = {None: [1, 1], 1e6: [1e6 / 40, 1e6 / 7], "median": [23.5 / 40, 23.5 / 7]}[total]
    np.testing.assert_allclose(found, np.log2(1 + frame.mul(factor, axis=0)))


def test_the_median_is_that_of_the_samples_fitted():
    fitted = log_expression("median").fit(np.array([[1.0, 3.0], [2.0, 6.0]]))
    np.testing.assert_allclose(fitted.transform(np.array([[6.0, 0.0]])), np.log2([[7, 1]]))
