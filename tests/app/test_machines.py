"""What programs and operators count on: exit codes, log lines, standard input, sentences."""

import errno
import gzip
import io
import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from onmf import ONMF
from onmf.datasets import make_rays

pytest.importorskip("click")
pytest.importorskip("rich")

import onmf_app as cli
from command_line import run
from onmf_app import console

pytestmark = pytest.mark.usefixtures("page", "here")

X, _ = make_rays(60, 8, 3, noise=0.05, random_state=0)


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pd.DataFrame(X, [f"s{i}" for i in range(60)], list("abcdefgh")).to_csv("x.csv")
    return tmp_path


CLUSTER = ["cluster", "x.csv", "-k", 3, "-o", "out"]


def fail(error):
    def fit(*args, **kwargs):
        raise error

    return fit


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (MemoryError("Unable to allocate 9 GiB"), 4, "out of memory: x.csv does not fit (Unable"),
        (MemoryError(), 4, "out of memory: x.csv does not fit;"),
        (OSError(errno.ENOSPC, "No space left on device", "f"), 5, "f: No space left on device."),
        (OSError(errno.EDQUOT, "Quota exceeded", "f"), 5, "f: Quota exceeded."),
        (PermissionError(errno.EACCES, "Permission denied", "f"), 2, "f: Permission denied."),
        (ValueError("no"), 2, "no"),
        (KeyboardInterrupt(), 130, "Interrupted."),
    ],
)
def test_failures_have_codes_of_their_own_and_a_sentence(monkeypatch, capsys, error, code, said):
    monkeypatch.setattr(ONMF, "fit", fail(error))
    assert run(*CLUSTER) == code
    printed = capsys.readouterr().err
    assert said in printed
    assert "\n" not in printed.strip()
    assert not Path("out").exists()


def test_all_codes_are_listed_in_the_help(capsys):
    assert run("--help") == 0
    printed = capsys.readouterr().out
    for code, meaning in cli.EXIT_CODES.items():
        assert re.search(rf"^  {code} +{meaning}", printed, re.MULTILINE)
    assert {*cli.EXIT_CODES} == {0, 1, 2, 3, 4, 5, 6, 130, 143}


def test_a_fit_that_does_not_converge_has_its_code(monkeypatch):
    fit = ONMF.fit
    monkeypatch.setattr(ONMF, "fit", lambda model, X: fit(model.set_params(max_iter=1), X))
    assert run(*CLUSTER) == 3
    assert Path("out/labels.csv").exists()


def test_a_parquet_file_that_claims_more_than_there_is_is_told(monkeypatch, capsys):
    """Found by fuzzing: a changed byte of a 2 kB file asked for 274 GB."""
    pa = pytest.importorskip("pyarrow")
    pd.read_csv("x.csv").to_parquet("x.parquet")
    parquet = pytest.importorskip("onmf.rows.parquet")
    error = pa.ArrowMemoryError("malloc of size 274877906944 failed")
    monkeypatch.setattr(parquet, "_column", fail(error))
    assert run("cluster", "x.parquet", "-k", 3, "-o", "out") == 4
    assert "a column of x.parquet needs 274.9 GB of memory" in capsys.readouterr().err


def test_a_packed_file_that_would_fill_the_memory_has_its_code(monkeypatch, capsys):
    np.savez_compressed("x.npz", np.ones((1000, 300)))
    monkeypatch.setattr("onmf.rows.room.free_memory", lambda: 200_000)
    assert run("cluster", "x.npz", "-k", 3, "-o", "out") == 4
    assert "GB are free: save it as .npy or .h5ad" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["--loss", "kl"]])
def test_negatives_are_named_by_sample_and_feature(capsys, words):
    frame = pd.read_csv("x.csv", index_col=0)
    frame.loc["s3", "c"] = -1
    frame.to_csv("x.csv")
    assert run(*CLUSTER, *words) == 2
    said = capsys.readouterr().err
    assert "Negative values" in said
    assert "at (sample 's3', feature 'c')" in said
    assert "center_bounds" not in said


def test_without_a_terminal_lines_say_how_far_it_is(monkeypatch, capsys):
    monkeypatch.setattr(console, "SECONDS_BETWEEN_LINES", 0)
    with console.waiting("Choosing") as progress:
        progress(3, 20)
    assert re.fullmatch(r"\d\d:\d\d:\d\d Choosing: 3 of 20, 0 s\n", capsys.readouterr().err)


def test_lines_come_now_and_then_not_always(capsys):
    assert run(*CLUSTER) == 0
    assert capsys.readouterr().err == ""


def feed(monkeypatch, content):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))


@pytest.mark.slow
def test_standard_input_is_an_input(monkeypatch):
    assert run("cluster", "x.csv", "-k", 3, "-o", "plain") == 0
    kinds = [Path("x.csv").read_bytes(), gzip.compress(Path("x.csv").read_bytes())]
    for i, content in enumerate(kinds):
        feed(monkeypatch, content)
        assert run("cluster", "-", "-k", 3, "-o", f"out{i}") == 0
        assert Path(f"out{i}/labels.csv").read_text() == Path("plain/labels.csv").read_text()
    feed(monkeypatch, kinds[0])
    assert run("predict", "plain", "-", "-o", "new.csv") == 0
    assert Path("new.csv").read_text() == Path("plain/labels.csv").read_text()
    np.save("x.npy", X)
    feed(monkeypatch, Path("x.npy").read_bytes())
    assert run("cluster", "-", "-k", 3, "-o", "array") == 0


def test_documents_come_from_standard_input(monkeypatch):
    lines = [["stars moons", "genes cells"][i % 2] for i in range(10)]
    feed(monkeypatch, "\n".join(lines).encode())
    assert run("cluster", "-", "--text", "-k", 2, "-o", "out") == 0
    rows = "\n".join(json.dumps({"body": line}) for line in lines)
    feed(monkeypatch, rows.encode())
    assert run("cluster", "-", "--text-column", "body", "-k", 2, "-o", "two") == 0
    found = [pd.read_csv(f"{name}/labels.csv").cluster.tolist() for name in ("out", "two")]
    assert found[0] == found[1]


def test_nothing_on_standard_input_is_said(monkeypatch, capsys):
    feed(monkeypatch, b"")
    assert run("cluster", "-", "-k", 3, "-o", "out") == 2
    assert "stdin.csv is empty" in capsys.readouterr().err
