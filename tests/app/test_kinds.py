"""Texts, cells, embeddings, images, times, trees: what each kind of run promises."""

import csv
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import onmf
from command_line import ask, labels, run
from onmf import ONMF
from onmf.datasets import make_rays

pytestmark = pytest.mark.usefixtures("here")

WORDS = {
    "sky": ["moon", "star", "planet", "orbit"],
    "life": ["gene", "cell", "protein", "enzyme"],
    "sport": ["goal", "match", "team", "ball"],
}
X, Y = make_rays(90, 12, 3, noise=0.1, random_state=0)


def texts(n=90, seed=0):
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice([*WORDS.values()][i % 3], 9)) for i in range(n)]


def record(folder="out"):
    return json.loads(Path(folder, "run.json").read_text())


def write_table(path="t.csv", **columns):
    pd.DataFrame({"talk": texts()} | columns).to_csv(path, index=False)


def test_predict_recognises_texts_as_cluster_does(capsys):
    write_table(year=range(90))
    ask(capsys, "cluster", "t.csv", "-k", 3, "-o", "out")
    assert record()["read"]["text_column"] == "talk"
    Path("new").mkdir()
    for i, text in enumerate(texts(9)):
        Path("new", f"{i}.txt").write_text(text)
    pd.DataFrame({"other": texts(9), "n": 1}).to_csv("other.csv", index=False)
    for name, out in (("t.csv", "t"), ("new", "new"), ("other.csv", "other")):
        assert run("predict", "out", name) == 0
        found = labels(f"{out}-labels.csv")
        assert found.cluster.tolist()[:9] == labels().cluster.tolist()[:9]


def test_topics_get_the_names_of_their_seeds(capsys):
    write_table()
    lines = "# topics\nstars: moon planet\n\nliving things: gene, cell\ngames: goal team\n"
    Path("seeds.txt").write_text(lines)
    words = ("cluster", "t.csv", "-o", "out", "--seeds", "seeds.txt")
    assert run(*words) == 0
    assert {*onmf.load("out/model.onmf").names.values()} == {"stars", "living things", "games"}
    assert labels().name.tolist()[:3] == ["stars", "living things", "games"]
    for text, said in [("games goal", "line 1"), ("a: b\na: c", "line 2: 'a' was there before")]:
        Path("seeds.txt").write_text(text)
        assert said in ask(capsys, *words, "--force", code=2)


@pytest.mark.slow
def test_the_levels_and_the_times_are_on_the_page_through_later_commands(capsys):
    write_table(when=[f"2026-{1 + i // 30:02}-05" for i in range(90)])
    assert run("cluster", "t.csv", "-k", 3, "-o", "out", "--time", "when", "--tree") == 0
    assert "tree.json" in record()["files"]
    assert run("edit", "out", "--rename", "0=<b>New</b>") == 0
    assert run("edit", "out", "--merge", "0,1") == 0
    page = Path("out/report.html").read_text()
    for part in ('id="levels"', 'id="time"', "2026-01", "2026-03"):
        assert part in page
    assert "<b>New" not in page
    nodes = json.loads(Path("out/tree.json").read_text())["nodes"]
    assert {0, 2} == {node["cluster"] for node in nodes} - {None}
    assert "when" not in Path("out/centers.csv").read_text()


def test_embeddings_are_described_by_texts_that_stay_with_them(capsys):
    rng = np.random.default_rng(0)
    rays = rng.normal(size=(3, 20))
    np.save("e.npy", rays[np.arange(90) % 3] + 0.1 * rng.normal(size=(90, 20)))
    write_table()
    more = ("--describe", "t.csv", "--text-column", "talk", "-o", "out")
    said = ask(capsys, "cluster", "e.npy", "-k", 3, *more)
    assert "of the entries are negative" in said
    assert run("edit", "out", "--rename", "1=One") == 0
    with open("out/labels.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["text"] for row in rows] == texts()
    known = {word for words in WORDS.values() for word in words}
    assert {*rows[0]["name"].replace(",", " ").split()} < known
    assert rows[1]["name"] == "One"


@pytest.mark.parametrize(
    ("words", "prepared"),
    [
        (("--prepare", "log"), np.log2(1 + X)),
        (("--prepare", "none"), X),
        (("--raw",), X),
        (("--prepare", "depth,log", "--set", "prepare.total=100"),
         np.log2(1 + 100 * X / X.sum(axis=1, keepdims=True))),
    ],
)  # fmt: skip
def test_steps_and_their_parameters(words, prepared):
    pd.DataFrame(X, [f"s{i}" for i in range(90)], [f"g{j}" for j in range(12)]).to_csv("x.csv")
    assert run("cluster", "x.csv", "-k", 3, "-o", "out", *words) == 0
    model = ONMF(3, random_state=0).fit(prepared)
    np.testing.assert_array_equal(labels().cluster, model.labels_)


def test_missing_values_are_counted_and_predicted(capsys):
    gaps = np.where(np.random.default_rng(0).random(X.shape) < 0.2, np.nan, X)
    frame = pd.DataFrame(gaps, [f"s{i}" for i in range(90)], [f"g{j}" for j in range(12)])
    frame.to_csv("x.csv")
    said = ask(capsys, "cluster", "x.csv", "-k", 3, "-o", "out")
    assert f"20 % of the entries ({np.isnan(gaps).sum()}) have no value" in said
    assert record()["input"]["missing"] == np.isnan(gaps).sum()
    assert any("no value" in note for note in record()["notes"])
    frame.drop(columns=["g3"]).iloc[:9].to_csv("few.csv")
    assert "--missing zero or nan" in ask(capsys, "predict", "out", "few.csv", code=2)
    assert "taken as missing" in ask(capsys, "predict", "out", "few.csv", "--missing", "nan")
    np.testing.assert_array_equal(labels("few-labels.csv").cluster, labels().cluster[:9])


def test_columns_that_are_no_measurements_are_left_out_and_need_not_be_there_again(capsys):
    frame = pd.DataFrame(X, columns=[f"g{j}" for j in range(12)])
    frame.insert(0, "row", range(90))
    frame.to_csv("x.csv", index=False)
    assert run("cluster", "x.csv", "-k", 3, "-o", "out") == 0
    assert "row" not in pd.read_csv("out/centers.csv")
    for part in (frame, frame.drop(columns="row")):
        part.to_csv("new.csv", index=False)
        assert run("predict", "out", "new.csv", "--force") == 0
        np.testing.assert_array_equal(labels("new-labels.csv").cluster, labels().cluster)


def test_clusters_that_are_batches_are_said(capsys):
    kinds = [f"b{y}" for y in Y]
    pd.DataFrame(X, columns=[f"g{j}" for j in range(12)]).assign(day=kinds).to_csv("x.csv")
    said = ask(capsys, "cluster", "x.csv", "-k", 3, "-o", "out", "--batch", "day")
    assert "clusters may be batches, not kinds" in said
    words = ("-k", 3, "-o", "two", "--batch", "day", "--prepare", "log,batches")
    assert run("cluster", "x.csv", *words) == 0


def test_the_next_night_keeps_the_ids_of_the_last(capsys):
    names = [f"w{j}" for j in range(12)]
    pd.DataFrame(X[:60], columns=names).to_csv("a.csv")
    pd.DataFrame(X[30:], columns=names).to_csv("b.csv")
    assert run("cluster", "a.csv", "-k", 3, "-o", "a", "--prepare", "unit") == 0
    assert run("cluster", "b.csv", "--like", "a", "-o", "b") == 0
    (told,) = record("b")["lineage"]
    assert (told["kept"], told["born"]) == ([0, 1, 2], [])
    assert run("predict", "a", "b.csv", "-o", "p.csv") == 0
    assert (labels("p.csv").cluster == labels("b/labels.csv").cluster).mean() > 0.95
    said = ask(capsys, "cluster", "b.csv", "--like", "a", "-o", "c", "--prepare", "log", code=2)
    assert "leave out --prepare" in said


@pytest.mark.slow
def test_a_folder_of_parquet_files_is_clustered_in_two_passes():
    pytest.importorskip("pyarrow")
    Path("parts").mkdir()
    for number, part in enumerate(np.split(X, 3)):
        frame = pd.DataFrame(part, columns=[f"f{j}" for j in range(12)])
        frame.to_parquet(f"parts/{number}.parquet", index=False)
    assert run("cluster", "parts", "-k", 3, "-o", "out", "--set", "solver.passes=2") == 0
    assert record()["parameters"]["passes"] == 2
    assert onmf.load("out/model.onmf").onmf.solver.passes == 2
