"""Night after night from the command line: --like, onmf update, --time."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import onmf_app as cli
from cases import few
from command_line import ask, labels, run
from onmf.datasets import make_rays
from onmf.io import checksum
from onmf.io.output import replace_files
from onmf_app.report import grouped_times
from onmf_app.runs import streams
from onmf_app.runs.records import places_of

X, Y = make_rays(800, 20, 5, noise=0.3, random_state=0)
NAMES = [f"w{j}" for j in range(20)]
EVIL = "<script>alert(1)</script>"


def good(*words):
    assert run(*words) == 0


def write(path, groups, n=100, seed=0, **columns):
    """A table of samples of some groups, under names that other tables share."""
    rows = np.random.default_rng(seed).choice(np.flatnonzero(np.isin(Y, groups)), n, replace=False)
    table = pd.DataFrame(X[rows], [f"s{i}" for i in rows], NAMES)
    for name, values in columns.items():
        table[name] = values
    table.to_csv(path)
    return Y[rows]


def contents(folder):
    files = [path for path in Path(folder).rglob("*") if path.is_file()]
    return {path.relative_to(folder): checksum(path) for path in files}


@pytest.mark.slow
def test_the_next_night_keeps_the_ids_of_the_last(here, capsys):
    write("a.csv", [0, 1, 2], 200)
    truth = write("b.csv", [1, 2, 3], 200, seed=1, fresh=0.01)
    good("cluster", "a.csv", "-k", 3, "-o", "a", "--tfidf", "--equal-votes")
    good("cluster", "b.csv", "--like", "a", "-o", "b")
    record = json.loads(Path("b/run.json").read_text())
    (told,) = record["lineage"]
    assert (len(told["kept"]), told["born"], len(told["vanished"])) == (2, [3], 1)
    assert (told["new_features"], told["lost_features"]) == (1, 0)
    assert record["source"]["steps"] == ["tfidf"]
    assert record["parameters"]["equal_votes"]
    one, two = labels("a/labels.csv").cluster, labels("b/labels.csv").cluster
    moves = pd.crosstab(*one.align(two, join="inner")).stack()
    assert {(i, j): n for i, j, n in told["moves"]} == moves[moves > 0].to_dict()
    assert {*two[truth == 3]} == {3}
    page = Path("b/report.html").read_text()
    assert 'id="moved"' in page
    good("report", "b")
    assert Path("b/report.html").read_text().count('id="moved"') == 1
    good("predict", "b", "b.csv", "-o", "again.csv")
    assert Path("again.csv").read_text() == Path("b/labels.csv").read_text()
    for name in ("centers", "top_features", "markers"):
        assert {*pd.read_csv(f"b/{name}.csv").cluster} == {*two}
    good("cluster", "a.csv", "--like", "b", "-o", "b", "--force")  # the same folder, every night
    chain = json.loads(Path("b/run.json").read_text())["lineage"]
    assert [entry["born"] for entry in chain] == [[3], [4]]
    said = ask(capsys, "cluster", "b.csv", "--like", "a", "-o", "c", "--log", code=2)
    assert "leave out --log" in said


def test_names_are_found_among_those_of_an_earlier_run():
    known = ["b", "a", "", "b", "ü"]
    wanted = [*known, "c", "B"]
    places, there = places_of(iter(known), wanted)
    last = {name: i for i, name in enumerate(known)}
    assert there.tolist() == [name in last for name in wanted]
    assert places[there].tolist() == [last[name] for name in wanted if name in last]
    assert not places_of([], wanted)[1].any()


def begin(groups=(0, 1, 2)):
    write("a.csv", groups, 200)
    good("cluster", "a.csv", "-k", len(groups), "-o", "out", "--no-report")


def test_a_batch_is_counted_once_and_clusters_are_born(here, capsys):
    begin()
    truth = write("b.csv", [0, 1, 2, 3], 150, seed=1)
    good("update", "out", "b.csv")
    state, found = contents("out"), labels("out/batches/00001.csv").cluster
    assert {*found[truth == 3]} == {3}
    assert json.loads(Path("out/run.json").read_text())["lineage"][-1]["born"] == [3]
    assert "was counted before" not in capsys.readouterr().out
    assert run("update", "out", "b.csv") == cli.ALREADY_COUNTED
    assert "b.csv was counted before; nothing has changed." in capsys.readouterr().out
    assert contents("out") == state
    good("predict", "out", "b.csv", "-o", "p.csv")
    np.testing.assert_array_equal(labels("p.csv").cluster, found)
    write("c.csv", [0, 1, 2, 3], 80, seed=2)
    good("update", "out", "c.csv", "--batch", "Wednesday")
    assert run("update", "out", "b.csv", "--batch", "Wednesday") == cli.ALREADY_COUNTED
    assert not Path("out/batches/00003.csv").exists()
    assert "its page is out/stream.html" in ask(capsys, "report", "out", code=2)


@pytest.mark.parametrize("stop", few(range(5)))
def test_a_command_that_dies_at_any_write_can_be_given_again(here, monkeypatch, stop):
    """Before and after each of its writes: labels, state before, state, files made of it."""
    begin()
    write("b.csv", [0, 1, 2, 3], 150, seed=1)
    good("update", "out", "b.csv")
    whole = contents("out")
    Path("out").rename("whole")
    good("cluster", "a.csv", "-k", 3, "-o", "out", "--no-report")
    told = json.loads(Path("out/run.json").read_text())
    calls = []

    def dies(folder, files, gone=()):
        if len(calls) == stop:
            raise KeyboardInterrupt
        calls.append([*files])
        replace_files(folder, files, gone)
        if len(calls) == 4:  # the last write: as if killed with the seal aside
            (folder / "run.json").unlink()
            raise KeyboardInterrupt

    monkeypatch.setattr(streams, "replace_files", dies)
    assert run("update", "out", "b.csv") == 130
    monkeypatch.undo()
    os.chdir(here)
    assert run("update", "out", "b.csv") == (0 if stop < 3 else cli.ALREADY_COUNTED)
    after = contents("out")
    seconds = {  # which tell how long the first fit took
        Path("run.json"), Path("stream.onmf"), Path("batches/00001.before.onmf")
    }  # fmt: skip
    assert {k: v for k, v in after.items() if k not in seconds} == {
        k: v for k, v in whole.items() if k not in seconds
    }
    assert json.loads(Path("out/run.json").read_text())["input"] == told["input"]
    assert len(streams.StreamRun.of(Path("out")).batches) == 2


@pytest.mark.slow
def test_a_killed_update_is_made_good_by_the_same_command(here):
    begin()
    write("b.csv", [0, 1, 2, 3], 150, seed=1)
    words = [sys.executable, "-m", "onmf", "update", "out", "b.csv"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        while process.poll() is None and not Path("out/batches/00001.csv").exists():
            time.sleep(0.002)  # the core is for the process
        process.send_signal(signal.SIGKILL)
    assert run("update", "out", "b.csv") in (0, cli.ALREADY_COUNTED)
    good("predict", "out", "b.csv", "-o", "p.csv")
    assert len(streams.StreamRun.of(Path("out")).batches) == 2


def test_names_from_the_data_are_text_on_the_page(here):
    write("a.csv", [0, 1], 100)
    table = pd.read_csv("a.csv", index_col=0).rename(columns={"w3": EVIL})
    table.to_csv("a.csv")
    good("cluster", "a.csv", "-k", 2, "-o", "out", "--no-report")
    table.iloc[:50].rename(index=lambda name: f"{name}{EVIL}").to_csv("b.csv")
    good("update", "out", "b.csv", "--batch", EVIL)
    page = Path("out/stream.html").read_text()
    assert EVIL not in page
    assert "&lt;script&gt;alert(1)" in page
    assert "<script" not in page


@pytest.mark.slow
def test_sizes_over_time(here):
    when = [f"2026-{1 + i // 25:02}-05" for i in range(100)]
    write("a.csv", [0, 1, 2], 100, when=when)
    good("cluster", "a.csv", "-k", 3, "-o", "out", "--time", "when")
    page = Path("out/report.html").read_text()
    assert 'id="time"' in page
    assert all(f"2026-{month:02}" in page for month in range(1, 5))
    assert "when" not in Path("out/centers.csv").read_text()
    good("report", "out")
    assert 'id="time"' in Path("out/report.html").read_text()


@pytest.mark.parametrize(
    ("times", "names"),
    [
        (["10", "9", "10"], ["9", "10"]),
        (["b", "a"], ["a", "b"]),
        ([f"{y}-{m:02}-01" for y in (2025, 2026) for m in range(1, 13)], None),
        ([f"{y}-{m:02}-01" for y in (2024, 2025, 2026) for m in range(1, 13)],
         ["2024", "2025", "2026"]),
        ([str(i) for i in range(240)], None),
    ],
)  # fmt: skip
def test_times_become_periods_in_their_order(times, names):
    found, numbers = grouped_times(times)
    assert len(found) <= 24
    assert names is None or found == names
    if names is None:
        assert len(found) == 24
        assert sorted(numbers) == numbers


def test_a_batch_is_told_as_the_samples_of_the_fit_are(here, capsys):
    """Columns as in labels.csv; strangers by the model before the batch, the rest by that after."""
    begin()
    truth = write("b.csv", [0, 1, 2, 3], 150, seed=1)
    good("predict", "out", "b.csv", "-o", "before.csv")
    capsys.readouterr()
    good("update", "out", "b.csv", "--json")
    told = json.loads(capsys.readouterr().out)
    good("predict", "out", "b.csv", "-o", "after.csv")
    batch, before = labels("out/batches/00001.csv"), labels("before.csv")
    assert [*batch] == [*labels("out/labels.csv")]
    after = [name for name in batch if name != "stranger"]
    pd.testing.assert_frame_equal(batch[after], labels("after.csv")[after])
    np.testing.assert_array_equal(batch.stranger, before.stranger)
    assert batch.stranger[truth == 3].all()
    assert batch.stranger[truth != 3].mean() < 0.1
    assert told["marked_strangers"] == batch.stranger.sum()
    assert before.certainty.between(0.3, 1).all()


def test_probabilities_have_a_column_for_each_cluster_by_id(here):
    begin()
    write("b.csv", [0, 1, 2, 3], 150, seed=1)
    good("update", "out", "b.csv")
    good("merge", "out", 0, 1)
    good("predict", "out", "b.csv", "-o", "p.csv", "--probabilities")
    found = labels("p.csv")
    columns = [name for name in found if name.startswith("probability_")]
    ids = {*found.cluster}
    assert columns == [f"probability_{i}" for i in sorted(ids)]
    assert ids < {0, 1, 2, 3}  # one of the two is gone
    P = found[columns]
    np.testing.assert_allclose(P.sum(axis=1), 1, atol=1e-5)
    assert (P.idxmax(axis=1) == "probability_" + found.cluster.astype(str)).all()
    np.testing.assert_allclose(P.max(axis=1), found.certainty, atol=2e-6)
