"""Texts as people have them: tables, stop words, other scripts, mails and pages."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.feature_extraction.text import CountVectorizer

from cases import few
from onmf import ONMF, load, metrics

pytest.importorskip("click")
pytest.importorskip("rich")

from command_line import ask, labels, run
from onmf.prepare.texts import PAIRS

pytestmark = pytest.mark.usefixtures("here")

TOPICS = ["stars planets moons orbit", "genes cells protein tissue", "goals match players league"]
TEXTS = [
    'Any text,\nwithout "where" '
    + " ".join(np.random.default_rng(i).choice(TOPICS[i % 3].split(), 6))
    for i in range(45)
]
IDS = [f"doc{i}" for i in range(45)]
FRAME = pd.DataFrame({"key": IDS, "title": "a title", "body": TEXTS, "kind": np.arange(45) % 3})


def top_words():
    """The features with weight in some centroid, of the 20 largest of each."""
    centers = pd.read_csv("out/centers.csv", index_col="cluster")
    return {name for _, row in centers.iterrows() for name in row[row > 0].nlargest(20).index}


TABLES = {
    "docs.csv": lambda: FRAME.to_csv("docs.csv", index=False),
    "docs.tsv": lambda: FRAME.to_csv("docs.tsv", index=False, sep="\t"),
    "docs.csv.gz": lambda: FRAME.to_csv("docs.csv.gz", index=False),
    "docs.jsonl": lambda: FRAME.to_json("docs.jsonl", orient="records", lines=True),
    "docs.parquet": lambda: FRAME.to_parquet("docs.parquet"),
    "docs.xlsx": lambda: FRAME.to_excel("docs.xlsx", index=False),
}


@pytest.mark.parametrize("name", few(TABLES))
def test_texts_are_a_column_of_a_table_and_rows_are_not_lines(page, capsys, name):
    if name.endswith("xlsx"):
        pytest.importorskip("openpyxl")
    TABLES[name]()
    words = ["cluster", name, "-k", 3, "-o", "out"]
    said = ask(capsys, *words, "--text", code=2)
    assert "is a table: name the column of texts with --text-column" in said
    assert "Its columns are key, title, body, kind" in said
    columns = ["--text-column", "body", "--id-column", "key", "--labels", "kind"]
    assert ask(capsys, *words, *columns) == ""
    found = labels()
    assert found.index.tolist() == IDS
    assert metrics.clustering_accuracy(FRAME.kind, found.cluster) == 1
    assert page[0].truth == FRAME.kind.astype(str).tolist()
    assert page[0].samples[7] == "doc7"
    assert page[0].texts[7].startswith("Any text,\nwithout")
    Path("new.jsonl").write_text(json.dumps({"body": "moons, planets", "key": "x"}))
    assert run("predict", "out", "new.jsonl", "-o", "new.csv", *columns[:4]) == 0
    assert labels("new.csv").cluster["x"] == found.cluster["doc0"]
    assert "has no column 'text'" in ask(capsys, *words[:-1], "o2", "--text-column", "text", code=2)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("x.jsonl", '{"body": "a"}\nno', "x.jsonl is not JSON in line 2"),
        ("x.jsonl", "[1]\n", "no JSON object in line 1"),
        ("x.csv", "key,body\na,b,c\n", "3 cells in line 2 but 2 in its header"),
        ("x.csv", "key,body\na,word\na,word\n", "documents of the same name: 'a'"),
    ],
)
def test_a_table_of_texts_that_is_none_is_refused(capsys, name, text, said):
    Path(name).write_text(text)
    words = ["cluster", name, "-k", 2, "-o", "out", "--text-column", "body", "--id-column", "key"]
    words = words[:-2] if name.endswith("jsonl") else words
    assert said in ask(capsys, *words, code=2)


def test_arrays_have_no_texts(capsys):
    np.save("x.npy", np.eye(3))
    assert "has no texts" in ask(capsys, "cluster", "x.npy", "--text", "-k", 2, "-o", "o", code=2)


def plain(n=45):
    """The texts as lines."""
    lines = [text.replace("\n", " ") for text in TEXTS[:n]]
    Path("x.txt").write_text("\n".join(lines))
    return lines


def cluster(*words):
    options = ["--text", "-k", 3, "-o", "out", "--force", "--max-df", 1]
    assert run("cluster", "x.txt", *options, *words) == 0


def test_common_words_lead_no_topic_unless_they_are_asked_for():
    plain()
    cluster()
    assert not {"any", "without", "where"} & top_words()
    cluster("--stop-words", "none")
    assert {"any", "without", "where"} <= top_words()
    Path("stop.txt").write_text("moons\nText\nany\n")
    cluster("--stop-words", "stop.txt")
    assert {"where"} <= top_words()
    assert not {"moons", "text", "any"} & top_words()


def test_stop_words_of_languages_are_known_and_others_refused(capsys):
    Path("x.txt").write_text("der Mond und die Sterne\nder Mond und die Erde\n" * 5)
    cluster("--stop-words", "german", "-k", 2)
    assert top_words() == {"mond", "sterne", "erde"}
    said = ask(
        capsys, "cluster", "x.txt", "--text", "-k", 2, "-o", "o", "--stop-words", "klingon", code=2
    )
    assert "english, german, french, spanish, none, or a file" in said


def test_rows_of_words_patterns_and_shares_are_scikit_learns_and_kept_for_new_texts():
    texts = plain()
    pattern = r"(?u)\b[a-z]{4,}\b"
    words = ["--ngrams", "1:2", "--token-pattern", pattern, "--min-df", "0.1"]
    cluster(*words)
    theirs = CountVectorizer(
        ngram_range=(1, 2), token_pattern=pattern, min_df=0.1, stop_words="english"
    ).fit(texts)
    model = ONMF(3, loss="kl", random_state=0).fit(theirs.transform(texts))
    np.testing.assert_array_equal(labels().cluster, model.labels_)
    np.testing.assert_allclose(load("out/model.onmf").cluster_centers_, model.cluster_centers_)
    assert run("predict", "out", "x.txt", "-o", "again.csv") == 0
    pd.testing.assert_frame_equal(labels("again.csv"), labels())


@pytest.mark.parametrize(
    "words", [["--ngrams", "2"], ["--ngrams", "2:1"], ["--min-df", "0"], ["--min-df", "1.5"],
              ["--token-pattern", "(["]]
)  # fmt: skip
def test_other_words_for_words_are_refused(capsys, words):
    plain()
    said = ask(capsys, "cluster", "x.txt", "--text", "-k", 2, "-o", "out", *words, code=2)
    assert said.startswith("Error: ")


def test_scripts_without_spaces_are_told_what_to_do(capsys):
    stars, food = "星星月亮太阳行星轨道", "面包牛奶黄油鸡蛋米饭"
    rng = np.random.default_rng(0)
    lines = ["".join(rng.choice(list([stars, food][i % 2]), 20)) for i in range(40)]
    Path("x.txt").write_text("\n".join(lines), encoding="utf-8")
    words = ["cluster", "x.txt", "--text", "-k", 2, "-o", "out"]
    said = ask(capsys, *words, code=2)  # no word is in two documents
    assert "use --characters, which counts pairs of characters" in said
    assert ask(capsys, *words, "--characters") == ""
    assert metrics.clustering_accuracy(np.arange(40) % 2, labels().cluster) == 1
    assert all(len(word) == 2 for word in top_words())
    assert json.loads(Path("out/run.json").read_text())["source"]["pattern"] == PAIRS


def test_mails_and_pages_are_stripped_unless_they_are_to_stay(capsys, page):
    Path("mails").mkdir()
    for i, text in enumerate(TEXTS):
        mail = f"<p class='markup'>From: sender\nSubject: header\n\n{text}<script>code()</script>"
        Path("mails", f"{i:02}.txt").write_text(f"{mail} https://host.org/path me@host.org 12 __")
    words = ["cluster", "mails", "--text", "-k", 3, "-o", "out", "--max-df", 1, "--force"]
    said = ask(capsys, *words)
    assert "HTML was removed from 45 and mail headers from 45 of the texts; --strip none" in said
    noise = {"sender", "header", "markup", "script", "code", "host", "org", "https", "12", "__"}
    words_of_model = set(load("out/model.onmf").feature_names_in_)
    assert words_of_model == {"text", *" ".join(TOPICS).split()}
    assert page[0].samples[0] == "00.txt"
    assert page[0].texts[0].startswith("Any text,\nwithout")
    topics = [int(name.removesuffix(".txt")) % 3 for name in labels().index]
    assert metrics.clustering_accuracy(topics, labels().cluster) == 1
    assert run("predict", "out", "mails", "-o", "again.csv") == 0
    pd.testing.assert_frame_equal(labels("again.csv"), labels())
    said = ask(capsys, *words, "--strip", "none")
    assert "removed" not in said
    assert noise - {"12", "__"} <= set(load("out/model.onmf").feature_names_in_)


def test_empty_texts_stay_with_label_minus_one(capsys):
    FRAME.assign(body=[None if i % 9 == 4 else text for i, text in enumerate(TEXTS)]).to_csv(
        "x.csv"
    )
    words = ["cluster", "x.csv", "--text-column", "body", "-k", 3, "-o", "out"]
    assert "5 of the 45 texts are empty; they get label -1." in ask(capsys, *words)
    assert labels().index.tolist() == [str(i) for i in range(1, 46)]
    assert np.flatnonzero(labels().cluster == -1).tolist() == [4, 13, 22, 31, 40]


@pytest.mark.parametrize("how", [[], ["--outliers", "1"]])
def test_copies_are_named_and_can_be_fitted_once(capsys, how):
    copy = "moons and a text of its own: zebra, giraffe, hippo, zebra, giraffe, hippo"
    lines = [*plain(), *[copy] * 30, copy.replace(" ", "  ")]
    Path("x.txt").write_text("\n".join(lines))
    words = ["cluster", "x.txt", "--text", "-k", 3, "-o", "out", "--force", *how]
    said = ask(capsys, *words)
    assert (
        "30 of the texts are copies; 'moons and a text of its own: zebra, giraffe, ...' occurs 31"
        in said
    )
    assert labels().cluster[45:].nunique() == 1
    assert "zebra" in top_words()
    said = ask(capsys, *words, "--duplicates", "first")
    assert "One of each takes part in the fit." in said
    found = labels().cluster
    assert found.index.tolist() == [str(i) for i in range(1, 77)]
    assert "zebra" not in set(load("out/model.onmf").feature_names_in_)  # it is in one text
    assert found[45:].nunique() == 1
    distinct = dict.fromkeys(" ".join(line.split()) for line in lines)
    Path("x.txt").write_text("\n".join(distinct))
    ask(capsys, *words)
    alone = dict(zip(distinct, labels().cluster, strict=True))
    assert found.tolist() == [alone[" ".join(line.split())] for line in lines]
    if not how:
        Path("x.txt").write_text("\n".join(lines))
        assert run(*words[:4], "2:4", *words[5:9], "--duplicates", "first") == 0
        scales = labels("out/scales.csv")
        assert len(scales) == len(lines)
        assert scales[45:].nunique().tolist() == [1] * scales.shape[1]
        Path("x.txt").write_text("\n".join(lines))
        ask(capsys, *words, "--duplicates", "first")
        before = labels()
        assert run("edit", "out", "--rename", "0=") == 0  # reads the run again
        pd.testing.assert_frame_equal(labels(), before)


def test_texts_in_another_language_are_told_which_stop_words_to_use(capsys):
    lines = ["der Mond und die Sterne sind nicht auf der Erde", "die Gene und das Erbgut der Maus"]
    Path("x.txt").write_text("\n".join(f"{line} {i % 7}" for i, line in enumerate(lines * 6)))
    words = ["cluster", "x.txt", "--text", "-k", 2, "-o", "out", "--force"]
    assert "these texts look German, but english stop words are left out" in ask(capsys, *words)
    for stop_words in ("german", "none"):
        assert "look German" not in ask(capsys, *words, "--stop-words", stop_words)


def test_the_page_shows_how_good_the_words_are(capsys):
    plain()
    assert run("cluster", "x.txt", "--text", "-k", 3, "-o", "out", "--max-df", 1) == 0
    known = json.loads(Path("out/run.json").read_text())["results"]["topics"]
    said = f"Topic coherence {known['coherence']:.2f} (NPMI of ten words), diversity "
    assert said in capsys.readouterr().out
    markers = pd.read_csv("out/markers.csv").groupby("cluster").head(10)
    topics = markers.groupby("cluster").feature.apply(list).tolist()
    assert known["diversity"] == metrics.topic_diversity(topics)
    assert '"topic coherence":' in Path("out/report.html").read_text(encoding="utf-8")
