"""Texts and true classes: from folders, lines and lists."""

import gzip

import numpy as np
import pytest

from onmf.exceptions import TableWarning
from onmf.io import read_documents, read_table


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
    assert table == (["one", "three"], ["1", "3"], [], None)


def test_bad_documents_are_refused(tmp_path):
    with pytest.raises(ValueError, match="has no documents"):
        read_documents(tmp_path)
    for i in range(12):
        (tmp_path / f"{i:02}.txt").write_bytes(b"caf\xe9")
    with pytest.raises(ValueError, match=r"not text in UTF-8: 00.txt, .* and 2 more"):
        read_documents(tmp_path)
    with pytest.warns(TableWarning, match="not UTF-8 and is read as cp1252"):
        assert read_documents(tmp_path / "00.txt").X == ["café"]
    (tmp_path / "blank").write_text("\n \n")
    with pytest.raises(ValueError, match="blank is empty"):
        read_documents(tmp_path / "blank")
    with pytest.raises(FileNotFoundError, match="none"):
        read_documents(tmp_path / "none")


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
