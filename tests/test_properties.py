"""Whatever comes in: a valid clustering or a sentence, in bounded time.

`make fuzz` runs the same properties on thousands of cases.
"""

import contextlib
import functools
import os
import re
import tempfile
import time
import warnings
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from onmf import ONMF, PALM, choose_k
from onmf_paper.bounds import partition_error, spectral_bound

USUAL = 300
CASES = int(os.environ.get("ONMF_FUZZ_CASES", USUAL))  # above it they are new ones
SECONDS = 20  # of one fit of at most 24 x 10 numbers, on any machine, however busy


def native(X):
    """In the machine's order of bytes, which SciPy wants."""
    return X.astype(X.dtype.newbyteorder("="))


def doubled(X):
    """CSR whose indices are unsorted and come twice, with a value and a zero to add to it."""
    X = sp.csr_array(native(X))
    values = np.stack([X.data, np.zeros_like(X.data)], axis=1).ravel()
    indices, indptr = np.repeat(X.indices, 2), 2 * X.indptr
    for i, j in pairwise(indptr):
        values[i:j], indices[i:j] = values[i:j][::-1].copy(), indices[i:j][::-1].copy()
    return sp.csr_array((values, indices, indptr), shape=X.shape)


def frame(X):
    return pd.DataFrame(native(X), columns=[f"gene {j}" for j in range(X.shape[1])])


NULLABLE = {"f": "Float64", "i": "Int64", "u": "UInt8", "b": "boolean"}
CONTAINERS = {
    "array": np.ascontiguousarray,
    "fortran": np.asfortranarray,
    "strided": lambda X: np.repeat(X, 2, axis=0)[::2],
    "csr": lambda X: sp.csr_array(native(X)),
    "csc matrix": lambda X: sp.csc_matrix(native(X)),
    "coo": lambda X: sp.coo_array(native(X)),
    "unsorted csr with duplicates": doubled,
    "frame": lambda X: pd.DataFrame(X, columns=[f"gene {j}" for j in range(X.shape[1])]),
    "nullable frame": lambda X: frame(X).astype(NULLABLE[X.dtype.kind]),
    "categorical frame": lambda X: frame(X).astype("category"),
    "list": lambda X: X.tolist(),
}
with contextlib.suppress(ImportError):
    import polars

    CONTAINERS["polars"] = lambda X: polars.DataFrame(
        {f"gene {j}": column for j, column in enumerate(native(X).T)}
    )
TRIED: Counter[str] = Counter()


def promise(share, *drawn):
    """A test of so large a share of the cases, each of which is counted."""

    def decorate(test):
        @functools.wraps(test)
        def counted(**drawn):
            TRIED[test.__name__] += 1
            test(**drawn)

        rules = settings(
            max_examples=max(1, round(CASES * share)),
            deadline=None,
            suppress_health_check=list(HealthCheck),
            print_blob=True,
        )
        return rules(given(*drawn)(counted))

    return decorate


@st.composite
def samples(draw):
    """Non-negative samples with everything that has ever broken a clustering program."""
    n, m = draw(st.integers(1, 24)), draw(st.integers(1, 10))
    dtype = draw(st.sampled_from(["f8", "f4", ">f8", "i8", "i4", "u1", "?"]))
    kind = draw(st.sampled_from(["free", "rank one", "duplicates", "directions"]))
    whole = st.integers(0, 4)
    real = np.dtype(dtype).kind == "f"
    entries = st.one_of(st.just(0.0), st.floats(0, 1, width=32)) if real else whole
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
    if real:
        X = X * 10.0 ** draw(st.integers(-30, 30))
    if np.dtype(dtype) == np.float64:
        decades = st.sampled_from([0, 0, 0, 0, 160, 300])
        span = draw(decades)  # between the samples, and of all of them
        X = X * 10.0 ** draw(hnp.arrays("f8", (n, 1), elements=st.integers(-span // 2, span // 2)))
        X = X * 10.0 ** draw(st.sampled_from([0, 0, 0, 0, -150, -280, 120]))
    return X.astype(dtype)


def extreme(X, weight=None):
    """Numbers, or weights, of which some may be refused for their size."""
    numbers = [np.asarray(X, float)[np.asarray(X) > 0], np.ones(1) if weight is None else weight]
    spans = [np.ptp(np.log10(v[v > 0])) if (v > 0).any() else 0 for v in numbers]
    return max(spans) > 25 or (numbers[0].size and not 1e-30 < numbers[0].max() < 1e30)


@st.composite
def problems(draw, most=8):
    """Samples and a number of clusters: any, one, or as many as there are samples."""
    X = draw(samples())
    return X, draw(st.integers(1, most) | st.just(1) | st.just(len(X)))


@st.composite
def weights(draw, n):
    """None, or weights of which some are zero; now and then over 300 decades."""
    usual = st.sampled_from([0.0, 0.5, 1.0, 3.0])
    size = 10.0 ** draw(st.sampled_from([0, 0, 0, 155, -155, 300, -300]))
    any_size = st.integers(-300, 300).map(lambda exponent: 10.0**exponent)
    weight = draw(
        st.none() | hnp.arrays("f8", n, elements=usual) | hnp.arrays("f8", n, elements=any_size)
    )
    return weight if weight is None or np.max(weight, initial=0) > 3 else weight * size


def directions(X):
    """Samples that are not zero, each direction once, to the rounding of what they came from."""
    X = np.asarray(X, float)
    top = X.max(axis=1, initial=0)
    X = X[top > 0] / top[top > 0, None]
    return len(np.unique(np.round(X, 5), axis=0))


KNOWN = "|".join(
    [
        "should be >= n_clusters", "is all zero", "samples are non-zero", "weighs nothing",
        "samples count beside", "sample_weight is zero", "distinct direction",
        "too small or too large", "infinity at", "Negative values", "distinct sample",
        "cannot be judged",
    ]
)  # fmt: skip


def answer(work, *args, **options):
    """What the work returns in time, or None if it refuses with one of the sentences we know."""
    begin, refused, found = time.process_time(), "", None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", category=UserWarning)
            found = work(*args, **options)
    except ValueError as error:
        refused = str(error)
    assert time.process_time() - begin < SECONDS
    assert not refused or (re.search(KNOWN, refused) and "\n" not in refused), refused
    return found


def fit(model, X, weight):
    return answer(model.fit, X, sample_weight=weight)


@promise(0.4, st.data(), problems())
def test_no_clustering_is_below_the_bound(data, problem):
    """Of the fit, and of any labels at all, each with the best rays for them."""
    X, k = problem
    weight = data.draw(st.none() | hnp.arrays("f8", len(X), elements=st.sampled_from([0.5, 1, 3])))
    model = None if extreme(X) else fit(ONMF(k, random_state=0), X, weight)
    if model is None:
        return
    roots = np.ones(len(X)) if weight is None else np.sqrt(weight)
    rows = roots[:, None] * native(X).astype(float) / np.max(X)
    bound, _ = spectral_bound(rows, k)
    assert bound <= partition_error(rows, model.labels_)
    labels = data.draw(hnp.arrays("i4", len(X), elements=st.integers(0, k - 1)))
    assert bound <= partition_error(rows, labels)


@promise(1, st.data(), problems())
def test_the_default_gives_a_valid_clustering_or_a_sentence(data, problem):
    X, k = problem
    container = CONTAINERS[data.draw(st.sampled_from(list(CONTAINERS)))]
    weight = data.draw(weights(len(X)))
    model = fit(ONMF(k, random_state=0), container(X), weight)
    weighed = X if weight is None else X[weight > 0]
    if model is None:
        assert extreme(X, weight) or directions(weighed) < k
        return
    H, W, labels = model.membership_, model.cluster_centers_, model.labels_
    assert H.shape == (len(X), k)
    assert W.shape == (k, X.shape[1])
    assert np.isfinite(H).all()
    assert np.isfinite(W).all()
    assert (H >= 0).all()
    assert (W >= 0).all()
    assert ((H > 0).sum(axis=1) <= 1).all()
    assert directions(weighed) < k or set(labels) - {-1} == set(range(k))
    assert 0 <= model.relative_error_ <= 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", category=UserWarning)
        np.testing.assert_array_equal(model.predict(container(X)), labels)


def check_factors(model, X, k):
    """What any method must give."""
    assert model.membership_.shape == (len(X), k)
    assert model.cluster_centers_.shape == (k, X.shape[1])
    assert np.isfinite(model.membership_).all()
    assert np.isfinite(model.cluster_centers_).all()
    assert (model.membership_ >= 0).all()
    assert (model.cluster_centers_ >= 0).all()
    assert set(model.labels_) <= set(range(-1, k))
    assert np.isfinite(model.relative_error_)


@promise(0.2, st.data(), problems(4), st.sampled_from(["sncp", "nsncp"]))
def test_the_papers_method_gives_finite_factors_or_a_sentence(data, problem, penalty):
    X, k = problem
    container = CONTAINERS[data.draw(st.sampled_from(list(CONTAINERS)))]
    weight = data.draw(weights(len(X)))
    model = ONMF(k, solver=PALM(penalty), max_iter=50, random_state=0)
    model = fit(model, container(X), weight)
    if model is not None:
        check_factors(model, X, k)


@promise(0.03, samples(), st.integers(1, 3))
def test_a_choice_of_k_is_one_of_those_asked_for_or_a_sentence(X, first):
    model, ks = ONMF(random_state=0), range(first, first + 3)
    choice = answer(choose_k, model, X, ks, n_runs=2, beyond=False)
    if choice is not None:
        assert choice.best_k in ks
        assert [row.k for row in choice.table] == list(ks)
        assert choice.reason


@promise(0.4, st.data(), problems(), st.booleans())
def test_samples_with_holes_give_a_valid_clustering_or_a_sentence(data, problem, sparse):
    X, k = problem
    X = native(X).astype(np.float32 if X.dtype == np.float32 else np.float64)
    n_missing = data.draw(hnp.arrays("?", X.shape, elements=st.booleans()))
    Z = np.where(n_missing, X.dtype.type(np.nan), X)
    model = fit(ONMF(k, random_state=0), sp.csr_array(Z) if sparse else Z, None)
    if model is None:
        return
    H, W, labels = model.membership_, model.cluster_centers_, model.labels_
    assert np.isfinite(W).all()
    assert np.isfinite(H).all()
    assert (W >= 0).all()
    assert ((H > 0).sum(axis=1) <= 1).all()
    assert (labels[n_missing.all(axis=1)] == -1).all()
    assert not W[:, n_missing.all(axis=0)].any()
    assert 0 <= model.relative_error_ <= 1
    np.testing.assert_array_equal(model.predict(Z), labels)
    if not extreme(X):
        scale = X.max()
        left = np.nansum(((Z - H @ W) / scale).astype(float) ** 2)
        whole = np.nansum((Z / scale).astype(float) ** 2)
        assert left / whole == pytest.approx(model.relative_error_, abs=1e-4)


@promise(0.1, problems(), st.booleans())
def test_rows_on_disk_give_the_bits_of_memory_or_the_same_sentence(problem, sparse):
    X, k = problem
    with tempfile.TemporaryDirectory() as folder:
        if sparse:
            path, X = Path(folder, "x.npz"), sp.csr_array(X.astype(float))
            sp.save_npz(path, X, compressed=False)
        else:
            path = Path(folder, "x.npy")
            np.save(path, X)
        there, here = (fit(ONMF(k, random_state=0), x, None) for x in (path, X))
    assert (there is None) == (here is None)
    if here is not None:
        np.testing.assert_array_equal(there.labels_, here.labels_)
        np.testing.assert_array_equal(there.cluster_centers_, here.cluster_centers_)


@promise(0.03, problems(4), st.integers(1, 24))
def test_rows_on_dask_give_a_valid_clustering_or_a_sentence(problem, chunk):
    da = pytest.importorskip("dask.array")
    X, k = problem
    with pytest.importorskip("dask").config.set(scheduler="synchronous"):
        model = fit(ONMF(k, random_state=0), da.from_array(X, chunks=(chunk, X.shape[1])), None)
        if model is None:
            assert extreme(X) or directions(X) < k
            return
        H = np.asarray(model.membership_)
    assert np.isfinite(H).all()
    assert ((H > 0).sum(axis=1) <= 1).all()
    assert directions(X) < k or set(model.labels_) - {-1} == set(range(k))


@promise(0.2, samples(), st.integers(0, 2**32 - 1), st.sampled_from([np.inf, -np.inf, -1.0]))
def test_a_bad_entry_is_named_with_its_place(X, where, value):
    X = X.astype("f8")
    row, column = divmod(where % X.size, X.shape[1])
    X[row, column] = value
    for container in ("array", "csr", "frame"):
        with pytest.raises(ValueError, match=rf"\(row {row}, column {column}\)"):
            ONMF(1, loss="kl").fit(CONTAINERS[container](X))


@example(np.eye(3), 2, 20)
@promise(0.2, samples(), st.integers(1, 4), st.integers(-20, 20))
def test_labels_do_not_depend_on_the_scale(X, k, exponent):
    if X.dtype != np.float64 or extreme(X):
        return
    with np.errstate(over="ignore", under="ignore"):
        scaled = X * 2.0**exponent
    if np.isfinite(scaled).all() and np.array_equal(scaled / 2.0**exponent, X):
        model = fit(ONMF(k, random_state=0), X, None)
        again = fit(ONMF(k, random_state=0), scaled, None)
        assert (model is None) == (again is None)
        if model is not None:
            np.testing.assert_array_equal(model.labels_, again.labels_)
