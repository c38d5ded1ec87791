"""Certificates: relaxation and search against brute force, the sentence, bad input."""

import re
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from attack.answers import no_bound_is_above_the_best_of_all_clusterings
from cases import few
from onmf import ONMF, Baseline, certify
from onmf.bounds import Certificate, relaxation
from onmf.bounds.exact import best_partition, left_by_all
from onmf.bounds.relaxation import largest_sum, nearest_projector, relaxed_bounds
from onmf.bounds.spectral import gram_of_samples, small_gram
from onmf.datasets import make_rays
from onmf.metrics import partition_error
from onmf.rows.memory import InMemory


def partitions(n, k):
    """All labels of n samples with at most k clusters, each partition once."""

    def go(labels, used):
        if len(labels) == n:
            yield labels
            return
        for cluster in range(min(used + 1, k)):
            yield from go([*labels, cluster], max(used, cluster + 1))

    yield from go([], 0)


def best_error(X, k, weight):
    """By trying all partitions, from the definition."""
    rows = np.sqrt(weight)[:, None] * X
    return min(partition_error(rows, labels) for labels in partitions(len(X), k))


def largest_eigenvalue(A):
    """To the digits of a long double: the trace of A^(2^p) A over that of A^(2^p)."""
    A = np.asarray(A, np.longdouble)
    power = A / np.trace(A)
    for _ in range(70):
        power = power @ power
        power = power / np.trace(power)
    return np.trace(power @ A)


@pytest.mark.slow
def test_no_bound_is_above_the_optimum_to_more_digits_than_ours():
    """All partitions of six samples, in long doubles."""
    rng = np.random.default_rng(11)
    for seed in range(12):
        X = rng.random((6, 4)) ** rng.integers(1, 6)
        gram = X.astype(np.longdouble) @ X.astype(np.longdouble).T
        explained = max(
            sum(
                largest_eigenvalue(gram[np.ix_(own, own)])
                for c in set(labels)
                for own in [np.flatnonzero(np.array(labels) == c)]
            )
            for labels in partitions(6, 2)
        )
        best = 1 - explained / np.trace(gram)
        model = ONMF(2, random_state=seed).fit(X)
        for effort in ("quick", "tight", "exact"):
            assert certify(model, X, effort=effort, seconds=2).bound <= best + 1e-15


@pytest.fixture(params=range(6))
def small(request):
    rng = np.random.default_rng(request.param)
    X = rng.random((7, 5)) ** 3
    X[1] = X[0] if request.param == 0 else X[1]  # twice the same sample
    X[2] = 0 if request.param == 1 else X[2]
    return X, rng.integers(1, 4, 7).astype(float), 2 + request.param % 2


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::onmf.exceptions.UnassignedSampleWarning")
def test_every_bound_is_below_the_best_error_of_brute_force(small):
    X, weight, k = small
    model = ONMF(k, random_state=0).fit(X, sample_weight=weight)
    best = best_error(X, k, weight)
    for effort in ("quick", "tight", "exact"):
        found = certify(model, X, sample_weight=weight, effort=effort)
        assert found.bound <= best * (1 + 1e-9)
    assert found.bound == pytest.approx(best, rel=1e-6)


def test_the_search_finds_the_best_partition(small):
    X, weight, k = small
    gram = np.sqrt(np.outer(weight, weight)) * (X @ X.T)
    left, labels = best_partition(gram, np.arange(7) % k, k, lambda: True)
    assert left / np.trace(gram) == pytest.approx(best_error(X, k, weight), rel=1e-9)
    assert left_by_all(gram, 0, labels.tolist()) == pytest.approx(left)


def test_a_search_that_is_ended_gives_a_bound(small):
    X, _, k = small
    gram = X @ X.T
    left, labels = best_partition(gram, np.arange(7) % k, k, lambda: False)
    if labels is None:
        assert left / np.trace(gram) <= best_error(X, k, np.ones(7)) + 1e-12


def test_parts_and_multipliers_bound_whatever_they_are(monkeypatch):
    """In parts of five samples and after any number of iterations."""
    monkeypatch.setattr(relaxation, "SAMPLES_PER_PART", 5)
    rng = np.random.default_rng(3)
    X = rng.random((9, 4)) ** 2
    best = best_error(X, 2, np.ones(9))
    model = ONMF(2, random_state=0).fit(X)
    bounds = list(relaxed_bounds(InMemory(X), model.labels_, 2, lambda share: True))
    assert len(bounds) > 4
    assert max(bounds) <= best
    for _ in range(50):
        N = rng.random((9, 9)) * 10.0 ** rng.uniform(-4, 1)
        assert 1 - largest_sum((X @ X.T + N + N.T) / np.sum(X**2), 2) <= best


def test_the_projector_is_the_nearest_one():
    """Optimality: eigenvalues between 0 and 1 of sum k, and no other such matrix is nearer."""
    rng = np.random.default_rng(0)
    S = rng.standard_normal((8, 8))
    S = S + S.T
    Z = nearest_projector(S, 3)
    values = np.linalg.eigvalsh(Z)
    assert values.min() > -1e-12
    assert values.max() < 1 + 1e-12
    assert np.trace(Z) == pytest.approx(3)
    for _ in range(200):
        Q = np.linalg.qr(rng.standard_normal((8, 8)))[0]
        other = Q[:, :3] @ Q[:, :3].T
        for near in (other, 0.9 * Z + 0.1 * other):
            assert np.linalg.norm(S - Z) <= np.linalg.norm(S - near) + 1e-9


@pytest.mark.slow
def test_the_relaxation_is_far_closer_where_all_share_a_direction():
    X, _ = make_rays(120, 10, 4, noise=1.0, random_state=0)
    model = ONMF(4, random_state=0).fit(X)
    said = []
    tight = certify(model, X, effort="tight", seconds=20, progress=said.append)
    assert tight.gap < certify(model, X).gap / 3
    assert tight.method == "relaxation"
    assert said[-1].endswith(str(tight))


def test_data_on_k_rays_leave_no_gap():
    X = np.outer(np.arange(1.0, 9), [1, 2, 0]) * (np.arange(8) < 4)[:, None]
    X += np.outer(np.arange(1.0, 9), [0, 0, 1]) * (np.arange(8) >= 4)[:, None]
    found = certify(ONMF(2, random_state=0).fit(X), X)
    assert found.gap == 0
    assert str(found) == "proved: no clustering into 2 clusters has a lower error"


def test_the_percent_is_rounded_up():
    for gap in (0.0234, 0.02, 0.000071, 0.249):
        found = Certificate(1.0, 1 - gap, gap, 0.0, "spectral", 3, 0.0)
        told = float(re.search(r"than (\S+) %", str(found))[1])
        assert gap * 100 <= told * (1 + 1e-9)
        assert told <= gap * 100 * 1.1


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array, np.float32])
def test_any_container_and_rivals(container):
    X, _ = make_rays(150, 130, 3, random_state=0)
    for model in (ONMF(3, random_state=0), Baseline("k-means", 3, random_state=0)):
        found = certify(model.fit(container(X)), container(X))
        assert 0 <= found.bound <= found.error


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::onmf.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::onmf.exceptions.UnassignedSampleWarning")
@pytest.mark.filterwarnings("ignore::onmf.exceptions.SignedDataWarning")
def test_signed_data_have_a_bound():
    X = np.random.default_rng(0).standard_normal((40, 12))
    found = certify(ONMF(3, random_state=0).fit(X), X, effort="tight", seconds=1)
    assert 0 <= found.bound <= found.error


def test_interrupted_it_gives_the_best_so_far():
    X, _ = make_rays(60, 20, 3, noise=1.0, random_state=0)
    model = ONMF(3, random_state=0).fit(X)

    def interrupt(said):
        if said.startswith("relaxation"):
            raise KeyboardInterrupt

    assert certify(model, X, effort="tight", progress=interrupt).method == "relaxation"


def test_fewer_samples_than_clusters_or_zero_data():
    model = ONMF(3, random_state=0).fit(np.eye(4) + 0.1)
    assert certify(model, np.eye(4)[:2] + 0.1, effort="exact").bound == 0
    assert certify(model, np.zeros((3, 4))).gap == 0


def test_an_unknown_effort_is_refused():
    X = np.eye(3)
    with pytest.raises(ValueError, match="effort must be one of quick, tight, exact"):
        certify(ONMF(2, random_state=0).fit(X), X, effort="much")


@pytest.mark.filterwarnings("ignore::onmf.exceptions.ConvergenceWarning")
def test_a_fit_knows_its_bound_where_it_costs_nothing():
    X, _ = make_rays(150, 20, 3, random_state=0)
    model = ONMF(3, random_state=0).fit(X)
    found = certify(model, X)
    assert model.bound_ == pytest.approx(found.bound, rel=1e-9)
    assert model.gap_ == pytest.approx(found.gap, rel=1e-9)
    wide, _ = make_rays(150, 120, 3, random_state=0)
    assert ONMF(3, random_state=0).fit(wide).bound_ is None
    assert ONMF(3, random_state=0, solver="palm", max_iter=50).fit(X).gap_ is None


@pytest.mark.slow
def test_the_page_of_a_model_says_what_its_fit_knows(tmp_path):
    X, _ = make_rays(60, 8, 3, noise=0.5, random_state=0)
    model = ONMF(3, random_state=0).fit(X)
    model.report(tmp_path / "page.html", X)
    said = str(certify(model, X))
    assert f'"bound":"{said[0].upper()}{said[1:]}."' in (tmp_path / "page.html").read_text(
        encoding="utf-8"
    )
    del model.bound_
    model.report(tmp_path / "page.html", X)
    assert '"bound":""' in (tmp_path / "page.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("gap", "said"), [(0.2, "proved"), (0.4, "no bound is given"), (0.9, "no bound")]
)
def test_a_bound_that_proves_nothing_is_left_out_with_the_reason(gap, said):
    proof = Certificate(0.5, 0.5 * (1 - gap), gap, 0.0, "spectral", 3, 1.0)
    assert str(proof).startswith(said)
    assert proof.record()["sentence"] == str(proof)
    if said != "proved":
        assert f"leaves {round(100 * gap)} % of the error open" in str(proof)
        assert "effort='tight'" in str(proof)
        assert "tight" not in str(replace(proof, method="relaxation"))


@pytest.mark.parametrize("count", few([12, 100], 1))
def test_no_bound_in_single_precision_is_above_the_optimum(count, tmp_path):
    """Gram matrices of float32 in float32 gave 17 of 200 bounds above it."""
    for number in range(count):
        rng = np.random.default_rng([1, number])
        no_bound_is_above_the_best_of_all_clusterings(rng, tmp_path)


def test_gram_matrices_are_in_double_precision():
    X = (1 + 1e-4 * np.random.default_rng(0).random((30, 5))).astype("f4")
    rows = X.astype(np.float64)
    for make in (np.asarray, sp.csr_array):
        data = InMemory(make(X))
        np.testing.assert_allclose(small_gram(data), rows.T @ rows, rtol=1e-14)
        whole = gram_of_samples(data.take(np.arange(30)))
        np.testing.assert_allclose(whole, rows @ rows.T, rtol=1e-14)
