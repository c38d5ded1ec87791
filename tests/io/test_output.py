"""Writing loses nothing: not to a full disk, and not the last digit."""

import errno
import os
from pathlib import Path

import numpy as np
import pytest

from onmf.io import csv_text, fingerprint, read_table, replace_files


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
    replace_files(tmp_path, {"a": "new", "b": b"new too"})
    assert contents(tmp_path) == {"a": "new", "b": "new too", "other": "other"}


@pytest.mark.parametrize(("owner", "step"), [(Path, "write_bytes"), (os, "replace")])
def test_a_failed_write_keeps_the_old_files_and_leaves_no_litter(
    tmp_path, monkeypatch, owner, step
):
    replace_files(tmp_path, {"a": "old", "b": "old too"})

    def full(*args, **kwargs):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(owner, step, full)
        with pytest.raises(OSError, match="No space"):
            replace_files(tmp_path, {"a": "new", "b": "new too"})
    assert contents(tmp_path) == {"a": "old", "b": "old too"}


def test_a_disk_that_fills_up_half_way_leaves_no_half_file(tmp_path, monkeypatch):
    replace_files(tmp_path, {"a": "old"})
    write = Path.write_bytes

    def half(path, data):
        write(path, data[: len(data) // 2])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", half)
    with pytest.raises(OSError, match="No space"):
        replace_files(tmp_path, {"a": "new and longer"})
    assert contents(tmp_path) == {"a": "old"}


def test_a_write_that_fails_at_the_second_file_keeps_the_first(tmp_path):
    replace_files(tmp_path, {"a": "old"})
    with pytest.raises(UnicodeEncodeError):
        replace_files(tmp_path, {"a": "new", "b": "\ud800"})
    assert contents(tmp_path) == {"a": "old"}


def test_the_fingerprint_of_a_folder_tells_names_and_contents_apart(tmp_path):
    def of(files):
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        for name, text in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
        return fingerprint(folder)

    assert of({"a": "1", "b/c": "2"}) == of({"b/c": "2", "a": "1"})
    others = [{"a": "1", "b/c": "3"}, {"a": "1", "b/d": "2"}, {"a": "12"}, {"a": "1"}]
    assert len({of(files) for files in others}) == len(others)
