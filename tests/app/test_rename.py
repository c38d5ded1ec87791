"""Names of clusters in the files of a run: given by people, the same everywhere, and safe."""

import csv
import hashlib
import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import onmf_app as cli
from command_line import run
from onmf import load
from onmf.io import output, sheets

POLITICS = "his party and the prime minister, of the élection the vote"
SPORT = "a goal in the match of the world cup, the team and its player"
MONEY = "the bank raises interest rates while stock prices and profits fall"
pytestmark = pytest.mark.usefixtures("plain_pages")


@pytest.fixture
def texts(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [f"{text} {' '.join(text.split()[i % 5 :])}" for text in (POLITICS, SPORT, MONEY)
            for i in range(8)]  # fmt: skip
    frame = pd.DataFrame({"text": rows, "year": [2001 + i % 3 for i in range(24)]})
    frame.to_csv("a.csv", index_label="id")
    frame.sample(frac=1, random_state=0).to_csv("b.csv", index_label="id")
    return frame


def cluster(*more):
    words = ["cluster", "a.csv", "--text-column", "text", "--id-column", "id", "-k", 3, "-o", "out"]
    assert run(*words, *more) == 0


def labels(path="out/labels.csv"):
    with open(path, encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def names(path="out/labels.csv"):
    return {int(row["cluster"]): row["name"] for row in labels(path)}


def contents(folder="out"):
    paths = sorted(path for path in Path(folder).rglob("*") if path.is_file())
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}


def test_topics_are_called_by_pairs_of_words_that_stand_together(texts):
    cluster("--no-report")
    by_text = {row["text"][:12]: row["name"] for row in labels()}
    assert "world cup" in by_text[SPORT[:12]]
    assert "prime minister" in by_text[POLITICS[:12]]
    record = json.loads(Path("out/run.json").read_text())
    assert record["results"]["cluster_names"] == [names()[i] for i in range(3)]
    assert load("out/model.onmf").cluster_names_ == names()


@pytest.mark.slow
def test_labels_have_the_text_and_open_in_excel(texts):
    cluster("--no-report", "--xlsx", "--parquet")
    assert Path("out/labels.csv").read_bytes().startswith(b"\xef\xbb\xbfsample,cluster,name,cert")
    assert [row["text"] for row in labels()] == texts.text.tolist()
    sheet = pd.read_excel("out/labels.xlsx").fillna("")
    stored = pd.read_parquet("out/labels.parquet")
    plain = pd.DataFrame(labels())
    for frame in (sheet, stored):
        assert list(frame.columns) == list(plain.columns)
        for column in ("name", "text"):
            assert frame[column].tolist() == plain[column].tolist()
        np.testing.assert_allclose(frame.certainty, plain.certainty.astype(float), atol=1e-6)
    assert run("predict", "out", "b.csv", "--text-column", "text", "-o", "new.xlsx") == 0
    assert {*pd.read_excel("new.xlsx").name} == {*names().values()}


def test_no_cell_of_a_workbook_is_a_formula(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    from onmf.io.workbook import workbook_bytes, workbook_rows

    given = ["=1+1", "@SUM(A1)", "+1", "\x07bell\ud800", "plain"]
    (tmp_path / "a.xlsx").write_bytes(workbook_bytes(["text", "n"], [(t, 1.5) for t in given]))
    cells = [row[0] for row in openpyxl.load_workbook(tmp_path / "a.xlsx").active.iter_rows()]
    assert {cell.data_type for cell in cells} == {"s"}
    assert workbook_rows(tmp_path / "a.xlsx")[1:3] == [("=1+1", 1.5), ("@SUM(A1)", 1.5)]


@pytest.mark.slow
def test_a_long_text_is_cut_where_excel_would_cut_it_and_can_be_read_again(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    long = "word " * 30_000
    Path("a.csv").write_text("text\n" + "\n".join([long, "other thing"] * 4) + "\n")
    assert (
        run("cluster", "a.csv", "--text-column", "text", "-k", 2, "-o", "out", "--no-report") == 0
    )
    assert {len(row["text"]) for row in labels()} == {32_767, 11}
    assert run("explain", "out") == 0


def test_a_table_without_other_characters_has_no_mark():
    assert sheets.csv_text(["a"], [["b"]]) == "a\nb\n"
    assert sheets.csv_text(["a"], [["é"]]) == "\ufeffa\né\n"


def test_a_name_stays_through_every_command(texts):
    cluster("--no-report", "--xlsx", "--parquet")
    found = names()
    assert run("rename", "out", 1, "=Motor </script> sport") == 0
    named = {**found, 1: "=Motor </script> sport"}

    def same(path):
        return names(path) == {**found, 1: "'=Motor </script> sport"}  # as a spreadsheet is told

    assert same("out/labels.csv")
    assert load("out/model.onmf").cluster_names_ == named
    assert pd.read_parquet("out/labels.parquet").groupby("cluster").name.first().to_dict() == named
    assert pd.read_excel("out/labels.xlsx").groupby("cluster").name.first().to_dict() == named
    assert run("predict", "out", "b.csv", "--text-column", "text", "-o", "new.csv") == 0
    assert same("new.csv")
    assert run("explain", "out") == 0
    assert same("out/labels.csv")
    assert run("report", "out") == 0
    assert "=Motor \\u003c/script> sport" in Path("out/report.html").read_text()
    assert run("cluster", "b.csv", "--like", "out", "-o", "next", "--no-report") == 0
    assert same("next/labels.csv")
    assert run("update", "out", "b.csv", "--text-column", "text") == 0
    assert same("out/batches/00001.csv")
    assert "=Motor &lt;/script&gt; sport" in Path("out/stream.html").read_text()
    assert run("rename", "out", 0, "Money") == 0
    assert names("out/batches/00001.csv")[0] == names("out/labels.csv")[0] == "Money"
    assert "Money" in Path("out/stream.html").read_text()
    assert run("update", "out", "--undo") == 0
    assert not Path("out/stream.onmf").exists()
    assert load("out/model.onmf").cluster_names_ == {**named, 0: "Money"}
    assert run("rename", "out", 0, "") == 0
    assert names("out/labels.csv")[0] == found[0]


def test_an_unknown_id_is_refused_with_the_known_ones(texts, capsys):
    cluster("--no-report")
    before = contents()
    assert run("rename", "out", 7, "x") == cli.BAD_INPUT
    assert "there is no topic 7: the ids are 0, 1, 2." in capsys.readouterr().err
    assert contents() == before


@pytest.mark.parametrize("stream", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_killed_rename_leaves_the_run_as_it_was_or_renamed(texts, monkeypatch, stream):
    """A process that dies at any rename of a file: the next command finds a whole run."""
    cluster("--no-report")
    if stream:
        assert run("update", "out", "b.csv", "--text-column", "text") == 0
    seen, after = set(), None
    for step in range(12):
        before, done = contents(), iter(range(100))

        def dies(path, place, done=done, step=step):
            if next(done) == step:
                raise SystemExit  # nothing handles it on the way
            os.replace(path, place)

        with monkeypatch.context() as patch:
            patch.setattr(output, "rename", dies)
            try:
                ended = run("rename", "out", 1, f"name {step}")
            except SystemExit:
                ended = None
        assert (
            run("predict", "out", "b.csv", "--text-column", "text", "-o", "n.csv", "--force") == 0
        )
        if stream:
            assert run("update", "out") == 0
        found = names("n.csv")[1]
        assert names()[1] == found == load("out/model.onmf").cluster_names_[1]
        seen.add(found == f"name {step}")
        if found != f"name {step}":
            assert contents() == before
        if ended == 0:
            after = step
            break
    assert after is not None
    assert seen == {True, False}
