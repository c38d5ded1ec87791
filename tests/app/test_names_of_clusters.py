"""Names of clusters and texts of samples in the files of a run: the same everywhere, and safe."""

import csv
import json
from pathlib import Path

import pandas as pd
import pytest

from command_line import run
from onmf import load
from onmf_app.runs import sheets

POLITICS = "his party and the prime minister, of the élection the vote"
SPORT = "a goal in the match of the world cup, the team and its player"
MONEY = "the bank raises interest rates while stock prices and profits fall"


@pytest.fixture
def texts(here):
    rows = [f"{text} {' '.join(text.split()[i % 5 :])}" for text in (POLITICS, SPORT, MONEY)
            for i in range(8)]  # fmt: skip
    frame = pd.DataFrame({"text": rows, "year": [2001 + i % 3 for i in range(24)]})
    frame.to_csv("a.csv", index_label="id")
    words = ["cluster", "a.csv", "--text-column", "text", "--id-column", "id", "-k", 3, "-o", "out"]
    assert run(*words) == 0
    return frame


def labels(path="out/labels.csv"):
    with open(path, encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def test_topics_are_called_by_pairs_of_words_that_stand_together(texts):
    by_text = {row["text"][:12]: row["name"] for row in labels()}
    assert "world cup" in by_text[SPORT[:12]]
    assert "prime minister" in by_text[POLITICS[:12]]
    record = json.loads(Path("out/run.json").read_text())
    names = {int(row["cluster"]): row["name"] for row in labels()}
    assert record["results"]["cluster_names"] == [names[i] for i in range(3)]
    assert load("out/model.onmf").cluster_names_ == names


def test_labels_have_the_text_and_open_in_a_spreadsheet(texts):
    start = b"\xef\xbb\xbfsample,cluster,name,probability,distance,unusual,text"
    assert Path("out/labels.csv").read_bytes().startswith(start)
    assert [row["text"] for row in labels()] == texts.text.tolist()


@pytest.mark.slow
def test_a_long_text_is_cut_where_a_spreadsheet_would_cut_it_and_can_be_read_again(here):
    long = "word " * 30_000
    Path("a.csv").write_text("text\n" + "\n".join([long, "other thing"] * 4) + "\n")
    assert run("cluster", "a.csv", "--text-column", "text", "-k", 2, "-o", "out") == 0
    assert {len(row["text"]) for row in labels()} == {32_767, 11}
    assert run("edit", "out", "--rename", "0=x") == 0


def test_a_table_without_other_characters_has_no_mark():
    assert sheets.csv_text(["a"], [["b"]]) == "a\nb\n"
    assert sheets.csv_text(["a"], [["é"]]) == "\ufeffa\né\n"
