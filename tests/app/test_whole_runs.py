"""A run is there as a whole or not at all, whoever else writes and whenever it is interrupted."""

import json
import os
import shutil
import signal
import threading
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cases import few
from onmf.datasets import make_rays
from onmf.files import output, system
from onmf.files.checksums import checksum
from onmf.files.output import place_for, replace_files

pytest.importorskip("click")
pytest.importorskip("rich")

import onmf_app as cli
from onmf_app.run import MODEL as MODEL_FILE
from onmf_app.run import RESULTS, RUN
from onmf_app.run import record_of as read_record

COUNTS = np.round(20 * make_rays(60, 8, 3, noise=0.05, random_state=0)[0])


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pd.DataFrame(COUNTS, [f"cell{i}" for i in range(60)]).to_csv("x.csv")


def cluster(*words, k=3, out="out"):
    given = ("cluster", "x.csv", "-k", k, "-o", out, *words)
    return cli.main([str(word) for word in given])


def predict():
    return cli.main(["predict", "out", "x.csv", "-o", "new.csv", "--force"])


def sums(folder="out"):
    return {path.name: checksum(path) for path in Path(folder).iterdir()}


def test_of_two_runs_into_one_new_folder_the_second_is_refused(capsys):
    with place_for(Path("out"), RESULTS, force=False):
        for words in ((), ("--force",)):
            assert cluster(*words) == cli.LOCKED
            assert "another onmf command is writing to out" in capsys.readouterr().err
    assert cluster(k=4, out="other") == 0


def test_a_lock_that_a_killed_process_left_keeps_nobody_out():
    Path("out").mkdir()
    Path("out", f".{RUN}.lock").touch()
    assert cluster() == 0
    assert sorted(sums()) == sorted({*RESULTS} - {"scales.csv", "tree.json"})


def test_a_lock_that_its_owner_removed_meanwhile_is_none(tmp_path, monkeypatch):
    """Two that wait for one lock file must not both get it, one of them without its name."""
    lock, flock, calls = tmp_path / "lock", system.fcntl.flock, []

    def removed_once(file, how):
        calls.append(how)
        if len(calls) == 1:
            lock.unlink()
        flock(file, how)

    monkeypatch.setattr(system.fcntl, "flock", removed_once)
    with output.sole_writer(lock), pytest.raises(FileExistsError), output.sole_writer(lock):
        raise AssertionError("not alone")
    assert not lock.exists()


@pytest.mark.slow
@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("moment", [1, 2, 4])
def test_a_signal_between_two_renames_waits_for_the_last(kind, moment, monkeypatch):
    assert cluster() == 0
    real, calls = os.replace, []

    def signalled(source, place):
        real(source, place)
        calls.append(place)
        if len(calls) == moment:
            signal.raise_signal(kind)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", signalled)
        if kind == signal.SIGTERM:
            with pytest.raises(SystemExit, match="143"):
                cluster("--force", k=4)
        else:
            assert cluster("--force", k=4) == 130
    record, found = read_record(Path("out")), sums()
    del found[RUN]
    assert record["files"] == found
    assert len(record["results"]["cluster_sizes"]) == 4


@pytest.mark.parametrize("moment", few([2, 3, 5]))
def test_a_run_that_was_killed_between_two_renames_is_none(moment, monkeypatch, capsys):
    assert cluster() == 0
    real, calls = os.replace, []

    def killed(source, place):
        calls.append(place)
        if len(calls) == moment:
            raise OSError("killed")
        real(source, place)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", killed)
        assert cluster("--force", k=4) == 2
    capsys.readouterr()
    assert predict() == 2
    assert "out has no run.json, so the run did not finish" in capsys.readouterr().err
    assert cluster("--force", k=4) == 0
    assert predict() == 0


def test_the_model_of_another_run_is_refused(capsys):
    assert cluster() == 0
    assert cluster(k=4, out="other") == 0
    shutil.copy(f"other/{MODEL_FILE}", f"out/{MODEL_FILE}")
    capsys.readouterr()
    assert predict() == 2
    assert "does not belong to run.json in that folder" in capsys.readouterr().err


def test_only_what_a_run_wrote_is_deleted_and_no_link_is_followed(tmp_path):
    assert cluster("--tree") == 0
    Path("out", "notes.txt").write_text("mine")
    record = json.loads(Path("out", RUN).read_text())
    record["files"] |= {"notes.txt": "0", "../x.csv": "0"}
    Path("out", RUN).write_text(json.dumps(record))
    assert cluster("--force") == 0
    assert Path("out", "notes.txt").read_text() == "mine"
    assert Path("x.csv").exists()
    assert not Path("out", "tree.json").exists()
    Path("elsewhere").mkdir()
    os.rename(Path("out", RUN), Path("elsewhere", RUN))
    Path("out", RUN).symlink_to(Path("elsewhere", RUN).resolve())
    assert predict() == 2


def test_a_link_that_was_laid_for_a_temporary_file_is_not_followed(tmp_path, monkeypatch):
    (tmp_path / "victim").write_text("precious")
    monkeypatch.setattr(output.secrets, "token_hex", lambda size: "guessed")
    (tmp_path / ".a.guessed").symlink_to(tmp_path / "victim")
    with pytest.raises(FileExistsError):
        replace_files(tmp_path, {"a": "new"})
    assert (tmp_path / "victim").read_text() == "precious"


def test_no_two_temporary_names_are_the_same(tmp_path):
    assert len({output._beside(tmp_path / "a") for _ in range(100)}) == 100


def test_a_link_that_was_laid_for_the_lock_is_not_followed(tmp_path):
    (tmp_path / "victim").write_text("precious")
    (tmp_path / "lock").symlink_to(tmp_path / "victim")
    with pytest.raises(OSError, match="symbolic link"), output.sole_writer(tmp_path / "lock"):
        raise AssertionError("not refused")
    assert (tmp_path / "victim").read_text() == "precious"


def test_signals_are_left_alone_outside_the_first_thread(tmp_path):
    thread = threading.Thread(target=replace_files, args=(tmp_path, {"a": "1", "b": "2"}))
    thread.start()
    thread.join()
    assert (tmp_path / "b").read_text() == "2"


@pytest.mark.parametrize(
    ("section", "value"),
    [
        ("parameters", 5),
        ("parameters", []),
        ("inputs", {}),
        ("results", []),
        ("files", None),
        ("lineage", {}),
    ],
)
def test_a_record_with_other_sections_is_refused_in_a_sentence(section, value, capsys):
    assert cluster() == 0
    record = json.loads(Path("out", RUN).read_text())
    Path("out", RUN).write_text(json.dumps(record | {section: value}))
    capsys.readouterr()
    for words in (["edit", "out", "--rename", "0=x"], ["update", "out", "x.csv"]):
        assert cli.main(words) == 2
        assert f"is not the record of an onmf cluster run: its {section}" in capsys.readouterr().err


def test_what_an_import_makes_of_the_signal_to_end_is_no_error(monkeypatch):
    """NumPy says "initialization failed" if it is ended while it is imported."""

    def importing(*args, **options):
        try:
            signal.raise_signal(signal.SIGTERM)
        except SystemExit as error:
            raise ImportError("initialization failed") from error

    monkeypatch.setattr(cli.program, "main", importing)
    with pytest.raises(SystemExit) as ended:
        cli.main([])
    assert ended.value.code == 143
