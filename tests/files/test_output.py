"""Writing loses nothing: not to a full disk, and not the last digit."""

import contextlib
import csv
import errno
import io
import json
import os
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest

from onmf.files import output
from onmf.files.checksums import checksum
from onmf.files.output import replace_files, to_json_values
from onmf_app.read.cells import unguard_cell
from onmf_app.tables import csv_text
from reading import read_table


def test_csv_text_reads_back_to_the_last_digit(tmp_path):
    values = np.random.default_rng(0).random((5, 2)) * 1e-7
    names = ["plain", "comma, inside", 'quote " inside', "line\nbreak", "é"]
    rows = pd.DataFrame(values, columns=["u", "v"])
    rows.insert(0, "id", names)
    (tmp_path / "x.csv").write_text(csv_text(rows, None), encoding="utf-8", newline="")
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


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_failed_write_keeps_the_old_files_and_leaves_no_litter(tmp_path, monkeypatch, step):
    replace_files(tmp_path, {"a": "old", "b": "old too"})

    def full(*args, **kwargs):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, step, full)
        with pytest.raises(OSError, match="No space"):
            replace_files(tmp_path, {"a": "new", "b": "new too"})
    assert contents(tmp_path) == {"a": "old", "b": "old too"}


@pytest.mark.parametrize("room", [0, 5, 20_000])
@pytest.mark.parametrize(
    "large", ["new " * 10_000, lambda file: [file.write(b"0") for _ in range(99_999)]]
)
def test_a_disk_that_fills_up_half_way_leaves_no_half_file(tmp_path, full_disk, room, large):
    replace_files(tmp_path, {"a": "old"})
    full_disk(room)
    with pytest.raises(OSError, match="No space"):
        replace_files(tmp_path, {"a": large})
    assert contents(tmp_path) == {"a": "old"}


class Pair(NamedTuple):
    k: int
    error: float


def test_json_values_are_what_json_knows():
    given = {
        1: Pair(np.int64(3), np.nan),
        "a": np.array([[1.5, np.inf]]),
        "b": (np.bool_(True), None, "x"),
    }
    expected = {"1": {"k": 3, "error": None}, "a": [[1.5, None]], "b": [True, None, "x"]}
    found = to_json_values(given)
    assert found == expected
    assert json.loads(json.dumps(found, allow_nan=False)) == expected


def test_a_write_that_fails_at_the_second_file_keeps_the_first(tmp_path):
    replace_files(tmp_path, {"a": "old"})
    with pytest.raises(UnicodeEncodeError):
        replace_files(tmp_path, {"a": "new", "b": "\ud800"})
    assert contents(tmp_path) == {"a": "old"}


def test_the_checksum_of_a_folder_tells_names_and_contents_apart(tmp_path):
    def of(files):
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        for name, text in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
        return checksum(folder)

    assert of({"a": "1", "b/c": "2"}) == of({"b/c": "2", "a": "1"})
    others = [{"a": "1", "b/c": "3"}, {"a": "1", "b/d": "2"}, {"a": "12"}, {"a": "1"}]
    assert len({of(files) for files in others}) == len(others)


@pytest.mark.parametrize(
    "end", ["\r", "\n", "\r\n", "\v", "\f", "\x1c", "\x85", "\u2028", "\u2029"]
)
def test_a_line_end_in_a_cell_stays_in_its_cell(end):
    cells = [f"a{end}=1+1", f"{end}=1+1", f"b{end}"]
    text = csv_text(pd.DataFrame([cells], columns=["name", "other", "last"]))
    assert text.endswith("\n")
    _, row = csv.reader(io.StringIO(text, newline=""))
    assert [unguard_cell(cell) for cell in row] == cells
    assert row[0].startswith("a")
    assert all(f'"{cell}"' in text for cell in row)  # quoted, whatever a program takes for a line


class Killed(BaseException):
    """As if the process ended here."""


@pytest.mark.parametrize("step", range(5))
def test_a_killed_replacement_is_undone_or_completed(tmp_path, monkeypatch, step):
    """Whatever rename it dies at, all files are old, or all are new after the next command."""
    (tmp_path / "deep").mkdir()
    old = {"a.csv": "old", "b.onmf": "old", "deep/c.csv": "old"}
    new = dict.fromkeys(old, "new")
    output.replace_together(tmp_path, old)
    done = iter(range(10))

    def dies(path, place):
        if next(done) == step:
            raise Killed
        os.replace(path, place)

    with monkeypatch.context() as patch, contextlib.suppress(Killed):
        patch.setattr(output, "rename", dies)
        output.replace_together(tmp_path, new)
    output.finish_replacement(tmp_path)
    assert {name: (tmp_path / name).read_text() for name in old} == (new if step else old)
    assert {path.name for path in tmp_path.iterdir()} == {"a.csv", "b.onmf", "deep"}


def test_a_replacement_that_fails_changes_nothing(tmp_path):
    output.replace_together(tmp_path, {"a": "old", "b": "old"})

    def fails(file):
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        output.replace_together(tmp_path, {"a": "new", "b": fails})
    assert (tmp_path / "a").read_text() == "old"
    assert len([*tmp_path.iterdir()]) == 2


def test_a_link_in_the_place_of_a_replacement_is_not_followed(tmp_path):
    (elsewhere := tmp_path / "elsewhere").mkdir()
    (elsewhere / "mine.txt").write_text("mine")
    (run := tmp_path / "run").mkdir()
    (run / output.NEXT).symlink_to(elsewhere)
    output.finish_replacement(run)
    assert (elsewhere / "mine.txt").read_text() == "mine"
    assert not (run / "mine.txt").exists()
