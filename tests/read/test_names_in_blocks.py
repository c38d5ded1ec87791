"""Names that become text in blocks, and the tables that are written from columns."""

import io

import numpy as np
import pytest

from onmf.files.output import seal_files
from onmf.rows import open_arrays as open_source
from onmf.rows import table
from onmf.rows.table import Numbered, check_text, check_unique
from reading import read_table


@pytest.fixture
def few(monkeypatch):
    monkeypatch.setattr(table, "NAMES_PER_BLOCK", 3)


def test_numbers_are_the_names_of_a_list(few):
    names, wanted = Numbered(10), [str(i) for i in range(10)]
    assert [*names] == wanted
    assert names == wanted
    assert names != wanted[:9]
    assert (names[0], names[-1], len(names)) == ("0", "9", 10)
    for cut in (slice(2, 5), slice(None), slice(-3, None), slice(8, 2, -2), slice(20, 30)):
        assert names[cut] == wanted[cut]
    with pytest.raises(IndexError):
        names[10]


@pytest.mark.parametrize("dtype", [str, np.int64, float])
def test_the_names_of_a_parquet_file_are_its_column_as_text(dtype, few, tmp_path):
    pd = pytest.importorskip("pandas")
    ids = pd.Series([*range(7, 0, -1)]).astype(dtype)
    pd.DataFrame({"id": ids, "a": 1.0, "b": 2.0}).to_parquet(tmp_path / "x.parquet")
    found = open_source(tmp_path / "x.parquet").samples
    assert not isinstance(found, list)
    assert found == [str(own) for own in ids]
    assert found[2:4] == [str(own) for own in ids[2:4]]


def test_equal_names_are_found_in_any_block(few, tmp_path):
    pd = pytest.importorskip("pandas")
    names = [*"abcdefgc"]
    frame = pd.DataFrame({"id": names, "a": 1.0, "b": 2.0})
    frame.to_parquet(tmp_path / "x.parquet")
    with pytest.raises(ValueError, match="samples of the same name: 'c'"):
        read_table(tmp_path / "x.parquet")
    frame[:7].to_parquet(tmp_path / "x.parquet")
    assert read_table(tmp_path / "x.parquet").samples == names[:7]
    check_unique(["a", "b"], "samples", "x")


def test_different_names_with_the_same_code_are_not_equal(monkeypatch):
    monkeypatch.setattr(table, "hash", len, raising=False)
    check_unique(["ab", "cd", "e"], "samples", "x")
    with pytest.raises(ValueError, match="'ab'"):
        check_unique(["ab", "cd", "e", "ab"], "samples", "x")


def test_a_name_that_is_no_text_is_found_in_any_block(few):
    with pytest.raises(ValueError, match=r"'\\ud800x' whose name is no valid text"):
        check_text([*"abcdefg", "\ud800x"], "sample", "x")


def test_the_seal_has_the_checksums_of_what_was_written():
    import hashlib
    import json

    def write(file):
        file.write(b"one ")
        file.write(b"two")

    record, files = seal_files({"a": "text", "b": write}, "seal", {"files": {"old": "0"}})
    written = {}
    for name, content in files.items():
        file = io.BytesIO()
        content(file)
        written[name] = file.getvalue()
    sums = {name: hashlib.sha256(written[name]).hexdigest() for name in "ab"}
    assert record["files"] == {"old": "0", **sums}
    assert json.loads(written["seal"]) == record
    assert written["b"] == b"one two"
