"""Names that become text in blocks, and the tables that are written from columns."""

import csv
import io

import numpy as np
import pytest
from onmf_app.runs.sheets import Columns, Sheet, csv_text, csv_writer

from onmf.files.output import seal_files
from onmf.rows import open_arrays as open_source
from onmf.rows import table
from onmf.rows.table import Coded, Numbered, check_text, check_unique
from reading import read_table

NASTY = ["plain", "a,b", 'q"q', "two\nlines", "ret\rurn", "=1+1", "-5", "'=x", "", " s ", "ü\u2028"]


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


def test_columns_are_written_as_their_rows_are(few):
    """The same text as row by row, which Python's reader reads."""
    numbers = np.linspace(-1, 1, len(NASTY))
    ids = np.arange(len(NASTY)) - 1
    whole = csv_text(["name", "id", "value"], Columns([NASTY, ids, numbers]))
    rows = zip(NASTY, ids.tolist(), [f"{v:.6f}" for v in numbers], strict=True)
    assert whole == csv_text(["name", "id", "value"], rows)
    found = [*csv.reader(io.StringIO(whole, newline=""))][1:]
    guarded = {"=1+1": "'=1+1", "'=x": "''=x"}
    assert [row[0] for row in found] == [guarded.get(own, own) for own in NASTY]
    assert [int(row[1]) for row in found] == ids.tolist()


def test_words_and_yes_and_no_are_written_as_their_texts(few):
    words, codes = ["", "a,b", "=x", "ü"], np.array([3, 0, 1, 2, 1, 0, 3])
    coded = Coded(words, codes)
    assert coded == [words[i] for i in codes]
    yes = codes > 1
    whole = csv_text(["w", "yes"], Columns([coded, yes]))
    rows = zip([words[i] for i in codes], ["true" if own else "false" for own in yes], strict=True)
    assert whole == csv_text(["w", "yes"], rows)
    file = io.BytesIO()
    csv_writer(Sheet(["w", "yes"], Columns([coded, yes])))(file)
    assert file.getvalue().decode() == whole
    assert whole[0] == "\ufeff"  # not all is ASCII


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


def test_numbers_are_written_as_python_writes_them(global_random_seed):
    """Signs, ties, numbers beside and beyond what is exact; with a text column and without one."""
    rng = np.random.default_rng(global_random_seed)
    ties = np.round(rng.normal(size=300), 3) + rng.choice([0, 5e-4, -5e-4], 300)
    halves = rng.integers(-(2**12), 2**12, 300) / 2.0 ** rng.integers(0, 16, 300)
    columns = [
        (np.concatenate([ties, halves, [0.0, -0.0, -1e-9, 0.9999999, 9.9999999]]), 3),
        (rng.normal(size=500).astype(np.float32), 7),
        (np.array([np.nan, 1.5, np.inf, -np.inf, 1e300]), 6),
        (np.array([2.0**52, -3.0, 4503599.627370497]), 9),
    ]
    for own, digits in columns:
        wanted = [f"%.{digits}f" % x for x in own.tolist()]
        assert "".join(Columns([own], [digits]).lines()).split("\n")[:-1] == wanted
    for own in (
        np.array([0, 7, 10, 99, 100, 10**9]),
        np.array([-(2**62), 5, 2**62]),
        -np.arange(3),
    ):
        words = Coded(["þÿ\0%d"], np.zeros(len(own), int))
        text = [f"%s{x}" for x in own.tolist()]
        found = "".join(Columns([own, words, text, own]).lines()).split("\n")[:-1]
        assert found == [f"{x},þÿ\0%d,%s{x},{x}" for x in own.tolist()]
