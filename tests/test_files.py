"""What a file may look like, what is said when it cannot be read; writing loses nothing."""

import os
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from onmf.files import csv_text, read_table, replace_files

X = np.array([[1.0, 0.0, 2.5], [0.0, 3.0, 0.0]])


@pytest.mark.parametrize(
    ("text", "samples", "features"),
    [
        ("1,0,2.5\n0,3,0\n", ["0", "1"], ["0", "1", "2"]),
        ("u,v,w\n1,0,2.5\n0,3,0\n", ["0", "1"], ["u", "v", "w"]),
        ("name,u,v,w\na,1,0,2.5\nb,0,3,0\n", ["a", "b"], ["u", "v", "w"]),
        ("a,1,0,2.5\nb,0,3,0\n", ["a", "b"], ["0", "1", "2"]),
        (",u,v,w\n10,1,0,2.5\n20,0,3,0\n", ["10", "20"], ["u", "v", "w"]),
        ("ID,u,v,w\n10,1,0,2.5\n20,0,3,0\n", ["10", "20"], ["u", "v", "w"]),
        ('"a, b","1",0,2.5\r\n\r\nc,0,3e0,0\r\n', ["a, b", "c"], ["0", "1", "2"]),
        ("\ufeffu,v,w\n1,0,2.5\n0,3,0", ["0", "1"], ["u", "v", "w"]),
    ],
)
@pytest.mark.parametrize(("ending", "delimiter"), [(".csv", ","), (".TSV", "\t")])
def test_headers_and_names_are_found(tmp_path, text, samples, features, ending, delimiter):
    path = tmp_path / f"table{ending}"
    plain = text.replace("a, b", "a; b").replace(",", delimiter).replace("a; b", "a, b")
    path.write_text(plain, encoding="utf-8", newline="")
    table = read_table(path)
    np.testing.assert_array_equal(table.X, X)
    assert table.samples == samples
    assert table.features == features


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.uint8])
def test_binary_arrays_keep_their_type(tmp_path, dtype):
    np.save(tmp_path / "x.npy", X.astype(dtype))
    np.savez(tmp_path / "x.npz", anything=X.astype(dtype))
    for name in ("x.npy", "x.npz"):
        table = read_table(tmp_path / name)
        np.testing.assert_array_equal(table.X, X.astype(dtype))
        assert table.X.dtype == dtype
        assert table.samples == ["0", "1"]
        assert table.features == ["0", "1", "2"]


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csc_array, sp.coo_array, sp.csr_matrix])
def test_sparse_matrices_come_back_as_csr(tmp_path, kind):
    sp.save_npz(tmp_path / "x.npz", kind(X))
    read = read_table(tmp_path / "x.npz").X
    assert isinstance(read, sp.csr_array)
    np.testing.assert_array_equal(read.toarray(), X)


def save_object(path):
    np.save(path, np.array([[{}]], dtype=object), allow_pickle=True)


def save_forged_indices(path):
    A = sp.csr_array(X)
    A.indices[0] = 1_000_000
    sp.save_npz(path, A)


BAD_FILES = {
    "x.h5": (lambda path: path.write_bytes(b""), "does not end in .npy, .npz, .csv or .tsv"),
    "pickle.npy": (save_object, "[Oo]bject arrays"),
    "pickle.npz": (lambda path: np.savez(path, x=np.array([{}])), "[Oo]bject arrays"),
    "line.npy": (lambda path: np.save(path, X[0]), r"1 dimension\(s\) instead of 2"),
    "text.npy": (lambda path: np.save(path, np.array([["a"]])), "entries are of type <U1"),
    "complex.npy": (lambda path: np.save(path, X * 1j), "entries are of type complex128"),
    "noise.npy": (lambda path: path.write_bytes(b"noise"), "does not hold one table of numbers"),
    "noise.npz": (lambda path: path.write_bytes(b"PK\3\4 noise"), "does not hold one table"),
    "none.npy": (lambda path: path.write_bytes(b""), "does not hold one table of numbers"),
    "two.npz": (lambda path: np.savez(path, a=X, b=X), r"it has 2 arrays \(a, b\)"),
    "forged.npz": (save_forged_indices, "does not hold one table of numbers"),
    "empty.csv": (lambda path: path.write_text("\n\n"), "empty.csv is empty"),
    "header.csv": (lambda path: path.write_text("a,b\n"), "header but no samples"),
    "ragged.csv": (lambda path: path.write_text("1,2\n3\n"), "1 cells in line 2 but 2 above"),
    "latin.csv": (lambda path: path.write_bytes(b"\xe9,1\n"), "not a text table in UTF-8"),
    "gap.csv": (
        lambda path: path.write_text("id,u,v\na,1,\nb,NA,3\n"),
        "'' in line 2, column v; 'NA' in line 3, column u",
    ),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_a_bad_file_is_refused_in_a_sentence_that_says_where(tmp_path, name):
    write, message = BAD_FILES[name]
    write(tmp_path / name)
    with pytest.raises(ValueError, match=message):
        read_table(tmp_path / name)


def test_at_most_ten_bad_cells_are_listed(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("u,v,w\n1,2,3\n" + "x,y,z\n" * 20)
    with pytest.raises(ValueError, match="not numbers") as caught:
        read_table(path)
    assert str(caught.value).count("column") == 10


def test_a_missing_file_is_named(tmp_path):
    for name in ("x.npy", "x.npz", "x.csv"):
        with pytest.raises(FileNotFoundError, match=name):
            read_table(tmp_path / name)


def test_csv_text_reads_back_to_the_last_digit(tmp_path):
    values = np.random.default_rng(0).random((5, 2)) * 1e-7
    names = ["plain", "comma, inside", 'quote " inside', "line\nbreak", "é"]
    rows = ([name, *row] for name, row in zip(names, values.tolist(), strict=True))
    (tmp_path / "x.csv").write_text(csv_text(["id", "u", "v"], rows), encoding="utf-8", newline="")
    table = read_table(tmp_path / "x.csv")
    np.testing.assert_array_equal(table.X, values)
    assert table.samples == names


def contents(folder):
    return {path.name: path.read_text() for path in folder.iterdir()}


def test_files_are_replaced_and_others_left_alone(tmp_path):
    (tmp_path / "a").write_text("old")
    (tmp_path / "other").write_text("other")
    replace_files(tmp_path, {"a": "new", "b": "new too"})
    assert contents(tmp_path) == {"a": "new", "b": "new too", "other": "other"}


@pytest.mark.parametrize(("owner", "step"), [(Path, "write_text"), (os, "replace")])
def test_a_failed_write_keeps_the_old_files_and_leaves_no_litter(
    tmp_path, monkeypatch, owner, step
):
    replace_files(tmp_path, {"a": "old", "b": "old too"})

    def full(*args, **kwargs):
        raise OSError("No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(owner, step, full)
        with pytest.raises(OSError, match="No space"):
            replace_files(tmp_path, {"a": "new", "b": "new too"})
    assert contents(tmp_path) == {"a": "old", "b": "old too"}


def test_a_write_that_fails_at_the_second_file_keeps_the_first(tmp_path):
    replace_files(tmp_path, {"a": "old"})
    with pytest.raises(UnicodeEncodeError):
        replace_files(tmp_path, {"a": "new", "b": "\ud800"})
    assert contents(tmp_path) == {"a": "old"}
