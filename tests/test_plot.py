"""What the figures promise: the numbers of the model, on axes that were given or made."""

import sys

import numpy as np
import pytest

import onmf
from onmf import ONMF, choose_k
from onmf.page import embedding

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")
from onmf import plot  # noqa: E402 (where there is no Matplotlib, nothing here is imported)


@pytest.fixture(autouse=True)
def _close(plain_pages):
    yield
    plt.close("all")


@pytest.fixture
def model(planted):
    return ONMF(4, random_state=0).fit(planted[0])


def test_embedding_draws_each_sample_once_in_the_look_of_its_cluster(model, planted, monkeypatch):
    monkeypatch.setattr(embedding, "MAX_TSNE_SAMPLES", 80)
    monkeypatch.setattr(embedding, "LANDMARKS", 80)
    ax = plot.embedding(model, planted[0])
    drawn = {}
    for points in ax.collections:
        colour = matplotlib.colors.to_hex(points.get_facecolor()[0])
        drawn[colour] = drawn.get(colour, 0) + len(points.get_offsets())
    sizes = np.bincount(model.labels_)
    assert drawn == {plot.colors(4)[k]: sizes[k] for k in range(4)}
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["0", "1", "2", "3"]


def test_embedding_calls_clusters_by_their_distinctive_features_if_these_have_names(model, planted):
    features = [f"gene ${j}" for j in range(30)]
    table = onmf.explain.groups(model.labels_, planted[0], feature_names=features)
    ax = plot.embedding(model, planted[0], feature_names=features)
    expected = [f"{k} {name}".replace("$", r"\$") for k, name in enumerate(table.names)]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == expected
    ax.figure.canvas.draw()


def test_centers_are_pictures_of_the_centroids_with_the_size_of_each_cluster(model):
    axes = plot.centers(model, (5, 6))
    assert len(axes) == 4
    for k, ax in enumerate(axes):
        np.testing.assert_array_equal(
            ax.images[0].get_array(), model.cluster_centers_[k].reshape(5, 6)
        )
        assert ax.images[0].norm.vmin == 0  # so that white is zero
        assert ax.get_title() == f"{k}: {np.sum(model.labels_ == k)}"


def test_other_data_than_the_model_was_fitted_to_are_refused(model):
    with pytest.raises(ValueError, match="fitted to 120"):
        plot.embedding(model, np.ones((3, 30)))


def test_without_matplotlib_a_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for name in [name for name in sys.modules if name.split(".")[:2] == ["onmf", "plot"]]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delattr(onmf, "plot")
    with pytest.raises(ImportError, match=r'onmf.plot needs Matplotlib: `pip .* "onmf\[plot\]"`'):
        _ = onmf.plot


def test_k_curves_draw_the_score_and_mark_its_peak(planted):
    choice = choose_k(ONMF(random_state=0), planted[0], range(2, 7), n_runs=2)
    ax = plot.k_curves(choice)
    curve = ax.lines[0]
    assert list(curve.get_xdata()) == [row.k for row in choice.table]
    np.testing.assert_array_equal(curve.get_ydata(), [row.score for row in choice.table])
    assert curve.get_xdata()[np.nanargmax(curve.get_ydata())] == choice.best_k
    assert [text.get_text() for text in ax.texts] == [f"K = {choice.best_k}"]
    twin = next(other for other in ax.figure.axes if other is not ax)
    back = [row.comes_back for row in choice.table]
    np.testing.assert_array_equal(twin.lines[0].get_ydata(), back)


def test_markers_have_a_row_a_cluster_and_its_features_as_columns(model, planted):
    table = onmf.explain.groups(model.labels_, planted[0])
    ax = plot.markers(table, n=2)
    assert [tick.get_text() for tick in ax.get_yticklabels()] == [str(k) for k in table.clusters]
    shown = {tick.get_text() for tick in ax.get_xticklabels()}
    assert shown == {table.features[j] for own in table.numbers(2) for j in own}


def test_axes_that_are_given_are_used(model, planted):
    _, ax = plt.subplots()
    assert plot.markers(onmf.explain.groups(model.labels_, planted[0]), ax=ax) is ax
    _, axes = plt.subplots(2, 4)
    assert plot.centers(model, (5, 6), axes)[3] is axes[0, 3]
