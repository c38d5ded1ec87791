"""Gene expression is prepared by default, as the run says; annotation, batches and signed data."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.feature_extraction.text import CountVectorizer

from onmf import ONMF, explain

pytest.importorskip("click")
pytest.importorskip("rich")

from command_line import ask, labels, run
from onmf.exceptions import SignedDataWarning
from onmf.metrics import clustering_accuracy
from onmf.page import html

pytestmark = pytest.mark.usefixtures("page", "here")

KINDS = np.arange(60) % 3
CP10K_LOG = "raw counts were scaled to the same total (--cp10k), logarithms were taken (--log)"


def counts(m=200, seed=0):
    """Reads of three kinds in which depth differs more than kind does."""
    rng = np.random.default_rng(seed)
    profile = rng.gamma(0.5, size=(3, m)) * rng.lognormal(0, 0.5, size=m)
    profile = 0.85 * profile[0] + 0.15 * profile
    share = profile[KINDS] / profile[KINDS].sum(axis=1, keepdims=True)
    depth = np.where(np.arange(60) < 30, 2e3, 2e4) * rng.uniform(0.8, 1.25, 60)
    return rng.poisson(depth[:, None] * share)


def write(X, path="x.csv", names="ENSG{:011}"):
    samples = [f"s{i}" for i in range(len(X))]
    frame = pd.DataFrame(X, samples, [names.format(j) for j in range(X.shape[1])])
    frame.to_csv(path)
    return frame


def prepared(X):
    return np.log2(1 + 1e4 * X / X.sum(axis=1, keepdims=True))


# --- defaults ------------------------------------------------------------------------------------


def test_raw_counts_are_scaled_and_logged_unless_that_is_refused(capsys):
    X = counts()
    write(X)
    said = ask(capsys, "cluster", "x.csv", "-k", 3, "-o", "out")
    assert said == f"Note: x.csv: gene expression: {CP10K_LOG}; --raw leaves it as it is.\n"
    model = ONMF(3, random_state=0).fit(prepared(X))
    np.testing.assert_array_equal(labels().cluster, model.labels_)
    assert clustering_accuracy(KINDS, labels().cluster) == 1
    assert json.loads(Path("out/run.json").read_text())["source"]["steps"] == ["depth", "log"]
    assert ask(capsys, "cluster", "x.csv", "-k", 3, "-o", "raw", "--raw") == ""
    np.testing.assert_array_equal(
        labels("raw/labels.csv").cluster, ONMF(3, random_state=0).fit_predict(X)
    )
    write(X[:9] * 2, "new.csv")
    assert run("predict", "out", "new.csv", "-o", "new_labels.csv") == 0
    np.testing.assert_array_equal(labels("new_labels.csv").cluster, model.labels_[:9])


@pytest.mark.parametrize(
    ("change", "names"),
    [
        (lambda X: X, "word{}"),  # word1, word2: no genes
        (lambda X: np.minimum(X, 2), "ENSG{:011}"),  # mutations
        (lambda X: X[:, :50], "ENSG{:011}"),  # a panel
        (lambda X: 0.1 * X / X.max(), "ENSG{:011}"),  # logarithms, or shares
    ],
)
def test_what_is_no_table_of_counts_is_left_as_it_is(capsys, change, names):
    write(change(counts()), names=names)
    assert "gene expression" not in ask(capsys, "cluster", "x.csv", "-k", 3, "-o", "out")


def test_steps_of_the_user_and_the_loss_of_counts_need_no_default(capsys):
    write(counts())
    for words in (["--cpm", "--log"], ["--unit"], ["--loss", "kl"]):
        said = ask(capsys, "cluster", "x.csv", "-k", 3, "-o", "out", "--force", *words)
        assert "gene expression" not in said


def test_amounts_are_logged_and_variable_genes_are_used(capsys):
    X = counts(3200) + 0.5
    write(100 * X)
    said = ask(capsys, "cluster", "x.csv", "-k", 3, "-o", "out")
    assert "logarithms were taken (--log), the 1500 most variable of 3200 genes are used" in said
    L = np.log2(1 + 100 * X)
    used = np.sort(np.argsort(-L.var(axis=0), kind="stable")[:1500])
    model = ONMF(3, random_state=0).fit(L[:, used])
    np.testing.assert_array_equal(labels().cluster, model.labels_)
    said = ask(capsys, "cluster", "x.csv", "-k", 3, "-o", "all", "--variable", "all")
    assert "variable" not in said
    np.testing.assert_array_equal(
        labels("all/labels.csv").cluster, ONMF(3, random_state=0).fit_predict(L)
    )


def test_variable_features_travel_with_the_model(capsys):
    X = counts()
    write(X)
    words = ["-k", 3, "-o", "out", "--cpm", "--log", "--variable", 40]
    assert run("cluster", "x.csv", *words) == 0
    L = np.log2(1 + 1e6 * X / X.sum(axis=1, keepdims=True))
    used = np.sort(np.argsort(-L.var(axis=0), kind="stable")[:40])
    model = ONMF(3, random_state=0).fit(L[:, used])
    np.testing.assert_allclose(labels().distance, model.distance(L[:, used]), atol=2e-6)
    write(X[5:20], "new.csv")
    assert run("predict", "out", "new.csv", "-o", "new_labels.csv") == 0
    np.testing.assert_allclose(
        labels("new_labels.csv").distance, labels().distance[5:20], atol=2e-6
    )
    said = ask(capsys, "cluster", "x.csv", "-k", 3, "-o", "o", "--variable", "0", code=2)
    assert "'0' is not N or all" in said


@pytest.mark.slow
def test_every_command_prepares_alike(capsys):
    write(counts())


# --- annotation ----------------------------------------------------------------------------------


def test_classes_come_from_a_column_of_another_table(capsys):
    write(counts())
    meta = pd.DataFrame({"name": [f"s{i}" for i in range(60)], "age": 5, "kind": KINDS})
    meta.sample(frac=1, random_state=0).to_csv("meta.csv", index=False)
    assert run("cluster", "x.csv", "-k", 3, "-o", "out", "--labels", "meta.csv:kind") == 0
    assert "adjusted rand index 1.000" in capsys.readouterr().out
    assert run("edit", "out", "--rename", "0=x") == 0  # run.json names the file and the column
    said = ask(capsys, "cluster", "x.csv", "-k", 3, "-o", "o", "--labels", "meta.csv:no", code=2)
    assert "meta.csv has no column 'no'; its columns are name, age, kind" in said


def test_predict_matches_names_after_turning_the_table(capsys):
    frame = write(counts())
    meta = pd.DataFrame({"name": [f"s{i}" for i in range(60)], "kind": KINDS, "x": 1})
    meta.to_csv("meta.csv", index=False)
    assert run("cluster", "x.csv", "-k", 3, "-o", "out") == 0
    frame.T.to_csv("new.csv")
    capsys.readouterr()
    words = ["predict", "out", "new.csv", "-o", "new_labels.csv", "--labels", "meta.csv:kind"]
    assert run(*words) == 0
    assert "adjusted rand index 1.000" in capsys.readouterr().out


# --- gaps ----------------------------------------------------------------------------------------


def test_a_missing_cell_does_not_stop_the_scaling_of_depth(capsys):
    X = counts().astype(float)
    X[0, 0] = np.nan
    write(X)
    words = ["cluster", "x.csv", "-k", 3, "-o", "out", "--cp10k", "--log"]
    assert "have no value" in ask(capsys, *words)
    Z = np.log2(1 + 1e4 * X / np.nansum(X, axis=1, keepdims=True))
    np.testing.assert_array_equal(labels().cluster, ONMF(3, random_state=0).fit_predict(Z))
    frame = write(counts())
    frame.drop(columns=["ENSG00000000003"]).to_csv("new.csv")
    words = ["predict", "out", "new.csv", "-o", "new_labels.csv", "--missing", "nan"]
    assert "they are taken as missing" in ask(capsys, *words)
    assert (labels("new_labels.csv").cluster == labels().cluster).all()


# --- negative values -----------------------------------------------------------------------------


def signed():
    rng = np.random.default_rng(0)
    return rng.normal(size=(3, 30))[KINDS] + 0.5 * rng.normal(size=(60, 30))


def test_negative_values_are_taken_and_it_is_said_what_they_mean(capsys):
    write(signed(), names="x{}")
    meant = "of the entries are negative: a cluster is a direction of any sign"
    said = ask(capsys, "cluster", "x.csv", "-k", 3, "-o", "out")
    assert meant in said
    assert said.count("\n") == 1
    assert clustering_accuracy(KINDS, labels().cluster) == 1


# --- embeddings described by words ----------------------------------------------------------------

TOPICS = ("star planet moon orbit", "gene cell protein tissue", "goal match team player")


def talks(n=60, seed=0):
    """Texts of three topics, and signed embeddings of them."""
    rng = np.random.default_rng(seed)
    texts = [" ".join(rng.choice(TOPICS[k].split(), 8)) for k in KINDS[:n]]
    X = rng.normal(size=(3, 12))[KINDS[:n]] + 0.3 * rng.normal(size=(n, 12))
    return texts, X / np.linalg.norm(X, axis=1, keepdims=True)


def test_clusters_of_embeddings_are_described_by_the_words_of_texts(capsys):
    texts, X = talks()
    np.save("x.npy", X)
    names = [str(i) for i in range(60)]
    frame = pd.DataFrame({"name": names, "abstract": texts}).sample(frac=1, random_state=0)
    frame.to_csv("talks.csv", index=False)
    words = ["cluster", "x.npy", "-k", 3, "-o", "out", "--describe", "talks.csv"]
    assert run(*words, "--text-column", "abstract", "--id-column", "name") == 0
    assert clustering_accuracy(KINDS, labels().cluster) == 1
    found = pd.read_csv("out/markers.csv")
    for cluster, own in found.groupby("cluster"):
        kind = KINDS[labels().cluster == cluster][0]
        assert {*own.feature[:4]} == {*TOPICS[kind].split()}
    assert run("edit", "out", "--rename", "0=x") == 0
    assert {*pd.read_csv("out/markers.csv").feature} == {*found.feature}
    frame[:50].to_csv("talks.csv", index=False)
    said = ask(capsys, *words, "--text-column", "abstract", "--force", code=2)
    assert "talks.csv has 50 texts for 60 samples" in said


def test_explain_by_another_matrix_is_the_table_of_the_groups():
    texts, X = talks()
    with pytest.warns(SignedDataWarning):
        model = ONMF(3, random_state=0).fit(X)
    counts = CountVectorizer().fit(texts)
    Y, names = counts.transform(texts), counts.get_feature_names_out()
    found = model.explain(X, by=Y, feature_names=names)
    alone = explain.groups(model.labels_, Y, feature_names=names)
    assert found.markers.top(4) == alone.top(4)
    np.testing.assert_array_equal(found.certainty, model.explain(X).certainty)
    assert "orbit" in html(model, X, explanation=found)
    with pytest.raises(ValueError, match="there are 60 labels"):
        model.explain(X, by=Y[:9])
