"""Texts and true classes: from folders, lines and lists."""

import gzip
import json
import tracemalloc
import warnings

import numpy as np
import pandas as pd
import pytest

from onmf.exceptions import TableWarning
from onmf_app.read.annotation import read_labels
from onmf_app.read.documents import find_documents
from reading import read_documents, read_table


def test_the_files_of_a_folder_are_documents_named_by_their_path(tmp_path):
    for name, text in {"b.txt": "two\nlines", "a/c.txt": "\ufeffdeep", ".hidden": "no"}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    seen = []
    table = read_documents(tmp_path, progress=lambda done, total: seen.append((done, total)))
    assert table.X == ["deep", "two\nlines"]
    assert table.samples == ["a/c.txt", "b.txt"]
    assert seen == [(1, 2), (2, 2)]


@pytest.mark.parametrize("name", ["x.txt", "x.txt.gz", "anything"])
def test_the_lines_of_a_file_are_documents_named_by_their_number(tmp_path, name):
    text = b"one\n\n  three \n"
    (tmp_path / name).write_bytes(gzip.compress(text) if name.endswith("gz") else text)
    table = read_documents(tmp_path / name)
    assert table == (["one", "", "three"], ["1", "2", "3"], [], None)


def test_bad_documents_are_refused(tmp_path):
    with pytest.raises(ValueError, match="has no documents"):
        read_documents(tmp_path)
    for i in range(12):
        (tmp_path / f"{i:02}.png").write_bytes(b"\x89PNG\x00\x01\x81\xff\x00" * 9)
    with pytest.raises(ValueError, match=r"not text in UTF-8: 00.png, .* and 2 more"):
        read_documents(tmp_path)
    (tmp_path / "blank").write_text("\n \n")
    with pytest.raises(ValueError, match="blank is empty"):
        read_documents(tmp_path / "blank")
    with pytest.raises(FileNotFoundError, match="none"):
        read_documents(tmp_path / "none")


WESTERN = "Über die Größe der Straße: café, señor. “Done” … really."
RUSSIAN = "Съешь же ещё этих мягких французских булок, да выпей чаю."
JAPANESE = "いろはにほへと ちりぬるを 我が世誰ぞ 常ならむ。"
POLISH = "Zażółć gęślą jaźń, źdźbło trawy i łąka pełna mleczy."


@pytest.mark.parametrize(
    ("text", "encoding"),
    [(WESTERN, "cp1252"), (RUSSIAN, "cp1251"), (JAPANESE, "shift_jis"),
     (POLISH, "cp1250"), (WESTERN, "utf-16"), (WESTERN, "utf-16-le"), (RUSSIAN, "utf-8-sig")],
)  # fmt: skip
def test_texts_in_other_encodings_are_read(tmp_path, text, encoding):
    (tmp_path / "lines.txt").write_bytes(f"plain\n{text}\nmore\n".encode(encoding))
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/one.txt").write_bytes(text.encode(encoding))
    (tmp_path / "folder/two.txt").write_bytes(b"plain")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TableWarning)
        assert read_documents(tmp_path / "lines.txt").X == ["plain", text, "more"]
        assert read_documents(tmp_path / "folder").X == [text, "plain"]
    assert read_documents(tmp_path / "lines.txt", encoding=encoding).X[1] == text  # no warning


def test_what_is_not_utf_8_is_named(tmp_path):
    mixed = WESTERN.encode() + b"\n" + WESTERN.encode("cp1252") + b"\n"
    (tmp_path / "mixed.txt").write_bytes(mixed)
    with pytest.warns(TableWarning, match=r"mixed.txt, line 2, is not UTF-8 and is read as cp1252"):
        assert read_documents(tmp_path / "mixed.txt").X == [WESTERN, WESTERN]
    (tmp_path / "f").mkdir()
    for i in range(5):
        (tmp_path / f"f/{i}.txt").write_bytes(WESTERN.encode("cp1252" if i == 3 else "utf-8"))
    with pytest.warns(TableWarning, match=r"1 of the 5 files .* read as cp1252: 3.txt"):
        assert read_documents(tmp_path / "f").X == [WESTERN] * 5
    with pytest.raises(ValueError, match=r"not text in utf-8: 3.txt"):
        read_documents(tmp_path / "f", encoding="utf-8")
    with pytest.raises(ValueError, match=r"mixed.txt is not utf-8 in line 2"):
        read_documents(tmp_path / "mixed.txt", encoding="utf-8")


def test_empty_texts_keep_their_rows(tmp_path):
    frame = pd.DataFrame({"key": ["a", "b", None, "d", None], "text": ["x", " ", None, "y", None]})
    expected = ["x", "", "", "y"]
    frame.to_csv(tmp_path / "x.csv", index=False)
    frame.to_json(tmp_path / "x.jsonl", orient="records", lines=True)
    for name in ("x.csv", "x.jsonl"):
        table = read_documents(tmp_path / name, column="text")
        assert table[:2] == ([*expected, ""], ["1", "2", "3", "4", "5"])
        table = read_documents(tmp_path / name, column="text", id_column="key")
        assert table.samples == ["a", "b", "row 3", "d", "row 5"]


def test_a_column_is_found_whatever_its_capitals(tmp_path):
    (tmp_path / "x.csv").write_text("Text,ID\nstars,u\n")
    assert read_documents(tmp_path / "x.csv", column="text", id_column="id").samples == ["u"]
    (tmp_path / "y.csv").write_text("Text,TEXT\nstars,u\n")
    with pytest.raises(ValueError, match="no column 'text'"):
        read_documents(tmp_path / "y.csv", column="text")


def test_empty_rows_of_a_sheet_do_not_shift_the_later_ones(tmp_path):
    sheet = pytest.importorskip("openpyxl").Workbook()
    for row in (["text", "kind"], ["one", "u"], [], [None, "v"], [], [], ["six", "u"], []):
        sheet.active.append(row)
    sheet.active["B9"] = ""
    sheet.save(tmp_path / "x.xlsx")
    table = read_documents(tmp_path / "x.xlsx", column="text", labels="kind")
    assert table.X == ["one", "", "", "", "", "six"]
    assert table.samples == ["1", "2", "3", "4", "5", "6"]
    assert table.labels == ["u", "no text", "v", "no text", "no text", "u"]


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("id,u\na,1\nb,2\nc,3\n")
    return path


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("y.txt", "LUAD\nKIRC\nLUAD\n"),
        ("y.csv", "type\nLUAD\nKIRC\nLUAD\n"),
        ("y.txt", "c,LUAD\na,LUAD\nb,KIRC\n"),
        ("y.csv", "sample,type\nother,BRCA\nc,LUAD\nb,KIRC\na,LUAD\n"),
        ("y.tsv", "c\tLUAD\na\tLUAD\nb\tKIRC\n"),
    ],
)
def test_classes_from_a_file_by_order_or_by_name(table, tmp_path, name, text):
    (tmp_path / name).write_text(text)
    assert read_table(table, labels=tmp_path / name).labels == ["LUAD", "KIRC", "LUAD"]
    lines = tmp_path / "lines"
    lines.write_text("some\nmore\ntexts\n")
    (tmp_path / "z").write_text("1\n2\n1")
    assert read_documents(lines, labels=tmp_path / "z").labels == ["1", "2", "1"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("1\n2\n", "2 classes for 3 samples"),
        ("1\n2\n3\n4\n", "4 classes for 3 samples"),
        ("a,1\nb,2\n", "no class for 1 of 3 samples: 'c'"),
        ("a,1\nb,2\nc,3\na,1\n", "samples of the same name: 'a'"),
        ("a,1\n2\n", "have 1, 2 cells"),
        ("", "have no cells"),
    ],
)
def test_classes_that_do_not_fit_are_refused(table, tmp_path, text, said):
    (tmp_path / "y.txt").write_text(text)
    with pytest.raises(ValueError, match=said):
        read_table(table, labels=tmp_path / "y.txt")


def test_classes_that_are_nowhere_are_refused(table, tmp_path):
    with pytest.raises(ValueError, match=r"x.csv has no column 'type' .* no file of that name"):
        read_table(table, labels="type")
    np.save(tmp_path / "x.npy", np.eye(2))
    with pytest.raises(ValueError, match="no column 'type'"):
        read_table(tmp_path / "x.npy", labels="type")
    (tmp_path / "x.txt").write_text("some words")
    with pytest.raises(ValueError, match="no column 'type' of true classes, and there is no file"):
        read_documents(tmp_path / "x.txt", labels="type")


TALK = "a talk on stars and their planets"


@pytest.mark.parametrize(
    ("name", "content", "found"),
    [
        ("x.csv", f"id,year,talk\n1,1999,{TALK}\n2,2001,{TALK}\n", "talk"),
        ("x.tsv", f"who\ttalk\nAnn\t{TALK}\n", "talk"),
        ("x.jsonl", json.dumps({"talk": TALK, "year": 1999}) + "\n", "talk"),
        ("x.txt", f"{TALK}\nanother one, in 1999\n", ""),
        ("x.csv", f"a,b,c,remark\n1,2,3,{TALK}\n", None),  # numbers are what it is about
        ("x.csv", "name,u\na,1\nb,2\n", None),
        ("x.csv", f"{TALK}\nname,u,v\na,1,2\n", None),  # a line above a table
        ("x.txt", "1 2 3 4\n5 6 7 8\n", None),
        ("x.txt", "gene a b c\nTP53 1 2 3\n", None),
        ("x.txt", f"{TALK}\t1\n", None),
        ("x.npy", "no text", None),
    ],
)
def test_documents_are_recognised(tmp_path, name, content, found):
    (tmp_path / name).write_text(content)
    assert find_documents(tmp_path / name) == found


def test_a_folder_of_texts_is_recognised(tmp_path):
    folder = tmp_path / "talks"
    folder.mkdir()
    assert find_documents(folder) is None
    (folder / "one.txt").write_text(TALK)
    (folder / "two.md").write_text(TALK)
    assert find_documents(folder) == ""
    (folder / "three.csv").write_text("a,b\n1,2\n")
    assert find_documents(folder) is None


def test_a_column_that_is_dropped_has_no_documents(tmp_path):
    (tmp_path / "x.csv").write_text(f"u,talk\n1,{TALK}\n")
    assert find_documents(tmp_path / "x.csv", drop=["talk"]) is None


def test_a_long_table_of_numbers_is_not_read_to_look_for_texts(tmp_path):
    pytest.importorskip("pyarrow")
    n, m = 40_000, 10
    pd.DataFrame(np.random.default_rng(0).random((n, m))).rename(columns=str).to_parquet(
        tmp_path / "x.parquet"
    )
    find_documents(tmp_path / "x.parquet")  # imports
    tracemalloc.start()
    assert find_documents(tmp_path / "x.parquet") is None
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 24 * n * m / 10  # a float of Python has 24 bytes


# --- classes from a table with one row per sample: names matched, order free ---------------------

SAMPLES = ["c", "a", "b"]
FRAME = pd.DataFrame({
    "plate": ["1", "1", "2", "2"], "cell": ["a", "b", "c", "z"], "type": ["T", "B", "NK", "x"],
})  # fmt: skip


@pytest.mark.parametrize("ending", ["csv", "tsv", "txt", "xlsx", "parquet"])
def test_a_column_of_any_table_is_matched_by_the_names_of_the_samples(tmp_path, ending):
    path = tmp_path / f"m.{ending}"
    if ending == "xlsx":
        pytest.importorskip("openpyxl")
        FRAME.to_excel(path, index=False)
    elif ending == "parquet":
        pytest.importorskip("pyarrow")
        FRAME.to_parquet(path, index=False)
    else:
        FRAME.to_csv(path, index=False, sep={"csv": ",", "tsv": "\t", "txt": ";"}[ending])
    assert read_labels(f"{path}:type", SAMPLES) == ["NK", "T", "B"]


def test_row_names_of_r_have_no_heading(tmp_path):
    path = tmp_path / "m.csv"
    path.write_text('"plate","type"\n"a",1,"T"\n"b",1,"B"\n"c",2,"NK"\n')
    assert read_labels(f"{path}:type", SAMPLES) == ["NK", "T", "B"]


def test_what_does_not_match_is_said_in_a_sentence(tmp_path):
    path = tmp_path / "m.csv"
    FRAME.to_csv(path, index=False)
    for labels, samples, said in (
        (f"{path}:kind", SAMPLES, "m.csv has no column 'kind'; its columns are plate, cell, type"),
        (f"{path}:type", ["a", "q"], r"no class for 1 of 2 samples: 'q' \(by column 'cell'\)"),
        (f"{path}:type", ["u", "v"], "no column of m.csv has the names of the samples: 'u', 'v'"),
        (path, SAMPLES, "several columns: name that of the classes as m.csv:COLUMN. They are"),
    ):
        with pytest.raises(ValueError, match=said):
            read_labels(labels, samples)
    path.write_text("cell,type\na,T\na,B\n")
    with pytest.raises(ValueError, match="samples of the same name: 'a'"):
        read_labels(f"{path}:type", ["a"])
