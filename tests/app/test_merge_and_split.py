"""`onmf merge` and `onmf split`: clusters of a finished run, all of its files or none."""

import csv
import json
import os
import re
import shutil
import signal
import time
from contextlib import suppress

import numpy as np
import pandas as pd
import pytest

import onmf
from onmf.datasets import make_rays
from onmf.io import finish_replacement, output
from onmf_app import main

X = make_rays(360, 16, 4, noise=0.2, random_state=0)[0]


def run(*words):
    return main([str(word) for word in words])


def table(X, name, first=0):
    names = [f"s{first + i}" for i in range(len(X))]
    pd.DataFrame(X, names, [f"g{j}" for j in range(X.shape[1])]).to_csv(name)


def clusters(folder="out"):
    return pd.read_csv(f"{folder}/labels.csv").cluster.to_numpy()


def record(folder="out"):
    with open(f"{folder}/run.json") as file:
        return json.load(file)


@pytest.fixture
def out(tmp_path, monkeypatch, plain_pages):
    monkeypatch.chdir(tmp_path)
    table(X[:300], "x.csv")
    table(X[300:], "y.csv", 300)
    assert run("cluster", "x.csv", "-k", 4, "-o", "out") == 0
    return tmp_path / "out"


def test_nothing_else_moves(out, capsys):
    before = clusters()
    assert run("merge", "out", 3, 1) == 0
    assert "Merged 1 into 3: 147 samples, 3 clusters." in capsys.readouterr().out
    merged = np.where(before == 1, 3, before)
    np.testing.assert_array_equal(clusters(), merged)
    assert run("split", "out", 2, "-k", 3) == 0
    now = clusters()
    np.testing.assert_array_equal(now[before != 2], merged[before != 2])
    assert {*now[before == 2].tolist()} == {2, 4, 5}
    assert run("predict", "out", "x.csv", "-o", "again.csv") == 0
    np.testing.assert_array_equal(pd.read_csv("again.csv").cluster, now)
    first, second = record()["lineage"]
    assert (first["merged"], second["split"]) == ([[1, 3]], [[2, 4], [2, 5]])
    assert [1, 3, 77] in first["moves"]
    assert record()["results"]["cluster_ids"] == [0, 2, 3, 4, 5]
    assert {*pd.read_csv("out/markers.csv").cluster} == {0, 2, 3, 4, 5}
    assert run("report", "out") == 0
    assert run("explain", "out") == 0
    assert run("cluster", "x.csv", "--like", "out", "-o", "next") == 0
    assert {*clusters("next").tolist()} == {0, 2, 3, 4, 5}


def test_they_survive_updates(out, capsys):
    assert run("merge", "out", 3, 1) == 0
    assert run("update", "out", "y.csv") == 0
    model = onmf.load(out / "model.onmf")
    assert model.cluster_ids_.tolist() == [0, 2, 3]
    batch = pd.read_csv("out/batches/00001.csv").cluster
    alone = onmf.ONMF(4, random_state=0).fit(X[:300])
    expected = np.where((old := alone.predict(X[300:])) == 1, 3, old)
    assert np.mean(batch == expected) > 0.95
    table(X[:60] * 1.5, "z.csv", 900)
    assert run("merge", "out", 0, 2) == 0
    assert run("split", "out", 3) == 0
    state = onmf.load(out / "stream.onmf")
    assert state.cluster_ids_.tolist() == [0, 3, 4]
    assert run("update", "out", "z.csv") == 0
    capsys.readouterr()
    assert run("status", "out", "--json") == 0
    shown = json.loads(capsys.readouterr().out)
    assert [one["id"] for one in shown["clusters"]] == [0, 3, 4]
    done = [entry for entry in record()["lineage"] if "after" in entry]
    assert [entry["merged"] for entry in done] == [[[2, 0]], []]


def test_a_split_of_a_stream_uses_all_batches_and_relabels_them(out, capsys):
    assert run("update", "out", "y.csv") == 0
    old = [clusters(), pd.read_csv("out/batches/00001.csv").cluster.to_numpy()]
    assert "certainty" in pd.read_csv("out/batches/00001.csv")
    capsys.readouterr()
    assert run("split", "out", 2) == 0
    n, m = (np.sum(np.concatenate(old) == 2), [np.sum(ids == 2) for ids in old])
    now = [clusters(), pd.read_csv("out/batches/00001.csv").cluster.to_numpy()]
    for before, after in zip(old, now, strict=True):
        np.testing.assert_array_equal(before[before != 2], after[before != 2])
        assert {*after[before == 2].tolist()} <= {2, 4}
    parts = [int(np.sum(np.concatenate(now) == part)) for part in (2, 4)]
    assert min(parts) > 0
    assert sum(parts) == n == sum(m)
    expected = f"Split 2 into 2 ({parts[0]} samples), 4 ({parts[1]} samples): 5 clusters."
    assert expected in capsys.readouterr().out
    assert run("status", "out", "--json") == 0
    shown = {one["id"]: one for one in json.loads(capsys.readouterr().out)["clusters"]}
    assert [shown[part]["samples"] for part in (2, 4)] == parts
    assert not any("cluster" in shown[part]["name"] for part in (2, 4))
    names = onmf.load(out / "stream.onmf").cluster_names_
    for table in ("labels", "batches/00001"):
        own = pd.read_csv(f"out/{table}.csv")
        assert own.name.tolist() == [names[i] for i in own.cluster]


def test_a_split_says_which_batches_it_could_not_read(out, capsys):
    assert run("update", "out", "y.csv") == 0
    ids = pd.read_csv("out/batches/00001.csv").cluster
    os.remove("y.csv")
    assert run("split", "out", 2) == 0
    said = capsys.readouterr().err
    assert f"{np.sum(ids == 2)} samples of y.csv stay in cluster 2, which is split by" in said
    assert pd.read_csv("out/batches/00001.csv").cluster.tolist() == ids.tolist()
    os.remove("x.csv")
    before = contents(out)
    assert run("split", "out", 2) == 2
    assert "cluster 2 cannot be split: the input" in capsys.readouterr().err
    assert contents(out) == before


def test_merged_clusters_of_a_stream_have_both_names_and_new_ids_in_all_tables(out):
    assert run("update", "out", "y.csv") == 0
    names = onmf.load(out / "stream.onmf").cluster_names_
    old = [pd.read_csv(f"out/{table}.csv").cluster for table in ("labels", "batches/00001")]
    assert run("merge", "out", 3, 1) == 0
    for before, table in zip(old, ("labels", "batches/00001"), strict=True):
        now = pd.read_csv(f"out/{table}.csv")
        assert now.cluster.tolist() == [3 if i == 1 else i for i in before]
        assert {*now.name[now.cluster == 3]} == {f"{names[3]} + {names[1]}"}


def test_messages_are_in_the_words_of_the_reader(out, capsys):
    words = {0: "moon star planet orbit", 1: "gene cell protein enzyme", 2: "goal match team ball"}
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(words[i % 3].split(), 9)) for i in range(90)]
    (out.parent / "t.txt").write_text("\n".join(texts))
    (out.parent / "u.txt").write_text("\n".join(texts[::-2]))
    assert run("cluster", "t.txt", "--text", "-k", 3, "-o", "topics") == 0
    assert run("rename", "topics", 2, "Sky") == 0
    assert run("merge", "topics", 2, 0) == 0
    assert run("split", "topics", 2) == 0
    assert run("predict", "topics", "u.txt", "-o", "p.csv") == 0
    assert run("report", "topics") == 0
    for line in (("rename", 9, "x"), ("merge", 2, 9), ("split", 9), ("split", 2, "-k", 80)):
        assert run(line[0], "topics", *line[1:]) == 2
    assert run("update", "topics", "u.txt") in (0, 9)
    assert run("merge", "topics", 2, 1) == 0
    assert run("update", "topics", "--undo") == 2
    assert run("status", "topics") == 0
    said = capsys.readouterr()
    printed = said.out.partition("Topics of")[2] + said.err
    assert "Topic 2 is now called Sky." in printed
    assert "Merged 0 into 2: 60 documents, 2 topics." in printed
    assert "there is no topic 9: the ids are 1, 2, 3." in printed
    assert "topics were merged or split after it" in printed
    for own in ("cluster", "sample", "feature"):
        assert own not in re.sub(r"onmf cluster|clusters\.csv|top_features\.csv", "", printed)


def test_an_edit_after_the_last_batch_keeps_it(out, capsys):
    assert run("update", "out", "y.csv") == 0
    assert run("merge", "out", 3, 1) == 0
    assert run("update", "out", "--undo") == 2
    assert "y.csv can no longer be taken out: clusters were merged" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("merge", "out", 3, 9), "there is no cluster 9: the ids are 0, 1, 2, 3."),
        (("merge", "out", 3), "merge needs two clusters or more"),
        (("split", "out", 7), "there is no cluster 7: the ids are 0, 1, 2, 3."),
        (("split", "out", 1, "-k", 1), "'1' is not N or auto"),
        (("split", "out", 1, "-k", 5000), "cannot be split into 5000"),
        (("split", "out", 1, "-k", "auto"), "nothing shows that cluster 1 has separate parts"),
    ],
)
def test_what_is_refused_changes_nothing(out, capsys, words, said):
    before = contents(out)
    assert run(*words) == 2
    assert said in capsys.readouterr().err
    assert contents(out) == before


def contents(folder):
    return {p.name: p.read_bytes() for p in folder.iterdir() if p.is_file()}


def killed_at(number, words):
    """Run the command in another process, which ends like a killed one before its n-th write."""
    child = os.fork()
    if child:
        return os.waitpid(child, 0)[1] != 0
    calls = 0

    def dying(action):
        def count(*arguments):
            nonlocal calls
            calls += 1
            if calls == number:
                os._exit(9)
            return action(*arguments)

        return count

    output._write, output.rename = dying(output._write), dying(output.rename)
    os._exit(0 if run(*words) == 0 else 1)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
@pytest.mark.parametrize("words", [("merge", "copy", 3, 1), ("split", "copy", 2)])
def test_a_killed_command_leaves_the_run_as_it_was_or_done(out, words):
    copy = out.with_name("copy")
    before, old = contents(out), clusters()
    outcomes, checked = [], []
    for number in range(1, 60):
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(out, copy)
        if not killed_at(number, words):
            break
        finish_replacement(copy)  # as any later command does
        now = contents(copy)
        if now not in checked:
            checked.append(now)
            assert run("explain", "copy") == 0
            assert run("predict", "copy", "x.csv", "-o", "p.csv", "--force") == 0
            np.testing.assert_array_equal(pd.read_csv("p.csv").cluster, clusters("copy"))
        unchanged = np.array_equal(clusters("copy"), old)
        outcomes.append(unchanged)
        if unchanged:
            assert {name: now[name] for name in before} == before
    assert outcomes[0]
    assert not outcomes[-1]
    assert outcomes == sorted(outcomes, reverse=True)  # one moment decides
    assert len(outcomes) > 10


def listing(folder):
    """The files of a folder and when they were written."""
    seen = set()
    for path in folder.iterdir():
        with suppress(FileNotFoundError):
            if path.suffix != ".lock":
                seen.add((path.name, path.stat().st_mtime_ns))
    return seen


def state(folder):
    """What a person sees of a run: ids and names in all tables, and in the model."""
    stream = folder / "stream.onmf"
    model = onmf.load(stream if stream.exists() else folder / "model.onmf")
    tables = {
        path.name: pd.read_csv(path)[["cluster", "name"]].to_numpy().tolist()
        for path in (folder / "labels.csv", *folder.glob("batches/*.csv"))
    }
    samples = pd.read_csv("x.csv", index_col=0)
    return model.cluster_names_, model.predict(samples).tolist(), tables


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("words", [("merge", 3, 1), ("split", 2), ("rename", 1, "New")])
def test_a_process_killed_at_work_leaves_the_old_run_or_the_new_one(out, words, stream):
    if stream:
        assert run("update", "out", "y.csv") == 0
    copy, done = out.with_name("copy"), out.with_name("done")
    shutil.copytree(out, done)
    assert run(words[0], "done", *words[1:]) == 0
    old, new, rng = state(out), state(done), np.random.default_rng()
    assert old != new
    for _ in range(5):
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(out, copy)
        child = os.fork()
        if not child:
            os._exit(run(words[0], "copy", *words[1:]))
        stop, first = time.monotonic() + 60, listing(copy)
        while time.monotonic() < stop and listing(copy) == first:  # until it begins to write
            if os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                break
        time.sleep(0.02 * rng.random())
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        assert run("predict", "copy", "x.csv", "-o", "p.csv", "--force") == 0
        if stream:
            assert run("update", "copy") == 0  # completes what was left to do
        assert state(copy) in (old, new)
        assert run("status", "copy") == 0
        assert run("rename", "copy", 0, "Again") == 0
        assert not [*copy.glob(".*next*")]


@pytest.mark.slow
def test_texts_and_cells(out, tmp_path):
    words = {0: "moon star planet orbit", 1: "gene cell protein enzyme", 2: "goal match team ball"}
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(words[i % 3].split(), 9)) for i in range(90)]
    with open("t.csv", "w", newline="") as file:
        csv.writer(file).writerows([["text"], *([text] for text in texts)])
    assert run("cluster", "t.csv", "--text-column", "text", "-k", 3, "-o", "topics") == 0
    assert run("merge", "topics", 2, 0) == 0
    assert run("split", "topics", 2) == 0
    anndata = pytest.importorskip("anndata")
    anndata.AnnData(np.round(10 * X)).write_h5ad("c.h5ad")
    assert run("cluster", "c.h5ad", "-k", 4, "-o", "cells", "--raw") == 0
    assert run("merge", "cells", 2, 0) == 0
    assert run("split", "cells", 2) == 0
    assert {*clusters("cells").tolist()} == {1, 2, 3, 4}
