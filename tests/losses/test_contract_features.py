"""What the features of a fit promise with any loss of `LOSSES`, and which it refuses."""

from functools import cache

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

import onmf
from losses_cases import K, model_of, planted, total_loss, whole
from onmf import Fast, explain
from onmf.estimators import solvers
from onmf.losses import LOSSES
from onmf.losses.support import CONFLICTS, FEATURES, refusal

N = 90
X, Y = planted(N)


@cache
def fitted(loss):
    return model_of(loss).fit(X)


def test_a_fit_that_reads_x_twice_ends_near_one_that_may_read_it_often(loss, monkeypatch):
    monkeypatch.setattr(solvers, "MIN_SUMMARY_ROWS", 60)
    monkeypatch.setattr(solvers, "SUMMARY_ROWS_PER_CLUSTER", 1)
    many, _ = planted(300)
    often = model_of(loss).fit(many)
    twice = model_of(loss, solver=Fast(passes=2)).fit(many)
    assert adjusted_rand_score(often.labels_, twice.labels_) == 1
    assert often.relative_error_ < twice.relative_error_ < 1.1 * often.relative_error_
    left = total_loss(loss, many, twice.cluster_centers_, np.ones(300))
    assert twice.inertia_ == pytest.approx(left)
    once = model_of(loss, solver=Fast(passes=1)).fit(many)
    assert adjusted_rand_score(once.predict(many), twice.labels_) == 1
    assert once.inertia_ / once.relative_error_ == pytest.approx(whole(loss, many, np.ones(300)))


def test_a_model_comes_back_from_its_file(loss, tmp_path):
    model = model_of(loss, outliers=5).fit(X)
    model.save(tmp_path / "m.onmf")
    again = onmf.load(tmp_path / "m.onmf")
    assert again.loss == loss.name
    np.testing.assert_array_equal(again.predict(X), model.labels_)
    np.testing.assert_array_equal(again.distance(X), model.distance(X))
    assert again.score(X) == model.score(X)


def test_a_callback_hears_of_every_sweep_and_can_ask_for_the_memberships(loss):
    events = []

    def watch(event):
        events.append((event.sweep, event.membership().shape, event.stage is not None))
        return False

    model = model_of(loss, callback=watch).fit(X)
    sweeps, shapes, stages = zip(*events, strict=True)
    assert set(shapes) == {(N, K)}
    assert list(sweeps) == sorted(sweeps)
    assert sweeps[-1] == model.n_iter_
    assert any(stages)


@pytest.mark.filterwarnings("ignore::onmf.exceptions.ConvergenceWarning")
def test_the_lowest_max_iter_is_enough_for_clusters(loss):
    for max_iter in (1, loss.min_sweeps):
        few = model_of(loss, max_iter=max_iter).fit(X)
        assert few.n_iter_ <= loss.min_sweeps
        assert adjusted_rand_score(few.labels_, Y) > 0.5
    with pytest.raises(ValueError, match="max_iter"):
        model_of(loss, max_iter=0).fit(X)


def test_an_explanation_is_made_in_the_view_of_the_loss(loss, monkeypatch):
    views, model = [], fitted(loss)

    class Watched(type(loss)):
        def view(self, data):
            views.append(data)
            return super().view(data)

    monkeypatch.setitem(LOSSES, loss.name, Watched())
    found = explain.clusters(model, X, splits=1)
    assert views
    ordered = np.sort(model.decision_function(X), axis=1)
    np.testing.assert_allclose(found.margin, ordered[:, -1] - ordered[:, -2], atol=1e-12)
    np.testing.assert_allclose(found.distance, model.distance(X), atol=1e-7)
    assert found.certainty.min() > 0.5


ASKED = {  # feature -> a fit that asks for it
    "outliers": lambda loss: model_of(loss, outliers=3).fit(X),
    "missing": lambda loss: model_of(loss).fit(np.where(X == X.max(), np.nan, X)),
    "signed": lambda loss: model_of(loss).fit(X - X.mean()),
    "passes": lambda loss: model_of(loss, solver=Fast(passes=3)).fit(X),
    "streams": lambda loss: model_of(loss).partial_fit(X),
    "bound": lambda loss: onmf.certify(fitted(loss), X),
    "model": lambda loss: model_of(loss, None, init=fitted(loss)).fit(X),
    "n_init": lambda loss: model_of(loss, n_init=2).fit(X),
}


@pytest.mark.parametrize("feature", FEATURES)
@pytest.mark.filterwarnings("ignore::onmf.exceptions.SignedDataWarning")
def test_a_feature_that_a_loss_lacks_is_refused_by_its_name(loss, feature, monkeypatch):
    """Every feature once with the loss as it is, and once as if it could do nothing."""
    if feature in loss.supports:
        ASKED[feature](loss)
    fitted(loss)
    poor = type("Poor", (type(loss),), {"supports": frozenset()})()
    monkeypatch.setitem(LOSSES, loss.name, poor)
    with pytest.raises((ValueError, AttributeError)) as refused:
        ASKED[feature](loss)
    words = {"missing": "NaN", "streams": "partial_fit", "signed": "Negative values"}
    assert words.get(feature, feature) in str(refused)
    sentence = refusal(loss.name, poor.supports, "fast", {feature})
    assert FEATURES[feature] in sentence
    assert repr(loss.name) in sentence


def test_pairs_that_make_no_sense_are_refused_for_every_loss(loss):
    for pair, why in CONFLICTS.items():
        sentence = refusal(loss.name, frozenset(FEATURES), "fast", pair)
        assert why in sentence
        assert all(FEATURES[name] in sentence for name in pair)
    assert refusal(loss.name, frozenset(FEATURES), "fast", {"outliers", "n_init"}) == ""
