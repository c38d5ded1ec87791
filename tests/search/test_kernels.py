"""The kernels in C: the answers of NumPy on any shape, no access outside of an array, no lock held,
and an interrupt is noticed."""

import os
import re
import signal
import subprocess
import sys
import time
from threading import Event, Thread

import numpy as np
import pytest
import scipy.sparse as sp

from onmf import ONMF
from onmf.datasets import make_rays
from onmf.losses import kl_search
from onmf.losses.profiles import phi
from onmf.rows.sweep import Block, row_sqnorm
from onmf.search import numpy_kernels as plain
from onmf.search.numpy_kernels import unit

compiled = pytest.importorskip("onmf.search.kernels", reason="needs the compiled kernels")
from onmf.losses import kl_kernel  # noqa: E402
from onmf.search import _kernels  # noqa: E402

SHAPES = [  # n, k, r
    (1, 1, 1), (7, 1, 3), (5, 2, 1), (40, 3, 4), (33, 5, 17), (64, 31, 15), (64, 32, 16),
    (90, 33, 40), (200, 70, 64), (150, 129, 33), (0, 4, 5),
]  # fmt: skip


@pytest.fixture(params=_kernels.sets())
def instructions(request):
    """Every instruction set that this processor has."""
    _kernels.use(request.param)
    yield request.param
    _kernels.use(_kernels.sets()[-1])


def close(ours, theirs, dtype, name):
    loose = 1e-9 if dtype == np.float64 else 1e-4
    ours, theirs = ((one,) if not isinstance(one, tuple) else one for one in (ours, theirs))
    for one, other in zip(ours, theirs, strict=True):
        scale = np.abs(np.where(np.isfinite(one), one, 0)).max(initial=1)
        np.testing.assert_allclose(one, other, loose, loose * scale, err_msg=name)


def strided(array):
    """The same entries, every second place of a larger array in the other order."""
    wide = np.zeros(tuple(2 * size for size in array.shape), array.dtype, order="F")
    wide[tuple(slice(None, None, 2) for _ in array.shape)] = array
    return wide[tuple(slice(None, None, 2) for _ in array.shape)]


def calls(n, k, r, dtype, seed=0):
    """Arguments for each kernel: rows of zeros, rays without rows and equal scores among them."""
    rng = np.random.default_rng(seed)
    Y = rng.gamma(0.5, size=(n, r)).astype(dtype)
    Y[::7] = 0
    U = unit(rng.random((k, r)) - 0.2)
    U[-1] = U[0]  # two that are equal: the last has no rows
    A = Y @ U.T.astype(dtype)
    A[:, -1] = A[:, 0]
    labels, best, _ = plain.images(A, Y, U)
    own = np.bincount(labels, np.square(best), k)
    cross, earlier = rng.random((2, k, r))
    cross[0] = 0  # a cluster without samples
    floor = np.full(n, np.median(A) if n else 0, dtype)
    yield "images", (A, Y, U)
    yield "images", (np.column_stack([A, floor]), Y, U)
    yield "alternations", (Y, U, np.empty(0, dtype), 3, 0.0)
    yield "alternations", (Y, U, floor, 3, 0.0)
    cut = np.sort(rng.integers(0, n + 1, min(k, 12) + 1))
    some, few = rng.permutation(len(cut) - 1)[: 1 + k // 2], U[: min(k, 12)]
    yield "alternate_few", (Y, cut, some, few, np.empty(0, dtype), 3, 0.0)
    yield "alternate_few", (Y, cut, some, few, floor, 3, 0.0)
    yield "alternate_few", (Y, cut, some, U, np.empty(0, dtype), 2, 1e9)
    yield "sums", (labels, best, Y, k)
    yield "sums", (labels, best.astype(np.float32), Y, k + 2)
    yield "sums", (labels, best, sp.csr_array(np.where(Y > 0.5, Y, 0)), k)
    wide = sp.csr_array(np.where(Y > 0.5, Y, 0))
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    yield "sums", (labels, best, wide, k)
    V = rng.standard_normal((r, k)).astype(dtype)
    for X in (Y, sp.csr_array(np.where(Y > 0.5, Y, 0)), wide):
        yield "products", (X, V)
        yield "image", (X, V)
        yield "nearest_rays", (X, V)
    yield "nearest_rays", (Y, np.ascontiguousarray(U.T.astype(dtype)))
    yield "nearest_rays", (Y - 0.9, np.ascontiguousarray(U.T.astype(dtype)))
    moved = unit(U + 0.1 * (np.arange(k) % 3 == 0)[:, None] * rng.random(U.shape))
    yield "alternations", (Y, moved, np.empty(0, dtype), 3, 0.0, (U, A))
    yield "fit_rays", (Y, labels, U, 3)
    yield "runners_up", (A, labels)
    yield "split_clusters", (Y, labels, unit(rng.random((2, k, r))), 3)
    if k > 1 and (A > 0).any():
        some = (A > 0).sum(axis=1) > 1  # else there is nowhere to go: anywhere is right
        yield "transfers", (A[some], labels[some], row_sqnorm(Y)[some], own)
    yield "nearest", (A,)
    yield "nearest", (-A,)
    for signed in (True, False):
        W, last = rng.random((2, k, r)).astype(dtype)
        yield "ray_steps", (W, cross, last, earlier, np.arange(k) % 2 == 0, signed)
    yield "ray_distance", (W, last)
    yield "ray_distance", (W, earlier)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_every_kernel_gives_the_answer_of_numpy(shape, dtype, instructions):
    for seed in range(3):
        for name, arguments in calls(*shape, dtype, seed):
            theirs = getattr(plain, name)(*arguments)
            close(getattr(compiled, name)(*arguments), theirs, dtype, name)
            spread = [strided(one) if isinstance(one, np.ndarray) else one for one in arguments]
            close(getattr(compiled, name)(*spread), theirs, dtype, f"{name}, strided")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_of_scores_that_differ_by_rounding_the_first_is_largest(dtype, instructions):
    rng, eps = np.random.default_rng(0), np.finfo(dtype).eps
    for k in (2, 5, 31, 32, 33, 64, 65, 200):
        A = rng.random((50, k)).astype(dtype)
        first, later = np.sort(rng.integers(0, k, (2, 50)), axis=0)
        rows = np.arange(50)
        A[rows, later], A[rows, first] = 2 * (1 + 8 * eps), 2
        np.testing.assert_array_equal(compiled.nearest(A)[0], first)
        few, _ = compiled.nearest_rays(np.ones((7, 1), dtype), A[:1])
        np.testing.assert_array_equal(few, first[0])
        A[rows, first] = 2 * (1 - 100 * eps)
        np.testing.assert_array_equal(
            compiled.nearest(A)[0], np.where(first == later, first, later)
        )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scores_that_are_no_numbers_or_infinite_are_harmless(dtype, instructions):
    A = np.array([[np.nan] * 3, [1, np.nan, 0], [np.inf, 1, 2], [-np.inf] * 3, [0, -1, 0]], dtype)
    labels, _ = compiled.nearest(A)
    assert labels[3] == labels[4] == -1
    second, _ = compiled.runners_up(A, np.zeros(5, int))
    assert ((labels >= -1) & (labels < 3) & (second >= 0) & (second < 3)).all()


def test_the_logarithm_is_that_of_numpy(instructions):
    rng = np.random.default_rng(0)
    s = np.concatenate([
        np.exp(rng.uniform(-700, 700, 5000)), rng.uniform(0.5, 2, 5000),
        1 + rng.normal(0, 1e-9, 99),
        [0, 1, 2, 0.5, np.sqrt(0.5), np.sqrt(2), np.finfo(float).tiny, 1e305],
    ])  # fmt: skip
    ours = np.empty_like(s)
    _kernels.phis(s, ours)
    with np.errstate(divide="ignore", invalid="ignore"):
        theirs = np.where(s > 0, s * np.log(s), 0)
    np.testing.assert_allclose(ours, theirs, rtol=4 * np.finfo(float).eps)


@pytest.mark.parametrize(("n", "m", "k"), [(30, 5, 2), (200, 40, 7), (150, 30, 40)])
def test_moves_of_counts_are_those_of_numpy(n, m, k, instructions, monkeypatch):
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X = sp.csr_array(rng.poisson(rng.gamma(0.3, 2, (n, m))) + np.eye(n, m))
        counts = kl_search.Counts.of(Block(X, np.ones((n, 1))))
        start, ends = rng.integers(0, k, n), []
        for first, width in ((np.zeros(n, int), k), (2 * (start // 2), 2)):
            for module in (kl_search, kl_kernel):
                monkeypatch.setattr(kl_search, "kernels", lambda module=module: module)
                order = np.random.default_rng(9)
                ends.append(kl_search.exchange_rows(counts, start, first, width, 6, order))
            np.testing.assert_array_equal(ends[-1].labels, ends[-2].labels)
            for ours, theirs in zip(ends[-1][1:], ends[-2][1:], strict=True):
                np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-9)


def test_costs_of_pairs_are_those_of_numpy(instructions):
    rng = np.random.default_rng(0)
    S = rng.poisson(0.7, (6, 50)) * rng.uniform(0.5, 2, (6, 50))
    S[2] = 0
    pairs = rng.integers(0, 6, (2, 40))
    theirs = kl_search.pair_costs(S, phi(S), *pairs)
    np.testing.assert_allclose(kl_kernel.pair_costs(S, phi(S), *pairs), theirs, atol=1e-11)


# --- no access outside of an array ----------------------------------------------------------------


def arrays():
    """Good arguments of a kernel, by its name."""
    f, d, i = np.zeros((6, 3), np.float32), np.zeros, np.zeros(6, np.int64)
    U = d((3, 4))
    return {
        "nearest": [f, i.copy(), np.zeros(6, np.float32), 0.1, 0.1],
        "images": [f, np.zeros((6, 4), np.float32), U, i.copy(), d(6), d((3, 4)), 0.1],
        "alternate_few": [np.zeros((6, 4)), np.array([0, 2, 4, 6]), np.array([0, 1, 2, 0]), U, d(6),
                          U.copy(), d((4, 16)), 0.1, 2, 1.0, 0.1, 2.0],
        "sums": [i, d(6), np.zeros((6, 4), np.float32), U],
        "fit_rays": [np.zeros((6, 4), np.float32), i, U, U.copy(), 2],
        "runners_up": [f, i, i.copy(), d(6), np.zeros(3, np.float32), 0.1],
        "split_clusters": [np.zeros((6, 4)), i, d((2, 3, 4)), d((2, 3, 4)), d(3), 2],
        "transfers": [f, i, d(6), d(3), d(3), i.copy(), d(6), 0.1],
        "ray_steps": [U, U, U, U, d(3) > 0, U.copy(), 1],
        "ray_distance": [U, U],
        "redirect": [U, U.copy(), np.zeros(3, bool), 0.1],
        "nearest_few": [np.zeros((6, 2)), d((2, 3)), i.copy(), d(6), d(3), 0.1, 0.1],
        "sparse_sums": [i, d(6), d(5), np.zeros(5, np.int32), np.zeros(7, np.int32), U],
        "sparse_products": [d(5), np.zeros(5, np.int32), np.zeros(7, np.int32), U, d((6, 4))],
        "sparse_image": [d(5), np.zeros(5, np.int32), np.zeros(7, np.int32), U, U.copy(), d(4)],
        "phis": [d(6), d(6)],
        "count_sums": [np.arange(7), i, d(6), i, d((5, 3))],
        "pair_costs": [d((3, 5)), d((3, 5)), i, i, d(6)],
        "move_rows": [np.arange(7), i, d(6), d(6), i.copy(), i, i.copy(), d((5, 3)), d((5, 3)),
                      d(3), np.arange(6), d(3), 0, 2, 0.1, 0.1, 0.1],
    }  # fmt: skip


KERNELS = [name for name in vars(_kernels) if name not in ("use", "sets") and name[0] != "_"]


@pytest.mark.parametrize("name", KERNELS)
def test_arrays_that_do_not_fit_are_refused(name):
    kernel, good = getattr(_kernels, name), arrays()[name]
    takes = kernel.__doc__.split()
    sizes = "".join(re.findall(r"\((\w+)\)", kernel.__doc__))
    kernel(*good)
    with pytest.raises(TypeError, match="arguments"):
        kernel(*good[:-1])
    for place, one in enumerate(good):
        if not isinstance(one, np.ndarray):
            with pytest.raises(TypeError):
                kernel(*good[:place], None, *good[place + 1 :])
            continue
        wrong = [one[..., None], one.astype(np.float16)]
        if one.itemsize > 1:
            wrong.append(one.astype(one.dtype.newbyteorder()))
        wrong += [np.zeros((2 * one.shape[0], *one.shape[1:]), one.dtype)[::2]]
        for axis, letter in enumerate(re.search(r"\((.*)\)", takes[place])[1]):
            if sizes.count(letter) > 1 or letter.isdigit():  # else any size is right
                wrong.append(np.delete(one, 0, axis))
        for bad in wrong:
            with pytest.raises((ValueError, BufferError)):
                kernel(*good[:place], bad, *good[place + 1 :])


@pytest.mark.parametrize("name", KERNELS)
def test_what_is_written_to_must_be_writable(name):
    kernel, good = getattr(_kernels, name), arrays()[name]
    written = [place for place, one in enumerate(kernel.__doc__.split()) if one.startswith("!")]
    assert written or name == "ray_distance"
    for place in written:
        fixed = good[place].copy()
        fixed.setflags(write=False)
        with pytest.raises((ValueError, BufferError)):
            kernel(*good[:place], fixed, *good[place + 1 :])


@pytest.mark.parametrize(
    ("name", "place"),
    [("sums", 0), ("fit_rays", 1), ("runners_up", 1), ("split_clusters", 1),
     ("transfers", 1), ("alternate_few", 1), ("alternate_few", 2),
     *(("move_rows", place) for place in (0, 1, 4, 5, 10)),
     *(("count_sums", place) for place in (0, 1, 3)), ("pair_costs", 2), ("pair_costs", 3)],
)  # fmt: skip
@pytest.mark.parametrize("index", [-4, 7, 2**62, -(2**63)])
def test_an_index_that_points_outside_is_refused(name, place, index):
    arguments = arrays()[name]
    arguments[place] = arguments[place].copy()
    arguments[place][3] = index
    with pytest.raises(IndexError, match=name):
        getattr(_kernels, name)(*arguments)


@pytest.mark.parametrize(
    ("name", "first"), [("sparse_sums", 3), ("sparse_products", 1), ("sparse_image", 1)]
)
@pytest.mark.parametrize("index", [-1, 6, 2**31 - 1, -(2**31)])
def test_a_row_of_a_sparse_matrix_that_points_outside_is_refused(name, first, index):
    for place in (first, first + 1):  # a feature, and the end of a row
        arguments = arrays()[name]
        arguments[first + 1] = np.array([0, 1, 2, 3, 4, 5, 5], np.int32)
        arguments[place][3] = index
        with pytest.raises(IndexError, match=name):
            getattr(_kernels, name)(*arguments)


def test_an_instruction_set_that_is_not_there_is_refused():
    with pytest.raises(ValueError, match="abacus"):
        _kernels.use("abacus")


# --- while a kernel runs --------------------------------------------------------------------------


def long_problem(rounds):
    """Rows of counts whose moves take a second and more a round."""
    rng = np.random.default_rng(0)
    X = sp.csr_array(rng.poisson(1.0, (3000, 60)) + np.eye(3000, 60))
    counts = kl_search.Counts.of(Block(X, np.ones((3000, 1))))
    return counts, rng.integers(0, 400, 3000), np.zeros(3000, int), 400, rounds, rng


def test_other_threads_run_while_a_kernel_does():
    problem, started, ended = long_problem(1), Event(), Event()

    def work():
        started.set()
        kl_search.exchange_rows(*problem)
        ended.set()

    thread, ticks = Thread(target=work), 0
    thread.start()
    started.wait()
    while not ended.is_set():
        ticks += 1
    thread.join()
    assert ticks > 1000


LONG = """
import sys
sys.path.insert(0, sys.argv[1])
from test_kernels import kl_search, long_problem
problem = long_problem(10**6)
print("ready", flush=True)
while True:
    kl_search.exchange_rows(*problem)
"""


@pytest.mark.slow
@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_long_kernel_at_once(sign):
    process = subprocess.Popen(
        [sys.executable, "-c", LONG, os.path.dirname(__file__)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.3)
        sent = time.monotonic()
        process.send_signal(sign)
        _, said = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == -sign
    assert time.monotonic() - sent < 5
    assert ("KeyboardInterrupt" in said) == (sign == signal.SIGINT)
    assert "SystemError" not in said


@pytest.mark.parametrize("order", ["<", ">", "="])
def test_arrays_that_name_their_byte_order_are_taken(order):
    """As they come from Zarr and HDF5."""
    A = np.random.default_rng(0).random((5, 3))
    told = A.astype(A.dtype.newbyteorder(order))
    np.testing.assert_array_equal(compiled.nearest(told)[0], A.argmax(axis=1))


@pytest.mark.parametrize("k", [15, 16, 17])
@pytest.mark.parametrize("floors", [False, True])
def test_as_many_rays_as_the_kernel_has_room_for(k, floors):
    """No cluster is one ray more: sixteen with it, or BLAS does it."""
    rng = np.random.default_rng(k)
    Y, U = rng.random((60, 5)), unit(rng.random((k, 5)))
    edges, places = np.array([0, 20, 40, 60]), np.array([0, 2])
    floor = 0.9 * np.linalg.norm(Y, axis=1) if floors else np.empty(0)
    ours = compiled.alternate_few(Y, edges, places, U, floor, 3, 0.0)
    theirs = plain.alternate_few(Y, edges, places, U, floor, 3, 0.0)
    np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-9)
    assert ours[1] == pytest.approx(theirs[1])


def test_sparse_rows_give_the_same_bits_whatever_numbers_their_places():
    rng = np.random.default_rng(0)
    X = sp.csr_array(sp.random(60, 40, density=0.6, random_state=rng))
    wide = sp.csr_array((X.data, X.indices.astype("i8"), X.indptr.astype("i8")), X.shape)
    wide.indices, wide.indptr = wide.indices.astype("i8"), wide.indptr.astype("i8")
    V, labels = rng.random((40, 7)), rng.integers(0, 7, 60)
    assert compiled.sparse_parts(wide, V) is not None
    for name, args in {
        "products": lambda rows: (rows, V),
        "image": lambda rows: (rows, V),
        "sums": lambda rows: (labels, np.full(60, 0.1), rows, 7),
    }.items():
        function = getattr(compiled, name)
        np.testing.assert_array_equal(function(*args(wide)), function(*args(X)))


def test_rows_of_more_entries_than_32_bits_number_are_left_to_scipy(monkeypatch):
    rng = np.random.default_rng(0)
    X, V = sp.csr_array(sp.random(30, 9, density=0.3, random_state=rng)), rng.random((9, 4))
    labels = rng.integers(0, 3, 30)
    assert compiled.sparse_parts(X, V) is not None
    expected = X @ V, X.T @ (X @ V), plain.sums(labels, np.ones(30), X, 3)
    monkeypatch.setattr(compiled, "has_few_entries", lambda X: False)
    assert compiled.sparse_parts(X, V) is None
    found = compiled.products(X, V), compiled.image(X, V), compiled.sums(labels, np.ones(30), X, 3)
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("asked", [True, False], ids=["by the environment", "none was built"])
def test_without_compiled_kernels_numpy_gives_the_same_answer(asked, monkeypatch):
    plain.kernel_module.cache_clear()
    if asked:
        monkeypatch.setenv("ONMF_KERNELS", "numpy")
    else:
        monkeypatch.setitem(sys.modules, "onmf.search.kernels", None)
        monkeypatch.delattr("onmf.search.kernels")
    assert plain.kernels() is plain
    assert not plain.is_compiled()
    X, _ = make_rays(200, 30, 4, noise=0.2, random_state=0)
    labels = ONMF(4, random_state=0).fit(X).labels_
    monkeypatch.undo()
    plain.kernel_module.cache_clear()
    assert plain.kernels() is compiled
    assert plain.is_compiled()
    np.testing.assert_array_equal(ONMF(4, random_state=0).fit(X).labels_, labels)
