"""A saved model is the model; a file that is anything else is refused before it costs anything."""

import copy
import errno
import hashlib
import io
import json
import os
import pickle
import tracemalloc
import warnings
import zipfile

import joblib
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import onmf
from onmf import NSNCP, ONMF, PALM, Fast, General
from onmf.datasets import make_rays
from onmf.estimators.kept import LEARNT
from onmf.exceptions import FormatError, UnsavedParameterWarning
from onmf.files.container import MODEL, container_bytes, read_container
from onmf.palm.penalties import PENALTIES

X, _ = make_rays(60, 8, 3, noise=0.1, random_state=0)


@pytest.fixture
def model():
    return ONMF(3, random_state=0).fit(X)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """The bytes of the model, saved once for all that forge it."""
    path = tmp_path_factory.mktemp("saved") / "model.onmf"
    ONMF(3, random_state=0).fit(X).save(path)
    return path.read_bytes()


@pytest.fixture
def path(tmp_path, saved):
    (tmp_path / "model.onmf").write_bytes(saved)
    return tmp_path / "model.onmf"


def same(one, other):
    """All fitted attributes and what the model does are equal, to the bit."""
    fitted, there = ({name for name in vars(m) if name[-1] == "_"} for m in (one, other))
    assert fitted - {*LEARNT} == there - {*LEARNT}
    fitted -= {*LEARNT}  # when asked, or when the model is saved
    for name in fitted:
        a, b = getattr(one, name), getattr(other, name)
        assert type(a) is type(b)
        assert getattr(a, "dtype", None) == getattr(b, "dtype", None)
        np.testing.assert_array_equal(a, b)
    for method in ("predict", "transform", "score", "predict_proba", "distance", "unusual"):
        np.testing.assert_array_equal(getattr(one, method)(X), getattr(other, method)(X))


@pytest.mark.parametrize("kind", ["fast", "outliers", "kl", "palm"])
def test_one_number_per_sample_is_stored_not_one_per_cluster(tmp_path, kind):
    models = {
        "fast": ONMF(20, random_state=0),
        "outliers": ONMF(20, outliers=30, random_state=0),
        "kl": ONMF(20, loss="kl", random_state=0),
        "palm": ONMF(20, solver="palm", max_iter=40, random_state=0),
    }
    n, path = 2000, tmp_path / "model.onmf"
    A, _ = make_rays(n, 12, 20, noise=0.1, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = models[kind].fit(A)
    model.save(path)
    again = onmf.ONMF.load(path)
    np.testing.assert_array_equal(again.membership_, model.membership_)
    np.testing.assert_array_equal(again.labels_, model.labels_)
    assert again.labels_.dtype == model.labels_.dtype
    one_per_row = (np.count_nonzero(model.membership_, axis=1) <= 1).all()
    assert one_per_row or kind == "palm"  # cut short, it has several
    if one_per_row:
        assert path.stat().st_size < 12 * n + 24 * 2000 + 20_000  # of 2000 samples a distance


def test_without_samples_the_size_does_not_depend_on_their_number(tmp_path):
    sizes = []
    for n in (4000, 8000):
        A, _ = make_rays(n, 12, 4, noise=0.1, random_state=0)
        model = ONMF(4, outliers="auto", random_state=0).fit(A)
        model.save(tmp_path / "model.onmf", samples=False)
        sizes.append((tmp_path / "model.onmf").stat().st_size)
        again = onmf.ONMF.load(tmp_path / "model.onmf")
        np.testing.assert_array_equal(again.predict(A), model.labels_)
        missing = {"labels_", "membership_"}
        assert {name for name in vars(model) if name[-1] == "_"} - set(vars(again)) == missing
        with pytest.raises(ValueError, match="saved with samples=False; fit it with passes=2"):
            again.explain(A)
    assert abs(sizes[0] - sizes[1]) < 200 + 72 * abs(len(model.history_) - 3)


SETTINGS = {
    "default": {},
    "many": {
        "n_init": 2,
        "solver": PALM(rho=1e-2, growth=np.float64(1.5)),
        "n_jobs": 1,
        "tol": 1e-4,
    },
    "passes": {"solver": Fast(passes=3)},
    "paper": {"solver": PALM("nsncp", mu_h=1e-9), "max_iter": np.int64(90)},
    "penalty": {"solver": PALM(General(1, 3, 3)), "max_iter": 90},
    "step": {"solver": PALM(NSNCP(margin=1.0)), "max_iter": 90},
    "inertia": {"solver": PALM(accelerate=True, mu_w=0.0, inner_tol=1e-2), "max_iter": 90},
    "bounds": {"solver": PALM(center_bounds=(0, np.inf)), "max_iter": 90},
    "data": {"solver": PALM(center_bounds="data"), "max_iter": 90},
    "list": {"solver": PALM(center_bounds=[0, None]), "max_iter": 90},
} | {f"a {name} object": {"solver": PALM(kind), "max_iter": 90} for name, kind in PENALTIES.items()}


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("dtype", [np.float64, pytest.param(np.float32, marks=pytest.mark.slow)])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_loaded_model_is_the_saved_one(tmp_path, name, dtype):
    model = ONMF(3, random_state=0, **SETTINGS[name]).fit(X.astype(dtype))
    model.save(tmp_path / "model.onmf")
    loaded = onmf.ONMF.load(tmp_path / "model.onmf")
    same(model, loaded)
    assert type(loaded.solver) is type(model.solver)
    assert {**loaded.get_params(), "solver": 0} == {**model.get_params(), "solver": 0}
    assert loaded.cluster_centers_.dtype == dtype
    np.testing.assert_array_equal(loaded.fit(X.astype(dtype)).labels_, model.labels_)


@pytest.mark.parametrize(
    "roundtrip",
    [
        lambda model, path: pickle.loads(pickle.dumps(model)),
        lambda model, path: joblib.load(joblib.dump(model, path)[0]),
        lambda model, path: copy.deepcopy(model),
    ],
    ids=["pickle", "joblib", "deepcopy"],
)
def test_pickle_and_joblib_work_too(model, tmp_path, roundtrip):
    same(model, roundtrip(model, tmp_path / "model.joblib"))


def test_names_of_features_are_kept(tmp_path):
    frame = pd.DataFrame(X, columns=[f"gene {j}, é" for j in range(8)])
    model = ONMF(3, random_state=0).fit(frame)
    model.save(tmp_path / "m")
    loaded = onmf.ONMF.load(tmp_path / "m")
    assert loaded.feature_names_in_.tolist() == frame.columns.tolist()
    np.testing.assert_array_equal(loaded.predict(frame), model.labels_)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("init", (None, X[:3].copy())),
        ("init", lambda X, k, rng: (None, X[:k])),
        ("callback", lambda event: False),
        ("random_state", np.random.RandomState(0)),
    ],
)
def test_what_only_python_can_store_is_left_out_with_a_warning(tmp_path, name, value):
    model = ONMF(3, **{"random_state": 0, name: value}).fit(X)
    with pytest.warns(UnsavedParameterWarning, match=name) as caught:
        model.save(tmp_path / "m")
    assert caught[0].filename == __file__
    loaded = onmf.ONMF.load(tmp_path / "m")
    assert getattr(loaded, name) == ONMF().get_params()[name]
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


def test_the_file_is_what_numpy_and_json_read(path, model):
    with np.load(path) as arrays:
        np.testing.assert_array_equal(arrays["cluster_centers_"], model.cluster_centers_)
    with zipfile.ZipFile(path) as archive:
        header = json.loads(archive.read("model.json"))
        assert all(info.compress_type == zipfile.ZIP_STORED for info in archive.infolist())
        centers = archive.read("cluster_centers_.npy")
    assert (header["format"], header["version"]) == ("onmf model", 1)
    digest = hashlib.sha256(centers).hexdigest()
    assert header["arrays"]["cluster_centers_"] == {
        "dtype": "<f8",
        "shape": [3, 8],
        "sha256": digest,
    }


def test_only_a_fitted_model_is_saved(tmp_path):
    with pytest.raises(ValueError, match="not fitted"):
        ONMF(3).save(tmp_path / "m")
    assert not list(tmp_path.iterdir())


def test_no_file_is_written_that_could_not_be_loaded(path, model):
    before = path.read_bytes()
    with pytest.raises(ValueError, match="n_clusters was set to 5 after the fit, which has 3"):
        model.set_params(n_clusters=5).save(path)
    assert path.read_bytes() == before
    model.set_params(n_clusters=3).save(path)
    same(onmf.ONMF.load(path), model)


@pytest.mark.parametrize("kind", [OSError(errno.ENOSPC, "No space left"), KeyboardInterrupt()])
def test_a_write_that_fails_keeps_the_old_model(path, monkeypatch, kind):
    before = path.read_bytes()

    def fail(*args):
        raise kind

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", fail)
        with pytest.raises(type(kind)):
            ONMF(2, random_state=0).fit(X).save(path)
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_missing_files_and_folders_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="none"):
        onmf.ONMF.load(tmp_path / "none")
    with pytest.raises(IsADirectoryError):
        onmf.ONMF.load(tmp_path)


# --- hostile files -------------------------------------------------------------------------------


def take_apart(path):
    """The header and the arrays, as bytes."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    return json.loads(members.pop("model.json")), members


def put_together(path, header, members, called="model.json", **options):
    """Write them again with checksums that match: what a careful forger would do."""
    for name, content in members.items():
        fact = header["arrays"].get(name.removesuffix(".npy"))
        if fact is not None:
            fact["sha256"] = hashlib.sha256(content).hexdigest()
    with zipfile.ZipFile(path, "w", **options) as archive:
        for name, content in {called: json.dumps(header), **members}.items():
            archive.writestr(name, content)


def array_bytes(array):
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=True)
    return stream.getvalue()


def with_array(name, change, honest=True):
    """Replace an array; the header says so if `honest`."""

    def forge(path):
        header, members = take_apart(path)
        array = change(np.load(io.BytesIO(members[f"{name}.npy"])))
        members[f"{name}.npy"] = array_bytes(array)
        if honest:
            header["arrays"][name] |= {"dtype": array.dtype.str, "shape": list(array.shape)}
        put_together(path, header, members)

    return forge


def paper(penalty):
    """PALM as a header has it, with this penalty."""
    return {"solver": "palm", "settings": {"penalty": penalty}}


def with_header(*keys, value):
    def forge(path):
        header, members = take_apart(path)
        place = header
        for key in keys[:-1]:
            place = place[key]
        place[keys[-1]] = value
        put_together(path, header, members)

    return forge


def with_bytes(name, change):
    def forge(path):
        header, members = take_apart(path)
        members[name] = change(members[name])
        put_together(path, header, members)

    return forge


def with_member(name):
    def forge(path):
        header, members = take_apart(path)
        put_together(path, header, members | {name: b"x"})

    return forge


def compressed(path):
    put_together(path, *take_apart(path), compression=zipfile.ZIP_DEFLATED)


def bomb(path):
    header, members = take_apart(path)
    zeros = array_bytes(np.zeros((3, 10_000_000)))
    header["arrays"]["cluster_centers_"]["shape"] = [3, 10_000_000]
    put_together(
        path, header, members | {"cluster_centers_.npy": zeros}, compression=zipfile.ZIP_DEFLATED
    )


def lying_sizes(path):
    """The table of contents claims a terabyte for one member."""
    content = bytearray(path.read_bytes())
    at = content.index(b"PK\x01\x02") + 20
    content[at : at + 8] = (2**32 - 2).to_bytes(4, "little") * 2
    path.write_bytes(content)


def overlapping(path):
    """Every array is the same bytes of the file, counted again and again."""
    header, members = take_apart(path)
    header["arrays"] |= {f"copy{i}_": {} for i in range(200)}
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("model.json", json.dumps(header))
        for name, content in members.items():
            archive.writestr(name, content)
        first = archive.getinfo("membership_.npy")
        for i in range(200):
            twin = copy.copy(first)
            twin.filename = f"copy{i}_.npy"
            archive.filelist.append(twin)
            archive.NameToInfo[twin.filename] = twin


def duplicate(path):
    with warnings.catch_warnings(), zipfile.ZipFile(path, "a") as archive:
        warnings.simplefilter("ignore")
        archive.writestr("labels_.npy", b"")


def another_zip(path):
    put_together(path, *take_apart(path), called="other.json")


def huge_header(content):
    return content.replace(b"(3, 8), }" + 13 * b" ", b"(3000000, 80000000), }")


def stale_checksum(path):
    header, members = take_apart(path)
    members["cluster_centers_.npy"] = members["cluster_centers_.npy"][:-1] + b"@"
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in {"model.json": json.dumps(header), **members}.items():
            archive.writestr(name, content)


HOSTILE = {
    "checksum": (stale_checksum, "does not match its checksum"),
    "text": (lambda path: path.write_text("no model"), "not a model"),
    "empty": (lambda path: path.write_bytes(b""), "not a model"),
    "another zip": (another_zip, "no header"),
    "another format": (with_header("format", value="other"), "not a model of onmf"),
    "newer": (with_header("version", value=2), "written by a newer onmf .format 2"),
    "older": (with_header("version", value=0), "unknown format version, 0"),
    "odd version": (with_header("version", value=True), "unknown format version"),
    "text version": (with_header("version", value="1"), "unknown format version, '1'"),
    "list": (with_header("parameters", value=[]), "its parameters is missing"),
    "parameter": (with_header("parameters", "shell", value="rm"), "shell"),
    "wrong parameter": (with_header("parameters", "solver", value="magic"), "solver must be"),
    "wrong solver": (
        with_header("parameters", "solver", value={"solver": "os", "settings": {}}),
        "solver 'os' is unknown",
    ),
    "solver settings": (
        with_header("parameters", "solver", value={"solver": "fast", "settings": {"mu_h": 1}}),
        "has other settings",
    ),
    "solver values": (
        with_header("parameters", "solver", value={"solver": "fast", "settings": {"passes": 0}}),
        "passes must be a whole number >= 1",
    ),
    "solver text": (
        with_header("parameters", "solver", value={"solver": "palm", "settings": {"rho": "1"}}),
        "solver 'palm' is unknown",
    ),
    "solver list": (
        with_header(
            "parameters", "solver", value={"solver": "fast", "settings": {"passes": ["/tmp"]}}
        ),
        "solver 'fast' is unknown",
    ),
    "other k": (with_header("parameters", "n_clusters", value=4), "n_clusters centroids"),
    "unknown kind": (with_header("parameters", "tol", value={"eval": "1"}), "unknown kind"),
    "penalty": (
        with_header("parameters", "solver", value=paper({"penalty": "os", "settings": {}})),
        "penalty 'os' is unknown",
    ),
    "penalty settings": (
        with_header("parameters", "solver", value=paper({"penalty": "SNCP", "settings": {"x": 1}})),
        "has other settings",
    ),
    "NaN": (with_array("cluster_centers_", lambda W: W * np.nan), "not all finite"),
    "infinity": (with_array("membership_", lambda H: H + np.inf), "not all finite"),
    "narrow": (with_array("cluster_centers_", lambda W: W[:, 1:]), "number of features"),
    "short": (with_array("labels_", lambda y: y[1:]), "differ in shape"),
    "flat": (with_array("cluster_centers_", np.ravel), "differ in shape"),
    "none": (with_array("cluster_centers_", lambda W: W[:, :0]), "differ in shape"),
    "labels": (with_array("labels_", lambda y: y + 1), "labels of clusters"),
    "negative labels": (with_array("labels_", lambda y: y - 2), "labels of clusters"),
    "type": (with_array("labels_", lambda y: y.astype(float)), "of the wrong type"),
    "complex": (with_array("labels_", lambda y: y * 1j), "complex"),
    "half": (with_array("membership_", lambda H: H.astype("f2")), "wrong type, float16"),
    "other type": (with_array("labels_", lambda y: y.astype(float), honest=False), "wrong type"),
    "other shape": (with_array("labels_", lambda y: y[1:], honest=False), "wrong shape"),
    "objects": (with_array("labels_", lambda y: y.astype(object)), "object arrays are pickles"),
    "history": (with_array("history_", lambda h: h[:, 1:]), "history has another shape"),
    "huge shape": (
        with_bytes("cluster_centers_.npy", huge_header),
        "declares 1920000000000000 bytes",
    ),
    "cut array": (
        with_bytes("labels_.npy", lambda b: b[:-8]),
        "declares 240 bytes, but there are 232",
    ),
    "long array": (
        with_bytes("labels_.npy", lambda b: b + b"x"),
        "declares 240 bytes, but there are 241",
    ),
    "path trick": (with_member("../../escape.npy"), "its header does not list its members"),
    "absolute": (with_member("/etc/passwd"), "its header does not list its members"),
    "method": (with_header("attributes", "predict", value=1), "no name of a fitted attribute"),
    "private": (with_header("attributes", "__class__", value=1), "no name of a fitted attribute"),
    "features": (with_header("attributes", "n_features_in_", value=9), "number of features"),
    "names": (with_header("features", value=["a"]), "1 names for 8 features"),
    "odd names": (with_header("features", value=[1] * 8), "are not text"),
    "rays": (with_array("ray_weight_", lambda w: w[1:]), "rays are not those of its clusters"),
    "unusual": (with_array("unusual_kept_", lambda d: d + 9), "rays that it does not have"),
    "before 1.0": (with_header("onmf", value="0.2.0"), "written before version 1.0: fit again"),
    "steps": (with_header("steps", value={"log": {}}), "steps"),
    "odd step": (with_header("steps", value=["log"]), "a step of another shape"),
    "compressed": (compressed, "compressed or encrypted"),
    "bomb": (bomb, "compressed or encrypted"),
    "lying sizes": (lying_sizes, "larger than its|damaged"),
    "overlapping": (overlapping, "larger than its"),
    "duplicate": (duplicate, "members of the same name"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_refused_in_a_sentence_before_memory_is_spent(path, name):
    forge, message = HOSTILE[name]
    forge(path)
    tracemalloc.start()
    try:
        with pytest.raises(FormatError, match=message) as caught:
            onmf.ONMF.load(path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 3_000_000
    assert str(caught.value).startswith("model.onmf ")
    assert "\n" not in str(caught.value)


def test_a_header_nested_without_end_is_refused(path):
    header, members = take_apart(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("model.json", "[" * 1_000_000)
    with pytest.raises(FormatError, match=r"nested too deeply|damaged"):
        onmf.ONMF.load(path)
    header["parameters"]["tol"] = "here"
    deep = json.dumps(header).replace('"here"', "[" * 900 + "]" * 900)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in {"model.json": deep, **members}.items():
            archive.writestr(name, content)
    with pytest.raises(FormatError):
        onmf.ONMF.load(path)


def test_numbers_that_json_does_not_know_are_refused(path):
    header, members = take_apart(path)
    text = json.dumps(header).replace('"relative_error_": ', '"relative_error_": NaN, "x_": ')
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in {"model.json": text, **members}.items():
            archive.writestr(name, content)
    with pytest.raises(FormatError, match="NaN in its header"):
        onmf.ONMF.load(path)


def test_every_truncated_file_is_refused(path, tmp_path):
    whole = path.read_bytes()
    cut = tmp_path / "cut.onmf"
    for size in range(0, len(whole), 97):
        cut.write_bytes(whole[:size])
        with pytest.raises(FormatError):
            onmf.ONMF.load(cut)


@pytest.mark.slow
def test_a_changed_byte_is_refused_or_harmless(path, tmp_path, model):
    whole, rng = path.read_bytes(), np.random.default_rng(0)
    refused = 0
    for place in rng.integers(len(whole), size=400):
        changed = bytearray(whole)
        changed[place] ^= 1 << rng.integers(8)
        (tmp_path / "x.onmf").write_bytes(changed)
        try:
            same(model, onmf.ONMF.load(tmp_path / "x.onmf"))
        except FormatError:
            refused += 1
    assert refused > 350


def test_sparse_data_and_a_sample_without_cluster_are_no_trouble(tmp_path):
    A = sp.csr_array(np.vstack([X, np.zeros(8)]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = ONMF(3, random_state=0).fit(A)
    model.save(tmp_path / "m")
    same(model, onmf.ONMF.load(tmp_path / "m"))


@pytest.mark.parametrize(
    ("name", "value"),
    [("relative_error_", "low"), ("n_iter_", 1.5), ("converged_", 1)],
)
def test_attributes_of_another_type_are_refused(tmp_path, name, value):
    ONMF(2, random_state=0).fit(np.eye(3)[:, :2] + 0.1).save(tmp_path / "model.onmf")
    stored = read_container(tmp_path / "model.onmf", MODEL)
    stored.header["attributes"][name] = value
    forged = container_bytes(MODEL, stored.header, dict(stored.arrays))
    (tmp_path / "model.onmf").write_bytes(forged)
    with pytest.raises(FormatError, match=f"its {name} is a {type(value).__name__}"):
        onmf.ONMF.load(tmp_path / "model.onmf")


def test_a_model_of_nearly_parallel_samples_is_kept_in_full(tmp_path):
    """Its centroids are in double precision, its samples are not."""
    X = (1 + 1e-3 * np.random.default_rng(0).random((60, 4))).astype(np.float32)
    model = ONMF(3, random_state=0).partial_fit(X).partial_fit(X)
    model.save(tmp_path / "model.onmf")
    again = onmf.ONMF.load(tmp_path / "model.onmf")
    np.testing.assert_array_equal(again.cluster_centers_, model.cluster_centers_)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_what_is_no_file_is_not_read():
    """Of a pipe or /dev/zero the end of the archive was looked for without end."""
    with pytest.raises(FormatError, match="is not a model: it is a pipe or a device"):
        onmf.ONMF.load(os.devnull)
