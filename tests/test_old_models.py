"""What older versions wrote is read, and says what it said then: see `models/README.md`."""

import json
import shutil
from html import unescape
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import onmf

HERE = Path(__file__).with_name("models")
GONE = {"warm_start"}  # parameters of which nothing is left
MODELS = sorted(HERE.glob("v*/*.onmf"))
RUNS = sorted(path.parent for path in HERE.glob("v*/*/run.json"))
NAMES = "feature_names_in_"


def name_of(path):
    return f"{path.parent.name}, {path.stem}"


@pytest.fixture(params=MODELS, ids=name_of)
def path(request):
    return request.param


@pytest.fixture
def facts(path):
    return json.loads(path.with_name("expected.json").read_text(encoding="utf-8"))


@pytest.fixture
def expected(path, facts):
    return facts["models"][path.stem]


def data_of(X, names=None, shift=0.0, dtype="float64"):
    """As `models/make.py` has it."""
    X = (np.array(X) + shift).astype(dtype)
    return X if names is None else pd.DataFrame(X, columns=names)


def test_there_are_models_and_each_has_its_expectation():
    for folder in {path.parent for path in MODELS}:
        facts = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
        assert facts["models"].keys() == {path.stem for path in folder.glob("*.onmf")}
    assert MODELS
    assert RUNS


def test_an_old_model_has_its_class_parameters_and_attributes(path, expected):
    """Parameters of a solver are now those of an object; max_clusters those of a class."""
    model, then = onmf.load(path), expected["parameters"]
    births = then.get("max_clusters", "None") != "None"
    assert type(model).__name__ == ("StreamONMF" if births else expected["class"])
    now = model.get_params(deep=False)
    if "rho" in then and hasattr(now["solver"], "get_params"):
        now |= now["solver"].get_params() | {"solver": now["solver"].name}
    for name in then.keys() - GONE:
        if name in now:
            assert repr(now[name]) == then[name]
        else:
            assert then[name] in ("None", "False")
    np.testing.assert_array_equal(model.labels_, expected["labels"])
    assert model.relative_error_ == expected["relative_error"]
    assert (model.n_iter_, model.converged_) == (expected["n_iter"], expected["converged"])
    assert len(model.history_) == expected["stages"]
    names = getattr(model, NAMES, None)
    assert expected["data"].get("names") == (None if names is None else names.tolist())


def test_its_factors_are_those_in_the_file(path, expected):
    model = onmf.load(path)
    with np.load(path) as arrays:
        for name in ("cluster_centers_", "membership_", "labels_"):
            np.testing.assert_array_equal(getattr(model, name), arrays[name])
    assert model.cluster_centers_.dtype == model.membership_.dtype == expected["dtype"]


def test_an_old_model_says_what_it_said_of_new_samples(path, facts, expected):
    model = onmf.load(path)
    new = data_of(facts["new"], **expected["data"])
    tolerance = 1e-5 if expected["dtype"] == "float32" else 1e-7
    np.testing.assert_array_equal(model.predict(new), expected["predict"])
    np.testing.assert_allclose(model.transform(new), expected["transform"], tolerance, tolerance)
    for found, known in zip(model.top_features(2), expected["top_features"], strict=True):
        assert [name for name, _ in found] == [name for name, _ in known]
        assert [weight for _, weight in found] == pytest.approx([weight for _, weight in known])


@pytest.mark.filterwarnings("ignore::onmf.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::onmf.exceptions.UnassignedSampleWarning")
def test_an_old_model_is_saved_and_fitted_again(path, facts, expected, tmp_path):
    model = onmf.load(path)
    model.save(tmp_path / "again.onmf")
    again = onmf.load(tmp_path / "again.onmf")
    np.testing.assert_array_equal(again.membership_, model.membership_)
    np.testing.assert_array_equal(again.history_, model.history_)
    assert repr(again) == repr(model)
    if "then" in expected:
        return  # a stream, whose samples are not kept
    again.fit(data_of(facts["X"], **expected["data"]))
    assert again.relative_error_ <= expected["relative_error"] * (1 + 1e-4)  # a search may improve


STREAMS = [path for path in MODELS if path.stem in ("stream", "births", "warmup", "kl stream")]


@pytest.mark.parametrize("path", STREAMS, ids=name_of)
def test_an_old_stream_continues(path, facts, expected):
    """Of `births` samples wait, of `warmup` the first samples are kept.

    Which of the waiting samples become clusters is decided anew; those that were there stay.
    """
    model = onmf.load(path).partial_fit(np.array(facts["later"]))
    then = np.array(expected["then"])
    np.testing.assert_allclose(model.cluster_centers_[: len(then)], then, rtol=1e-6, atol=1e-8)


def test_old_outliers_are_outliers():
    folder = HERE / "v1b"
    X = json.loads((folder / "expected.json").read_text(encoding="utf-8"))["X"]
    model = onmf.load(folder / "outliers.onmf")
    assert (model.labels_ < 0).any()
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    np.testing.assert_allclose(model.outlier_score(X), model.outlier_score_, rtol=1e-6)


@pytest.fixture(params=RUNS, ids=name_of)
def folder(request, tmp_path):
    """A copy of an old run beside its input."""
    shutil.copytree(request.param.parent, tmp_path / "v")
    return tmp_path / "v" / request.param.name


def command(*words):
    pytest.importorskip("rich")
    return pytest.importorskip("onmf_app").main([str(word) for word in words])


def test_an_old_run_predicts_what_it_wrote(folder):
    """The preparation is in the model: log2 and unit length, or words and tf-idf.

    What was called confidence is no more; all else is as it was.
    """
    source = json.loads((folder / "run.json").read_text(encoding="utf-8"))["source"]
    given = ["--labels", source["labels"]] if source["labels"] else []
    assert (
        command("predict", folder, folder / source["path"], "-o", folder / "new.csv", *given) == 0
    )
    new, known = (pd.read_csv(folder / name) for name in ("new.csv", "labels.csv"))
    same = ["sample", "cluster", "distance"]
    pd.testing.assert_frame_equal(new[same], known[same], rtol=0, atol=2e-6)


def test_an_old_run_is_reported_again(folder):
    before = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    assert command("report", folder) == 0
    page = (folder / "report.html").read_text(encoding="utf-8")
    names = pd.read_csv(folder / "top_features.csv").query("rank == 1")["feature"]
    assert all(name in unescape(page) for name in names)
    after = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    assert before.pop("files", {}).items() <= after.pop("files", {}).items()
    assert after == before
