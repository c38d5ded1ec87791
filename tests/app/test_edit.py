"""`onmf edit` and `onmf update`: a run with other clusters or more samples, or as it was."""

import json
import os
import re
import shutil

import numpy as np
import pandas as pd
import pytest

import onmf
from command_line import ask, labels, run
from onmf.datasets import make_rays
from onmf.files import output
from onmf.files.output import finish_replacement

X = make_rays(360, 16, 4, noise=0.2, random_state=0)[0]


def table(X, name, first=0):
    names = [f"s{first + i}" for i in range(len(X))]
    pd.DataFrame(X, names, [f"g{j}" for j in range(X.shape[1])]).to_csv(name)


def clusters(folder="out"):
    return labels(f"{folder}/labels.csv").cluster.to_numpy()


def record(folder="out"):
    with open(f"{folder}/run.json") as file:
        return json.load(file)


def contents(folder):
    return {p.name: p.read_bytes() for p in folder.iterdir() if p.is_file()}


@pytest.fixture
def out(here):
    table(X[:300], "x.csv")
    table(X[300:], "y.csv", 300)
    assert run("cluster", "x.csv", "-k", 4, "-o", "out") == 0
    return here / "out"


def test_nothing_else_moves(out):
    before = clusters()
    assert run("edit", "out", "--merge", "3,1") == 0
    merged = np.where(before == 1, 3, before)
    np.testing.assert_array_equal(clusters(), merged)
    assert run("edit", "out", "--split", "2=3") == 0
    now = clusters()
    np.testing.assert_array_equal(now[before != 2], merged[before != 2])
    assert {*now[before == 2].tolist()} == {2, 4, 5}
    assert run("predict", "out", "x.csv", "-o", "again.csv") == 0
    np.testing.assert_array_equal(labels("again.csv").cluster, now)
    first, second = record()["lineage"]
    assert (first["merged"], second["split"]) == ([[1, 3]], [[2, 4], [2, 5]])
    assert record()["results"]["cluster_ids"] == [0, 2, 3, 4, 5]
    assert {*pd.read_csv("out/markers.csv").cluster} == {0, 2, 3, 4, 5}
    assert run("cluster", "x.csv", "--like", "out", "-o", "next") == 0
    assert {*clusters("next").tolist()} == {0, 2, 3, 4, 5}


def test_all_that_is_asked_for_is_done_in_one_go(out, capsys):
    words = ("--rename", "3=Motor sport", "--merge", "3,1", "--split", "2", "--rename", "4=New")
    assert run("edit", "out", *words) == 0
    printed = capsys.readouterr().out
    assert "Cluster 3 Motor sport: 147 samples" in printed
    assert {*clusters().tolist()} == {0, 2, 3, 4}
    assert onmf.load(out / "model.onmf").names[4] == "New"
    assert [len(entry["split"]) for entry in record()["lineage"]] == [0, 1]


def test_a_name_stays_through_every_command(out):
    evil = "=Motor </script> sport"
    assert run("edit", "out", "--rename", f"1={evil}") == 0

    def same(path):  # as a spreadsheet is told
        found = labels(path)
        return {*found.name[found.cluster == 1]} == {f"'{evil}"}

    assert same("out/labels.csv")
    assert onmf.load("out/model.onmf").names[1] == evil
    assert record()["results"]["cluster_names"][1] == evil
    assert run("predict", "out", "y.csv", "-o", "new.csv") == 0
    assert same("new.csv")
    assert run("cluster", "x.csv", "--like", "out", "-o", "next") == 0
    assert same("next/labels.csv")
    assert run("update", "out", "y.csv") == 0
    assert same("out/labels.csv")
    assert run("edit", "out", "--rename", "1=") == 0
    assert not same("out/labels.csv")


def test_samples_old_and_new_are_clustered_together(out, capsys):
    assert run("edit", "out", "--rename", "2=Second") == 0
    before = clusters()
    assert run("update", "out", "y.csv") == 0
    together = labels()
    assert [*together.index] == [f"s{i}" for i in range(360)]
    assert np.mean(together.cluster[:300] == before) > 0.95
    assert {*together.name[together.cluster == 2]} == {"Second"}
    known = onmf.ONMF(init=onmf.load(out / "model.onmf").onmf).fit(X)
    np.testing.assert_array_equal(known.cluster_ids_[known.labels_], together.cluster)
    assert record()["lineage"][-1]["kept"] == [0, 1, 2, 3]
    assert [one["path"] for one in record()["inputs"]] == ["../x.csv", "../y.csv"]
    said = ask(capsys, "update", "out", "y.csv", code=2)
    assert "is an input of the run already" in said
    assert run("edit", "out", "--split", "2") == 0  # the samples of both
    assert len(labels()) == 360
    table(X[:40] * 1.5, "z.csv", 900)
    assert run("update", "out", "z.csv", "-k", 6) == 0
    assert record()["lineage"][-1]["born"] == [5]
    assert len(labels()) == 400


def test_new_samples_that_do_not_fit_change_nothing(out, capsys):
    before = contents(out)
    pd.read_csv("y.csv", index_col=0).drop(columns="g3").to_csv("few.csv")
    table(X[300:] * 2, "same.csv", 250)
    for name, said in (
        ("few.csv", "lack 1 of 16 features: 'g3'."),
        ("same.csv", "'s250'"),
        ("out/run.json", "run.json"),
    ):
        assert said in ask(capsys, "update", "out", name, code=2)
    assert contents(out) == before


@pytest.mark.parametrize("how", ["gone", "changed"])
def test_without_the_old_input_the_clusters_move_by_the_new_one_alone(out, capsys, how):
    """And nothing is read that is not what the run has seen."""
    before = labels()
    os.rename("x.csv", "gone.csv")
    if how == "changed":
        table(X[:300] * 2, "x.csv")
    said = ask(capsys, "update", "out", "y.csv")
    assert f"x.csv {'no longer exists' if how == 'gone' else 'has changed'}" in said
    found = labels()
    pd.testing.assert_frame_equal(found[:300], before)
    assert [*found.index[300:]] == [*pd.read_csv("y.csv", index_col=0).index]
    assert len(record()["inputs"]) == 2
    assert "put it back" in ask(capsys, "edit", "out", "--merge", "0,1", code=2) or how == "changed"


def test_documents_are_added(here):
    words = {0: "moon star planet orbit", 1: "gene cell protein enzyme", 2: "goal match team ball"}
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(words[i % 3].split(), 9)) for i in range(90)]
    (here / "t.txt").write_text("\n".join(texts[:60]))
    (here / "u.txt").write_text("\n".join(texts[60:]))
    assert run("cluster", "t.txt", "--text", "-k", 3, "-o", "topics") == 0
    assert run("update", "topics", "u.txt") == 0
    found = labels("topics/labels.csv")
    assert [*found.index] == [str(i) for i in range(1, 91)]
    assert found.text.tolist() == texts
    for group in range(3):
        assert found.cluster[group::3].nunique() == 1
    for folder in ("talks", "more"):  # files of the same names, with other texts
        (here / folder).mkdir()
        for i, text in enumerate(texts[:45] if folder == "talks" else texts[45:]):
            (here / folder / f"{i}.txt").write_text(text)
    assert run("cluster", "talks", "-k", 3, "-o", "folders") == 0
    assert run("update", "folders", "more") == 0
    found = labels("folders/labels.csv")
    assert {"7.txt", "more/7.txt"} < {*found.index}
    assert len(found) == 90


def test_what_was_dropped_need_not_be_there_again(out):
    frame = pd.read_csv("x.csv", index_col=0)
    frame.assign(age=7.5, kind=np.arange(300) % 3).to_csv("w.csv")
    assert run("cluster", "w.csv", "-k", 4, "-o", "w", "--drop", "age", "--labels", "kind") == 0
    assert run("update", "w", "y.csv") == 0
    assert len(labels("w/labels.csv")) == 360
    assert record("w")["results"]["scores"] is None


def test_messages_are_in_the_words_of_the_reader(here, capsys):
    words = {0: "moon star planet orbit", 1: "gene cell protein enzyme", 2: "goal match team ball"}
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(words[i % 3].split(), 9)) for i in range(90)]
    (here / "t.txt").write_text("\n".join(texts))
    assert run("cluster", "t.txt", "--text", "-k", 3, "-o", "topics") == 0
    capsys.readouterr()
    assert run("edit", "topics", "--merge", "2,0", "--split", "2", "--rename", "2=Sky") == 0
    for line in (("--rename", "9=x"), ("--merge", "2,9"), ("--split", 9), ("--split", "2=80")):
        assert run("edit", "topics", *line) == 2
    said = capsys.readouterr()
    assert "Topic 2 Sky: " in said.out
    assert "there is no topic 9: the ids are 1, 2, 3." in said.err
    for own in ("cluster", "sample", "feature"):
        assert own not in said.out + said.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "add --rename, --merge or --split"),
        (("--merge", "3,9"), "there is no cluster 9: the ids are 0, 1, 2, 3."),
        (("--merge", "3"), "merge needs two clusters or more"),
        (("--merge", "3;1"), "'3;1' is not ID,ID,..."),
        (("--split", 7), "there is no cluster 7: the ids are 0, 1, 2, 3."),
        (("--split", "1=1"), "n_clusters must be"),
        (("--split", "1=5000"), "cannot be split into 5000"),
        (("--split", "1=auto"), "nothing shows that cluster 1 has separate parts"),
        (("--rename", "name"), "'name' is not ID=NAME"),
        (("--rename", "7=x"), "there is no cluster 7: the ids are 0, 1, 2, 3."),
        (("--merge", "3,1", "--split", "9"), "there is no cluster 9"),
    ],
)
def test_what_is_refused_changes_nothing(out, capsys, words, said):
    before = contents(out)
    assert said in ask(capsys, "edit", "out", *words, code=2)
    assert contents(out) == before


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
    code = 1
    try:
        code = run(*words)
    finally:  # whatever happens, no second process goes on with the tests
        os._exit(code)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
@pytest.mark.parametrize("words", [("edit", "copy", "--merge", "3,1"), ("update", "copy", "y.csv")])
def test_a_killed_command_leaves_the_run_as_it_was_or_done(out, words):
    copy = out.with_name("copy")
    before, old = contents(out), labels()
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
            assert run("predict", "copy", "x.csv", "-o", "p.csv", "--force") == 0
            found = labels("copy/labels.csv")
            np.testing.assert_array_equal(labels("p.csv").cluster, found.cluster[:300])
        unchanged = found.equals(old)
        outcomes.append(unchanged)
        if unchanged:
            assert {name: now[name] for name in before} == before
    assert outcomes[0]
    assert not outcomes[-1]
    assert outcomes == sorted(outcomes, reverse=True)  # one moment decides
    assert len(outcomes) > 10


@pytest.mark.slow
def test_cells_are_edited(out):
    anndata = pytest.importorskip("anndata")
    anndata.AnnData(np.round(10 * X)).write_h5ad("c.h5ad")
    assert run("cluster", "c.h5ad", "-k", 4, "-o", "cells", "--raw") == 0
    assert run("edit", "cells", "--merge", "2,0", "--split", "2") == 0
    assert {*clusters("cells").tolist()} == {1, 2, 3, 4}


def test_one_sentence_on_each_cluster(out, capsys):
    capsys.readouterr()
    assert run("edit", "out", "--merge", "0,1") == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert sum(int(re.search(r"(\d+) samples$", line)[1]) for line in lines) == 300
