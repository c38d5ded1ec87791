"""Where the rows are does not change the answer: memory, files of every kind, memory maps."""

import os
import subprocess
import sys
import time
import zipfile

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from cases import few
from onmf import ONMF, PALM
from onmf.datasets import make_rays
from onmf.rows import Check, OnDisk, PlacementRequest, disk, formats, open_rows, place
from onmf.rows import memory as blocks
from onmf.rows.formats import open_arrays, stays_on_disk
from onmf.rows.memory import InMemory


@pytest.fixture(scope="module")
def dense():
    X, _ = make_rays(1500, 150, 5, noise=1.0, random_state=0)
    X[[4, 800]] = 0
    return X


@pytest.fixture(scope="module")
def sparse():
    return sp.csr_array(make_rays(1500, 400, 5, sparsity=0.95, noise=0.5, random_state=1)[0])


@pytest.fixture(autouse=True)
def _every_map_is_large(monkeypatch):
    monkeypatch.setattr(disk, "MAX_MAP_AS_ARRAY_BYTES", 0)


def npy(X, folder):
    np.save(folder / "X.npy", X)
    return folder / "X.npy"


def fortran_npy(X, folder):
    return npy(np.asfortranarray(X), folder)


def memmap(X, folder):
    return np.load(npy(X, folder), mmap_mode="r")


def part_of_a_memmap(X, folder):
    around = np.vstack([X[:7], X, X[:3]])
    return np.load(npy(around, folder), mmap_mode="r")[7:-3]


def columns_of_a_memmap(X, folder):
    return np.load(npy(np.hstack([X, X[:, :4]]), folder), mmap_mode="r")[:, :-4]


def npz(X, folder):
    np.savez(folder / "X.npz", X)
    return folder / "X.npz"


def packed_npz(X, folder):
    np.savez_compressed(folder / "X.npz", X)
    return folder / "X.npz"


def dense_h5ad(X, folder):
    h5py = pytest.importorskip("h5py")
    with h5py.File(folder / "X.h5ad", "w") as file:
        file.create_dataset("X", data=X, chunks=(100, X.shape[1]), compression="gzip")
    return folder / "X.h5ad"


def hdf5_dataset(X, folder):
    h5py = pytest.importorskip("h5py")
    return h5py.File(dense_h5ad(X, folder), "r")["X"]


def parquet(X, folder):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    (folder / "X.parquet").mkdir()
    for part, rows in enumerate(np.array_split(X, 3)):
        table = pa.table({f"g{j}": rows[:, j] for j in range(X.shape[1])})
        pq.write_table(table, folder / "X.parquet" / f"{part}.parquet")
    return folder / "X.parquet"


DENSE = [
    npy, fortran_npy, memmap, part_of_a_memmap, columns_of_a_memmap, npz, packed_npz,
    dense_h5ad, hdf5_dataset, parquet,
]  # fmt: skip


def answer(model):
    return model.labels_, model.cluster_centers_, model.membership_


FITS = {
    name: ONMF(5, solver=name, random_state=0, max_iter=30, callback=lambda e: e.sweep == 12)
    for name in ("fast", "palm")
}
FITS["accelerated"] = clone(FITS["palm"]).set_params(solver=PALM(accelerate=True))
OF_SPARSE = ONMF(5, random_state=0)


@pytest.fixture(scope="module")
def in_memory(dense, sparse):
    """The answers of memory, once for all the files that must give their bits."""
    with pytest.warns(UserWarning, match="4, 800"):
        answers = {name: answer(clone(model).fit(dense)) for name, model in FITS.items()}
    return answers | {"sparse": answer(clone(OF_SPARSE).fit(sparse))}


@pytest.mark.parametrize("kind", few(DENSE, 2), ids=lambda kind: kind.__name__)
@pytest.mark.parametrize(
    "solver",
    ["fast", *(pytest.param(name, marks=pytest.mark.slow) for name in ("palm", "accelerated"))],
)
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_files_give_the_bits_of_memory(kind, solver, dense, in_memory, tmp_path):
    stored = kind(dense, tmp_path)
    assert open_rows(stored) is not None
    with pytest.warns(UserWarning, match="4, 800"):
        there = clone(FITS[solver]).fit(stored)
    for a, b in zip(in_memory[solver], answer(there), strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(there.predict(stored), there.predict(dense))
    np.testing.assert_array_equal(there.transform(stored), there.transform(dense))
    assert there.score(stored) == there.score(dense)


def csr_npz(X, folder):
    sp.save_npz(folder / "X.npz", X, compressed=False)
    return folder / "X.npz"


def packed_csr_npz(X, folder):
    sp.save_npz(folder / "X.npz", X)
    return folder / "X.npz"


def three_memmaps(X, folder):
    parts = []
    for name in ("data", "indices", "indptr"):
        np.save(folder / f"{name}.npy", getattr(X, name))
        parts.append(np.load(folder / f"{name}.npy", mmap_mode="r"))
    return sp.csr_array(tuple(parts), shape=X.shape)


def h5ad(X, folder):
    """As anndata writes it."""
    h5py = pytest.importorskip("h5py")
    with h5py.File(folder / "X.h5ad", "w") as file:
        group = file.create_group("X")
        group.attrs.update({"encoding-type": "csr_matrix", "shape": X.shape})
        for name in ("data", "indices", "indptr"):
            group[name] = getattr(X, name)
        names = file.create_group("var")
        names.attrs["_index"] = "genes"
        names["genes"] = [f"gene {j}" for j in range(X.shape[1])]
    return folder / "X.h5ad"


def h5ad_group(X, folder):
    h5py = pytest.importorskip("h5py")
    return h5py.File(h5ad(X, folder), "r")["X"]


SPARSE = [csr_npz, packed_csr_npz, three_memmaps, h5ad, h5ad_group]


@pytest.mark.parametrize(
    "kind", few([npy, csr_npz, dense_h5ad, h5ad], 2), ids=lambda kind: kind.__name__
)
@pytest.mark.parametrize("piece", [1, 50_000, 10**9])
def test_every_sample_is_visited_once_however_much_is_read_at_once(
    kind, piece, dense, sparse, tmp_path, monkeypatch
):
    monkeypatch.setattr(blocks, "BLOCK_ENTRIES", 2000)
    monkeypatch.setattr(blocks, "MAX_GROUPS", 3)
    monkeypatch.setattr(disk, "READ_BYTES", piece)
    X = sparse if kind in SPARSE else dense
    data = place(kind(X, tmp_path), None, PlacementRequest(Check("ONMF"), n_threads=2)).data
    assert len(data.first) > blocks.MAX_GROUPS
    seen = [
        block.X.toarray() if sp.issparse(block.X) else block.X
        for group in data.groups
        for _, block in group
    ]
    np.testing.assert_array_equal(np.concatenate(seen), X.toarray() if sp.issparse(X) else X)
    assert [len(part) for part in seen] == np.diff(data.cuts).tolist()


@pytest.mark.parametrize("kind", [npy, dense_h5ad, csr_npz, h5ad], ids=lambda kind: kind.__name__)
def test_rows_are_had_by_their_numbers_in_any_order(kind, dense, sparse, tmp_path):
    X, numbers = sparse if kind in SPARSE else dense, np.array([7, 3, 4, 5, 1499, 0, 3])
    found, wanted = open_rows(kind(X, tmp_path))[numbers], X[numbers]
    if sp.issparse(X):
        found, wanted = found.toarray(), wanted.toarray()
    np.testing.assert_array_equal(found, wanted)
    assert open_rows(kind(X, tmp_path))[numbers[:0]].shape == (0, X.shape[1])


@pytest.mark.parametrize("kind", few(SPARSE), ids=lambda kind: kind.__name__)
def test_sparse_files_give_the_bits_of_memory(kind, sparse, in_memory, tmp_path):
    stored = kind(sparse, tmp_path)
    assert open_rows(stored).indptr is not None
    there = clone(OF_SPARSE).fit(stored)
    for a, b in zip(in_memory["sparse"], answer(there), strict=True):
        np.testing.assert_array_equal(a, b)


def test_names_of_features_come_with_the_file(dense, tmp_path):
    model = ONMF(3, random_state=0).fit(parquet(dense[10:400], tmp_path))
    assert model.feature_names_in_.tolist() == [f"g{j}" for j in range(150)]
    other = tmp_path / "other"
    other.mkdir()
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table = pa.table({f"h{j}" if j == 3 else f"g{j}": dense[:50, j] for j in range(150)})
    pq.write_table(table, other / "X.parquet")
    with pytest.raises(ValueError, match="'h3' instead of 'g3'"):
        model.predict(other / "X.parquet")


def test_extreme_scales_are_handled_where_the_rows_are(dense, tmp_path):
    X = 1e200 * dense[5:700]
    model = ONMF(4, random_state=0)
    here = model.fit(X).cluster_centers_
    np.testing.assert_array_equal(model.fit(npy(X, tmp_path)).cluster_centers_, here)


def test_weights_go_with_the_rows(dense, tmp_path):
    weight = np.random.default_rng(0).random(695)
    X = dense[5:700]
    model = ONMF(4, random_state=0)
    here = model.fit(X, sample_weight=weight).cluster_centers_
    there = model.fit(npy(X, tmp_path), sample_weight=weight).cluster_centers_
    np.testing.assert_array_equal(there, here)


@pytest.mark.filterwarnings("ignore::onmf.exceptions.UnassignedSampleWarning")
def test_memberships_too_large_to_be_held_are_on_disk(dense, tmp_path, monkeypatch):
    monkeypatch.setattr(disk, "MAX_MEMBERSHIP_BYTES", 1000)
    stop = {"callback": lambda event: event.sweep == 12}
    for options in ({}, {"solver": "palm", **stop}):
        model = ONMF(5, random_state=0, **options)
        here = model.fit(dense).membership_
        there = model.fit(npy(dense, tmp_path)).membership_
        assert isinstance(there, np.memmap)
        np.testing.assert_array_equal(there, here)
    assert isinstance(model.transform(npy(dense, tmp_path)), np.memmap)


def test_private_changes_of_a_map_are_seen(dense, tmp_path):
    X = np.load(npy(dense[:200], tmp_path), mmap_mode="c")
    X[3, 2] = np.inf
    with pytest.raises(ValueError, match=r"\(row 3, column 2\)"):
        ONMF(2).fit(X)


def test_changes_not_yet_in_the_file_are_seen(dense, tmp_path):
    X = np.load(npy(dense[:200], tmp_path), mmap_mode="r+")
    X[3, 2] = np.inf
    with pytest.raises(ValueError, match=r"\(row 3, column 2\)"):
        ONMF(2).fit(X)


# Faults


def wrong_value(value, row, column):
    def make(X, folder):
        X = X.copy()
        X[row, column] = value
        return npy(X, folder)

    return make


def cut_off(X, folder):
    path = npy(X, folder)
    os.truncate(path, path.stat().st_size - 1)
    return path


def cut_off_npz(X, folder):
    path = npz(X, folder)
    os.truncate(path, path.stat().st_size - 1000)
    return path


def altered_npz(X, folder):
    path = npz(X, folder)
    with path.open("r+b") as file:
        file.seek(path.stat().st_size // 2)
        file.write(b"?!")
    return path


def by_columns(X, folder):
    sp.save_npz(folder / "X.npz", sp.csc_array(X))
    return folder / "X.npz"


def outside(X, folder):
    X = sp.csr_array(X)
    X.indices[40] = X.shape[1]
    return csr_npz(X, folder)


def decreasing(X, folder):
    X = sp.csr_array(X)
    X.indptr[3] = X.indptr[-1]
    return csr_npz(X, folder)


def two_arrays(X, folder):
    np.savez(folder / "X.npz", a=X, b=X)
    return folder / "X.npz"


def objects(X, folder):
    np.save(folder / "X.npy", np.array([[object()]]), allow_pickle=True)
    return folder / "X.npy"


def not_an_array(X, folder):
    (folder / "X.npy").write_text("hello")
    return folder / "X.npy"


def not_hdf5(X, folder):
    pytest.importorskip("h5py")
    (folder / "X.h5ad").write_text("hello")
    return folder / "X.h5ad"


def linked_h5ad(X, folder):
    h5py = pytest.importorskip("h5py")
    inside = dense_h5ad(X, folder)
    with h5py.File(folder / "link.h5ad", "w") as file:
        file["X"] = h5py.ExternalLink(str(inside), "X")
    return folder / "link.h5ad"


def not_parquet(X, folder):
    pytest.importorskip("pyarrow")
    (folder / "X.parquet").write_text("hello")
    return folder / "X.parquet"


def text_parquet(X, folder):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    pq.write_table(pa.table({"x": ["u", "v"], "name": [["a"], ["b"]]}), folder / "X.parquet")
    return folder / "X.parquet"


FAULTS = [
    (wrong_value(np.inf, 1400, 7), r"infinity at \(row 1400, column 7\)"),
    (wrong_value(-1, 1400, 7), r"Negative values .* \(row 1400, column 7\)"),
    (cut_off, "X.npy is truncated: it has 1800127 bytes instead of 1800128"),
    (cut_off_npz, "X.npz cannot be read as an archive"),
    (altered_npz, "X.npz cannot be read .* Bad CRC"),
    (by_columns, "is a csc matrix, which cannot be read by rows"),
    (outside, "column numbers outside 0 to 149"),
    (decreasing, "its indptr decreases"),
    (two_arrays, r"X.npz .* it has 2 arrays \(a, b\): keep only one"),
    (objects, "object arrays are pickles"),
    (not_an_array, "X.npy cannot be read as an array of numbers"),
    (not_hdf5, "X.h5ad cannot be read as HDF5"),
    (linked_h5ad, "a link to another file"),
    (not_parquet, "X.parquet cannot be read as Parquet"),
    (text_parquet, "X.parquet has no column of numbers"),
    (lambda X, folder: folder / "X.npy", "there is no file"),
    (lambda X, folder: folder / "X.docx", "X.docx does not end in .npy, .npz"),
    (lambda X, folder: npy(X[0], folder), "1 dimension"),
    (lambda X, folder: npy(X[:0], folder), "0 sample"),
    (lambda X, folder: npy(X + 1j, folder), "entries are of type complex128"),
    (lambda X, folder: npy(X[:1], folder), "n_samples=1 should be >= n_clusters=2"),
]


@pytest.mark.parametrize(("make", "sentence"), FAULTS, ids=[s for _, s in FAULTS])
def test_what_is_wrong_with_a_file_is_said_in_a_sentence(make, sentence, dense, tmp_path):
    with pytest.raises((ValueError, FileNotFoundError), match=sentence):
        ONMF(2, loss="kl", random_state=0).fit(make(dense, tmp_path))


def test_a_file_that_is_cut_off_during_a_fit_is_noticed(dense, tmp_path):
    path = npy(dense, tmp_path)

    def cut(event):
        os.truncate(path, 100_000)

    with pytest.raises(ValueError, match="was truncated while it was read"):
        ONMF(4, random_state=0, callback=cut).fit(path)


def test_no_room_to_unpack_is_said_before_it_is_tried(dense, tmp_path, monkeypatch):
    monkeypatch.setattr("shutil.disk_usage", lambda folder: type("Usage", (), {"free": 1000}))
    with pytest.raises(OSError, match=r"needs 0\.0 GB in the folder for temporary files"):
        open_rows(packed_npz(dense, tmp_path))


@pytest.mark.parametrize(
    ("name", "file", "extra"),
    [("h5py", "X.h5ad", "h5ad"), ("pyarrow", "X.parquet", "parquet")],
)
def test_a_missing_library_is_named(name, file, extra, tmp_path, monkeypatch):
    (tmp_path / file).write_text("")
    monkeypatch.setitem(sys.modules, name, None)
    for module in ("h5ad", "parquet"):
        monkeypatch.delitem(sys.modules, f"onmf.rows.{module}", raising=False)
    with pytest.raises(ImportError, match=rf'{name}, which `pip install "onmf\[{extra}\]"`'):
        open_rows(tmp_path / file)


def test_larger_than_memory_is_half_of_what_is_free(dense, sparse, tmp_path, monkeypatch):
    """By what the rows would fill, however well the file is packed."""
    for kind, X in ((packed_npz, dense), (packed_csr_npz, sparse)):
        source, size = open_arrays(kind(X, tmp_path)), (X.data if sp.issparse(X) else X).nbytes
        monkeypatch.setattr(formats, "free_memory", lambda size=size: 2 * size)
        assert not stays_on_disk(source)
        monkeypatch.setattr(formats, "free_memory", lambda size=size: 2 * size - 1)
        assert stays_on_disk(source)


def test_the_next_block_is_read_while_this_one_is_worked_on():
    made = []

    def items():
        for i in range(4):
            made.append(i)
            yield i

    for item in disk.fetched_ahead(items()):
        deadline = time.monotonic() + 10
        while len(made) < min(item + 2, 4) and time.monotonic() < deadline:
            time.sleep(0.001)
        assert len(made) >= min(item + 2, 4)  # before this one is done
    assert made == [0, 1, 2, 3]


# What all places share


def cut_at(X, cut_rows):
    data = InMemory(X)
    data._cut_at([0, *cut_rows, X.shape[0]])
    return data


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="/proc tells how much memory was resident")
def test_a_file_of_many_blocks_is_read_a_few_at_a_time(tmp_path):
    """Resident memory of a process that clusters a file of 200 MB."""
    X = np.memmap(tmp_path / "X", np.float32, "w+", shape=(250_000, 200))
    rng = np.random.default_rng(0)
    rays = rng.gamma(0.5, size=(4, 200)).astype(np.float32)
    for i in range(0, 250_000, 50_000):
        X[i : i + 50_000] = rays[np.arange(50_000) % 4] + rng.random((1, 200), np.float32)
    X.flush()
    code = (
        "import numpy as np; from onmf import ONMF; import onmf.estimators\n"
        "def peak(): return int(open('/proc/self/status').read().split('VmHWM:')[1].split()[0])\n"
        "small = np.random.default_rng(0).random((9000, 200), np.float32)\n"
        "ONMF(4, random_state=0).fit(small)\n"
        "before = peak()\n"
        f"X = np.memmap({str(tmp_path / 'X')!r}, np.float32, 'r', shape=(250_000, 200))\n"
        "model = ONMF(4, random_state=0).fit(X)\n"
        "print(peak() - before)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert int(done.stdout) < 80_000  # kilobytes


def test_rows_of_a_file_are_a_place_on_disk(dense, tmp_path):
    rows = place(npy(dense, tmp_path), None, PlacementRequest(Check("ONMF")))
    assert isinstance(rows.data, OnDisk)
    numbers = np.array([0, 3, 4, 5, 1499])
    block = rows.data.take(numbers)
    np.testing.assert_array_equal(block.X, dense[numbers])
    assert block.weight.shape == (5, 1)


def test_archives_hide_nothing_behind_their_names(dense, tmp_path):
    """A member name is not a path."""
    path = npz(dense, tmp_path)
    with zipfile.ZipFile(path) as archive:
        content = archive.read("arr_0.npy")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("../../evil.npy", content)
    open_rows(path).rows(0, 1)
    assert not (tmp_path.parent.parent / "evil.npy").exists()


@pytest.mark.filterwarnings("ignore::onmf.exceptions.UnassignedSampleWarning")
def test_distance_of_rows_on_disk(dense, tmp_path):
    model, path = ONMF(5, random_state=0).fit(dense), npy(dense, tmp_path)
    np.testing.assert_array_equal(model.distance(path), model.distance(dense))
