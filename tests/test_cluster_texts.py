"""`cluster_texts`: one call from texts to topics, the same as the command's."""

import csv
import json

import numpy as np
import pandas as pd
import pytest

import onmf
from onmf import ONMF, explain
from onmf.estimators.solvers import OtherParameters
from onmf.exceptions import UnassignedSampleWarning
from onmf.explain import Explanation
from onmf.prepare import word_counts
from onmf_app import main

SKY, CELL = (
    ["moon", "star", "planet", "orbit", "comet"],
    ["gene", "cell", "protein", "enzyme", "tissue"],
)


def documents(n=40, seed=0):
    rng = np.random.default_rng(seed)
    words = [SKY if i % 2 else CELL for i in range(n)]
    return [" ".join(rng.choice(own, 8)) for own in words]


@pytest.fixture(scope="module")
def texts():
    return documents()


@pytest.fixture
def model(texts):
    return onmf.cluster_texts(texts, 2)


def test_the_same_clusters_as_by_hand_with_words_as_features(texts, model):
    counter = word_counts()
    alone = ONMF(2, loss="kl", random_state=0).fit(counter.fit_transform(texts))
    np.testing.assert_array_equal(model.labels_, alone.labels_)
    assert model.feature_names_in_.tolist() == counter.get_feature_names_out().tolist()
    found = model.explain(texts)
    assert {*found.markers.top(5)[model.labels_[1]]} == {*SKY}
    assert all(
        set(name.replace(",", "").split()) <= {*SKY, *CELL}
        for name in model.cluster_names_.values()
    )


def test_texts_are_taken_wherever_samples_are(texts, model, tmp_path):
    counts = model.preprocessing_[1](model.preprocessing_[0](texts))
    for given in (texts, tuple(texts), np.array(texts), np.array(texts, object), pd.Series(texts)):
        np.testing.assert_array_equal(model.predict(given), model.labels_)
    np.testing.assert_array_equal(
        model.explain(texts).certainty,
        explain.clusters(model, counts, rank="presence").certainty,
    )
    model.save(tmp_path / "model.onmf")
    loaded = onmf.load(tmp_path / "model.onmf")
    new = ["<p>A comet &amp; a moon</p>", "an enzyme", "", None, float("nan")]
    expected = [model.labels_[1], model.labels_[0], -1, -1, -1]
    assert loaded.predict(new).tolist() == expected
    again = onmf.cluster_texts(texts, 2).partial_fit(documents(seed=1))
    assert again.labels_[0] != again.labels_[1]


def test_numbers_are_not_taken_for_texts(texts, model):
    with pytest.raises(TypeError, match="list of strings"):
        onmf.cluster_texts([[1, 2], [3, 4]], 2)
    with pytest.raises(TypeError, match="list of strings"):
        onmf.cluster_texts("one text", 2)
    with pytest.raises(ValueError, match="'many'"):
        onmf.cluster_texts(texts, "many")
    plain = ONMF(2, random_state=0).fit(np.eye(3))
    with pytest.raises(ValueError, match="count their words"):
        plain.predict(["texts", "for", "numbers"])


def test_squares_take_sublinear_tf_idf(texts):
    model = onmf.cluster_texts(texts, 2, loss="frobenius")
    assert [step.name for step in model.preprocessing_] == ["strip", "words", "log", "tfidf"]
    np.testing.assert_array_equal(model.predict(texts), model.labels_)


@pytest.mark.slow
def test_the_command_finds_the_same(tmp_path, monkeypatch, texts):
    monkeypatch.chdir(tmp_path)
    texts = [*texts, ""]
    with open("texts.csv", "w", newline="") as file:
        csv.writer(file).writerows([["text"], *([text] for text in texts)])
    assert (
        main(
            [
                "cluster",
                "texts.csv",
                "--text-column",
                "text",
                "-k",
                "auto",
                "-o",
                "out",
            ]
        )
        == 0
    )
    with pytest.warns(UnassignedSampleWarning):
        model = onmf.cluster_texts(texts)
    record = json.loads((tmp_path / "out" / "run.json").read_text())
    assert record["choice"]["reason"] == model.reason_
    clusters = pd.read_csv("out/labels.csv").cluster
    np.testing.assert_array_equal(clusters, model.labels_)


def test_a_notebook_shows_explanations(texts, model):
    shown = model.rename({0: "<script>x</script>"}).explain(texts)._repr_html_()
    assert isinstance(model.explain(texts), Explanation)
    assert "&lt;script&gt;" in shown
    assert "<script>" not in shown
    assert shown.count("<tr>") == 3
    assert all(word in shown for word in SKY)


def test_one_name_for_the_names_of_features():
    from inspect import signature

    for function in (explain.clusters, explain.groups, onmf.plot.embedding):
        assert "feature_names" in signature(function).parameters


def test_the_parameters_that_are_handed_on_are_those_of_the_estimator():
    own = {"n_clusters", "loss", "random_state", "n_jobs"}
    assert {*OtherParameters.__annotations__} == ONMF().get_params(deep=False).keys() - own
