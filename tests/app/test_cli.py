"""What the command promises: results, exit codes, one clear sentence when it cannot go on."""

import csv
import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from cases import few
from onmf import ONMF, explain
from onmf.datasets import make_rays
from onmf.search.numpy_kernels import kernel_sentence

pytest.importorskip("click")
pytest.importorskip("rich")

import click

import onmf_app as cli
from command_line import run
from onmf_app.commands import demo

pytestmark = pytest.mark.usefixtures("page")

X, Y = make_rays(60, 8, 3, noise=0.05, random_state=0)
FILES = (
    "labels.csv",
    "clusters.csv",
    "markers.csv",
    "centers.csv",
    "model.onmf",
    "run.json",
    "report.html",
)


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with the same data in every format, made the working directory."""
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", X)
    np.savez("dense.npz", X=X)
    sp.save_npz("csr.npz", sp.csr_array(X))
    names = [f"gene{j}" for j in range(8)]
    rows = [[f"cell{i}", *row] for i, row in enumerate(X.tolist())]
    for name, delimiter in (("x.csv", ","), ("x.tsv", "\t")):
        with open(name, "w", newline="") as file:
            csv.writer(file, delimiter=delimiter).writerows([["", *names], *rows])
    return tmp_path


def read_csv(path):
    with open(path, newline="") as file:
        return list(csv.reader(file))


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("file", few(["csr.npz", "x.csv", "x.npy", "dense.npz", "x.tsv"]))
def test_cluster_writes_what_the_estimator_finds(here, file):
    assert run("cluster", file, "-k", 3, "-o", "out", "--seed", 2) == 0
    model = ONMF(3, random_state=2).fit(X)
    header, *rows = read_csv("out/labels.csv")
    assert header == ["sample", "cluster", "name", "probability", "distance", "unusual"]
    columns = np.array([[row[1], *row[3:5]] for row in rows], dtype=float).T
    np.testing.assert_array_equal(columns[0], model.labels_)
    np.testing.assert_allclose(columns[1], explain.clusters(model, X).certainty, atol=1e-6)
    np.testing.assert_allclose(columns[2], model.distance(X), atol=1e-6)
    header, *centers = read_csv("out/centers.csv")
    written = np.array(centers, dtype=float)
    assert written[:, 0].tolist() == [0, 1, 2]
    np.testing.assert_allclose(written[:, 1:], model.cluster_centers_, rtol=1e-6, atol=1e-9)


def test_names_of_samples_and_features_are_kept(here):
    run("cluster", "x.csv", "-k", 3, "-o", "out")
    assert [row[0] for row in read_csv("out/labels.csv")[1:]] == [f"cell{i}" for i in range(60)]
    assert read_csv("out/centers.csv")[0] == ["cluster", *(f"gene{j}" for j in range(8))]


def test_run_json_tells_input_parameters_versions_and_results(here):
    assert run("cluster", "x.csv", "-k", 3, "-o", "out", "--seed", 5) == 0
    record = json.loads((here / "out/run.json").read_text())
    digest = hashlib.sha256((here / "x.csv").read_bytes()).hexdigest()
    assert record["input"] == {
        "file": "x.csv",
        "sha256": digest,
        "samples": 60,
        "features": 8,
        "missing": 0,
    }
    assert record["seed"] == 5
    assert record["parameters"]["n_clusters"] == 3
    assert set(record["parameters"]) == {"prepare", *ONMF().get_params()} - {"callback"}
    assert {"python", "onmf", "numpy", "scipy", "scikit-learn"} == set(record["versions"])
    results = record["results"]
    assert results["converged"] is True
    assert sum(results["cluster_sizes"]) + results["samples_in_no_cluster"] == 60
    assert 0 <= results["relative_error"] < 1
    assert results["sweeps"] >= 1


def test_json_prints_the_record_and_nothing_else(here, capsys):
    run("cluster", "x.npy", "-k", 3, "-o", "out", "--json", "--force")
    assert json.loads(capsys.readouterr().out) == json.loads((here / "out/run.json").read_text())


def test_the_same_seed_gives_the_same_files(here):
    for out in ("one", "two"):
        run("cluster", "x.npy", "-k", 3, "-o", out, "--seed", 3, "--set", "n_init=2")
    one, two = contents(here / "one"), contents(here / "two")
    assert set(one) == set(two) == set(FILES)
    for name in set(FILES) - {"run.json"}:  # which tells the time it took
        assert one[name] == two[name]


def test_nothing_but_the_summary_is_printed_when_not_a_terminal(here, capsys):
    run("cluster", "x.npy", "-k", 3, "-o", "out")
    printed = capsys.readouterr()
    assert printed.err == ""
    assert "relative error" in printed.out
    assert "\x1b" not in printed.out


def bad_files(here):
    np.save("infinite.npy", np.where(np.eye(60, 8), np.inf, X))
    np.save("negative.npy", -X)
    np.save("pickle.npy", np.array([[{}]]), allow_pickle=True)
    np.save("line.npy", X[0])
    np.save("complex.npy", X * 1j)
    np.save("zero.npy", 0 * X)
    (here / "text.csv").write_text("u,v\n1,2\n3,many\n")
    (here / "file").write_text("")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["missing.npy"], "missing.npy"),
        (["infinite.npy"], "infinity"),
        (["negative.npy", "--loss", "kl"], "Negative"),
        (["pickle.npy"], "pickle"),
        (["line.npy"], "1 dimension"),
        (["complex.npy"], "complex"),
        (["zero.npy"], "zero"),
        (["text.csv"], "'many' in line 3, column v"),
        (["file"], "does not end in"),
        (["x.npy", "-k", "0"], "-k"),
        (["x.npy", "-k", "61"], "61"),
        (["x.npy", "-o", "file"], "file"),
        (["x.npy", "-o", "file/out"], "file"),
        (["x.npy", "--loss", "l1"], "l1"),
        (["x.npy", "--seed", "-1"], "-1"),
        (["x.npy", "--unknown"], "there is no option --unknown"),
        (["x.npy", "--cluters", "3"], "did you mean --clusters?"),
        (["x.npy", "--k", "3"], "write -k."),
        (["x.npy", "--log"], "write --prepare log."),
        (["x.npy", "--encoding", "latin1"], "write --set read.encoding=VALUE."),
        (["x.npy", "--set", "read.decimall=,"], "did you mean read.decimal?"),
        (["x.npy", "--set", "passes=2"], "did you mean solver.passes?"),
        (["x.npy", "--set", "solver.passes"], "write NAME=VALUE"),
        (["x.npy", "--set", "prepare.min_df=2"], "no step here takes prepare.min_df"),
        (["x.npy", "--prepare", "logg"], "there is no step 'logg' for --prepare"),
        (["x.npy", "--prepare", "batches"], "needs --batch"),
        (["x.npy", "--text", "--transpose"], "do not combine with --transpose"),
        (["x.npy", "--outliers", "1.5"], "'1.5' is not auto or SHARE or N"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(here, capsys, words, said):
    bad_files(here)
    defaults = [] if "-k" in words else ["-k", "3"]
    defaults += [] if "-o" in words else ["-o", "out"]
    assert run("cluster", *words, *defaults) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    errors = [line for line in printed.err.splitlines() if not line.startswith("Note: ")]
    assert len(errors) == 1
    assert errors[0].startswith("Error: ")
    assert said in errors[0]
    assert not any((here / "out" / name).exists() for name in FILES)


def test_an_unconverged_fit_is_written_with_a_note_and_exit_code_3(here, capsys, monkeypatch):
    fit = ONMF.fit
    monkeypatch.setattr(ONMF, "fit", lambda model, X: fit(model.set_params(max_iter=2), X))
    assert run("cluster", "x.npy", "-k", 3, "-o", "out") == 3
    assert capsys.readouterr().err.startswith("Note: ")
    assert json.loads((here / "out/run.json").read_text())["results"]["converged"] is False
    assert len(read_csv("out/labels.csv")) == 61


def test_an_interrupted_run_keeps_the_old_result_and_exits_with_130(here, capsys, monkeypatch):
    run("cluster", "x.npy", "-k", 3, "-o", "out")
    before = contents(here / "out")
    capsys.readouterr()

    def interrupt(*_args):
        raise KeyboardInterrupt

    monkeypatch.setattr(ONMF, "fit", interrupt)
    assert run("cluster", "x.npy", "-k", 2, "-o", "out", "--force") == 130
    assert "Traceback" not in capsys.readouterr().err
    assert contents(here / "out") == before


def test_a_full_disk_keeps_the_old_result_and_exits_with_2(here, monkeypatch):
    run("cluster", "x.npy", "-k", 3, "-o", "out")
    before = contents(here / "out")

    def full(*_args):
        raise OSError("No space left on device")

    monkeypatch.setattr(os, "replace", full)
    assert run("cluster", "x.npy", "-k", 2, "-o", "out", "--force") == 2
    assert contents(here / "out") == before


def test_warnings_become_notes(here, capsys):
    np.save("gap.npy", np.vstack([X, np.zeros(8)]))
    assert run("cluster", "gap.npy", "-k", 3, "-o", "out") == 0
    notes = capsys.readouterr().err.splitlines()
    assert notes
    assert all(note.startswith("Note: ") for note in notes)
    assert read_csv("out/labels.csv")[-1][:5] == ["60", "-1", "", "0", "1"]


@pytest.mark.parametrize(
    "words",
    [
        ["cluster", "-h"],
        ["predict", "-h"],
        ["update", "-h"],
        ["edit", "-h"],
        ["demo", "--help"],
        ["--help"],
        [],
    ],
)
def test_help_shows_an_example(capsys, words):
    assert run(*words) == 0
    printed = capsys.readouterr().out
    assert "Example:\n" in printed or "Examples:\n" in printed


def test_version_is_that_of_the_package(capsys):
    assert run("--version") == 0
    known = f"onmf {cli.version('onmf')}, {kernel_sentence()}\n"
    assert capsys.readouterr().out == known


def test_demo_shows_where_k_means_differs_and_writes_a_page(
    capsys, monkeypatch, tmp_path, plain_pages
):
    small = make_rays(100, 20, 10, random_state=0)
    digits = SimpleNamespace(data=small[0], target=small[1])
    monkeypatch.setattr(demo, "load_digits", lambda: digits)
    monkeypatch.setattr(demo, "make_paper_synthetic", lambda _snr: small)
    monkeypatch.setattr(demo, "N_DOCUMENTS", 120)
    monkeypatch.chdir(tmp_path)
    for _ in range(2):  # its own results may be replaced
        assert run("demo") == 0
    printed = capsys.readouterr().out
    for words in ("ONMF", "K-means", "ACC", "ARI", "rel. error", "passes"):
        assert printed.count(words) >= 3 * 2
    ours, theirs = (
        float(line.split("│")[3])
        for line in printed.splitlines()[3:6]
        if line.startswith(("│ ONMF", "│ K-means"))
    )
    assert ours > 95
    assert theirs < 30
    assert max(map(len, printed.split("Clusters of")[0].splitlines())) <= 80
    assert (tmp_path / "demo" / "report.html").as_uri() in printed
    assert "universe" in (tmp_path / "demo" / "markers.csv").read_text()
    ignored = (Path(__file__).parents[2] / ".gitignore").read_text().splitlines()
    assert "/demo/" in ignored


def test_other_packages_provide_commands(capsys):
    assert {*cli.commands_of_others()} == {"reproduce"}
    assert run("reproduce", "--help") == 0
    assert "onmf reproduce" in capsys.readouterr().out
    assert run("--help") == 0
    assert re.search("^  reproduce ", capsys.readouterr().out, re.MULTILINE)


def test_help_does_not_wait_for_scikit_learn():
    code = "import sys, onmf_app as c; c.main(['-h']); assert 'sklearn' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def test_help_is_one_screen_and_has_few_options_under_headings(capsys):
    assert run("cluster", "--help") == 0
    said = capsys.readouterr().out
    assert len(said.splitlines()) <= 60
    assert re.findall(r"^(\w.*):$", said, re.MULTILINE) == ["Input", "Clusters", "Output"]
    options = [p for p in cli.program.get_command(None, "cluster").params if p.name != "input"]
    assert len([p for p in options if p.name not in ("sets", "help")]) <= 28
    examples = re.findall(r"^    (onmf cluster .*)", said, re.MULTILINE)
    assert examples[0] == "onmf cluster tumours.csv"


def test_help_speaks_of_every_command_in_its_own_words_and_gives_an_example():
    context = click.Context(cli.program)
    folder = Path(cli.__file__).parent / "commands"
    assert {*cli.COMMANDS} == {path.stem for path in folder.glob("*.py")} - {"__init__", "options"}
    for name, said in cli.COMMANDS.items():
        command = cli.program.get_command(context, name)
        assert command.help.split("\n\n")[0].replace("\n", " ") == said
        assert f"onmf {name}" in command.help


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["clustr", "x.npy"], "no command or file 'clustr': did you mean 'cluster'?"),
        (["nothing.npy"], "there is no file 'nothing.npy'."),
        (["x.cvs"], "did you mean 'x.csv'?"),
        (["predict", "."], "Missing argument 'INPUT'"),
    ],
)
def test_the_nearest_word_is_said(here, capsys, words, said):
    assert run(*words) == 2
    assert said in capsys.readouterr().err


def test_a_file_alone_is_clustered(here, capsys):
    assert run("x.npy", "-k", 3, "-o", "out") == 0
    assert "to out." in capsys.readouterr().out
    Path("demo").mkdir()  # a command comes before a folder of its name
    assert run("demo", "--help") == 0
    assert "K-means" in capsys.readouterr().out


def test_a_bug_is_one_line_and_a_file_with_the_traceback(here, capsys, monkeypatch):
    monkeypatch.setattr(ONMF, "fit", lambda *given: {}["nothing"])
    assert run("cluster", "x.npy", "-k", 3, "-o", "out") == cli.BUG == 1
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "KeyError: 'nothing'" in Path(re.search(r"report (\S+)\.", said)[1]).read_text()
    assert not Path("out").exists()


def test_options_come_from_a_file_unless_typed(here, capsys):
    Path("c.toml").write_text(
        'seed = 3\nforce = true\n[cluster]\nclusters = 2\ndrop = ["gene3"]\nprepare = "unit"\n'
        'set = ["n_init=2"]\n[edit]\nsplit = ["1"]\n'
    )
    assert run("cluster", "x.csv", "--config", "c.toml", "-o", "c", "-k", 3) == 0
    record = json.loads(Path("c/run.json").read_text())
    assert record["read"]["drop"] == ["gene3"]
    assert [step["step"] for step in record["parameters"]["prepare"]] == ["unit"]
    known = (record["seed"], record["parameters"]["n_clusters"], record["parameters"]["n_init"])
    assert known == (3, 3, 2)
    assert run("predict", "c", "x.csv", "-o", "p.csv", "--config", "c.toml") == 0  # has no --seed
    for text, said in [
        ("clusters =", "is not TOML"),
        ("raw = 3", "raw is a flag"),
        (
            "sede = 3",
            "bad.toml has 'sede', which is no option of onmf cluster: did you mean 'seed'",
        ),
        ("[cluster]\nmissing = true", "which is no option of onmf cluster"),
    ]:
        Path("bad.toml").write_text(text)
        capsys.readouterr()
        assert run("cluster", "x.csv", "-k", 2, "-o", "d", "--config", "bad.toml") == 2
        assert said in capsys.readouterr().err
