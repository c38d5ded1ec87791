"""The command on files of other machines."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from onmf.datasets import make_rays

pytest.importorskip("click")
pytest.importorskip("rich")

from command_line import run
from web import SECRETS, secret_address, serving

fsspec = pytest.importorskip("fsspec")

pytestmark = pytest.mark.usefixtures("page", "bucket")


@pytest.fixture
def bucket(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    system = fsspec.filesystem("memory")
    X = make_rays(60, 12, 3, random_state=0)[0]
    frame = pd.DataFrame(X, [f"s{i}" for i in range(60)], [f"f{j}" for j in range(12)])
    frame.to_csv("x.csv")
    system.pipe("/data/x.csv", frame.to_csv().encode())
    yield system
    system.store.clear()


def test_cluster_and_predict_take_addresses(capsys):
    assert run("cluster", "memory://data/x.csv", "-k", 3, "-o", "there") == 0
    assert run("cluster", "x.csv", "-k", 3, "-o", "here") == 0
    labels = [pd.read_csv(f"{folder}/labels.csv") for folder in ("here", "there")]
    pd.testing.assert_frame_equal(*labels)
    records = [json.loads(Path(folder, "run.json").read_text()) for folder in ("here", "there")]
    assert records[0]["input"] == records[1]["input"]
    assert records[1]["source"]["path"] == "memory://data/x.csv"
    assert run("predict", "there", "memory://data/x.csv", "-o", "new.csv") == 0
    np.testing.assert_array_equal(pd.read_csv("new.csv")["cluster"], labels[0]["cluster"])


def test_another_machine_is_asked_again_only_if_that_is_said(bucket, capsys):
    assert run("cluster", "memory://data/x.csv", "-k", 3, "-o", "out") == 0
    for command in ("report", "explain"):
        assert run(command, "out") == 2
        assert "memory://data/x.csv is remote: add --remote" in capsys.readouterr().err
        assert run(command, "out", "--remote") == 0
    bucket.pipe("/data/x.csv", b"a,b\n1,2\n2,1\n")
    capsys.readouterr()
    assert run("report", "out", "--remote") == 2
    assert "the input memory://data/x.csv has changed" in capsys.readouterr().err


def test_what_is_not_there_or_cannot_be_written_to_is_said(bucket, capsys):
    assert run("cluster", "memory://data/none.csv", "-k", 3, "-o", "out") == 2
    assert capsys.readouterr().err == "Error: there is no file memory://data/none.csv.\n"
    bucket.pipe("/data/x.h5ad", b"")
    words = ["memory://data/x.h5ad", "-k", 3, "-o", "out", "--write-h5ad", "new.h5ad"]
    assert run("cluster", *words) == 2
    assert "needs a local .h5ad file" in capsys.readouterr().err


def test_no_secret_of_an_address_is_printed_logged_or_stored(tmp_path, capsys, monkeypatch):
    pytest.importorskip("aiohttp")
    with serving({"x.csv": Path("x.csv").read_bytes()}, protected=True) as host:
        address = secret_address(host, "x.csv")
        fitting = ["--log-file", "run.log", "--checkpoint", "kept", "-o", "out"]
        words = [
            ["cluster", address, "-k", "3", *fitting],
            ["predict", "out", address, "-o", "new.csv", "--log-file", "predict.jsonl"],
            ["report", "out", "--remote"],
            ["cluster", address.replace("v=1", "v=2"), "-k", "3", "-o", "other"],
            ["cluster", "x.csv", "-k", "3", "-o", "other", "--labels", address],
        ]
        for line, code in zip(words, (0, 0, 2, 2, 2), strict=True):
            monkeypatch.setattr("sys.argv", ["onmf", *line])
            assert run(*line) == code
    said = capsys.readouterr()
    assert "which are not stored" in said.err
    texts = {str(p): p.read_bytes().decode("latin-1") for p in tmp_path.rglob("*") if p.is_file()}
    assert "token=***" in texts[str(tmp_path / "run.log")]
    assert f"http://***@{host}/x.csv?token=***&v=***" in texts[str(tmp_path / "out" / "run.json")]
    for name, text in (texts | {"stdout": said.out, "stderr": said.err}).items():
        assert not [secret for secret in SECRETS if secret in text], name
