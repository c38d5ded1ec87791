"""Tables as people have them: depth, orientation, exports of other programs."""

import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cases import few
from onmf import ONMF, metrics

pytest.importorskip("click")
pytest.importorskip("rich")

from command_line import ask, labels, run

pytestmark = pytest.mark.usefixtures("page", "here")

KINDS = np.arange(90) % 3


def reads(seed=0):
    """Counts of three kinds; half of the samples are sequenced twenty times as deep."""
    rng = np.random.default_rng(seed)
    profile = rng.gamma(0.5, size=(3, 200)) * rng.lognormal(0, 0.5, size=200)
    profile = 0.9 * profile[0] + 0.1 * profile
    depth = np.where(np.arange(90) < 45, 1e3, 2e4) * rng.uniform(0.8, 1.25, 90)
    share = profile[KINDS] / profile[KINDS].sum(axis=1, keepdims=True)
    return rng.poisson(depth[:, None] * share)


def write(X, path="x.csv", samples=None, features=None):
    samples = [f"patient{i}" for i in range(len(X))] if samples is None else samples
    features = [f"gene{j}" for j in range(X.shape[1])] if features is None else features
    frame = pd.DataFrame(X, samples, features)
    frame.to_csv(path)
    return frame


# --- depth ---------------------------------------------------------------------------------------


def test_counts_per_million_are_taken_before_the_logarithm_and_for_new_samples(capsys):
    counts = reads()
    write(counts)
    said = ask(capsys, "cluster", "x.csv", "-k", 3, "-o", "out", "--log", "--cpm")
    assert "--cpm" not in said
    X = np.log2(1 + 1e6 * counts / counts.sum(axis=1, keepdims=True))
    model = ONMF(3, random_state=0).fit(X)
    np.testing.assert_array_equal(labels().cluster, model.labels_)
    write(counts[:7] * 3, "new.csv")
    assert run("predict", "out", "new.csv", "-o", "new_labels.csv") == 0
    np.testing.assert_array_equal(labels("new_labels.csv").cluster, model.labels_[:7])


def test_the_median_depth_is_that_of_the_first_samples():
    counts = reads()
    write(counts)
    assert run("cluster", "x.csv", "-k", 3, "-o", "out", "--log", "--cpm-median") == 0
    totals = counts.sum(axis=1, keepdims=True)
    X = np.log2(1 + np.median(totals) * counts / totals)
    np.testing.assert_allclose(
        labels().distance, ONMF(3, random_state=0).fit(X).distance(X), atol=1e-6
    )
    write(counts[:5], "new.csv")
    assert run("predict", "out", "new.csv", "-o", "new_labels.csv") == 0
    np.testing.assert_allclose(labels("new_labels.csv").distance, labels().distance[:5], atol=2e-6)


@pytest.mark.slow
def test_a_split_by_depth_is_said_and_so_are_counts_whose_depth_will_matter(capsys):
    write(reads())
    said = ask(capsys, "cluster", "x.csv", "-k", 2, "-o", "out", "--log")
    assert "these are counts with totals from" in said
    assert "clusters 0 and 1 differ in the totals of their samples" in said
    assert "add --cpm to remove depth" in said
    assert metrics.clustering_accuracy(np.arange(90) < 45, labels().cluster) == 1


def test_nothing_is_said_of_even_depth_or_of_kinds_that_merely_differ(capsys):
    counts = reads()
    write(counts[:45])
    assert ask(capsys, "cluster", "x.csv", "-k", 3, "-o", "out", "--log") == ""
    write(counts)
    assert ask(capsys, "cluster", "x.csv", "-k", 3, "-o", "two", "--raw") == ""


def words(seed=0):
    """Counts of 40 words in 90 documents of three topics, of lengths that differ."""
    rng = np.random.default_rng(seed)
    topics = rng.dirichlet(np.full(40, 0.3), size=3)
    return rng.poisson(rng.lognormal(3, 1, (90, 1)) * topics[KINDS])


def chosen_loss(capsys, *words):
    """What the command says, and the loss of the model it writes."""
    said = ask(capsys, "cluster", "x.csv", "-k", 3, "-o", "out", "--force", *words)
    return said, json.loads(Path("out/run.json").read_text())["parameters"]["loss"]


def test_counts_of_events_are_clustered_by_the_divergence(capsys):
    X = words()
    write(X, features=[f"word{j}" for j in range(40)])
    said, loss = chosen_loss(capsys)
    assert "these are counts: they are clustered by --loss kl; --raw takes squares" in said
    assert loss == "kl"
    assert metrics.clustering_accuracy(KINDS, labels().cluster) > 0.9
    for asked in (["--raw"], ["--loss", "frobenius"]):
        said, loss = chosen_loss(capsys, *asked)
        assert "clustered by" not in said
        assert loss == "frobenius"
    write(X[:5], "new.csv", features=[f"word{j}" for j in range(40)])
    assert run("predict", "out", "new.csv", "-o", "new_labels.csv") == 0


@pytest.mark.parametrize(
    "made",
    few(
        [
            lambda X: np.where(X > 0, 16 - np.minimum(X, 15), 0),  # grey: mostly the brightest
            lambda X: X / 2,
            lambda X: np.where(np.arange(X.size).reshape(X.shape) % 50 == 7, np.nan, X),
            lambda X: X * 3,
        ]
    ),
    ids=["grey", "halves", "missing", "threes"],
)
def test_other_numbers_are_clustered_by_squares(capsys, made):
    write(made(words()), features=[f"word{j}" for j in range(40)])
    said, loss = chosen_loss(capsys)
    assert "clustered by --loss" not in said
    assert loss == "frobenius"


def test_whole_numbers_in_different_units_are_scaled(capsys):
    rng = np.random.default_rng(0)
    age, grades = rng.integers(20, 90, 90), 2 * KINDS[:, None] + rng.integers(0, 2, (90, 4))
    write(np.column_stack([age, grades]), features=["age", "shape", "margin", "density", "size"])
    said, loss = chosen_loss(capsys)
    assert "'age' alone has" in said
    assert loss == "frobenius"
    assert json.loads(Path("out/run.json").read_text())["source"]["steps"] != []


# --- orientation ---------------------------------------------------------------------------------

SYMBOLS = [
    "TP53",
    "BRCA1",
    "KRAS",
    "EGFR",
    "MYC",
    "PTEN",
    "RB1",
    "VHL",
    "APC",
    "ATM",
    "CDK4",
    "ALK",
]


def genes(n):
    return [SYMBOLS[j] if j < len(SYMBOLS) else f"ZNF{j}" for j in range(n)]


@pytest.mark.parametrize(
    "names",
    few(
        [
            lambda n: [f"ENSG{j:011}" for j in range(n)],
            lambda n: [f"hsa-mir-{j}" for j in range(n)],
            lambda n: [f"{chr(65 + j % 26)}{chr(65 + j // 26)}X{j}" for j in range(n)],
        ]
    ),
)
def test_genes_in_rows_are_the_features_unless_that_is_refused(capsys, names):
    X = reads()[:20]
    write(X.T, samples=names(200), features=[f"patient{i}" for i in range(20)])
    said = ask(capsys, "cluster", "x.csv", "-k", 3, "-o", "out", "--raw")
    assert (
        said == "Note: x.csv has features as rows, so it was transposed; --no-transpose keeps it.\n"
    )
    assert ask(capsys, "cluster", "x.csv", "-k", 3, "-o", "two", "--transpose", "--raw") == ""
    pd.testing.assert_frame_equal(labels(), labels("two/labels.csv"))
    said = ask(capsys, "cluster", "x.csv", "-k", 3, "-o", "genes", "--no-transpose")
    assert "the 200 samples have names of genes" in said
    assert "use --transpose" in said
    assert len(labels("genes/labels.csv")) == 200


def test_cells_that_are_many_are_not_taken_for_genes(capsys):
    X = reads()
    for names in ([f"cell{i}" for i in range(90)], [f"AAACCTGAGAAACC{i:02}-1" for i in range(90)]):
        write(X[:, :20], samples=names, features=genes(20))
        assert ask(capsys, "cluster", "x.csv", "-k", 2, "-o", "out", "--force", "--raw") == ""


@pytest.mark.parametrize("words", few([["--transpose"], []]))
def test_predict_knows_by_the_names_which_way_a_table_lies(capsys, words):
    frame = write(reads())
    assert run("cluster", "x.csv", "-k", 3, "-o", "out", "--cpm", "--log") == 0
    (frame if words else frame.T).to_csv("new.csv")
    said = ask(capsys, "predict", "out", "new.csv", "-o", "new_labels.csv", *words)
    assert f"its {'columns' if words else 'rows'} are the features of the model" in said
    pd.testing.assert_frame_equal(labels("new_labels.csv"), labels(), atol=2e-6)


def test_without_names_the_size_tells_that_a_table_lies_across(capsys):
    X = reads()
    np.save("x.npy", X)
    np.save("new.npy", X[:50].T)
    assert run("cluster", "x.npy", "-k", 3, "-o", "out") == 0
    said = ask(capsys, "predict", "out", "new.npy", "-o", "new.csv", code=2)
    assert "has 50 features, the model 200: add or leave out --transpose" in said


# --- as exported ---------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_german_export_gives_the_same_answer_as_a_plain_table(capsys):
    X = np.round(reads() / 7, 2)
    write(X)
    assert run("cluster", "x.csv", "-k", 3, "-o", "plain") == 0
    frame = pd.DataFrame(X, [f"patient{i}" for i in range(90)], [f"gene{j}" for j in range(200)])
    frame.insert(0, "Beschreibung", "ein Text")
    frame.to_csv("x.txt", sep="\t", decimal=",", encoding="utf-16")
    assert "decimal" in ask(capsys, "cluster", "x.txt", "-k", 3, "-o", "found")
    pd.testing.assert_frame_equal(labels("found/labels.csv"), labels("plain/labels.csv"))
    said = ask(capsys, "cluster", "x.txt", "-k", 3, "-o", "out", "--decimal", ",")
    assert "columns without numbers, which are not used: Beschreibung" in said
    pd.testing.assert_frame_equal(labels(), labels("plain/labels.csv"))
    assert "not used" in ask(capsys, "edit", "out", "--rename", "0=x")  # --decimal is in run.json


def test_genes_of_one_name_are_numbered_refused_or_summed(capsys):
    X = reads()
    names = [f"gene{min(j, 198)}" for j in range(200)]
    write(X.T, samples=names, features=[f"patient{i}" for i in range(90)])
    words = ["cluster", "x.csv", "-k", 3, "-o", "out", "--transpose", "--raw"]
    assert "--duplicates" in ask(capsys, *words, "--duplicates", "refuse", code=2)
    assert "several features named 'gene198', which are numbered" in ask(capsys, *words)
    np.testing.assert_array_equal(labels().cluster, ONMF(3, random_state=0).fit_predict(X))
    words.append("--force")
    assert "1 repeated feature names" in ask(capsys, *words, "--duplicates", "sum")
    X[:, 198] += X[:, 199]
    np.testing.assert_array_equal(labels().cluster, ONMF(3, random_state=0).fit_predict(X[:, :199]))


def test_missing_features_are_zero_if_that_is_said(capsys):
    X = reads()
    frame = write(X)
    assert run("cluster", "x.csv", "-k", 3, "-o", "out", "--log") == 0
    frame.drop(columns=["gene3", "gene7"]).to_csv("new.csv")
    words = ["predict", "out", "new.csv", "-o", "new_labels.csv"]
    assert "--missing zero fills them with 0" in ask(capsys, *words, code=2)
    said = ask(capsys, *words, "--missing", "zero")
    assert "lacks 2 of the 200 features of the model: 'gene3', 'gene7'; they are taken as" in said
    X[:, [3, 7]] = 0
    write(X, "zeros.csv")
    assert run("predict", "out", "zeros.csv", "-o", "zeros_labels.csv") == 0
    pd.testing.assert_frame_equal(labels("new_labels.csv"), labels("zeros_labels.csv"))
    write(X[:, :5], "other.csv", features=list("abcde"))
    said = ask(capsys, "predict", "out", "other.csv", "-o", "o.csv", "--missing", "zero", code=2)
    assert "lacks 200 of the 200 features" in said


@pytest.mark.slow
@pytest.mark.parametrize("side", ["row", "column"])
def test_a_row_or_column_of_totals_is_left_out_or_named(capsys, side):
    frame = write(reads())
    assert run("cluster", "x.csv", "-k", 3, "-o", "plain", "--raw") == 0
    if side == "row":
        frame.loc["TOTAL"] = frame.sum()
    else:
        frame["all reads"] = frame.sum(axis=1)
    frame.to_csv("x.csv")
    words = ["cluster", "x.csv", "-k", 3, "-o", "out", "--raw", "--force"]
    said = ask(capsys, *words)
    if side == "row":
        assert "'TOTAL' is the sum of the others, and left out" in said
    else:
        assert "feature 'all reads' is the sum of all others" in said  # which --raw keeps
        assert ask(capsys, *words, "--drop", "all reads") == ""
    pd.testing.assert_frame_equal(labels(), labels("plain/labels.csv"))


def test_numbers_of_genes_are_named_and_can_be_dropped(capsys):
    X = reads()
    frame = write(X.T, samples=[f"ENSG{j:011}" for j in range(200)], features=map(str, range(90)))
    frame.insert(0, "entrez", np.random.default_rng(0).permutation(10_000)[:200])
    frame.to_csv("x.csv")
    words = ["cluster", "x.csv", "-k", 3, "-o", "out", "--transpose", "--force", "--raw"]
    assert "'entrez' (ids)" in ask(capsys, *words[:-1])
    assert ask(capsys, *words, "--drop", "entrez") == ""
    assert len(labels()) == 90


# --- rows that stay on disk ----------------------------------------------------------------------


@pytest.fixture
def on_disk(monkeypatch):
    """No file fits into memory; text tables are in memory whatever happens, Parquet is not."""
    pytest.importorskip("pyarrow")
    monkeypatch.setattr("onmf.rows.formats.free_memory", lambda: 100)


@pytest.mark.slow
def test_depth_is_said_of_rows_on_disk(capsys, on_disk):
    write(reads()).astype(float).to_parquet("x.parquet")
    said = ask(capsys, "cluster", "x.parquet", "-k", 2, "-o", "out", "--log")
    assert "these are counts with totals from" in said
    assert "clusters 0 and 1 differ in the totals of their samples" in said
    write(reads()[:45]).astype(float).to_parquet("even.parquet")
    assert ask(capsys, "cluster", "even.parquet", "-k", 3, "-o", "even", "--log") == ""


@pytest.mark.slow
@pytest.mark.parametrize(("side", "advice"), [
    ("row", "sample 'TOTAL' is the sum of all others, but is clustered like one of them: remove "
            "it from the file."),
    ("column", "left out as no measurements: 'TOTAL' (the sum of all others)"),
])  # fmt: skip
def test_totals_and_numbers_of_things_are_named_on_disk(capsys, on_disk, monkeypatch, side, advice):
    monkeypatch.setattr("onmf.rows.source.ENTRIES_PER_PART", 1_000)  # five rows at a time
    frame = write(reads()).astype(float)
    if side == "row":
        frame.loc["TOTAL"] = frame.sum()
    else:
        frame["TOTAL"] = frame.sum(axis=1)
    frame.to_parquet("x.parquet")
    assert advice in ask(capsys, "cluster", "x.parquet", "-k", 3, "-o", "out")
    frame.assign(entrez=np.random.default_rng(0).permutation(len(frame)) + 1.0).to_parquet(
        "x.parquet"
    )
    said = ask(capsys, "cluster", "x.parquet", "-k", 3, "-o", "out", "--force")
    assert "'entrez' (ids)" in said


@pytest.mark.slow
def test_genes_taken_for_samples_are_said_on_disk(capsys, on_disk):
    names = [f"ENSG{j:011}" for j in range(200)]
    patients = [f"patient{i}" for i in range(40)]
    frame = write(reads().T[:, :40], samples=names, features=patients)
    frame.astype(float).to_parquet("x.parquet")
    said = ask(capsys, "cluster", "x.parquet", "-k", 3, "-o", "out")
    assert "x.parquet has features as rows, so it was transposed" in said
    write(reads().T, "y.csv", genes(200), [f"patient{i}" for i in range(90)])
    assert run("cluster", "y.csv", "--transpose", "-k", 3, "-o", "good") == 0
    pd.read_csv("y.csv", index_col=0).astype(float).to_parquet("y.parquet")
    said = ask(capsys, "predict", "good", "y.parquet", "-o", "new.csv")
    assert "its rows are the features of the model, so it was transposed" in said


# --- one definition of what is done to an input --------------------------------------------------


UNITS = [1.0, 1.0, 1000.0, 1000.0]


def in_different_units():
    """Two kinds that differ in two small features, beside two with large numbers."""
    rng = np.random.default_rng(7)
    kinds = np.array([[1.0, 5.0, 1.0, 1.0], [5.0, 1.0, 1.0, 1.0]])[np.arange(40) % 2]
    return (kinds + rng.random((40, 4)) / 2) * UNITS


def accuracy(folder):
    return metrics.clustering_accuracy(np.arange(40) % 2, labels(f"{folder}/labels.csv").cluster)


def test_features_in_different_units_are_scaled_by_default(capsys):
    """Of the species in the first column, the species no name of a sample."""
    X, names = in_different_units(), ["bill", "wing", "mass", "span"]
    write(X, samples=pd.Index(list("AB" * 20), name="species"), features=names)
    given = "cluster", "x.csv", "-k", 2, "--labels", "species"
    said = ask(capsys, *given, "-o", "out")
    assert "'span', 'mass' alone have 100 % of the sum of squares, as in different" in said
    assert accuracy("out") == 1
    raw = ask(capsys, *given, "--raw", "-o", "raw")
    assert "so other features hardly count: use --scale" in raw
    assert accuracy("raw") < 0.9  # mass and span decide
    centers = pd.read_csv("out/centers.csv", index_col=0)
    groups = (
        pd.DataFrame(X, columns=names).groupby(labels("out/labels.csv").cluster.to_numpy()).mean()
    )
    np.testing.assert_allclose(centers, groups, rtol=0.1)  # in the units of the table
    pd.DataFrame(X[::-1], columns=names).to_csv("batch.csv", index=False)
    shutil.copytree("out", "stream")
    ask(capsys, "update", "stream", "batch.csv")
    again = pd.read_csv("stream/centers.csv", index_col=0)
    np.testing.assert_allclose(again, groups, rtol=0.1)
    for row in pd.read_csv("out/markers.csv").itertuples():
        assert row.mean_inside == pytest.approx(groups.loc[row.cluster, row.feature], rel=1e-4)
    ask(capsys, *given, "--scale", "-o", "scaled")
    assert Path("out/labels.csv").read_text() == Path("scaled/labels.csv").read_text()
    write(X[:5], "new.csv", features=names)
    assert run("predict", "out", "new.csv", "-o", "new_labels.csv") == 0
    found = labels("new_labels.csv").cluster
    np.testing.assert_array_equal(found, labels("out/labels.csv").cluster[:5])


def turned_to_both_signs(X):
    return X * np.where(np.arange(40) % 3, 1, -1)[:, None]


def as_counts(X):
    """Of one frequent and three rare events."""
    return np.random.default_rng(8).poisson(np.linspace(0.2, 2, 40)[:, None] * [50, 1, 1, 1])


@pytest.mark.parametrize("change", [as_counts, turned_to_both_signs, lambda X: X / UNITS])
def test_counts_embeddings_and_equal_units_are_not_scaled(capsys, change):
    write(change(in_different_units()), features=[*"abcd"])
    said = ask(capsys, "cluster", "x.csv", "-k", 2, "-o", "out")
    assert "gets the same weight" not in said
    assert json.loads(Path("out/run.json").read_text())["source"]["steps"] == []


def test_a_table_with_one_value_a_line_is_told_from_one_with_features(capsys):
    write(np.arange(1.0, 9)[:, None], features=["price"])
    said = ask(capsys, "cluster", "x.csv", "-k", 1, "-o", "out")
    assert "there is only one feature, 'price'" in said
