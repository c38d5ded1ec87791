"""Bad input gets one clear sentence, or a right answer; never a NaN, a hang or a bare traceback."""

import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from onmf import ONMF, PALM

GOOD = np.random.default_rng(0).random((20, 5)) + 0.1


def changed(i, j, value):
    X = GOOD.copy()
    X[i, j] = value
    return X


BAD_DATA = {
    "nan": (changed(3, 2, np.nan), r"NaN or infinity at \(row 3, column 2\)"),
    "infinity": (changed(3, 2, np.inf), r"\(row 3, column 2\)"),
    "cancelling infinities": (
        changed([1, 2], [1, 3], [np.inf, -np.inf]),
        r"infinity at \(row 1, column 1\), \(row 2, column 3\)",
    ),
    "sparse nan": (sp.csr_array(changed(4, 1, np.nan)), r"\(row 4, column 1\)"),
    "negative": (changed(2, 0, -1), r"Negative values in data .* \(row 2, column 0\)"),
    "sparse negative": (sp.csc_array(changed(2, 0, -1)), r"\(row 2, column 0\)"),
    "many": (-GOOD, "and 90 more"),
    "complex": (GOOD + 1j, "[Cc]omplex"),
    "text": (np.full((20, 2), "word"), "convert string"),
    "one dimension": (GOOD[0], "2D array"),
    "three dimensions": (GOOD[None], "dim"),
    "few samples": (GOOD[:3], "n_samples=3 should be >= n_clusters=4"),
    "one sample": (GOOD[:1], "n_samples=1"),
    "no samples": (GOOD[:0], "0 sample"),
    "no features": (GOOD[:, :0], "0 feature"),
    "all zero": (np.zeros((20, 5)), "all zero"),
    "all zero but three": (np.eye(20, 5)[[0, 1, 2] + [10] * 17], "only 3 of n_samples=20"),
    "all zero, sparse": (sp.csr_array((20, 5)), "all zero"),
    "tiny": (GOOD * 1e-300, "too small or too large"),
    "huge": (GOOD * 1e300, "too small or too large"),
}


@pytest.mark.parametrize("case", BAD_DATA)
@pytest.mark.filterwarnings("ignore:overflow")
def test_bad_data_is_named(case):
    X, message = BAD_DATA[case]
    with pytest.raises(ValueError, match=message):
        ONMF(4, solver=PALM(center_bounds=(0, None))).fit(X)


BAD_PARAMETERS = [
    ({"n_clusters": 0}, "n_clusters must be a whole number >= 1"),
    ({"n_clusters": 2.5}, "n_clusters"),
    ({"n_clusters": True}, "n_clusters"),
    ({"solver": PALM(penalty="l1")}, "penalty must be one of 'sncp', 'nsncp' or a penalty object"),
    ({"solver": PALM(penalty=3)}, "penalty"),
    ({"solver": "newton"}, "solver must be one of"),
    ({"init": "best"}, "init must be one of"),
    ({"init": (np.ones((20, 4)),)}, "pair"),
    ({"init": 7}, "pair"),
    ({"init": (np.ones((20, 3)), np.ones((4, 5)))}, r"H in init has shape \(20, 3\)"),
    ({"init": (np.ones((20, 4)), np.ones((5, 4)))}, r"W in init has shape"),
    ({"init": np.ones((3, 5))}, r"init has shape \(3, 5\), expected \(4, 5\)"),
    ({"init": object()}, "init must be a name, a callable, centroids"),
    ({"init": [["a"] * 5] * 4}, r"init must be an array of numbers of shape \(4, 5\)"),
    ({"init": np.full((4, 5), np.nan)}, "init must be finite and not all zero"),
    ({"init": (np.zeros((20, 4)), np.ones((4, 5)))}, "not all zero"),
    ({"init": (-np.ones((20, 4)), np.ones((4, 5)))}, "not be negative"),
    ({"init": (np.ones((20, 4)), np.full((4, 5), np.nan))}, "finite"),
    ({"init": ("a", "b")}, "array of numbers"),
    ({"init": lambda X, k, rng: None}, "pair"),
    ({"n_init": 0}, "n_init"),
    ({"n_init": "many"}, "n_init"),
    ({"solver": PALM(rho=0)}, "rho must be a number > 0"),
    ({"solver": PALM(rho=np.nan)}, "rho"),
    ({"solver": PALM(growth=1)}, "growth must be a number > 1"),
    ({"solver": PALM(mu_h=-1)}, "mu_h"),
    ({"solver": PALM(mu_w="x")}, "mu_w"),
    ({"tol": -1e-3}, "tol"),
    ({"solver": PALM(inner_tol=np.inf)}, "inner_tol"),
    ({"max_iter": 0}, "max_iter"),
    ({"solver": PALM(center_bounds="all")}, "center_bounds"),
    ({"solver": PALM(center_bounds=(1, 0))}, "center_bounds"),
    ({"solver": PALM(center_bounds=5)}, "center_bounds"),
    ({"solver": PALM(center_bounds=(-2, -1))}, "center_bounds"),
    ({"callback": 5}, "callback must be callable"),
    ({"random_state": "x"}, "seed"),
]


@pytest.mark.parametrize(
    ("parameters", "message"), BAD_PARAMETERS, ids=[", ".join(given) for given, _ in BAD_PARAMETERS]
)
def test_bad_parameters_are_named(parameters, message):
    with pytest.raises(ValueError, match=message):
        ONMF(**{"n_clusters": 4, "solver": "palm", **parameters}).fit(GOOD)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (np.zeros(20), "zero for every sample"),
        (np.r_[-1, np.ones(19)], "not negative, unlike those of sample.* 0"),
        (np.r_[np.nan, np.ones(19)], "finite"),
        (np.ones(19), "inconsistent"),
        (np.ones((20, 2)), "1d"),
        (np.r_[np.ones(3), np.zeros(17)], "only 3 of n_samples=20"),
    ],
)
def test_bad_weights_are_named(weight, message):
    with pytest.raises(ValueError, match=message):
        ONMF(4, solver="palm").fit(GOOD, sample_weight=weight)


@pytest.mark.slow
def test_new_samples_pass_the_same_door():
    model = ONMF(2, solver="palm", random_state=0).fit(GOOD)
    with pytest.raises(ValueError, match="5 features"):
        model.predict(GOOD[:, :4])
    with pytest.raises(ValueError, match="NaN"):
        model.transform(changed(0, 0, np.nan))


def test_entries_that_became_duplicates_after_a_look_are_added():
    """SciPy keeps what it saw of a matrix, also when its columns are put together."""
    X = sp.csr_array(GOOD)
    assert X.has_canonical_format
    X.indices = (X.indices // 2).astype(X.indices.dtype)
    assert X.has_canonical_format  # which is no longer true
    model, expected = (ONMF(3, random_state=0).fit(rows) for rows in (X, X.toarray()))
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    assert model.relative_error_ == pytest.approx(expected.relative_error_, rel=1e-9)


@pytest.mark.parametrize("left_out", [0.0, 1.0, np.nan])
def test_sparse_columns_may_leave_out_any_number(left_out):
    X = np.where(GOOD > 0.9, left_out, np.where(GOOD < 0.3, 1.0, GOOD))
    frame = pd.DataFrame(X, columns=[*"abcde"]).astype(pd.SparseDtype("float", left_out))
    model, expected = (ONMF(3, random_state=0).fit(rows) for rows in (frame, X))
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    np.testing.assert_array_equal(model.predict(frame), expected.predict(X))
    assert [*model.feature_names_in_] == [*"abcde"]


def test_duplicate_entries_of_a_sparse_matrix_are_added():
    parts = sp.csr_array(GOOD)
    twice = sp.csr_array(
        (np.repeat(parts.data / 2, 2), np.repeat(parts.indices, 2), 2 * parts.indptr),
        shape=GOOD.shape,
    )
    settings = {"solver": "palm", "random_state": 0, "callback": lambda event: event.sweep == 30}
    expected = ONMF(2, **settings).fit(GOOD)
    found = ONMF(2, **settings).fit(twice)
    np.testing.assert_allclose(found.cluster_centers_, expected.cluster_centers_)
    np.testing.assert_array_equal(twice.data, np.repeat(parts.data / 2, 2))


class OnDevice:
    """As PyTorch keeps arrays on a graphics card: NumPy gets them only by way of `cpu()`."""

    def __init__(self, array, host=False):
        self.array, self.host = array, host
        self.shape, self.dtype, self.ndim = array.shape, array.dtype, array.ndim

    def __len__(self):
        return len(self.array)

    def __array_namespace__(self, api_version=None):
        raise TypeError("not for you")

    def cpu(self):
        return OnDevice(self.array, host=True)

    def __array__(self, dtype=None, copy=None):
        if not self.host:
            raise TypeError("can't convert device type tensor to numpy")
        return np.asarray(self.array, dtype)


@pytest.mark.parametrize("model", [ONMF(4, random_state=0)])
def test_arrays_of_other_libraries_are_taken_over(planted, model):
    X, weight = planted[0], np.arange(120) % 3 + 1.0
    plain = clone(model).fit(X, sample_weight=weight)
    other = clone(model).fit(OnDevice(X), sample_weight=OnDevice(weight))
    np.testing.assert_array_equal(other.labels_, plain.labels_)
    for method in ("predict", "transform", "decision_function", "distance"):
        answer = getattr(other, method)(OnDevice(X))
        np.testing.assert_array_equal(answer, getattr(plain, method)(X))
    assert other.score(OnDevice(X)) == plain.score(X)


@pytest.mark.slow
def test_strict_arrays_work_with_dispatch():
    pytest.importorskip("array_api_strict")
    code = (
        "import array_api_strict as xp, sklearn\n"
        "from onmf import ONMF\n"
        "X = xp.asarray([[3., 0.], [2., .1], [0., 1.]])\n"
        "for dispatch in (False, True):\n"
        "    with sklearn.config_context(array_api_dispatch=dispatch):\n"
        "        model = ONMF(2, random_state=0).fit(X)\n"
        "        print(model.labels_.tolist(), model.predict(X).tolist())\n"
    )
    settings = os.environ | {"SCIPY_ARRAY_API": "1"}  # read when scipy is imported
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                          env=settings)  # fmt: skip
    if "No module named 'array_api_strict'" in done.stderr:
        pytest.skip("array-api-strict is not installed")
    if "SciPy must be" in done.stderr:
        pytest.skip("this SciPy is too old for scikit-learn's dispatch")
    assert done.stdout.splitlines() == ["[0, 0, 1] [0, 0, 1]"] * 2, done.stderr


@pytest.mark.parametrize("kind", [list, tuple, np.array, pd.Series])
def test_texts_are_told_what_takes_them(kind):
    with pytest.raises(ValueError, match=r"X is a list of texts: .*onmf.cluster,.*TfidfVectorizer"):
        ONMF(2).fit(kind(["stars and planets", "genes and cells"]))


@pytest.mark.parametrize(
    ("X", "sentence"),
    [
        ({"a": [1, 2]}, "X is a dict, which has no rows: pass an array or a DataFrame."),
        (iter([[1, 2], [2, 1]]), "X is a list_iterator, which has no rows"),
        (np.array([["2026-01-01"], ["2026-02-01"]], "M8[D]"), "X is an array of datetime64"),
        (np.zeros(3, [("a", "f8"), ("b", "f8")]), "X is an array of .*: pass one of numbers."),
    ],
    ids=["dict", "iterator", "times", "records"],
)
def test_what_is_no_table_of_numbers_is_refused_by_name(X, sentence):
    with pytest.raises(TypeError, match=sentence):
        ONMF(1).fit(X)


@pytest.mark.parametrize("model", [ONMF(2, random_state=0)])
def test_a_sparse_array_that_is_a_dict_has_rows(model):
    X = sp.dok_array(np.array(GOOD))
    np.testing.assert_array_equal(model.fit(X).labels_, clone(model).fit(X.toarray()).labels_)


def test_columns_of_the_same_name_are_named():
    frame = pd.DataFrame([[1.0, 2, 3], [3, 2, 1]], columns=list("aba"))
    with pytest.raises(ValueError, match="X has more than one column 'a': rename them"):
        ONMF(1).fit(frame)


def test_columns_of_a_frame_that_are_no_numbers_are_named():
    frame = pd.DataFrame(
        {
            "mass": [1.0, 2.0, 3.0],
            "wing": np.array([1, 2, "3"], dtype=object),  # numbers all the same
            "species": ["a", "b", "a"],
            "day": pd.date_range("2020-01-01", periods=3),
        }
    )
    with pytest.raises(ValueError, match=r"^column\(s\) 'species', 'day' of X hold text or times"):
        ONMF(1).fit(frame)
    with pytest.raises(ValueError, match=r"^column.*'day' of X"):
        ONMF(1).fit(frame[["mass", "day"]])
    ONMF(1).fit(frame[["mass", "wing"]])
