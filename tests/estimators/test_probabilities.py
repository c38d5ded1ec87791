"""Probabilities of clusters. The first five are open bugs of hdbscan's soft clustering."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp

import onmf
from onmf import ONMF, Fast
from onmf.datasets import make_rays
from onmf.explain.certainty import Calibration
from onmf.explain.probabilities import certainty_of, probabilities
from onmf.losses import LOSSES

X, Y = make_rays(120, 30, 4, random_state=0)
BORDER = 0.5 * X[Y == 0][:20] + 0.5 * X[Y == 1][:20]
MODEL = ONMF(4, random_state=0).fit(X)
CURVE = Calibration(0.1, (0.5, 0.3, 0.8, 0.0))


def pytest_generate_tests(metafunc):
    if "loss" in metafunc.fixturenames:
        metafunc.parametrize("loss", list(LOSSES))


def assert_probabilities(P, labels):
    inside = labels >= 0
    np.testing.assert_allclose(P[inside].sum(axis=1), 1, atol=1e-6)
    np.testing.assert_array_equal(P[inside].argmax(axis=1), labels[inside])
    assert not P[~inside].any()
    assert (P >= 0).all()


def test_the_largest_are_not_all_of_one_cluster():
    """hdbscan #245."""
    assert set(MODEL.predict_proba(X).argmax(axis=1).tolist()) == {0, 1, 2, 3}


def test_rows_add_up_to_one_also_at_the_core_and_at_the_border():
    """hdbscan #246."""
    both = np.vstack([X, MODEL.cluster_centers_, BORDER])
    np.testing.assert_allclose(MODEL.predict_proba(both).sum(axis=1), 1, atol=1e-12)


def test_the_largest_is_that_of_the_label(loss):
    """hdbscan #289."""
    model = ONMF(4, loss=loss, random_state=0).fit(X)
    assert_probabilities(model.predict_proba(X), model.labels_)
    both = np.vstack([X, BORDER])
    assert_probabilities(model.predict_proba(both), model.predict(both))


def test_equal_samples_and_samples_on_a_centroid_have_numbers():
    """hdbscan #363, and NaN in closed ones: distances of zero."""
    few = np.repeat(np.eye(3), 10, axis=0)
    P = ONMF(3, random_state=0).fit(few).predict_proba(few)
    assert_probabilities(P, ONMF(3, random_state=0).fit(few).labels_)
    assert np.isfinite(P).all()


def test_two_features_are_enough():
    """hdbscan #462: points in the plane."""
    angle = np.random.default_rng(0).normal(np.repeat([0.2, 0.8, 1.4], 30), 0.05)
    plane = np.column_stack([np.cos(angle), np.sin(angle)])
    model = ONMF(3, random_state=0).fit(plane)
    P = model.predict_proba(plane)
    assert_probabilities(P, model.labels_)
    assert np.median(P.max(axis=1)) > 0.9


@pytest.mark.parametrize("k", [2, 3, 20])
@pytest.mark.parametrize("curve", [CURVE, Calibration(0.1, (-5.0, 0.0, 0.1, 0.0))])
def test_definition(k, curve):
    """In loops; where no other cluster comes near the label, by the formula."""
    scores = np.random.default_rng(k).random((50, k))
    labels = scores.argmax(axis=1)
    P = probabilities(curve, scores, labels)
    assert_probabilities(P, labels)
    for s, p, label in zip(scores, P, labels, strict=True):
        others = [j for j in range(k) if j != label]
        margin = s[label] - max(s[j] for j in others)
        sure = max(float(curve(np.array([margin]))[0]), (1 + 2e-5) / k)
        assert p[label] == pytest.approx(sure, abs=1e-12)
        doubt = {j: 1 - float(curve(np.array([s[label] - s[j]]))[0]) for j in others}
        plain = {j: (1 - sure) * doubt[j] / sum(doubt.values()) for j in others}
        if max(plain.values()) < sure * (1 - 1e-5):
            np.testing.assert_allclose(p[others], list(plain.values()), atol=1e-12)
        order = sorted(others, key=lambda j: s[j])
        assert (np.diff(p[order]) >= -1e-12).all()  # the nearer, the likelier


def test_certainty_is_the_largest_probability():
    found = MODEL.explain(X)
    np.testing.assert_allclose(MODEL.predict_proba(X).max(axis=1), found.certainty, atol=1e-12)
    halves = ONMF(2, random_state=0).fit(np.random.default_rng(0).random((80, 20)))
    few = np.random.default_rng(1).random((80, 20))
    sure = halves.predict_proba(few).max(axis=1)
    assert (sure >= 0.5).all()
    assert np.median(sure) < 0.75
    flat = certainty_of(CURVE, np.zeros(3), np.array([0, 1, -1]), 2)
    assert flat[0] > 0.5
    assert flat[2] == 0


def test_zeros_and_outliers_have_rows_of_zeros():
    wild, y = make_rays(300, 40, 3, outliers=0.1, random_state=0)
    model = ONMF(3, outliers="auto", random_state=0).fit(wild)
    both = np.vstack([wild, np.zeros((2, 40))])
    assert_probabilities(model.predict_proba(both), model.predict(both))
    assert not model.predict_proba(both)[-2:].any()
    assert not model.predict_proba(wild[y == -1]).any()


@pytest.mark.parametrize(
    "make",
    [
        lambda: ONMF(1, random_state=0),
        lambda: ONMF(4, random_state=0, solver=Fast(passes=1)),
    ],
    ids=["K = 1", "one pass"],
)
def test_every_kind_of_model_has_them(make):
    model = make().fit(X)
    P = model.predict_proba(X)
    assert P.shape == (120, len(model.cluster_centers_))
    assert_probabilities(P, model.predict(X))


@pytest.mark.filterwarnings("ignore::onmf.exceptions.SignedDataWarning")
def test_signed_missing_sparse_and_single_precision():
    signed = X - 0.3 * X.mean()
    holes = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
    for data in (signed, holes, sp.csr_array(np.where(X > 0.5, X, 0)), X.astype(np.float32)):
        model = ONMF(4, random_state=0).fit(data)
        P = model.predict_proba(data)
        assert_probabilities(P, model.predict(data))
        assert P.dtype == model.cluster_centers_.dtype


def test_places(tmp_path):
    path = tmp_path / "X.npy"
    np.save(path, X)
    expected = MODEL.predict_proba(X)
    np.testing.assert_allclose(MODEL.predict_proba(path), expected, atol=1e-12)
    da = pytest.importorskip("dask.array")
    lazy = MODEL.predict_proba(da.from_array(X, chunks=(50, 30)))
    np.testing.assert_allclose(lazy.compute(), expected, atol=1e-12)
    shares = MODEL.unusual(da.from_array(X, chunks=(50, 30)))
    np.testing.assert_allclose(shares.compute(), MODEL.unusual(X), atol=1e-12)


def test_form_scale_and_precision_do_not_matter(loss):
    """Which samples are in which half must not depend on them."""
    rng = np.random.default_rng(1)
    counts = rng.poisson(rng.gamma(0.5, 2, (3, 20))[rng.integers(0, 3, 150)]).astype(float)
    expected = ONMF(3, loss=loss, random_state=0).fit(counts).predict_proba(counts)
    for other in (sp.csr_array(counts), counts.astype("f4"), counts * 2.0**10):
        P = ONMF(3, loss=loss, random_state=0).fit(other).predict_proba(other)
        np.testing.assert_allclose(P, expected, atol=1e-4)


def test_no_file_has_a_sample_of_the_fit_but_a_pickle(tmp_path):
    rows = [row.tobytes() for row in X]
    assert any(row in pickle.dumps(MODEL) for row in rows)  # as docs/guide/saving.md says
    for samples in (True, False):
        MODEL.save(tmp_path / "model.onmf", samples=samples)
        saved = (tmp_path / "model.onmf").read_bytes()
        assert not any(row in saved for row in rows)


def test_saved_models_say_the_same_and_keep_no_sample(tmp_path):
    MODEL.save(tmp_path / "model.onmf", samples=False)
    again = onmf.ONMF.load(tmp_path / "model.onmf")
    assert "_kept" not in vars(again)
    np.testing.assert_array_equal(again.predict_proba(X), MODEL.predict_proba(X))
    np.testing.assert_array_equal(again.unusual(X), MODEL.unusual(X))
    other = pickle.loads(pickle.dumps(ONMF(4, random_state=0).fit(X)))
    np.testing.assert_allclose(other.predict_proba(X).sum(axis=1), 1)


def test_a_weight_counts_as_repeated_samples():
    weight = np.random.default_rng(0).integers(0, 4, len(X))
    heavy = ONMF(4, random_state=0).fit(X, sample_weight=weight)
    often = ONMF(4, random_state=0).fit(np.repeat(X, weight, axis=0))
    np.testing.assert_allclose(heavy.predict_proba(X), often.predict_proba(X), atol=1e-7)
    np.testing.assert_allclose(heavy.unusual(X), often.unusual(X), atol=1e-6)


def test_a_fit_keeps_a_bounded_number_of_entries(monkeypatch):
    from onmf.estimators import kept

    monkeypatch.setattr(kept, "KEPT_ENTRIES", 900)
    monkeypatch.setattr(kept, "KEPT_PER_CLUSTER", 2)
    model = ONMF(4, random_state=0).fit(X)
    assert model._kept.X.shape == (30, 30)
    assert_probabilities(model.predict_proba(X), model.labels_)


@pytest.mark.slow
def test_they_are_as_often_right_as_they_say(global_random_seed):
    """Noise on rays that overlap: two halves of the features agree as often as the largest says."""
    rng = np.random.default_rng(global_random_seed)
    W = 1 + 0.25 * rng.random((3, 200))
    y = rng.integers(0, 3, 600)
    cloud = W[y] + 0.25 * rng.random((600, 200))
    model = ONMF(3, random_state=0).fit(cloud)
    P = model.predict_proba(cloud).max(axis=1)
    order, agree = rng.permutation(200), []
    halves = [ONMF(3, random_state=0).fit(cloud[:, h]).labels_ for h in np.split(order, 2)]
    for labels in halves:
        shared = np.zeros((3, 3))
        np.add.at(shared, (labels, model.labels_), 1)
        agree.append(shared.argmax(axis=1)[labels])
    assert abs(P.mean() - np.mean(agree[0] == agree[1])) < 0.12


def test_what_cannot_be_learnt_stops_neither_a_fit_nor_a_save(tmp_path, monkeypatch):
    from onmf.estimators import kept

    def fails(*facts):
        raise FloatingPointError

    monkeypatch.setattr(kept, "curve_of_samples", fails)
    model = ONMF(4, random_state=0).fit(X)
    model.save(tmp_path / "model.onmf")
    again = onmf.ONMF.load(tmp_path / "model.onmf")
    np.testing.assert_array_equal(again.unusual(X), model.unusual(X))
    with pytest.raises(ValueError, match="was saved without what it needs"):
        again.predict_proba(X)


def test_unusual_by_its_definition(loss):
    """In loops; the samples of the fit are compared as if they had not been in it."""
    model = ONMF(4, loss=loss, random_state=0).fit(X)
    view = np.sqrt if loss == "kl" else (lambda A: A)
    units = view(X) / np.linalg.norm(view(X), axis=1, keepdims=True)
    rays = view(model.cluster_centers_)
    rays = (rays / np.linalg.norm(rays, axis=1, keepdims=True))[model.labels_]
    left = units - (units * rays).sum(axis=1, keepdims=True) * rays
    v = np.square(left).mean(axis=0)
    q = (np.square(left) / (v + v.mean() / 10)).sum(axis=1)
    size = X.sum(axis=1) if loss == "kl" else np.square(X).sum(axis=1)
    share = size / np.bincount(model.labels_, size)[model.labels_]
    kept = q / np.square(1 - np.minimum(share, 0.5))
    shares = model.unusual(X)
    for cluster in range(4):
        own = np.flatnonzero(model.labels_ == cluster)
        own = own[np.argsort(q[own])]
        assert (np.diff(shares[own]) <= 1e-12).all()
        expected = [np.mean(kept[own] >= q[i]) for i in own]
        np.testing.assert_allclose(shares[own], expected, atol=0.15)  # v is that of all here


def test_samples_of_a_kind_left_out_are_unusual_and_new_ones_of_known_kinds_are_not(loss):
    rng = np.random.default_rng(3)
    profiles = rng.gamma(0.7, size=(5, 40)) + 0.02
    y = rng.integers(0, 5, 1500)
    A = rng.poisson(30 * rng.lognormal(0, 0.3, (1500, 1)) * profiles[y]).astype(float)
    model = ONMF(4, loss=loss, random_state=0).fit(A[:1000][y[:1000] < 4])
    shares = model.unusual(A[1000:])
    known = y[1000:] < 4
    assert np.mean(shares[known] < 0.025) < 0.06
    assert np.mean(shares[~known] < 0.025) > 0.9
    assert model.unusual(np.zeros((1, 40))) == 0
