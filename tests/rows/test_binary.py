"""NumPy, SciPy, Matrix Market, Parquet and annotated data: what is read, what is refused."""

import gzip
import io
import subprocess
import sys
import zipfile
from contextlib import nullcontext

import numpy as np
import pandas as pd
import pytest
import scipy.io
import scipy.sparse as sp

from onmf.rows import open_arrays as open_source
from reading import read_table

X = np.array([[1.0, 0.0, 2.5], [0.0, 3.0, 0.0]])


def dense(table):
    return table.X.toarray() if sp.issparse(table.X) else table.X


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.uint8, bool, ">f8"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_binary_arrays_keep_their_type(tmp_path, dtype, order):
    A = np.array(X, dtype, order=order)
    np.save(tmp_path / "x.npy", A)
    np.savez(tmp_path / "x.npz", anything=A)
    np.savez_compressed(tmp_path / "packed.npz", anything=A)
    for name in ("x.npy", "x.npz", "packed.npz"):
        table = read_table(tmp_path / name)
        np.testing.assert_array_equal(table.X, A)
        assert table.X.dtype == np.dtype(dtype).newbyteorder("=")
        assert table.samples == ["0", "1"]
        assert table.features == ["0", "1", "2"]


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csc_array, sp.coo_array, sp.csr_matrix])
def test_sparse_matrices_come_back_as_csr(tmp_path, kind):
    sp.save_npz(tmp_path / "x.npz", kind(X))
    read = read_table(tmp_path / "x.npz").X
    assert isinstance(read, sp.csr_array)
    np.testing.assert_array_equal(read.toarray(), X)
    turned = read_table(tmp_path / "x.npz", transpose=True).X
    assert isinstance(turned, sp.csr_array)
    np.testing.assert_array_equal(turned.toarray(), X.T)


@pytest.mark.parametrize("name", ["x.mtx", "x.mtx.gz"])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array, lambda X: sp.csr_array(X.astype(int))])
def test_matrix_market(tmp_path, name, make):
    text = io.BytesIO()
    scipy.io.mmwrite(text, make(X))
    content = text.getvalue()
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    table = read_table(tmp_path / name)
    expected = make(X)
    np.testing.assert_array_equal(
        dense(table), expected.toarray() if sp.issparse(expected) else expected
    )
    assert sp.issparse(table.X) == (make is not np.asarray)
    assert table.samples == ["0", "1"]


def test_matrix_market_in_pieces_patterns_and_comments(tmp_path, monkeypatch):
    monkeypatch.setattr("onmf_app.read.market.CHUNK", 1)
    A = sp.random_array((30, 20), density=0.3, random_state=0)
    scipy.io.mmwrite(tmp_path / "x.mtx", A, comment="made\nfor this", precision=17)
    np.testing.assert_array_equal(read_table(tmp_path / "x.mtx").X.toarray(), A.toarray())
    market("coordinate pattern general\n%\n\n2 3 2\n1 3\n2 1\n")(tmp_path / "p.mtx")
    assert read_table(tmp_path / "p.mtx").X.toarray().tolist() == [[0, 0, 1], [1, 0, 0]]
    market("coordinate real general\n2 3 0\n")(tmp_path / "none.mtx")
    assert read_table(tmp_path / "none.mtx").X.nnz == 0


def test_names_beside_a_matrix_belong_to_it(tmp_path):
    scipy.io.mmwrite(tmp_path / "matrix.mtx", sp.csr_array(X.T))
    (tmp_path / "features.tsv").write_text("ENSG1\tTP53\nENSG2\tBRCA1\nENSG3\tMYC\n")
    (tmp_path / "barcodes.tsv.gz").write_bytes(gzip.compress(b"AAAC-1\nAAAG-1\n"))
    table = read_table(tmp_path / "matrix.mtx", transpose=True)
    np.testing.assert_array_equal(dense(table), X)
    assert table.samples == ["AAAC-1", "AAAG-1"]
    assert table.features == ["ENSG1", "ENSG2", "ENSG3"]
    (tmp_path / "features.tsv").write_text("ENSG1\n")
    with pytest.raises(ValueError, match=r"features.tsv has 1 names, but matrix.mtx needs 3"):
        read_table(tmp_path / "matrix.mtx")


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "bool"])
def test_parquet_with_an_index_or_a_column_of_names(tmp_path, dtype):
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame(X.astype(dtype), ["a", "b"], ["u", "v", "w"])
    frame.to_parquet(tmp_path / "index.parquet")
    frame.reset_index(names="who").to_parquet(tmp_path / "column.pq", index=False)
    for name in ("index.parquet", "column.pq"):
        table = read_table(tmp_path / name)
        np.testing.assert_array_equal(table.X, X.astype(dtype))
        assert table.X.dtype == (np.float32 if dtype == "float32" else np.float64)
        assert table.samples == ["a", "b"]
        assert table.features == ["u", "v", "w"]


def test_parquet_without_names_and_with_classes(tmp_path):
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame(X, columns=["u", "v", "w"]).assign(type=pd.Categorical(["LUAD", "KIRC"]))
    frame.to_parquet(tmp_path / "x.parquet")
    table = read_table(tmp_path / "x.parquet", labels="type")
    np.testing.assert_array_equal(table.X, X)
    assert table[1:] == (["0", "1"], ["u", "v", "w"], ["LUAD", "KIRC"])


@pytest.mark.parametrize("rows", [slice(3, 17), slice(0, 24), slice(8, 12), slice(23, 24)], ids=str)
def test_rows_of_several_row_groups_and_files_are_those_of_the_table(tmp_path, rows):
    """The number of rows of a row group is not that of its file."""
    pytest.importorskip("pyarrow")
    X = np.random.default_rng(0).random((24, 3))
    (tmp_path / "x.parquet").mkdir()
    for i, part in enumerate(np.split(X, 2)):
        frame = pd.DataFrame(part, columns=[*"abc"])
        frame.to_parquet(tmp_path / "x.parquet" / f"{i}.parquet", row_group_size=4)
    source = open_source(tmp_path / "x.parquet").in_order()
    assert [*source.edges] == [*range(0, 25, 4)]
    np.testing.assert_array_equal(source.rows(rows.start, rows.stop), X[rows])


def test_gaps_of_a_parquet_file_are_nan(tmp_path):
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"u": [1.0, None], "w": [None, 2], "none": [None, None]}, ["a", "b"])
    frame.to_parquet(tmp_path / "x.parquet")
    nan = np.nan
    np.testing.assert_array_equal(
        read_table(tmp_path / "x.parquet").X, [[1, nan, nan], [nan, 2, nan]]
    )


@pytest.mark.parametrize("said", [b"{}", b'{"index_columns": 3}', b"[]", b"no"])
def test_what_a_parquet_file_says_of_pandas_is_not_trusted(tmp_path, said):
    pa = pytest.importorskip("pyarrow")
    pytest.importorskip("pyarrow.parquet")
    table = pa.table({"u": [1.0, 2.0]}).replace_schema_metadata({b"pandas": said})
    pa.parquet.write_table(table, tmp_path / "x.parquet")
    refused = pytest.raises(ValueError, match="cannot be read as Parquet")
    with nullcontext() if said.startswith(b"{") else refused:
        assert read_table(tmp_path / "x.parquet").X.tolist() == [[1], [2]]


OBS = pd.DataFrame(
    {
        "type": pd.Categorical(["LUAD", "KIRC"]),
        "text": ["one", "two"],
        "batch": [3, 4],
        "gap": pd.Categorical(["LUAD", None]),
        "flag": pd.array([True, None], "boolean"),
    },
    ["cell a", "cell b"],
)


def write_by_anndata(path, make):
    anndata = pytest.importorskip("anndata")
    var = pd.DataFrame(index=["u", "v", "w"])
    anndata.AnnData(make(X), OBS, var, layers={"twice": make(2 * X)}).write_h5ad(path)


def write_by_hand(path, make):
    """The parts of the published format that matter here."""
    h5py = pytest.importorskip("h5py")
    with h5py.File(path, "w") as file:
        for name, A in (("X", make(X)), ("layers/twice", make(2 * X))):
            if not sp.issparse(A):
                file[name] = A
                continue
            file.create_group(name).attrs.update(
                {"encoding-type": f"{A.format}_matrix", "shape": A.shape}
            )
            for part in ("data", "indices", "indptr"):
                file[name][part] = getattr(A, part)
        file["var/_index"] = ["u", "v", "w"]
        file["obs/names"] = ["cell a", "cell b"]
        file["obs"].attrs["_index"] = "names"
        for name, column in OBS.items():
            if name in ("type", "gap"):
                file[f"obs/{name}/codes"] = column.cat.codes.to_numpy()
                file[f"obs/{name}/categories"] = column.cat.categories.tolist()
            elif name == "flag":
                file[f"obs/{name}/values"], file[f"obs/{name}/mask"] = [True, False], [False, True]
            else:
                file[f"obs/{name}"] = column.tolist()


@pytest.fixture(params=[write_by_anndata, write_by_hand])
def annotated(request, tmp_path):
    def write(name, make):
        request.param(tmp_path / name, make)
        return tmp_path / name

    return write


@pytest.mark.parametrize("make", [np.asarray, sp.csr_matrix, sp.csc_matrix])
def test_annotated_data_and_its_layers(annotated, make):
    path = annotated("x.h5ad", make)
    for layer, factor in ((None, 1), ("twice", 2)):
        table = read_table(path, layer=layer)
        np.testing.assert_array_equal(dense(table), factor * X)
        assert isinstance(table.X, np.ndarray if make is np.asarray else sp.csr_array)
        assert table.samples == ["cell a", "cell b"]
        assert table.features == ["u", "v", "w"]
    with pytest.raises(ValueError, match="no layer 'thrice'; its layers: twice"):
        read_table(path, layer="thrice")


@pytest.mark.parametrize(
    ("column", "classes"),
    [("type", ["LUAD", "KIRC"]), ("text", ["one", "two"]), ("batch", ["3", "4"])],
)
def test_columns_of_obs_are_classes(annotated, column, classes):
    path = annotated("x.h5ad", np.asarray)
    assert read_table(path, labels=column).labels == classes
    for gap in ("gap", "flag"):
        with pytest.raises(ValueError, match=f"column '{gap}' has no value for 'cell b'"):
            read_table(path, labels=gap)


def test_categories_as_older_programs_stored_them(annotated):
    h5py = pytest.importorskip("h5py")
    path = annotated("x.h5ad", np.asarray)
    with h5py.File(path, "a") as file:
        codes, names = file["obs/type/codes"][:], file["obs/type/categories"][:]
        del file["obs/type"]
        file["obs/__categories/type"] = names
        file["obs/type"] = codes
        file["obs/type"].attrs["categories"] = file["obs/__categories/type"].ref
    assert read_table(path, labels="type").labels == ["LUAD", "KIRC"]


def outside(file, path):
    """X of another file, in the three ways that HDF5 has."""
    h5py = pytest.importorskip("h5py")
    del file["X"]
    if path.name == "link.h5ad":
        file["X"] = h5py.ExternalLink("other.h5", "/X")
    elif path.name == "raw.h5ad":
        file.create_dataset("X", (2, 3), "f8", external=[("/etc/hostname", 0, 48)])
    else:
        layout = h5py.VirtualLayout((2, 3), "f8")
        layout[:] = h5py.VirtualSource("other.h5", "X", (2, 3))
        file.create_virtual_dataset("X", layout)


@pytest.mark.parametrize("name", ["link.h5ad", "raw.h5ad", "virtual.h5ad"])
def test_annotated_data_that_lie_elsewhere_are_refused(annotated, name):
    h5py = pytest.importorskip("h5py")
    path = annotated(name, np.asarray)
    with h5py.File(path, "a") as file:
        outside(file, path)
    with pytest.raises(ValueError, match=r"another file"):
        read_table(path)


def test_annotated_data_that_claim_to_be_huge_or_misfit_are_refused(annotated):
    h5py = pytest.importorskip("h5py")
    path = annotated("x.h5ad", sp.csr_matrix)
    with h5py.File(path, "a") as file:
        file["obs/type/codes"][0] = 100
    with pytest.raises(ValueError, match=r"x\.h5ad cannot be read as HDF5: list index"):
        read_table(path, labels="type")
    with h5py.File(path, "a") as file:
        file["X/indices"][0] = 1000
    with pytest.raises(ValueError, match=r"X in x.h5ad is damaged: .* outside 0 to 2"):
        read_table(path)
    with h5py.File(path, "a") as file:
        file["X"].attrs["shape"] = [2, 10**12]
    with pytest.raises(ValueError, match="2 x 1000000000000 but has only 3 entries"):
        read_table(path)
    with h5py.File(path, "a") as file:
        file["X"].attrs["shape"] = [10**12, 3]
    with pytest.raises(ValueError, match="1000000000000 rows need 1000000000001 entries"):
        read_table(path)
    with h5py.File(path, "a") as file:
        del file["X"]
        file.create_dataset("X", (10**6, 10**6), "f8", chunks=(1000, 1000))
    with pytest.raises(ValueError, match="declares 8000000000000 bytes but has only 0"):
        read_table(path)
    with h5py.File(path, "a") as file:
        del file["X"]
        file["X"] = np.ones((2, 2))
    with pytest.raises(ValueError, match="matrix is 2 x 2, but it has 2 x 3 names"):
        read_table(path)


def save_object(path):
    np.save(path, np.array([[{}]], dtype=object), allow_pickle=True)


def save_forged_indices(path):
    A = sp.csr_array(X)
    A.indices[0] = 1_000_000
    sp.save_npz(path, A)


def save_huge_header(path):
    np.save(path, X)
    path.write_bytes(path.read_bytes().replace(b"(2, 3), }         ", b"(200000, 30000), }"))


def save_broken_header(path):
    np.save(path, X)
    path.write_bytes(path.read_bytes().replace(b"}", b"("))


def save_empty_but_huge(path):
    sp.save_npz(path, sp.coo_array(([1.0], ([0], [0])), shape=(10**10, 3)))


def save_lying_archive(path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x.npy", b"\x93NUMPY")
    content = bytearray(path.read_bytes())
    at = content.rindex(b"PK\x01\x02") + 24  # size of the member, in the table of contents
    content[at : at + 4] = (2**31).to_bytes(4, "little")
    path.write_bytes(content)


def market(text):
    return lambda path: path.write_text(f"%%MatrixMarket matrix {text}")


BAD_FILES = {
    "pickle.npy": (save_object, "[Oo]bject arrays"),
    "pickle.npz": (lambda path: np.savez(path, x=np.array([{}])), "[Oo]bject arrays"),
    "line.npy": (lambda path: np.save(path, X[0]), r"1 dimension\(s\) instead of 2"),
    "none.npy": (lambda path: np.save(path, X[:0]), "none.npy is empty"),
    "text.npy": (lambda path: np.save(path, np.array([["a"]])), "entries are of type <U1"),
    "complex.npy": (lambda path: np.save(path, X * 1j), "entries are of type complex128"),
    "complex.npz": (lambda path: sp.save_npz(path, sp.csr_array(X * 1j)), "of type complex128"),
    "huge.npy": (save_huge_header, "is truncated: it has 176 bytes instead of 48000000128"),
    "header.npy": (save_broken_header, "its header is broken"),
    "noise.npy": (lambda path: path.write_bytes(b"noise"), "cannot be read as an array of numbers"),
    "noise.npz": (lambda path: path.write_bytes(b"PK\3\4 noise"), "cannot be read as an archive"),
    "nothing.npy": (lambda path: path.write_bytes(b""), "cannot be read as an array of numbers"),
    "two.npz": (lambda path: np.savez(path, a=X, b=X), r"it has 2 arrays \(a, b\)"),
    "forged.npz": (save_forged_indices, "is damaged: .* column numbers outside 0 to 2"),
    "vast.npz": (save_empty_but_huge, "declares 10000000000 x 3 but has only 1 entries"),
    "lying.npz": (save_lying_archive, "declares 2147483648 bytes but has only 6"),
    "complex.mtx": (market("array complex general\n1 1\n1 0\n"), "its entries are complex"),
    "symmetric.mtx": (market("array real symmetric\n1 1\n1\n"), "and symmetric, not"),
    "sizes.mtx": (market("array real general\n"), "its sizes are missing"),
    "minus.mtx": (market("array real general\n-1 -1\n1\n"), "its sizes are missing"),
    "char.mtx": (market("array real general\n2 2\n1\n2\n3\n4\xa1"), "not a number"),
    "half.mtx": (market("coordinate real general\n2 2 1\n1.5 1 1\n"), "outside its shape"),
    "zero.mtx": (market("coordinate real general\n2 2 1\n0 1 1\n"), "outside its shape"),
    "nan.mtx": (market("coordinate real general\n2 2 1\nnan 1 1\n"), "not a number"),
    "long.mtx": (market("array real general\n1 1\n1\n2\n"), "more than the 1 entries"),
    "huge.mtx": (market("array real general\n99999 99999\n1\n"), "declares"),
    "vast.mtx": (market("coordinate real general\n9999999999 3 1\n1 1 1\n"), "only 1 entries"),
    "cut.mtx": (
        market("coordinate real general\n2 2 2\n1 1 1\n"),
        "cannot be read as Matrix Market",
    ),
    "outside.mtx": (
        market("coordinate real general\n2 2 1\n3 1 1\n"),
        "cannot be read as Matrix Market",
    ),
    "noise.mtx": (lambda path: path.write_bytes(b"noise"), "cannot be read as Matrix Market"),
    "noise.mtx.gz": (lambda path: path.write_bytes(b"noise"), "not a complete gzip file"),
    "noise.parquet": (lambda path: path.write_bytes(b"noise"), "cannot be read as Parquet"),
    "noise.h5ad": (lambda path: path.write_bytes(b"noise"), "cannot be read as HDF5"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_a_bad_file_is_refused_in_a_sentence(tmp_path, name):
    write, message = BAD_FILES[name]
    write(tmp_path / name)
    with pytest.raises(ValueError, match=message):
        read_table(tmp_path / name)


@pytest.mark.slow
@pytest.mark.parametrize(("ending", "library"), [("parquet", "pyarrow"), ("h5ad", "h5py")])
def test_a_missing_library_is_named_with_what_to_install(tmp_path, ending, library):
    (tmp_path / f"x.{ending}").touch()
    program = (
        f"import sys; sys.modules['{library}'] = None\n"
        "from onmf_app.read import read_input\n"
        f"try: read_input({str(tmp_path / f'x.{ending}')!r})\n"
        "except ImportError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert f'pip install "onmf[{ending}]"' in done.stdout
    assert library in done.stdout


def test_annotated_data_from_before_anndata_0_7_have_tables_as_arrays(tmp_path):
    h5py = pytest.importorskip("h5py")
    path = tmp_path / "old.h5ad"
    with h5py.File(path, "w") as file:
        file["X"] = np.arange(6.0).reshape(3, 2)
        obs = [(b"c1", 1, 5.0), (b"c2", 0, 6.0), (b"c3", 1, 7.0)]
        file["obs"] = np.array(obs, [("index", "S2"), ("type", "i1"), ("depth", "f4")])
        file["var"] = np.array([(b"g1",), (b"g2",)], [("index", "S2")])
        file["uns/type_categories"] = np.array([b"B", b"T"])
    table = read_table(path, labels="type")
    assert (table.samples, table.features) == (["c1", "c2", "c3"], ["g1", "g2"])
    assert table.labels == ["T", "B", "T"]
    assert read_table(path, labels="depth").labels == ["5", "6", "7"]
    with pytest.raises(ValueError, match="no column 'batch'"):
        read_table(path, labels="batch")
