"""Beside samples with holes, rays promise what the definition over the observed entries says."""

import numpy as np
import pytest
import scipy.sparse as sp

from onmf.losses import LOSSES
from onmf.losses.missing import AssignMasked, Fill, MaskedRays, mask_missing
from onmf.losses.ray_alternation import KernelRays
from onmf.rows.assign import Rays
from onmf.rows.memory import InMemory
from onmf.rows.sweep import Block, count_missing, row_sqnorm, zero_missing

RNG = np.random.default_rng(3)
W = RNG.gamma(0.7, size=(4, 12)) * (RNG.random((4, 12)) < 0.8)
FULL = RNG.gamma(0.5, size=(60, 12)) * (RNG.random((60, 12)) < 0.7)
X = np.where(RNG.random(FULL.shape) < 0.4, np.nan, FULL)
X[7] = np.nan  # nothing observed
X[8] = np.where(np.isnan(X[8]), np.nan, 0)  # nothing but zeros


def stored(X):
    """CSR in which a hole is a stored NaN."""
    marked = sp.csr_array(np.where(np.isnan(X), -1, X))
    marked.data[marked.data == -1] = np.nan
    return marked


FORMS = {
    "array": np.asarray,
    "csr": stored,
    "float32": lambda X: X.astype(np.float32),
    "csr32": lambda X: stored(X).astype(np.float32),
}


@pytest.fixture(params=FORMS)
def form(request):
    return FORMS[request.param]


def best_code(x, W):
    """(label, h, what is left) of the best multiple of one ray, tried one by one."""
    seen = ~np.isnan(x)
    best = (-1, 0.0, np.sum(x[seen] ** 2))
    for k, w in enumerate(W[:, seen]):
        h = max(x[seen] @ w, 0) / (w @ w) if w.any() else 0.0
        left = np.sum((x[seen] - h * w) ** 2)
        if h > 0 and left < best[2]:
            best = (k, h, left)
    return best


def test_codes_are_the_best_over_the_observed_entries(form):
    rule = MaskedRays.of(W.astype(form(X).dtype))
    code, fit = rule(Block(form(X), np.full((60, 1), 2.0)), None)
    wanted = [best_code(x, W) for x in X]
    H = rule.memberships(code)
    assert code.labels.tolist() == [k for k, _, _ in wanted]
    assert code.labels[7] == code.labels[8] == -1
    np.testing.assert_allclose(H.sum(axis=1), [h for _, h, _ in wanted], rtol=1e-5)
    left = 2 * sum(rest for _, _, rest in wanted)
    assert fit.sqnorm - fit.explained == pytest.approx(left, rel=1e-5)
    assert fit.sqnorm == pytest.approx(2 * np.nansum(X**2), rel=1e-6)


def test_cosines_are_those_of_what_is_seen_of_both(form):
    block = Block(form(X), np.ones((60, 1)))
    cosines = MaskedRays.of(W.astype(block.X.dtype)).scores(block)
    for x, row in zip(X, cosines, strict=True):
        seen = ~np.isnan(x)
        sizes = np.linalg.norm(x[seen]) * np.linalg.norm(W[:, seen], axis=1)
        np.testing.assert_allclose(
            row, (W[:, seen] @ x[seen]) / np.where(sizes > 0, sizes, 1), atol=1e-5
        )


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_without_holes_they_are_plain_rays_to_the_bit(make):
    block = Block(make(FULL), np.ones((60, 1)))
    (code, fit), (plain, same) = (rule.of(W)(block, None) for rule in (MaskedRays, Rays))
    assert np.array_equal(code.labels, plain.labels)
    assert np.array_equal(code.scores, plain.scores)
    assert fit == same
    assert mask_missing(block.X) is None
    H, theirs = MaskedRays.of(W).memberships(code), Rays.of(W).memberships(plain)
    assert np.array_equal(H, theirs)
    assert type(LOSSES["frobenius"].assignment(W, InMemory(make(FULL)).n_missing)) is KernelRays


def test_a_sample_of_one_entry_goes_where_most_of_the_ray_is_seen_whatever_the_order():
    rays = np.array([[1.0, 1, 1, 1], [3, 1, 0, 0], [1, 1, 0, 0]])
    x = np.array([[2.0, np.nan, np.nan, np.nan]])
    for order in ([0, 1, 2], [2, 1, 0], [1, 0, 2]):
        code, _ = MaskedRays.of(rays[order])(Block(x, np.ones((1, 1))), None)
        assert order[code.labels[0]] == 1


def test_holes_are_filled_by_the_nearest_ray_and_nothing_else_is_touched(form):
    given = form(X)
    full = Fill.by(W.astype(given.dtype))(given)
    dense = full.toarray() if sp.issparse(full) else full
    assert full.dtype == given.dtype
    for x, filled in zip(X, dense, strict=True):
        (k, h, _), seen = best_code(x, W), ~np.isnan(x)
        assert np.array_equal(filled[seen], x[seen].astype(given.dtype))
        np.testing.assert_allclose(filled[~seen], h * W[k, ~seen] if k >= 0 else 0, rtol=1e-4)


def test_measures_of_a_place_are_of_what_is_observed(form):
    for sign in (1, -1):
        given = form(sign * X) if sign > 0 or not sp.issparse(form(X)) else -form(X)
        data = InMemory(given, n_missing=count_missing(given))
        np.testing.assert_allclose(
            data.gather(data.row_sqnorms), np.nansum(X**2, axis=1), rtol=1e-5
        )
        np.testing.assert_allclose(row_sqnorm(given), np.nansum(X**2, axis=1), rtol=1e-5)
        ends = np.nanmin(sign * X), np.nanmax(sign * X)
        assert data.extremes == pytest.approx((min(ends), max(ends)))
        assert data.n_missing == np.isnan(X).sum()
        assert not count_missing(zero_missing(given))


def test_what_no_sample_of_a_cluster_shows_is_zero_and_not_rounding(form):
    """A difference in single precision was above zero, and the centroid then lost the feature."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        rows = rng.random((9, 6)) + 0.1
        hidden = rng.random(6) < 0.4
        rows[:, hidden] = np.nan
        held = form(rows)
        units = MaskedRays.of(np.asarray(rng.random((2, 6)), held.dtype))
        weight = rng.random((9, 1)).astype(held.dtype)
        _, sums = AssignMasked(units)(Block(held, weight), None)
        assert not sums.shown[:, hidden].any()
        np.testing.assert_allclose(
            sums.shown[:, ~hidden], sums.mass[:, None] * np.ones((~hidden).sum()), 1e-5
        )


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_a_sample_is_completed_by_the_features_there_are_for_one_that_is_observed(make):
    X = np.array([[1.0, 2, np.nan, 4], [1, np.nan, np.nan, np.nan], [np.nan] * 4, [1, 2, 3, 4]])
    np.testing.assert_allclose(mask_missing(make(X)).completion, [4 / 3, 4, 1, 1])


def test_a_sample_with_one_entry_goes_to_the_same_ray_dense_and_sparse():
    """It fits every ray; of a sparse block digits are lost where little of a ray is observed."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        W = rng.random((4, 30))
        W[:, 0] *= 10.0 ** -rng.uniform(1, 4, 4)
        x = np.full((1, 30), np.nan)
        x[0, 0] = rng.random() + 0.1
        rays = MaskedRays.of(W)
        most = (W[:, 0] / np.linalg.norm(W, axis=1)).argmax()
        assert rays.code(x).labels == most == rays.code(sp.csr_array(x)).labels
