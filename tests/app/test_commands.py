"""From a file to an answer and on to new samples: `onmf cluster` and `predict`."""

import errno
import gzip
import io
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.io
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import normalize

import onmf
from cases import few
from onmf import ONMF, metrics
from onmf.datasets import make_rays
from onmf.explain import ClusterRow
from onmf.files import output
from onmf.files.checksums import checksum

pytest.importorskip("click")
pytest.importorskip("rich")

from rich.console import Console

from command_line import run
from onmf_app import console
from onmf_app.run import RESULTS

pytestmark = pytest.mark.usefixtures("page")

RAYS, Y = make_rays(60, 8, 3, noise=0.05, random_state=0)
COUNTS = np.round(20 * RAYS)
NAMES = [f"gene{j}" for j in range(8)]
CELLS = [f"cell{i}" for i in range(60)]
TOPICS = ["stars planets moons orbit", "genes cells protein tissue", "goals match players league"]
TEXTS = [" ".join(np.random.default_rng(i).choice(TOPICS[i % 3].split(), 6)) for i in range(45)]


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame = pd.DataFrame(COUNTS, CELLS, NAMES)
    frame.to_csv("x.csv")
    frame.assign(type=Y).to_csv("typed.csv")
    Path("texts.txt").write_text("\n".join(TEXTS))
    return tmp_path


def good(*words):
    assert run(*words) == 0


def bad(capsys, *words, code=2):
    """The one sentence on stderr of a command that is refused."""
    capsys.readouterr()
    assert run(*words) == code
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("Error: ")
    assert printed.err.count("\n") == 1
    return printed.err


def labels(path):
    return pd.read_csv(path, index_col="sample", dtype={"sample": str})


def record(folder="out"):
    return json.loads(Path(folder, "run.json").read_text())


def write_h5ad(path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(path, "w") as file:
        file["X"], file["obs/_index"], file["var/_index"] = COUNTS, CELLS, NAMES


def write_mtx(path):
    text = io.BytesIO()
    scipy.io.mmwrite(text, sp.csr_array(COUNTS.T))
    path.write_bytes(gzip.compress(text.getvalue()))
    Path("features.tsv").write_text("\n".join(NAMES))
    Path("barcodes.tsv").write_text("\n".join(CELLS))


def test_a_file_alone_is_enough(here, capsys):
    good("cluster", "x.csv")
    said = capsys.readouterr().out
    assert "to x-clusters.\n" in said
    assert (
        record("x-clusters")["choice"]["best_k"]
        == 3
        == labels("x-clusters/labels.csv").cluster.nunique()
    )
    assert "x-clusters" in bad(capsys, "cluster", "x.csv", "-k", 4)  # nothing is replaced unasked


def test_documents_need_no_option(here, capsys):
    pd.DataFrame({"year": 2000, "talk": TEXTS}).to_csv("talks.csv", index=False)
    good("cluster", "talks.csv", "-k", 3)
    assert "its column 'talk' has the texts" in capsys.readouterr().err
    good("cluster", "talks.csv", "-k", 3, "--text-column", "talk", "-o", "typed")
    one, two = (Path(run, "labels.csv").read_bytes() for run in ("talks-clusters", "typed"))
    assert one == two
    assert record("talks-clusters")["input"] == record("typed")["input"]


FORMATS = {
    "x.csv.gz": lambda path: pd.DataFrame(COUNTS, CELLS, NAMES).to_csv(path),
    "x.tsv": lambda path: pd.DataFrame(COUNTS, CELLS, NAMES).to_csv(path, sep="\t"),
    "x.parquet": lambda path: pd.DataFrame(COUNTS, CELLS, NAMES).to_parquet(path),
    "x.h5ad": write_h5ad,
    "x.mtx.gz": write_mtx,
}


@pytest.mark.parametrize("name", few(FORMATS))
def test_every_format_gives_the_same_answer_with_the_same_names(here, name):
    good("cluster", "x.csv", "-k", 3, "-o", "plain")
    FORMATS[name](here / name)
    good("cluster", name, "-k", 3, "-o", "out", *(["--transpose"] if "mtx" in name else []))
    for file in ("labels.csv", "centers.csv"):
        assert Path("out", file).read_text() == Path("plain", file).read_text()


def by_hand(name, X=COUNTS):
    return {
        "log": lambda: np.log2(1 + X),
        "unit": lambda: normalize(X),
        "tfidf": lambda: TfidfTransformer().fit(COUNTS).transform(X),
    }[name]()


@pytest.mark.parametrize("step", ["log", "unit", "tfidf"])
def test_the_steps_before_the_fit_are_those_named_and_are_repeated_for_new_samples(here, step):
    good("cluster", "x.csv", "-k", 3, "-o", "out", "--prepare", step)
    model = ONMF(3, random_state=0).fit(by_hand(step))
    np.testing.assert_array_equal(labels("out/labels.csv").cluster, model.labels_)
    assert [own["step"] for own in record()["parameters"]["prepare"]] == [step]
    # New samples alone would have other idf: those of the model must be used.
    new = 3 * COUNTS[:7] + np.eye(7, 8)
    pd.DataFrame(new, CELLS[:7], NAMES).to_csv("new.csv")
    good("predict", "out", "new.csv", "-o", "new_labels.csv")
    found = labels("new_labels.csv")
    np.testing.assert_array_equal(found.cluster, model.predict(by_hand(step, new)))
    np.testing.assert_allclose(found.distance, model.distance(by_hand(step, new)), atol=1e-6)


@pytest.mark.parametrize("words", few([[], ["--prepare", "log"], ["--prepare", "tfidf"]], 2))
def test_predicting_the_input_gives_its_own_labels(here, words):
    good("cluster", "x.csv", "-k", 3, "-o", "out", *words)
    good("predict", "out", "x.csv", "-o", "again.csv")
    pd.testing.assert_frame_equal(labels("again.csv"), labels("out/labels.csv"), atol=2e-6)


def test_features_are_matched_by_name(here, capsys):
    good("cluster", "x.csv", "-k", 3, "-o", "out", "--prepare", "tfidf")
    mixed = pd.DataFrame(COUNTS, CELLS, NAMES)[NAMES[::-1]]
    mixed.insert(3, "unheard", 1.0)
    mixed.to_csv("mixed.csv")
    good("predict", "out", "mixed.csv", "-o", "mixed_labels.csv")
    assert Path("mixed_labels.csv").read_text() == Path("out/labels.csv").read_text()
    np.save("bare.npy", COUNTS)  # without names: their number must do
    good("predict", "out", "bare.npy", "-o", "bare.csv")
    np.testing.assert_array_equal(labels("bare.csv").cluster, labels("out/labels.csv").cluster)


def test_missing_features_are_listed_and_nothing_is_written(here, capsys):
    wide = pd.DataFrame(np.hstack([COUNTS, COUNTS]), CELLS, [f"g{j}" for j in range(16)])
    wide.to_csv("wide.csv")
    good("cluster", "wide.csv", "-k", 3, "-o", "out")
    wide[["g0", "g7"]].to_csv("few.csv")
    said = bad(capsys, "predict", "out", "few.csv", "-o", "labels.csv")
    assert "lack 14 of 16 features: 'g1', 'g2', 'g3'" in said
    assert "and 4 more" in said
    np.save("few.npy", COUNTS)
    said = bad(capsys, "predict", "out", "few.npy", "-o", "labels.csv")
    assert "X has 8 features, the model 16" in said
    assert not Path("labels.csv").exists()


def test_true_classes_are_taken_out_and_scored(here, capsys, page):
    good("cluster", "typed.csv", "-k", 3, "-o", "out", "--labels", "type")
    found = labels("out/labels.csv").cluster
    assert record()["results"]["scores"] == {
        "accuracy": metrics.clustering_accuracy(Y, found),
        "adjusted_rand_index": metrics.adjusted_rand_score(Y, found),
        "normalized_mutual_information": metrics.normalized_mutual_info_score(Y, found),
    }
    assert "accuracy 1.000" in capsys.readouterr().out
    assert page[0].truth == [str(y) for y in Y]
    assert page[0].features == NAMES
    Path("y.txt").write_text("\n".join(map(str, Y)))
    good("cluster", "x.csv", "-k", 3, "-o", "two", "--labels", "y.txt")
    assert record("two")["results"]["scores"] == record()["results"]["scores"]
    good("predict", "out", "typed.csv", "-o", "new.csv", "--labels", "type", "--json")
    said = capsys.readouterr().out
    facts = json.loads(said[said.index("{") :])
    assert facts["scores"]["accuracy"] == 1
    assert sum(facts["cluster_sizes"]) == facts["samples"] == 60


# --- choosing K ----------------------------------------------------------------------------------


@pytest.mark.parametrize("k", ["0", "many", "5:3", "1:4", "2:", "-1", "3.5"])
def test_other_numbers_of_clusters_are_refused(here, capsys, k):
    assert "-k" in bad(capsys, "cluster", "x.csv", "-k", k, "-o", "out")


def test_the_checksum_is_that_of_the_input_as_it_was_read(here, monkeypatch, page):
    """And not of what somebody put in its place during the fit."""
    before, fit = checksum(Path("x.csv")), ONMF.fit

    def disturbed(model, X, y=None):
        Path("x.csv").write_text("a,b\n1,2\n")
        return fit(model, X, y)

    monkeypatch.setattr(ONMF, "fit", disturbed)
    good("cluster", "x.csv", "-k", 3, "-o", "out")
    assert record("out")["input"]["sha256"] == before != checksum(Path("x.csv"))


# --- bad input, full disks, interruptions --------------------------------------------------------


@pytest.mark.parametrize("name", RESULTS)
def test_an_existing_result_is_refused_before_the_long_part(here, capsys, monkeypatch, name):
    monkeypatch.setattr(ONMF, "fit", None)
    Path("out").mkdir()
    Path("out", name).write_text("precious")
    said = bad(capsys, "cluster", "x.csv", "-k", 3, "-o", "out")
    assert f"out already has {name}" in said
    assert "--force" in said
    assert Path("out", name).read_text() == "precious"


def test_predict_says_how_many_are_in_no_cluster(here, capsys):
    run("cluster", "x.csv", "-k", 3, "-o", "out")
    pd.DataFrame(np.vstack([COUNTS[:9], 0 * COUNTS[:2]]), CELLS[:11], NAMES).to_csv("new_x.csv")
    capsys.readouterr()
    assert run("predict", "out", "new_x.csv", "-o", "new.csv") == 0
    assert ", 2 in none: new.csv." in capsys.readouterr().out


def test_an_existing_prediction_is_refused(here, capsys):
    good("cluster", "x.csv", "-k", 3, "-o", "out")
    Path("new.csv").write_text("precious")
    said = bad(capsys, "predict", "out", "x.csv", "-o", "new.csv")
    assert "this folder already has new.csv: choose another folder" in said
    assert "--force" in said
    assert Path("new.csv").read_text() == "precious"
    good("predict", "out", "x.csv", "-o", "new.csv", "--force")
    assert Path("new.csv").read_text() != "precious"


@pytest.mark.parametrize("command", ["cluster", "predict"])
def test_an_unwritable_folder_is_said_before_the_long_part(here, capsys, monkeypatch, command):
    good("cluster", "x.csv", "-k", 3, "-o", "model")

    def denied(*args, **kwargs):
        raise PermissionError(errno.EACCES, "Permission denied", "out")

    monkeypatch.setattr(tempfile, "TemporaryFile", denied)
    monkeypatch.setattr(ONMF, "fit", None)
    monkeypatch.setattr(ONMF, "predict", None)
    words = {
        "cluster": ["x.csv", "-k", 3, "-o", "out"],
        "predict": ["model", "x.csv", "-o", "out/deep/new.csv"],
    }
    assert "Permission denied" in bad(capsys, command, *words[command])
    assert not Path("out").exists()


@pytest.mark.parametrize("failing", few(range(1, 7), 2))
def test_a_disk_that_fills_up_leaves_nothing_half_written(here, capsys, monkeypatch, failing):
    written, write = [], output._write

    def fill(file, content):
        written.append(file)
        if len(written) == failing:
            file.write(b"0123456789")
            raise OSError(errno.ENOSPC, "No space left on device", "temporary")
        write(file, content)

    monkeypatch.setattr(output, "_write", fill)
    said = bad(capsys, "cluster", "x.csv", "-k", 3, "-o", "out", code=5)
    assert re.match(r"Error: out/[\w.]+: No space left on device\.\n", said)
    assert len(written) == failing
    assert not Path("out").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "code", "sentence"), [(signal.SIGINT, 130, "Interrupted."), (signal.SIGTERM, 143, "")]
)
def test_an_interrupted_command_leaves_nothing(kind, code, sentence, here):
    program = (
        "import sys, time; import onmf_app as cli; from onmf import ONMF\n"
        "def fit(*args): print('now', flush=True); time.sleep(60)\n"
        "ONMF.fit = fit\n"
        "sys.exit(cli.main(sys.argv[1:]))"
    )
    words = ["cluster", "x.csv", "-k", "3", "-o", "out"]
    with subprocess.Popen(
        [sys.executable, "-c", program, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": str(Path(onmf.__file__).parents[1])},
        text=True,
    ) as process:
        ready = process.stdout.readline()
        process.send_signal(kind)
        _, said = process.communicate(timeout=60)
    assert ready == "now\n"
    assert process.returncode == code
    assert said.strip() == sentence
    assert not Path("out").exists()


def forged(change):
    def write(path):
        good("cluster", "x.csv", "-k", 3, "-o", "out")
        path.write_bytes(change(Path("out/model.onmf").read_bytes()))

    return write


@pytest.mark.parametrize(
    ("write", "said"),
    [
        (lambda path: path.write_text("no model"), "not a model"),
        (forged(lambda content: content[:-100]), "not a model, or is damaged"),
        (forged(lambda content: content.replace(b'"version": 1', b'"version": 9')), "damaged"),
    ],
)
def test_a_model_that_is_none_is_refused(here, capsys, write, said):
    write(here / "m.onmf")
    assert said in bad(capsys, "predict", "m.onmf", "x.csv", "-o", "new.csv")
    assert not Path("new.csv").exists()


BAD_INPUT = {
    "twice.csv": ("id,u,v\na,1,2\na,3,4\n", "samples of the same name: 'a'"),
    "ragged.csv": ("id,u,v\na,1,2\nb,3\n", "2 cells in line 3 but 3 above"),
    "words.csv": ("id,u,v\na,1,x\nb,3,4\n", "'x' in line 2, column v"),
    "gap.csv": (
        "id,u,v\na,1,inf\nb,3,4\n",
        "infinity at (sample 'a', feature 'v')",
    ),
    "empty.csv": ("", "empty.csv is empty"),
    "strange.xyz": ("1,2", "does not end in"),
}


@pytest.mark.parametrize("name", BAD_INPUT)
def test_bad_input_is_one_sentence_and_leaves_nothing(here, capsys, name):
    text, said = BAD_INPUT[name]
    Path(name).write_text(text)
    assert said in bad(capsys, "cluster", name, "-k", 2, "-o", "out")
    assert not Path("out").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["x.csv", "--labels", "kind"], "no column 'kind'"),
        (["x.csv", "--labels", "texts.txt"], "45 classes for 60 samples"),
        (["texts.txt", "--text", "--transpose"], "do not combine with --transpose"),
        (["texts.txt", "--text", "--set", "prepare.min_df=44"], "no word is in at least 44"),
        (["x.csv", "--layer", "counts"], "x.csv has no layers"),
        (["."], "the output folder is inside the input folder"),
        (["folder/.."], "the output folder is inside the input folder"),
        (["folder"], "is a folder"),
        (["minus.npy", "--prepare", "log"], "Negative values in data"),
        (["missing.csv"], "missing.csv"),
    ],
)
def test_options_that_do_not_fit_the_input_are_refused(here, capsys, words, said):
    np.save("minus.npy", -COUNTS)
    Path("folder").mkdir()
    assert said in bad(capsys, "cluster", *words, "-k", 2, "-o", "out")
    assert not Path("out").exists()


# --- terminals -----------------------------------------------------------------------------------


def test_a_terminal_sees_progress_with_the_time_left_and_nothing_stays(monkeypatch):
    screen = io.StringIO()
    terminal = Console(file=screen, force_terminal=True, width=100)
    monkeypatch.setattr(console, "Console", lambda **_: terminal)
    with console.waiting("Reading x.csv") as progress:
        progress(50, 100)
        time.sleep(0.3)
    shown = screen.getvalue()
    assert "Reading x.csv" in shown
    assert "left:" in shown
    assert shown.endswith("\x1b[2K")  # the line is wiped


def test_no_label_of_a_bar_or_a_line_steers_the_terminal(monkeypatch, capsys):
    monkeypatch.setattr(console, "SECONDS_BETWEEN_LINES", 0)
    with console.waiting("Reading a\x1b[31mb.csv") as progress:
        progress(50, 100)
    assert "a\\x1b[31mb.csv: 50 of 100" in capsys.readouterr().err
    screen = io.StringIO()
    terminal = Console(file=screen, force_terminal=True, width=100)
    monkeypatch.setattr(console, "Console", lambda **_: terminal)
    with console.waiting("Reading a\x1b[31mb.csv") as progress:
        progress(50, 100)
    assert "a\\x1b[31mb.csv" in screen.getvalue()
    assert "a\x1b[31mb.csv" not in screen.getvalue()


@pytest.mark.parametrize("shell", few(["bash", "zsh", "fish"]))
def test_shells_can_complete_the_command_without_waiting_for_scikit_learn(shell):
    code = "import sys, onmf_app as c\ntry: c.main()\nfinally: assert 'sklearn' not in sys.modules"

    def ask(**settings):
        return subprocess.run(
            [sys.executable, "-c", code],
            env=os.environ | settings,
            capture_output=True,
            text=True,
            check=True,
        ).stdout

    assert f"_ONMF_COMPLETE={shell}_complete" in ask(_ONMF_COMPLETE=f"{shell}_source")
    at = "pre" if shell == "fish" else "1"
    found = ask(_ONMF_COMPLETE=f"{shell}_complete", COMP_WORDS="onmf pre", COMP_CWORD=at)
    assert "predict" in found
    assert "demo" not in found


def test_csv_tables_of_results_read_back(here):
    good("cluster", "x.csv", "-k", 3, "-o", "out")
    model = onmf.load("out/model.onmf").onmf
    centers = pd.read_csv("out/centers.csv", index_col="cluster", float_precision="round_trip")
    np.testing.assert_array_equal(centers.to_numpy(), model.cluster_centers_)
    assert centers.columns.tolist() == NAMES


def test_every_run_says_which_clusters_can_be_trusted(here, capsys, page):
    """Three true clusters, and five: parts of clouds, of which half are not found again."""
    good("cluster", "x.csv", "-k", 3, "-o", "out")
    found = page[0].explanation
    table = pd.read_csv("out/clusters.csv", keep_default_na=False)
    assert tuple(table) == ClusterRow._fields
    np.testing.assert_allclose(table.found_again.astype(float), found.found_again, rtol=1e-5)
    assert record("out")["results"]["clusters"] == [row._asdict() for row in found.clusters()]
    markers = pd.read_csv("out/markers.csv")
    for k in range(3):
        own = markers[markers.cluster == k]
        assert own.neighbour.tolist() == [found.markers.neighbour[k]] * len(own)
        np.testing.assert_allclose(own.p_one_cloud, found.markers.p_one_cloud[k], rtol=1e-5)
    capsys.readouterr()
    good("cluster", "x.csv", "-k", 7, "-o", "more")
    told, rows = capsys.readouterr().out, page[-1].explanation.clusters()
    doubted = [row for row in rows if row.note]
    assert any(row.found_again < 0.5 for row in doubted)
    for row in doubted:
        assert f"Cluster {row.cluster}: {row.note}." in told


def test_a_single_cluster_has_nothing_to_be_explained_by(here, capsys):
    good("cluster", "x.csv", "-k", 1, "-o", "out")
    assert "feature names" not in capsys.readouterr().err  # of scikit-learn, from the page
    assert (labels("out/labels.csv").probability == 1).all()
    assert len(pd.read_csv("out/clusters.csv")) == 0


@pytest.mark.slow
def test_the_result_is_written_back_into_annotated_data(here, capsys):
    anndata = pytest.importorskip("anndata")
    frames = pd.DataFrame(index=CELLS), pd.DataFrame(index=NAMES)
    anndata.AnnData(COUNTS, *frames).write_h5ad("x.h5ad")
    words = ["cluster", "x.h5ad", "-k", 3, "-o", "result", "--prepare", "log"]
    assert run(*words, "--write-h5ad", "with.h5ad") == 0
    adata, model = anndata.read_h5ad("with.h5ad"), onmf.load("result/model.onmf").onmf
    np.testing.assert_array_equal(
        adata.obs["onmf"].astype(int), labels("result/labels.csv").cluster
    )
    np.testing.assert_array_equal(adata.X, anndata.read_h5ad("x.h5ad").X)
    np.testing.assert_allclose(adata.varm["onmf_centers"], model.cluster_centers_.T)
    scores = model.decision_function(np.log2(1 + COUNTS))
    np.testing.assert_allclose(adata.obsm["X_onmf"], scores, atol=1e-6)
    assert adata.uns["onmf"]["top_features"]["feature"].isin(NAMES).all()
    capsys.readouterr()
    for target, said in (
        ("x.h5ad", "names the input x.h5ad"),
        ("with.h5ad", "with.h5ad already exists"),
    ):
        assert run(*words, "--write-h5ad", target) != 0
        assert said in capsys.readouterr().err
    assert run("cluster", "x.csv", "-k", 3, "-o", "more", "--write-h5ad", "more.h5ad") != 0
    assert "needs an .h5ad file as input" in capsys.readouterr().err
    assert run(*words, "--force", "--write-h5ad", "with.h5ad") == 0


@pytest.mark.slow
def test_annotated_data_say_what_was_clustered_and_why_so_many(here):
    anndata = pytest.importorskip("anndata")
    adata = anndata.AnnData(COUNTS, pd.DataFrame(index=CELLS), pd.DataFrame(index=NAMES))
    adata.layers["raw"] = COUNTS + 1
    adata.write_h5ad("x.h5ad")
    words = ["cluster", "x.h5ad", "--layer", "raw", "--prepare", "log", "-k", "2:4", "-o", "result"]
    assert run(*words, "--write-h5ad", "with.h5ad") == 0
    told, table = anndata.read_h5ad("with.h5ad").uns, pd.read_csv("result/markers.csv")
    assert told["onmf"]["params"]["layer"] == "raw"
    assert " clusters: " in told["onmf"]["reason"]
    top = told["onmf"]["top_features"]  # the same numbers as in the table beside the page
    table = table.groupby("cluster").head(20).reset_index(drop=True)
    np.testing.assert_allclose(top["log2_fold_change"], table["log2_fold_change"], rtol=1e-5)


def test_outliers_are_named_and_told_again_of_new_samples(here, capsys):
    strange = np.vstack([COUNTS, np.full((2, COUNTS.shape[1]), COUNTS.max())])
    names = [*CELLS, "odd", "=odder"]
    pd.DataFrame(strange, names, NAMES).to_csv("strange.csv")
    good("cluster", "strange.csv", "-k", 3, "-o", "out", "--outliers", 2)
    assert "2 outliers in no cluster: odd" in capsys.readouterr().out
    found, record = labels("out/labels.csv"), json.loads(Path("out/run.json").read_text())
    assert (found.cluster[-2:] == -1).all()
    told = record["results"]["outliers"]
    assert told["samples"] == 2
    assert {*told["worst"]} == {"odd", "=odder"}
    good("predict", "out", "strange.csv", "-o", "new.csv")
    again = labels("new.csv")
    assert again.cluster.equals(found.cluster)
    assert "'1.5' is not auto or SHARE or N" in bad(
        capsys, "cluster", "x.csv", "-k", 3, "-o", "o", "--outliers", "1.5"
    )
