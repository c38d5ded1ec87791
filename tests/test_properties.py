"""Whatever comes in: a valid clustering or a sentence, in bounded time.

`make fuzz` runs the same properties on thousands of cases.
"""

import os
import re
import time
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from onmf import ONMF

CASES = int(os.environ.get("ONMF_FUZZ_CASES", "300"))
SECONDS = 20  # of one fit of at most 24 x 10 numbers, on any machine, however busy
CONTAINERS = {
    "array": np.ascontiguousarray,
    "fortran": np.asfortranarray,
    "strided": lambda X: np.repeat(X, 2, axis=0)[::2],
    "csr": sp.csr_array,
    "csc matrix": sp.csc_matrix,
    "coo": sp.coo_array,
    "frame": lambda X: pd.DataFrame(X, columns=[f"gene {j}" for j in range(X.shape[1])]),
    "list": lambda X: X.tolist(),
}
promise = settings(
    max_examples=CASES, deadline=None, suppress_health_check=list(HealthCheck), print_blob=True
)


@st.composite
def samples(draw):
    """Non-negative samples with everything that has ever broken a clustering program."""
    n, m = draw(st.integers(1, 24)), draw(st.integers(1, 10))
    dtype = draw(st.sampled_from(["f8", "f4", "i8", "u1", "?"]))
    kind = draw(st.sampled_from(["free", "rank one", "duplicates", "directions"]))
    whole = st.integers(0, 4)
    entries = st.one_of(st.just(0.0), st.floats(0, 1, width=32)) if dtype[0] == "f" else whole
    if kind == "rank one":
        left = draw(hnp.arrays("f8", n, elements=entries))
        X = np.outer(left, draw(hnp.arrays("f8", m, elements=entries)))
    elif kind == "duplicates":
        few = draw(hnp.arrays("f8", (draw(st.integers(1, 3)), m), elements=entries))
        X = few[draw(hnp.arrays("i4", n, elements=st.integers(0, len(few) - 1)))]
    elif kind == "directions":
        X = np.eye(m)[draw(hnp.arrays("i4", n, elements=st.integers(0, m - 1)))]
        X = X * draw(hnp.arrays("f8", (n, 1), elements=st.floats(0.5, 2)))
    else:
        X = draw(hnp.arrays("f8", (n, m), elements=entries))
    X[draw(hnp.arrays("?", n, elements=st.booleans(), fill=st.just(False)))] = 0
    X[:, draw(hnp.arrays("?", m, elements=st.booleans(), fill=st.just(False)))] = 0
    if dtype[0] == "f":
        X = X * 10.0 ** draw(st.integers(-30, 30))
    return X.astype(dtype)


@st.composite
def weights(draw, n):
    """None, or weights of which some are zero."""
    return draw(st.none() | hnp.arrays("f8", n, elements=st.sampled_from([0.0, 0.5, 1.0, 3.0])))


def directions(X):
    """Samples that are not zero, each direction once, to the rounding of what they came from."""
    X = np.asarray(X, float)
    top = X.max(axis=1, initial=0)
    X = X[top > 0] / top[top > 0, None]
    return len(np.unique(np.round(X, 5), axis=0))


KNOWN = "|".join(
    [
        "should be >= n_clusters", "is all zero", "samples are non-zero", "weighs nothing",
        "sample_weight is zero", "distinct direction", "too small or too large",
        "NaN or infinity", "Negative values",
    ]
)  # fmt: skip


def fit(model, X, weight):
    """The fitted model, or None if it refuses with one of the sentences we know."""
    begin, refused = time.monotonic(), ""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", category=UserWarning)
            model.fit(X, sample_weight=weight)
    except ValueError as error:
        refused = str(error)
    assert time.monotonic() - begin < SECONDS
    assert not refused or (re.search(KNOWN, refused) and "\n" not in refused), refused
    return None if refused else model


@promise
@given(st.data(), samples(), st.integers(1, 8), st.sampled_from(["sncp", "nsncp"]))
def test_the_default_gives_a_valid_clustering_or_a_sentence(data, X, k, penalty):
    container = CONTAINERS[data.draw(st.sampled_from(list(CONTAINERS)))]
    weight = data.draw(weights(len(X)))
    model = fit(ONMF(k, penalty=penalty, random_state=0), container(X), weight)
    weighed = X if weight is None else X[weight > 0]
    if model is None:
        assert directions(weighed) < k
        return
    H, W, labels = model.membership_, model.cluster_centers_, model.labels_
    assert H.shape == (len(X), k)
    assert W.shape == (k, X.shape[1])
    assert np.isfinite(H).all()
    assert np.isfinite(W).all()
    assert (H >= 0).all()
    assert (W >= 0).all()
    assert ((H > 0).sum(axis=1) <= 1).all()
    assert set(labels) - {-1} == set(range(k))
    assert 0 <= model.relative_error_ <= 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", category=UserWarning)
        np.testing.assert_array_equal(model.predict(container(X)), labels)


@settings(parent=promise, max_examples=max(CASES // 5, 1))
@given(st.data(), samples(), st.integers(1, 4), st.sampled_from(["sncp", "nsncp"]))
def test_the_papers_method_gives_finite_factors_or_a_sentence(data, X, k, penalty):
    container = CONTAINERS[data.draw(st.sampled_from(list(CONTAINERS)))]
    weight = data.draw(weights(len(X)))
    model = ONMF(k, penalty=penalty, solver="palm", max_iter=50, random_state=0)
    model = fit(model, container(X), weight)
    if model is not None:
        assert np.isfinite(model.membership_).all()
        assert np.isfinite(model.cluster_centers_).all()
        assert (model.membership_ >= 0).all()
        assert (model.cluster_centers_ >= 0).all()
        assert set(model.labels_) <= set(range(-1, k))


@settings(parent=promise, max_examples=max(CASES // 5, 1))
@given(samples(), st.integers(0, 2**32 - 1), st.sampled_from([np.nan, np.inf, -np.inf, -1.0]))
def test_a_bad_entry_is_named_with_its_place(X, where, value):
    X = X.astype("f8")
    row, column = divmod(where % X.size, X.shape[1])
    X[row, column] = value
    for container in ("array", "csr", "frame"):
        with pytest.raises(ValueError, match=rf"\(row {row}, column {column}\)"):
            ONMF(1).fit(CONTAINERS[container](X))


@settings(parent=promise, max_examples=max(CASES // 5, 1))
@given(samples(), st.integers(1, 4), st.integers(-20, 20))
@example(np.eye(3), 2, 20)
def test_labels_do_not_depend_on_the_scale(X, k, exponent):
    if X.dtype != np.float64:
        return
    with np.errstate(over="ignore", under="ignore"):
        scaled = X * 2.0**exponent
    if np.isfinite(scaled).all() and np.array_equal(scaled / 2.0**exponent, X):
        model = fit(ONMF(k, random_state=0), X, None)
        again = fit(ONMF(k, random_state=0), scaled, None)
        assert (model is None) == (again is None)
        if model is not None:
            np.testing.assert_array_equal(model.labels_, again.labels_)
