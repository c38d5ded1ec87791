"""Seed words: `--seeds`, `cluster_texts(seeds=)` and `labels_by_seeds`."""

import csv
import json

import numpy as np
import pandas as pd
import pytest

import onmf
from onmf.prepare import labels_by_seeds
from onmf_app import main

WORDS = {
    "sky": ["moon", "star", "planet", "orbit"],
    "life": ["gene", "cell", "protein", "enzyme"],
    "sport": ["goal", "match", "team", "ball"],
}


def documents(n=120):
    rng = np.random.default_rng(0)
    common = ["time", "people", "report", "number"]
    names = [[*WORDS][i % 3] for i in range(n)]
    texts = [" ".join([*rng.choice(WORDS[t], 5), *rng.choice(common, 5)]) for t in names]
    return texts, np.array(names)


def test_by_definition():
    X = [[2, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 3], [1, 0, 0, 0], [0, 0, 0, 0]]
    names, seeds = ["Moon", "star", "gene", "cell"], {"a": ["moon", "STAR"], "b": ["gene", "cell"]}
    assert labels_by_seeds(X, names, seeds) == ["a", "", "b", "", ""]
    with pytest.raises(ValueError, match="no seed of c is a feature: sun, moons do not occur"):
        labels_by_seeds(X, names, seeds | {"c": ["sun", "moons"]})
    with pytest.raises(ValueError, match="no sample has 2 seeds of c"):
        labels_by_seeds(X, names, {"c": ["moon", "cell"], "b": ["gene", "cell"]})


def test_topics_get_the_names_of_their_seeds():
    texts, truth = documents()
    seeds = {"stars": ["moon", "planet"], "games": ["goal", "team"]}
    model = onmf.cluster_texts(texts, 3, seeds=seeds)
    found = np.array([model.cluster_names_[k] for k in model.cluster_ids_[model.labels_]])
    assert np.mean(found[truth == "sky"] == "stars") > 0.9
    assert np.mean(found[truth == "sport"] == "games") > 0.9
    assert not {*found[truth == "life"]} & {"stars"}


def test_the_command(tmp_path, monkeypatch, capsys, plain_pages):
    monkeypatch.chdir(tmp_path)
    texts, truth = documents()
    with open("t.csv", "w", newline="") as file:
        csv.writer(file).writerows([["text"], *([text] for text in texts)])
    lines = "# topics\nstars: moon planet\n\nliving things: gene, cell\ngames: goal team\n"
    (tmp_path / "seeds.txt").write_text(lines)
    command = ["cluster", "t.csv", "--text-column", "text", "-o", "out", "--seeds", "seeds.txt"]
    assert main([*command]) == 0
    model = onmf.load("out/model.onmf")
    assert [*model.cluster_names_.values()] == ["stars", "living things", "games"]
    clusters = pd.read_csv("out/labels.csv").cluster
    assert np.mean(clusters[truth == "life"] == 1) > 0.9
    assert json.loads((tmp_path / "out" / "run.json").read_text())["seeds"]["games"]
    for text, said in [("games goal", "line 1: expected"), ("a: b\na: c", "line 2: 'a' occurs")]:
        (tmp_path / "seeds.txt").write_text(text)
        assert main([*command, "--force"]) == 2
        assert said in capsys.readouterr().err
