"""A fit that is broken off at any moment goes on and ends as if nothing had happened."""

import os
import signal
import subprocess
import sys
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import onmf
from cases import few
from onmf import ONMF, PALM, Fast
from onmf.datasets import make_rays
from onmf.estimators import checkpoint
from onmf.estimators.checkpoint import read_notes, write_notes
from onmf.rows import disk
from onmf.rows.memory import InMemory, block_edges
from onmf.rows.sweep import Block
from onmf.streams.lineage import Lineage


class BrokenOffError(Exception):
    pass


@pytest.fixture(scope="module", name="X")
def samples():
    return make_rays(500, 120, 5, noise=2.0, random_state=0)[0]


RAYS = make_rays(500, 120, 5, random_state=0)[0][:5]
FITS = {  # options, and the solver
    "fast": ({"tol": 1e-12}, Fast()),
    "fast, rivals": ({"tol": 1e-12, "n_init": 6}, Fast()),
    "nsncp": ({"penalty": "nsncp", "tol": 1e-12}, Fast(growth=1.5)),
    "given": ({"init": (None, RAYS), "tol": 1e-12}, Fast()),
    "outliers": ({"outliers": 0.02, "tol": 1e-12}, Fast()),
    "kl": ({"loss": "kl", "tol": 1e-12, "n_init": 2}, Fast()),
    "kl, outliers": ({"loss": "kl", "tol": 1e-12, "outliers": 5}, Fast()),
    "palm": ({"n_init": 2, "max_iter": 120}, PALM(growth=2.0)),
    "palm, nsncp": ({"penalty": "nsncp", "max_iter": 80}, PALM(growth=3.0)),
    "palm, accelerated": ({"max_iter": 120}, PALM(accelerate=True, growth=2.0)),
}


def model_of(name, folder=None, **options):
    """A model whose fit saves its state in a folder, if any."""
    own, solver = FITS[name]
    solver = clone(solver).set_params(checkpoint=folder)
    return ONMF(5, solver=solver, **{"random_state": 3} | own | options)


pytestmark = pytest.mark.filterwarnings("ignore::onmf.exceptions.ConvergenceWarning")


def break_at(moment):
    """A callback that breaks the fit off at its so-manieth call."""
    calls = []

    def callback(event):
        calls.append(event)
        if len(calls) == moment:
            raise BrokenOffError

    return callback


def outcome(model):
    return (
        model.labels_, model.cluster_centers_, model.membership_, model.relative_error_,
        model.n_iter_, [stage[:7] for stage in model.history_], model.converged_,
        model.stationarity_, model.n_disagreements_,
    )  # fmt: skip


def assert_same(a, b):
    for one, other in zip(a, b, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("name", few(FITS))
def test_a_fit_broken_off_at_every_sweep_ends_as_if_it_had_not_been(name, X, tmp_path):
    seen = []
    whole = outcome(model_of(name, callback=lambda e: bool(seen.append(e))).fit(X))
    moments = range(1, len(seen) + 1)
    for moment in list(moments)[:: max(1, len(seen) // 5)]:
        folder = tmp_path / str(moment)
        with pytest.raises(BrokenOffError):
            model_of(name, folder, callback=break_at(moment)).fit(X)
        calls = []
        again = model_of(name, folder, callback=lambda e, c=calls: bool(c.append(e)))
        assert_same(outcome(again.fit(X)), whole)
        assert len(calls) <= len(seen)
        assert not list(folder.glob("*.notes"))  # the fit has ended


def test_what_was_done_is_not_done_again(X, tmp_path):
    with pytest.raises(BrokenOffError):
        model_of("fast", tmp_path, callback=break_at(8)).fit(X)
    sweeps = []
    model_of("fast", tmp_path, callback=lambda event: bool(sweeps.append(event.sweep))).fit(X)
    assert sweeps[0] == 8


@pytest.mark.slow
def test_several_breaks_are_no_worse_than_one(X, tmp_path):
    whole = outcome(model_of("palm").fit(X))
    for _ in range(4):
        with pytest.raises(BrokenOffError):
            model_of("palm", tmp_path, callback=break_at(40)).fit(X)
    assert_same(outcome(model_of("palm", tmp_path).fit(X)), whole)


def test_a_second_break_right_after_the_first_is_no_worse(X, tmp_path):
    whole = outcome(model_of("fast").fit(X))
    for moment in (7, 1, 1, 2):
        with pytest.raises(BrokenOffError):
            model_of("fast", tmp_path, callback=break_at(moment)).fit(X)
    assert_same(outcome(model_of("fast", tmp_path).fit(X)), whole)


@pytest.mark.filterwarnings("ignore::onmf.exceptions.EmptyClusterWarning")  # whatever the seed is
def test_the_seeds_of_a_broken_fit_are_used_again(X, tmp_path):
    """Without a random_state every fit has its own."""
    options = {"init": "k-means++", "max_iter": 3}
    with pytest.raises(BrokenOffError):
        ONMF(5, **options, callback=break_at(1), solver=PALM(checkpoint=tmp_path)).fit(X)
    (seed,) = read_notes(tmp_path / "seeds.notes")["seeds"]
    again = ONMF(5, **options, solver=PALM(checkpoint=tmp_path)).fit(X)
    expected = ONMF(5, **options, random_state=seed, solver="palm").fit(X)
    assert_same(outcome(again), outcome(expected))


def test_a_callback_that_stops_a_fit_leaves_it_to_be_continued(X, tmp_path):
    whole = outcome(model_of("fast").fit(X))
    early = model_of("fast", tmp_path, callback=lambda event: event.sweep == 6).fit(X)
    assert early.n_iter_ == 6
    assert_same(outcome(model_of("fast", tmp_path).fit(X)), whole)


@pytest.mark.parametrize("name", few(["palm", "fast"]))
def test_a_fit_goes_on_in_another_place(name, X, tmp_path, monkeypatch):
    monkeypatch.setattr(disk, "MAX_MAP_AS_ARRAY_BYTES", 0)
    np.save(tmp_path / "X.npy", X)
    whole = outcome(model_of(name).fit(X))
    with pytest.raises(BrokenOffError):
        model_of(name, tmp_path / "c", callback=break_at(9)).fit(X)
    assert_same(outcome(model_of(name, tmp_path / "c").fit(tmp_path / "X.npy")), whole)


# What is refused


def broken(X, folder, moment=5, **options):
    with pytest.raises(BrokenOffError):
        ONMF(
            5, random_state=0, callback=break_at(moment), **options, solver=Fast(checkpoint=folder)
        ).fit(X)


def swapped_columns(X):
    return X[:, [1, 0, *range(2, X.shape[1])]]


OTHER_DATA = {
    "one entry": lambda X: X + np.eye(*X.shape) * (np.arange(500) == 77)[:, None] * 1e-9,
    "two samples swapped": lambda X: X[[1, 0, *range(2, 500)]],
    "two features swapped": swapped_columns,
    "single precision": lambda X: X.astype(np.float32),
    "one sample more": lambda X: np.vstack([X, X[:1]]),
}


@pytest.mark.parametrize("change", few(OTHER_DATA, 3))
def test_other_data_are_refused(change, X, tmp_path):
    broken(X, tmp_path)
    with pytest.raises(ValueError, match="belongs to a fit of other data or with other parameters"):
        ONMF(5, random_state=0, solver=Fast(checkpoint=tmp_path)).fit(OTHER_DATA[change](X))


@pytest.mark.parametrize(
    "other", few([{"n_clusters": 4}, {"tol": 1e-3}, {"random_state": 1}, {"penalty": "nsncp"}], 2)
)
def test_other_parameters_are_refused(other, X, tmp_path):
    broken(X, tmp_path)
    options = {"n_clusters": 5, "random_state": 0, **other}
    with pytest.raises(ValueError, match="other parameters"):
        ONMF(**options, solver=Fast(checkpoint=tmp_path)).fit(X)


def test_a_model_with_other_ids_is_another_start(X, tmp_path):
    first = ONMF(5, random_state=0).fit(X[:300])
    again = ONMF(init=first, random_state=0, solver=Fast(checkpoint=tmp_path))
    with pytest.raises(BrokenOffError):
        clone(again).set_params(callback=break_at(2)).fit(X)
    first.lineage_ = Lineage.first(5)._replace(ids=(7, 1, 2, 3, 4), next_id=8)
    with pytest.raises(ValueError, match="other parameters"):
        again.fit(X)


@pytest.mark.parametrize("solver", [Fast(rho=1e-2), PALM(), Fast(growth=2.0)], ids=str)
def test_another_solver_is_refused(solver, X, tmp_path):
    broken(X, tmp_path)
    with pytest.raises(ValueError, match="other parameters"):
        ONMF(5, random_state=0, solver=solver.set_params(checkpoint=tmp_path)).fit(X)


def test_a_folder_may_be_moved(X, tmp_path):
    broken(X, tmp_path / "here")
    (tmp_path / "here").rename(tmp_path / "there")
    sweeps = []
    model = ONMF(5, random_state=0, callback=lambda event: bool(sweeps.append(event.sweep)))
    model.set_params(solver=Fast(checkpoint=str(tmp_path / "there"))).fit(X)
    assert sweeps[0] == 5
    assert_same(outcome(model), outcome(ONMF(5, random_state=0).fit(X)))


def test_other_weights_are_refused(X, tmp_path):
    broken(X, tmp_path)
    weight = np.ones(500)
    weight[3] = 2
    with pytest.raises(ValueError, match="other data"):
        ONMF(5, random_state=0, solver=Fast(checkpoint=tmp_path)).fit(X, sample_weight=weight)


def test_threads_and_talk_may_change(X, tmp_path):
    broken(X, tmp_path)
    whole = outcome(ONMF(5, random_state=0).fit(X))
    again = ONMF(5, random_state=0, n_jobs=2, solver=Fast(checkpoint=tmp_path)).fit(X)
    assert_same(outcome(again), whole)


def content(path):
    """What a file holds, or why it is refused."""
    try:
        return repr(read_notes(path))
    except ValueError as error:
        return str(error)


@pytest.mark.parametrize("name", few(["alternation", "seeds", "basis"]))
def test_a_damaged_checkpoint_is_refused_wherever_it_is_damaged(name, X, tmp_path):
    """But in the few bytes that only other zip programs look at: there it is read as it was."""
    broken(X, tmp_path)
    path = tmp_path / f"{name}.notes"
    good, facts = path.read_bytes(), content(path)
    model, harmless = ONMF(5, random_state=0, solver=Fast(checkpoint=tmp_path)), 0
    places = np.random.default_rng(0).integers(len(good), size=30).tolist()
    for place in (0, 20, len(good) // 2, len(good) - 1, *places):
        path.write_bytes(good[:place] + bytes([good[place] ^ 1]) + good[place + 1 :])
        said = content(path)
        harmless += said == facts
        assert said == facts or f"{name}.notes is damaged" in said
    assert harmless < 12
    path.write_bytes(good[: len(good) // 2] + b"?!" + good[len(good) // 2 + 2 :])
    with pytest.raises(ValueError, match=f"{name}.notes is damaged"):
        model.fit(X)
    for length in (0, 10, len(good) // 2, len(good) - 1):
        path.write_bytes(good[:length])
        with pytest.raises(ValueError, match="damaged, cut off"):
            model.fit(X)


def test_rows_of_which_a_sum_of_keys_is_the_same_are_other_rows(tmp_path):
    """Keys that grow evenly cannot tell (1, 0, 0, 1) from (0, 1, 1, 0): a broken fit of one went
    on with the other."""
    X = np.random.default_rng(0).poisson(1.0, (300, 12)).astype(float)
    X[:60, :4] = [1, 0, 0, 1]
    other = X.copy()
    other[:60, :4] = [0, 1, 1, 0]
    for change in (np.asarray, sp.csr_array):
        broken(change(X), folder := tmp_path / change.__name__, moment=1)
        with pytest.raises(ValueError, match="other data"):
            ONMF(5, random_state=0, solver=Fast(checkpoint=folder)).fit(change(other))


def test_all_rows_of_small_counts_have_their_own_digest():
    rows = np.array(list(product(range(4), repeat=5)), float)
    for form in (rows, sp.csr_array(rows)):
        digests, _ = checkpoint.row_digests(Block(form, np.ones((len(rows), 1))), None)
        assert len({digest.tobytes() for digest in digests}) == len(rows)


def test_what_else_is_in_the_folder_stays(X, tmp_path):
    saved = tmp_path / "mine.onmf"
    ONMF(3, random_state=0).fit(X).save(saved)
    (tmp_path / "README.notes.txt").write_text("mine")
    broken(X, tmp_path)
    ONMF(5, random_state=0, solver=Fast(checkpoint=tmp_path)).fit(X)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["README.notes.txt", "mine.onmf"]
    assert onmf.load(saved).n_clusters == 3


def test_a_fingerprint_does_not_depend_on_how_the_rows_are_cut(X):
    parameters, prints = ONMF(5).get_params(), set()
    for size in (1, 50, 10**9):
        for make in (np.asarray, sp.csr_array):
            data = InMemory(make(X))
            data._cut_at(block_edges(data.X, size))
            prints.add(checkpoint.fit_fingerprint("ONMF", parameters, data))
    assert len(prints) == 1


# Files


def test_facts_come_back_as_they_were(tmp_path):
    facts = {
        "n": 3, "x": 0.1, "inf": np.inf, "no": None, "text": "\n{}", "list": [1, [2.5]],
        "W": np.random.default_rng(0).random((3, 2), np.float32),
        "in": {"F": np.asfortranarray(np.arange(6.0).reshape(2, 3)), "b": np.bool_(True)},
        "empty": np.zeros((0, 2)), "number": np.float64(1e-300),
    }  # fmt: skip
    write_notes(tmp_path / "a.notes", facts)
    found = read_notes(tmp_path / "a.notes")
    assert {*found} == {*facts}
    np.testing.assert_array_equal(found["W"], facts["W"])
    np.testing.assert_array_equal(found["in"]["F"], facts["in"]["F"])
    assert found["W"].dtype == np.float32
    assert found["empty"].shape == (0, 2)
    assert found["in"]["b"] is True
    assert found["number"] == 1e-300
    assert all(found[name] == facts[name] for name in ("n", "x", "inf", "no", "text", "list"))
    assert [path.name for path in tmp_path.iterdir()] == ["a.notes"]


def test_nothing_is_unpickled(tmp_path):
    with pytest.raises(ValueError, match="Object arrays cannot be saved"):
        write_notes(tmp_path / "a.notes", {"x": np.array([object()])})


@pytest.mark.parametrize("room", [0, 100, 3000])
def test_a_full_disk_leaves_what_was_there(room, tmp_path, full_disk):
    write_notes(tmp_path / "a.notes", {"W": np.arange(5000.0)})
    full_disk(room)
    with pytest.raises(OSError, match="No space left"):
        write_notes(tmp_path / "a.notes", {"W": np.zeros(5000)})
    assert [path.name for path in tmp_path.iterdir()] == ["a.notes"]
    np.testing.assert_array_equal(read_notes(tmp_path / "a.notes")["W"], np.arange(5000.0))


@pytest.mark.parametrize("room", few([3000, 0]))
def test_a_full_disk_stops_no_fit_and_loses_nothing(room, X, tmp_path, full_disk):
    whole = outcome(model_of("fast").fit(X))
    broken(X, tmp_path, tol=1e-12)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    full_disk(room)
    with pytest.warns(UserWarning, match=r"cannot be written .*No space left.* the fit goes on"):
        model = model_of("fast", tmp_path / "new").fit(X)
    assert_same(outcome(model), whole)
    assert {path.name: path.read_bytes() for path in tmp_path.glob("*.notes")} == before


SCRIPT = """
import sys, time, warnings
import numpy as np
from onmf import ONMF, PALM, Fast
warnings.simplefilter("ignore")
folder, solver, last = sys.argv[1], sys.argv[2], int(sys.argv[3])
X, notes = np.load(folder + "/X.npy"), folder + "/c"
options = {"fast": {"tol": 1e-14, "max_iter": 400, "solver": Fast(checkpoint=notes)},
           "palm": {"max_iter": 300, "solver": PALM(growth=1.5, checkpoint=notes)}}
told = []
def tell(event):
    print("sweep", flush=True)
    told.append(event)
    if len(told) == last:
        time.sleep(600)  # until it is killed
model = ONMF(6, random_state=0, n_jobs=1, callback=tell, **options[solver])
model.fit(X)
np.save(folder + "/labels.npy", model.labels_)
np.save(folder + "/W.npy", model.cluster_centers_)
"""


def run(folder, solver, last=0):
    """Sweeps that a process tells of, and its exit code; it is killed after the last of them."""
    arguments = [sys.executable, "-c", SCRIPT, str(folder), solver, str(last)]
    sweeps = 0
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as process:
        for _ in process.stdout:
            sweeps += 1
            if sweeps == last:
                process.send_signal(signal.SIGKILL)
        return sweeps, process.wait()


def result(folder):
    found = [np.load(folder / name) for name in ("labels.npy", "W.npy")]
    for name in ("labels.npy", "W.npy"):
        (folder / name).unlink()
    return found


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["fast", "palm"])
def test_a_process_that_is_killed_ends_with_the_same_labels(solver, tmp_path):
    """SIGKILL: nothing can be tidied up. Two moments here, 20 in the benchmark."""
    np.save(tmp_path / "X.npy", make_rays(800, 100, 6, noise=3.0, random_state=0)[0])
    sweeps, code = run(tmp_path, solver)
    assert code == 0
    whole = result(tmp_path)
    for last in (2, max(3, sweeps // 3)):
        assert run(tmp_path, solver, last) == (last, -signal.SIGKILL)
    assert run(tmp_path, solver)[1] == 0
    assert_same(result(tmp_path), whole)


def test_the_checkpoint_is_written_beside_its_place(tmp_path, monkeypatch):
    """A reader sees the old file or the new one, never half of one."""
    write_notes(tmp_path / "a.notes", {"n": 1})
    seen = []
    real = os.replace

    def watched(source, target):
        seen.append((Path(source).parent == Path(target).parent, read_notes(Path(target))["n"]))
        real(source, target)

    monkeypatch.setattr(os, "replace", watched)
    write_notes(tmp_path / "a.notes", {"n": 2})
    assert seen == [(True, 1)]
    assert read_notes(tmp_path / "a.notes")["n"] == 2
