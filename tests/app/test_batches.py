"""Batches of `onmf update`: counted once, replaced, taken out, reported."""

import errno
import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from onmf.streams import births

import onmf_app as cli
from cases import few
from command_line import ask, labels, run
from onmf.datasets import make_rays
from onmf.io import checksum, output
from onmf.io.output import sole_writer
from onmf_app.runs import inputs, streams
from onmf_app.runs.changes import Changes

X, Y = make_rays(1200, 20, 4, noise=0.2, random_state=0)
SECONDS = {"run.json", "stream.onmf"}  # which tell how long the first fit took


def write(path, rows, X=X):
    names = [f"s{i}" for i in rows]
    pd.DataFrame(X[list(rows)], names, [f"w{j}" for j in range(20)]).to_csv(path)


def ask_json(capsys, *words, code=0):
    capsys.readouterr()
    assert run("update", "out", *words, "--json") == code
    return json.loads(capsys.readouterr().out)


def contents():
    files = [path for path in Path("out").rglob("*") if path.is_file()]
    return {path: checksum(path) for path in files if path.name not in SECONDS}


def state():
    run_ = streams.StreamRun.of(Path("out"))
    return run_.model.cluster_centers_, [entry["key"] for entry in run_.batches]


@pytest.fixture
def begun(here):
    write("a.csv", np.flatnonzero(Y[:500] < 3))
    for name, start in (("b.csv", 500), ("c.csv", 700), ("d.csv", 900)):
        write(name, start + np.flatnonzero(Y[start : start + 200] < 3))
    assert run("cluster", "a.csv", "-k", 3, "-o", "out", "--no-report") == 0
    return here


def test_the_same_content_is_counted_once_under_any_name(begun, capsys):
    assert ask_json(capsys, "b.csv", "--batch", "monday")["action"] == "added"
    before = contents()
    Path("renamed.csv").write_bytes(Path("b.csv").read_bytes())
    for words in (["b.csv"], ["b.csv", "--batch", "monday"], ["renamed.csv", "--batch", "friday"]):
        told = ask_json(capsys, *words, code=cli.ALREADY_COUNTED)
        assert (told["action"], told["counted"], told["born"]) == ("already counted", 0, [])
        assert told["stream"]["batches"] == 2
    assert run("update", "out", "a.csv") == cli.ALREADY_COUNTED  # the input of onmf cluster
    assert contents() == before


def test_other_content_under_a_name_is_an_error_or_replaces_it(begun, capsys):
    """A cut upload, and then the whole file, end as the whole file alone."""
    whole = Path("b.csv").read_bytes()
    assert run("update", "out", "b.csv") == 0
    expected, files = state(), contents()
    assert run("update", "out", "--undo") == 0
    Path("b.csv").write_bytes(b"".join(whole.splitlines(keepends=True)[:60]))
    assert ask_json(capsys, "b.csv")["counted"] == 59
    Path("b.csv").write_bytes(whole)
    before = contents()
    said = ask(capsys, "update", "out", "b.csv", code=cli.OTHER_CONTENT)
    assert "a batch named b.csv was counted with other content: add --replace" in said
    assert contents() == before
    assert ask_json(capsys, "b.csv", "--replace")["action"] == "replaced"
    np.testing.assert_array_equal(state()[0], expected[0])
    assert state()[1] == expected[1]
    assert contents() == files
    said = ask(capsys, "update", "out", "c.csv", "--replace", code=2)
    assert "no batch is named c.csv" in said
    assert run("update", "out", "c.csv") == 0
    Path("b.csv").write_bytes(whole[: len(whole) // 2])
    said = ask(capsys, "update", "out", "b.csv", "--replace", code=2)
    assert "take out c.csv with --undo, replace b.csv, and add c.csv again" in said


def test_batches_are_taken_out_one_after_the_other(begun, capsys):
    states = [state()]
    for name in ("b.csv", "c.csv", "d.csv"):
        assert run("update", "out", name) == 0
        states.append(state())
    for left, name in ((2, "d.csv"), (1, "c.csv"), (0, "b.csv")):
        told = ask_json(capsys, "--undo")
        assert (told["action"], told["batch"]) == ("undone", name)
        np.testing.assert_array_equal(state()[0], states[left][0])
        assert state()[1] == states[left][1]
        assert not Path(f"out/batches/{left + 1:05}.csv").exists()
    assert "has no batch" in ask(capsys, "update", "out", "--undo", code=2)
    assert run("update", "out", "b.csv") == 0
    np.testing.assert_array_equal(state()[0], states[1][0])
    assert "leave out INPUT" in ask(capsys, "update", "out", "c.csv", "--undo", code=2)


def test_without_its_only_batch_the_folder_is_as_the_fit_left_it(begun):
    before = contents()
    assert run("update", "out", "b.csv") == 0
    assert Path("out/stream.onmf").exists()
    assert run("update", "out", "--undo") == 0
    assert contents() == before
    assert run("explain", "out") == 0  # not "was continued by onmf update"


def test_only_the_last_states_are_kept(begun, capsys, monkeypatch):
    monkeypatch.setattr(streams, "KEPT_STATES", 1)
    for name in ("b.csv", "c.csv"):
        assert run("update", "out", name) == 0
    kept = [path.name for path in Path("out/batches").glob("*.onmf")]
    assert kept == ["00002.before.onmf"]
    assert run("update", "out", "--undo") == 0
    assert "can no longer be taken out" in ask(capsys, "update", "out", "--undo", code=2)


def test_what_a_killed_command_left_is_removed(begun):
    assert run("update", "out", "b.csv") == 0
    before = contents()
    Path("out/batches/00002.csv").write_text("half")
    assert run("update", "out") == 0
    assert contents() == before


def test_what_this_call_did_is_told(begun, capsys):
    write("new.csv", range(1100, 1200))
    assert (Y[1100:1200] == 3).sum() > 15
    told = ask_json(capsys, "new.csv", "--metrics", "m.prom")
    assert (told["counted"], told["born"], told["closed"]) == (100, [3], [])
    assert 0 < told["turned"] < 5
    assert told["stream"]["clusters"] == [0, 1, 2, 3]
    for line in Path("m.prom").read_text().splitlines():
        number = r"-?\d+(\.\d+)?([eE]-?\d+)?"
        assert re.fullmatch(
            rf'# (HELP|TYPE) \w+ .*|\w+{{run="out"(,cluster="\d+")?}} {number}', line
        )
    assert 'onmf_batch_born{run="out"} 1' in Path("m.prom").read_text()
    assert told["stream"]["samples"] == len(labels()) + 100


def test_turned_clusters_and_many_strangers_are_reported(begun, capsys):
    rng = np.random.default_rng(0)
    odd = np.vstack([X[500:560][Y[500:560] < 3], rng.exponential(size=(40, 20)) ** 4])
    write("odd.csv", range(len(odd)), odd)
    before = capsys.readouterr()
    assert run("update", "out", "odd.csv", "--strict") == cli.CHANGED
    err = capsys.readouterr().err
    assert f"of {len(odd)} samples fit no cluster, and wait" in err, before
    assert run("update", "out", "--undo") == 0
    told = ask_json(capsys, "odd.csv")
    assert told["strangers"] >= 30
    assert len(told["alerts"]) >= 1
    assert run("update", "out", "b.csv", "--strict") == 0
    write("zero.csv", range(9), np.zeros((9, 20)))
    assert "9 of 9 samples are all zero" in ask(capsys, "update", "out", "zero.csv")


def test_strangers_are_many_beside_the_usual_number():
    usual = {"samples": 1000, "strangers": 150}
    batch = {"samples": 400, "strangers": 70, "ids": [4, 7], "drift": [None, 5.5], "born": [4]}
    alone = Changes.of(batch)
    assert alone.alerts == (
        "cluster 7 turned by 5.5 degrees.",
        "70 of 400 samples fit no cluster, and wait.",
    )
    assert Changes.of(batch, [usual]).alerts == ("cluster 7 turned by 5.5 degrees.",)  # 60 +- 7
    assert len(Changes.of({**batch, "strangers": 83}, [usual]).alerts) == 2
    assert alone.sentence() == "cluster 4 born, clusters turned by at most 5.5 degrees"
    assert Changes.of({**batch, "strangers": 40, "drift": [None, 5.0]}).alerts == ()
    both = Changes.of({**batch, "strangers": 40, "ids": [4, 7, 8], "drift": [9.25, 5, 5.5]})
    assert both.alerts == ("clusters 4 and 8 turned by 5.5 to 9.2 degrees.",)


def test_a_folder_in_use_has_its_own_exit_code(begun, capsys):
    with sole_writer(Path("out/.run.json.lock")):
        said = ask(capsys, "update", "out", "b.csv", code=cli.LOCKED)
    assert "another onmf command is writing to out" in said


def test_missing_values_and_missing_features_are_taken(begun, capsys):
    table = pd.read_csv("b.csv", index_col=0)
    table.iloc[:5, 3] = np.nan
    table.to_csv("b.csv")
    assert run("update", "out", "b.csv") == 0
    pd.read_csv("c.csv", index_col=0).drop(columns="w7").to_csv("c.csv")
    assert run("update", "out", "c.csv") == 2
    assert run("update", "out", "c.csv", "--missing", "nan") == 0
    assert {*labels("out/batches/00002.csv").cluster} == {0, 1, 2}


@pytest.mark.parametrize("stop", few(range(8)))
def test_a_full_disk_changes_nothing_and_with_space_again_it_goes_on(begun, monkeypatch, stop):
    """No space at the first file, the second, ...: then the command given again ends the same."""
    assert run("update", "out", "b.csv") == 0
    whole, expected = contents(), state()
    assert run("update", "out", "--undo") == 0
    written, usual = [], output._write

    def full(file, content):
        if name := getattr(file, "name", ""):  # or a checksum, which is taken while it is written
            written.append(name)
        if len(written) > stop:
            raise OSError(errno.ENOSPC, "No space left on device", name)
        usual(file, content)

    with monkeypatch.context() as broken:
        broken.setattr(output, "_write", full)
        assert run("update", "out", "b.csv") == cli.NO_SPACE
    assert not [path for path in Path("out").rglob(".*") if path.is_file()]
    assert run("update", "out", "b.csv") in (0, cli.ALREADY_COUNTED)
    assert contents() == whole
    np.testing.assert_array_equal(state()[0], expected[0])
    assert state()[1] == expected[1]


@pytest.mark.parametrize("at_once", few([20, 1000]))
def test_a_batch_on_disk_is_taken_in_parts(begun, capsys, monkeypatch, at_once):
    """As if it were larger than memory; sorted by kind, and with a kind that is new."""
    monkeypatch.setattr(births, "MAX_ROWS_AT_ONCE", at_once)
    rows = 700 + np.argsort(Y[700:1200], kind="stable")
    table = pd.DataFrame(X[rows], columns=[f"w{j}" for j in range(20)])
    table.to_parquet("big.parquet")
    table.iloc[::-1].to_parquet("more.parquet")
    monkeypatch.setattr(inputs, "stays_on_disk", lambda source, few: True)
    told = ask_json(capsys, "big.parquet")
    assert (told["counted"], told["born"], told["closed"]) == (500, [3], [])
    found = labels("out/batches/00001.csv").cluster.to_numpy()
    for kind in range(4):
        assert len({*found[Y[rows] == kind]}) == 1
    told = ask_json(capsys, "more.parquet")
    assert (told["born"], told["closed"]) == ([], [])
    assert told["turned"] < 2
    np.testing.assert_array_equal(labels("out/batches/00002.csv").cluster, found[::-1])


def test_the_column_of_texts_is_that_of_the_run(here, capsys):
    """It need not be named again, for a file of the same kind."""
    words = ["goal match team player", "bank market share profit"]
    for name, n in (("a.jsonl", 40), ("b.2.jsonl", 20)):
        texts = [{"id": f"{name}{i}", "body": f"{words[i % 2]} {name[0]}{i}"} for i in range(n)]
        Path(name).write_text("".join(json.dumps(one) + "\n" for one in texts))
    columns = ["--text-column", "body", "--id-column", "id"]
    assert run("cluster", "a.jsonl", *columns, "-k", 2, "-o", "out", "--no-report") == 0
    assert ask_json(capsys, "b.2.jsonl")["counted"] == 20
    assert len(set(labels("out/batches/00001.csv")["cluster"])) == 2
