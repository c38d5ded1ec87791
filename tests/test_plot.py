"""What the figures promise: the numbers of the model, on axes that were given or made."""

import sys

import numpy as np
import pytest

import onmf
from onmf import ONMF
from onmf.exceptions import SignedDataWarning
from onmf.page import embedding
from page.standins import choice, consensus

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


@pytest.fixture
def agreed():
    labels = np.repeat([0, 1, 2], [30, 20, 10])
    runs = np.column_stack([labels] * 4)
    runs[:5, 0] = 1
    return consensus(labels, runs, [0.9, 0.8, 0.7])


def test_convergence_draws_error_and_overlap_of_every_stage(model):
    ax = plot.convergence(model)
    _, error = ax.lines[0].get_data()
    np.testing.assert_array_equal(error, [stage.relative_error for stage in model.history_])
    twin = next(other for other in ax.figure.axes if other is not ax)
    np.testing.assert_array_equal(
        twin.lines[0].get_ydata(), [stage.orthogonality for stage in model.history_]
    )


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


def test_heat_map_has_the_weights_of_the_unit_centroids(model):
    W = model.cluster_centers_ / np.linalg.norm(model.cluster_centers_, axis=1, keepdims=True)
    ax = plot.heat_map(model, feature_names=[f"gene {j}" for j in range(30)])
    np.testing.assert_allclose(ax.images[0].get_array(), W)
    assert [tick.get_text() for tick in ax.get_xticklabels()][7] == "gene 7"
    assert ax.images[0].get_clim() == (0, W.max())
    few = plot.heat_map(model, n=8).images[0].get_array()
    assert few.shape[1] <= 8
    np.testing.assert_allclose(few.max(axis=1), W.max(axis=1))  # the heaviest of each is there
    rays = np.repeat([[3.0, -1.0], [-1.0, 2.0]], 4, axis=0)
    with pytest.warns(SignedDataWarning):
        signed = ONMF(2, random_state=0).fit(rays)
    low, high = plot.heat_map(signed).images[0].get_clim()
    assert low == -high


def test_top_features_draws_the_heaviest_last_so_that_it_is_on_top(model):
    axes = plot.top_features(model, 5, feature_names=[f"gene ${j}$" for j in range(30)])
    assert len(axes) == 4
    for ax, w in zip(axes, model.cluster_centers_, strict=True):
        heavy, widths = np.argsort(-w, kind="stable")[:5], [bar.get_width() for bar in ax.patches]
        np.testing.assert_allclose(widths[::-1], w[heavy] / np.linalg.norm(w))
        expected = [rf"gene \${j}\$" for j in heavy]  # dollars, not a formula
        assert [label.get_text() for label in ax.get_yticklabels()][::-1] == expected
    axes[0].figure.canvas.draw()


def test_centers_are_pictures_of_the_centroids_with_the_size_of_each_cluster(model):
    axes = plot.centers(model, (5, 6))
    assert len(axes) == 4
    for k, ax in enumerate(axes):
        np.testing.assert_array_equal(
            ax.images[0].get_array(), model.cluster_centers_[k].reshape(5, 6)
        )
        assert ax.images[0].norm.vmin == 0  # so that white is zero
        assert ax.get_title() == f"{k}: {np.sum(model.labels_ == k)}"


def test_confusion_counts_each_sample_once_with_matches_on_the_diagonal():
    truth = ["b$"] * 5 + ["a"] * 3 + ["c"] * 2
    labels = [0, 0, 0, 0, 1, 1, 1, 1, 2, -1]
    ax = plot.confusion(labels, truth)
    shown = {tuple(map(int, text.get_position())): int(text.get_text()) for text in ax.texts}
    assert shown == {(0, 0): 4, (1, 0): 1, (1, 1): 3, (2, 2): 1, (3, 2): 1}  # (cluster, class)
    assert [tick.get_text() for tick in ax.get_yticklabels()] == [r"b\$", "a", "c"]
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["0", "1", "2", "none"]
    all_placed = plot.confusion([0, 0, 1], ["x", "x", "y"])
    assert [tick.get_text() for tick in all_placed.get_xticklabels()] == ["0", "1"]


def test_colors_are_those_of_the_figures(model):
    bars = [ax.patches[0].get_facecolor() for ax in plot.top_features(model)]
    assert [matplotlib.colors.to_hex(bar) for bar in bars] == plot.colors(4)


def test_consensus_map_is_ordered_by_the_linkage_with_clusters_beside_it(agreed):
    ax = plot.consensus_map(agreed)
    shares, above, beside = (np.asarray(image.get_array()) for image in ax.images)
    assert shares.shape == (60, 60)
    np.testing.assert_array_equal(above.ravel(), beside.ravel())
    # in the order of a dendrogram, samples that are always together are neighbours
    assert np.sum(np.diff(above.ravel()) != 0) <= 3
    np.testing.assert_array_equal(
        np.sort(shares, axis=None), np.sort(agreed.values(agreed.shown), axis=None)
    )


def test_cluster_stability_is_a_bar_a_cluster(agreed):
    assert [bar.get_height() for bar in plot.cluster_stability(agreed).patches] == [0.9, 0.8, 0.7]


def test_k_curves_draw_every_measure_and_mark_the_best():
    axes = plot.k_curves(choice(best_k=3))
    titles = {ax.get_title(loc="left"): ax for ax in axes}
    np.testing.assert_array_equal(
        titles["Overlap of clusters, J"].lines[0].get_ydata(), [1 / k for k in range(2, 6)]
    )
    for ax in axes:
        assert list(ax.lines[0].get_xdata()) == [2, 3, 4, 5]
        assert list(ax.lines[1].get_xdata()) == [3, 3]
        assert list(ax.lines[2].get_xdata()) == [3]
    peak = axes[0].lines[0]  # the curve that decides, and the answer at its peak
    assert axes[0].get_title(loc="left") == "Score: the largest decides"
    assert peak.get_xdata()[np.argmax(peak.get_ydata())] == 3
    assert [text.get_text() for text in axes[0].texts] == ["K = 3"]


@pytest.mark.slow
def test_axes_that_are_given_are_used(model, agreed, planted):
    _, ax = plt.subplots()
    assert plot.convergence(model, ax) is ax
    assert plot.embedding(model, planted[0], ax) is ax
    assert plot.consensus_map(agreed, ax) is ax
    assert plot.cluster_stability(agreed, ax=ax) is ax
    _, axes = plt.subplots(2, 4)
    assert plot.k_curves(choice(), axes)[0] is axes[0, 0]
    assert plot.top_features(model, axes=axes)[3] is axes[0, 3]
    assert plot.centers(model, (5, 6), axes)[3] is axes[0, 3]
    assert plot.confusion([0, 1], [0, 1], ax) is ax


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


def test_sample_map_shows_standard_scores_by_cluster_with_bars_above(model, planted):
    X, y = planted
    table = model.explain(X).markers
    ax = plot.sample_map(table, X, model.labels_, truth=y, n=2)
    shown = [int(tick.get_text().removeprefix("x")) for tick in ax.get_yticklabels()]
    assert shown == list(dict.fromkeys(j for own in table.numbers(2) for j in own))
    drawn = ax.images[0].get_array()
    assert drawn.shape == (len(shown), len(X))
    scores = (X[:, shown] - X[:, shown].mean(axis=0)) / X[:, shown].std(axis=0)
    np.testing.assert_allclose(np.sort(drawn, axis=1), np.sort(scores.T, axis=1))
    bars = [bar.images[0].get_array()[0] - 1 for bar in ax.child_axes]
    np.testing.assert_array_equal(bars[0], np.sort(model.labels_))
    assert [len(np.unique(bar)) for bar in bars] == [4, len(np.unique(y))]
    labels = np.where(np.arange(len(X)) < 5, -1, model.labels_)
    assert plot.sample_map(table, X, labels).get_xlabel() == f"{len(X) - 5} samples"
