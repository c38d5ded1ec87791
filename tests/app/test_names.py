"""Names that others chose: through the commands, into files and onto the terminal."""

import csv
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from onmf.datasets import make_rays

pytest.importorskip("click")
pytest.importorskip("rich")

from command_line import run
from onmf_app.read import read_input

COUNTS = np.round(20 * make_rays(30, 6, 3, noise=0.05, random_state=0)[0])
GENES = ["=1+1", "@SUM(A1)", "+x", "-y", "plain", "\x1b[31mred"]
CELLS = ["=HYPERLINK(1)", *(f"cell{i}" for i in range(29))]


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pd.DataFrame(COUNTS, CELLS, GENES).to_csv("x.csv")


def cells(name):
    with open(name, encoding="utf-8", newline="") as file:
        return [cell for row in csv.reader(file) for cell in row]


def test_no_file_of_a_run_has_a_formula():
    assert run("cluster", "x.csv", "-k", 3, "-o", "out") == 0
    assert run("predict", "out", "x.csv", "-o", "new.csv") == 0
    assert run("edit", "out", "--rename", "0==1+1") == 0
    files = ("labels.csv", "clusters.csv", "markers.csv", "centers.csv")
    for name in (*(f"out/{file}" for file in files), "new.csv"):
        assert not [cell for cell in cells(name) if cell[:1] in ("=", "+", "-", "@")]
    assert read_input("out/centers.csv").features[-6:] == GENES


def test_no_name_steers_the_terminal(capsys):
    Path("a\x1b[2Jb.csv").write_text(Path("x.csv").read_text())
    Path("bad.csv").write_text("id,\x1b[31mred\ns,1\nt,\x1b[2Jx\n")
    assert run("cluster", "a\x1b[2Jb.csv", "-k", 3, "-o", "out\x1b[1m") == 0
    assert run("cluster", "bad.csv", "-k", 1, "-o", "bad") == 2
    assert run("cluster", "no\x1b[2J.csv", "-k", 1, "-o", "bad") == 2
    printed = capsys.readouterr()
    assert "\x1b[2J" not in printed.out + printed.err
    assert "\x1b[31m" not in printed.out + printed.err
    assert "\\x1b[1m" in printed.out


def test_documents_behind_links_need_leave(capsys):
    Path("secret.txt").write_text("secret words of somebody else")
    talks = Path("talks")
    talks.mkdir()
    for i in range(12):
        (talks / f"{i}.txt").write_text(["stars moon", "genes cells", "goal match"][i % 3] * 2)
    (talks / "link.txt").symlink_to(Path("secret.txt").resolve())
    words = ("cluster", "talks", "--text", "-k", 3, "-o", "out", "--set", "prepare.min_df=1")
    assert run(*words) == 2
    assert "links to files outside it: link.txt" in capsys.readouterr().err
    assert run(*words, "--set", "read.follow_links=true") == 0


@pytest.mark.parametrize("k", ["1_0", "٣", "2:1_0"])
def test_a_number_of_clusters_is_a_number(k, capsys):
    assert run("cluster", "x.csv", "-k", k, "-o", "out") == 2
    assert "is not K or LOW:HIGH or auto" in capsys.readouterr().err
