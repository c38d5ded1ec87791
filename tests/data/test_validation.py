"""Bad input gets one clear sentence, or a right answer; never a NaN, a hang or a bare traceback."""

import numpy as np
import pytest
import scipy.sparse as sp

from onmf import ONMF

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
        ONMF(4, solver="palm").fit(X)


BAD_PARAMETERS = [
    ({"n_clusters": 0}, "n_clusters must be a whole number >= 1"),
    ({"n_clusters": 2.5}, "n_clusters"),
    ({"n_clusters": True}, "n_clusters"),
    ({"penalty": "l1"}, "penalty must be one of 'sncp', 'nsncp' or a penalty object"),
    ({"penalty": 3}, "penalty"),
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
    ({"rho": 0}, "rho must be a number > 0"),
    ({"rho": np.nan}, "rho"),
    ({"growth": 1}, "growth must be a number > 1"),
    ({"mu_h": -1}, "mu_h"),
    ({"mu_w": "x"}, "mu_w"),
    ({"tol": -1e-3}, "tol"),
    ({"inner_tol": np.inf}, "inner_tol"),
    ({"max_iter": 0}, "max_iter"),
    ({"center_bounds": "all"}, "center_bounds"),
    ({"center_bounds": (1, 0)}, "center_bounds"),
    ({"center_bounds": 5}, "center_bounds"),
    ({"center_bounds": (-2, -1)}, "center_bounds"),
    ({"callback": 5}, "callback must be callable"),
    ({"random_state": "x"}, "seed"),
]


@pytest.mark.parametrize(("parameters", "message"), BAD_PARAMETERS, ids=str)
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


def test_new_samples_pass_the_same_door():
    model = ONMF(2, solver="palm", random_state=0).fit(GOOD)
    with pytest.raises(ValueError, match="5 features"):
        model.predict(GOOD[:, :4])
    with pytest.raises(ValueError, match="NaN"):
        model.transform(changed(0, 0, np.nan))


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
