"""For operators: `onmf status`, --config, --like-run, logs for programs."""

import json
from datetime import datetime
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from command_line import ask, labels, run
from onmf.datasets import make_rays
from onmf.io import csv_text, sheets, table
from onmf_app.runs.tables import Labels

X, Y = make_rays(700, 12, 3, noise=0.2, random_state=0)


def write(path, rows):
    names = [f"s{i}" for i in rows]
    pd.DataFrame(X[list(rows)], names, [f"w{j}" for j in range(12)]).to_csv(path)


@pytest.fixture
def begun(here):
    write("a.csv", range(400))
    write("b.csv", range(400, 700))
    assert run("cluster", "a.csv", "-k", 3, "-o", "out", "--no-report", "--unit") == 0
    return here


def told(capsys, *words):
    capsys.readouterr()
    assert run("status", "out", *words) == 0
    return capsys.readouterr().out


def test_the_status_of_a_run_before_and_after_a_batch(begun, capsys):
    before = json.loads(told(capsys, "--json"))
    assert (before["samples"], len(before["batches"]), before["can_undo"]) == (400, 1, 0)
    assert before["model"]["steps"] == ["unit"]
    assert not Path("out/stream.onmf").exists()
    assert run("update", "out", "b.csv") == 0
    after = json.loads(told(capsys, "--json", "--metrics", "m.prom"))
    assert [one["name"] for one in after["batches"]] == ["a.csv", "b.csv"]
    assert (after["samples"], after["can_undo"]) == (700, 1)
    sizes = pd.concat([labels(), labels("out/batches/00001.csv")]).cluster.value_counts()
    assert {one["id"]: one["samples"] for one in after["clusters"]} == sizes.to_dict()
    assert datetime.fromisoformat(after["last_update"]).tzinfo is not None
    text = told(capsys)
    assert "700 samples in 2 batches, 3 clusters" in text
    assert "b.csv: 300 samples" in text
    assert 'onmf_samples{run="out"} 700' in Path("m.prom").read_text()


def test_options_come_from_a_file_unless_typed(begun, capsys):
    Path("c.toml").write_text(
        'seed = 3\nlog-file = "log.jsonl"\n'
        '[cluster]\nclusters = 2\ndrop = ["w3"]\nunit = true\nno-report = true\n'
        "equal-votes = false\n[predict]\nforce = true\n"
    )
    assert run("cluster", "a.csv", "--config", "c.toml", "-o", "c", "-k", 3) == 0
    record = json.loads(Path("c/run.json").read_text())
    assert record["source"]["drop"] == ["w3"]
    assert record["source"]["steps"] == ["unit"]
    assert (record["seed"], record["parameters"]["n_clusters"]) == (3, 3)
    for line in Path("log.jsonl").read_text().splitlines():
        entry = json.loads(line)
        assert datetime.fromisoformat(entry["time"]).utcoffset() is not None
        assert entry["level"] in ("INFO", "WARNING")
    ask(capsys, "predict", "c", "a.csv", "-o", "p.csv", "--config", "c.toml")  # has no --seed
    wrong = "which is no option of onmf cluster"
    for text, message in [
        ("clusters =", "is not TOML"),
        ("clusters = " + "[" * 100_000, "is not TOML"),
        ("unit = 3", "unit is a flag"),
        ("sede = 3", f"bad.toml has 'sede', {wrong}"),
        ("[cluster]\nundo = true", f"bad.toml has 'undo', {wrong}"),
    ]:
        Path("bad.toml").write_text(text)
        assert message in ask(
            capsys, "cluster", "a.csv", "-k", 2, "-o", "d", "--config", "bad.toml", code=2
        )


def test_a_record_is_a_pattern_for_the_next_run(begun, capsys):
    words = ["-k", 3, "--unit", "--drop", "w1", "--equal-votes", "--seed", 5, "--passes", 2]
    assert run("cluster", "b.csv", *words, "-o", "typed", "--no-report") == 0
    assert run("cluster", "a.csv", *words, "-o", "first", "--no-report") == 0
    pattern = ["--like-run", "first/run.json", "--no-report"]
    assert run("cluster", "b.csv", *pattern, "-o", "again") == 0
    np.testing.assert_array_equal(labels("again/labels.csv"), labels("typed/labels.csv"))
    one, two = (json.loads(Path(f"{n}/run.json").read_text()) for n in ("typed", "again"))
    assert one["parameters"] == two["parameters"]
    assert two["lineage"] == []
    said = ask(capsys, "cluster", "b.csv", *pattern, "--log", "-o", "x", code=2)
    assert "the input is prepared as in the earlier run: leave out --log" in said
    assert run("cluster", "b.csv", *pattern, "--like", "first", "-o", "x") == 2


def test_a_refit_to_other_samples_says_so(here, capsys):
    """Texts of other words: no id stays, and the note names the commands for new samples."""
    old = ["the cat sat with another cat", "cats and kittens purr", "stocks fell in the rain"]
    new = ["violin and cello play", "the cello sings", "rain falls on the river", "rivers and rain"]
    for name, texts in (("old.txt", old * 4), ("new.txt", new * 4)):
        Path(name).write_text("\n".join(texts) + "\n")
    how = ["--text", "--min-df", 1, "--no-report"]
    assert run("cluster", "old.txt", "-k", 2, "-o", "old", *how) == 0
    said = ask(capsys, "cluster", "new.txt", "--like", "old", "-o", "new", "--no-report")
    assert "only 0 of 2 topics kept their ids" in said
    assert "onmf predict, or onmf update" in said


def test_labels_as_parquet_are_those_of_the_csv_file(begun):
    words = ["-k", 3, "--no-report", "--force"]
    assert run("cluster", "a.csv", *words, "-o", "out", "--parquet") == 0
    assert run("update", "out", "b.csv", "--parquet") == 0
    assert run("predict", "out", "b.csv", "-o", "p.parquet") == 0
    assert run("predict", "out", "b.csv", "-o", "p.csv") == 0
    for place in ("out/labels", "out/batches/00001", "p"):
        found = pd.read_parquet(f"{place}.parquet").set_index("sample")
        pd.testing.assert_frame_equal(found.round(6), labels(f"{place}.csv"))
    assert run("cluster", "a.csv", *words, "-o", "out") == 0
    assert not Path("out/labels.parquet").exists()  # it was of another run


def test_long_tables_are_written_in_blocks(monkeypatch):
    """The same text for any number of rows at a time."""
    rows = [[f"s{i}", i, "a,b" if i % 2 else "=x"] for i in range(25)]
    whole = csv_text(["a", "b", "c"], rows)
    assert len(whole.splitlines()) == 26
    samples, ids, names = [f"s{i}" for i in range(25)], np.arange(25), dict.fromkeys(range(25), "n")
    found = Labels(samples, ids, {"distance": ids / 7}, names, ["a \n b"] * 25)
    plain = csv_text(*found.sheet())
    monkeypatch.setattr(sheets, "ROWS_PER_BLOCK", 4)
    monkeypatch.setattr(table, "NAMES_PER_BLOCK", 4)
    assert csv_text(["a", "b", "c"], rows) == whole
    assert csv_text(*found.sheet()) == plain
    assert plain.splitlines()[8] == "s7,7,n,1.000000,a b"
