"""Names with line ends or that are no text, records of strangers: a sentence or a result."""

import csv
import os

import numpy as np
import pytest

import onmf_app as cli
from cases import few
from onmf_app.read.cells import unguard_cell

ENDS = ["\n", "\v", "\x85", "\u2028"]


@pytest.mark.parametrize("end", few(ENDS))
def test_line_ends_in_names_forge_no_rows_and_the_run_is_read_again(tmp_path, end, capsys):
    rng = np.random.default_rng(0)
    names = [f"n{i}{end}=1+{i},9" for i in range(12)]
    rows = [[name, *row] for name, row in zip(names, rng.random((12, 3)), strict=True)]
    with (tmp_path / "x.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, quoting=csv.QUOTE_ALL).writerows([["id", "a", "b", f"c{end}d"], *rows])
    run = [str(tmp_path / "run")]
    assert cli.main(["cluster", str(tmp_path / "x.csv"), "-k", "2", "-o", *run]) == 0
    with (tmp_path / "run" / "labels.csv").open(encoding="utf-8", newline="") as file:
        found = list(csv.reader(file))
    assert [unguard_cell(row[0]) for row in found[1:]] == names
    assert {len(row) for row in found} == {len(found[0])}
    assert cli.main(["edit", str(tmp_path / "run"), "--rename", "0=x"]) == 0
    again = ["--like", str(tmp_path / "run"), "-o", str(tmp_path / "next")]
    assert cli.main(["cluster", str(tmp_path / "x.csv"), *again]) == 0
    with (tmp_path / "next" / "labels.csv").open(encoding="utf-8", newline="") as file:
        assert [row[:2] for row in csv.reader(file)] == [row[:2] for row in found]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes here")
def test_what_is_no_file_is_named_when_it_is_skipped(tmp_path):
    from onmf.files.checksums import visible_files

    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "dead").symlink_to("nowhere")
    (tmp_path / "a.txt").write_text("words")
    with pytest.warns(UserWarning, match="skipped: dead, pipe"):
        assert [str(name) for name in visible_files(tmp_path)] == ["a.txt"]
