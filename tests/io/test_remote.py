"""Files of other machines: read as those of this one, part by part, and refused in a sentence."""

import gzip
import io
import sys
import traceback

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.io import mmwrite

from cases import few
from onmf import ONMF
from onmf.datasets import make_rays
from onmf.io import checksum, open_source, read_documents, read_table
from onmf.io.remote import RemoteFile, as_file, is_remote, without_secrets
from web import SECRETS, secret_address, serving

fsspec = pytest.importorskip("fsspec")


@pytest.fixture(scope="module")
def samples():
    return make_rays(60, 12, 3, random_state=0)[0]


@pytest.fixture
def bucket():
    """A machine whose files are in memory."""
    system = fsspec.filesystem("memory")
    yield system
    system.store.clear()
    system.pseudo_dirs[:] = [""]


def table(X):
    return pd.DataFrame(X, [f"s{i}" for i in range(len(X))], [f"f{j}" for j in range(X.shape[1])])


def as_bytes(write):
    """What a function writes into a file."""
    file = io.BytesIO()
    write(file)
    return file.getvalue()


def h5ad(X, file):
    h5py = pytest.importorskip("h5py")
    with h5py.File(file, "w") as root:
        root["X"] = X


FILES = {
    "x.csv": lambda X: table(X).to_csv().encode(),
    "x.csv.gz": lambda X: gzip.compress(table(X).to_csv().encode()),
    "x.txt": lambda X: table(X).to_csv(sep="\t").encode("utf-16"),
    "x.npy": lambda X: as_bytes(lambda file: np.save(file, X)),
    "dense.npz": lambda X: as_bytes(lambda file: np.savez_compressed(file, X)),
    "sparse.npz": lambda X: as_bytes(lambda f: sp.save_npz(f, sp.csr_array(X), compressed=False)),
    "x.mtx": lambda X: as_bytes(lambda file: mmwrite(file, sp.csr_array(X))),
    "x.parquet": lambda X: as_bytes(table(X).to_parquet),
    "x.xlsx": lambda X: as_bytes(table(X).to_excel),
    "x.h5ad": lambda X: as_bytes(lambda file: h5ad(X, file)),
}


def dense(X):
    return X.toarray() if sp.issparse(X) else np.asarray(X)


@pytest.mark.parametrize("name", few(FILES, 3))
def test_a_file_elsewhere_is_read_as_the_same_file_here(samples, bucket, tmp_path, name):
    content = FILES[name](samples)
    (tmp_path / name).write_bytes(content)
    bucket.pipe(f"/folder/{name}", content)
    here, there = read_table(tmp_path / name), read_table(f"memory://folder/{name}")
    np.testing.assert_array_equal(dense(here.X), dense(there.X))
    assert (here.samples, here.features) == (there.samples, there.features)
    model = ONMF(3, random_state=0)
    centers = model.fit(tmp_path / name).cluster_centers_
    np.testing.assert_array_equal(model.fit(f"memory://folder/{name}").cluster_centers_, centers)


def test_a_store_of_zarr_elsewhere_is_read_as_well(samples, bucket, tmp_path):
    zarr = pytest.importorskip("zarr")
    zarr.create_array(store=tmp_path / "x.zarr", data=samples, chunks=(7, 12))
    bucket.put(f"{tmp_path / 'x.zarr'}", "/x.zarr", recursive=True)
    np.testing.assert_array_equal(read_table("memory://x.zarr").X, samples)
    assert checksum(as_file("memory://x.zarr")) == checksum(tmp_path / "x.zarr") != ""


def test_rows_of_an_array_elsewhere_come_in_parts_and_only_those_asked_for(
    samples, bucket, monkeypatch
):
    bucket.pipe("/x.npy", FILES["x.npy"](samples))
    source = open_source("memory://x.npy")
    asked = []
    read = RemoteFile.read_range
    monkeypatch.setattr(
        RemoteFile, "read_range", lambda self, i, j: (asked.append(j - i), read(self, i, j))[1]
    )
    np.testing.assert_array_equal(source.rows(10, 20), samples[10:20])
    assert asked == [10 * 12 * 8]
    assert not source.announce(20, 30)  # so a thread fetches what comes next


def test_a_stream_is_read_from_wherever_it_is_sought(bucket):
    content = np.random.default_rng(0).bytes(3_000_000)
    bucket.pipe("/bytes.bin", content)
    with as_file("memory://bytes.bin").open() as file:
        assert file.read(5) == content[:5]
        file.seek(-7, 2)
        assert file.tell() == len(content) - 7
        assert file.read() == content[-7:]
        file.seek(1_500_000)
        assert file.read() == content[1_500_000:]
        file.seek(len(content) + 10)
        assert file.read() == b""


def test_documents_of_a_table_elsewhere(bucket):
    bucket.pipe("/docs.csv", b'id,text\na,"stars and\nplanets"\nb,genes\n')
    found = read_documents("memory://docs.csv", column="text", id_column="id")
    assert found[:2] == (["stars and\nplanets", "genes"], ["a", "b"])
    bucket.pipe("/folder/a.txt", b"stars")
    with pytest.raises(ValueError, match=r"memory://folder is a remote folder"):
        read_documents("memory://folder")


@pytest.mark.parametrize(
    ("text", "remote"),
    [
        ("s3://bucket/x.npy", True),
        ("simplecache::s3://bucket/x.npy", True),
        ("https://host/x.csv?sign=1", True),
        ("C://folder/x.npy", False),
        ("folder/x.npy", False),
        ("odd:name.csv", False),
    ],
)
def test_an_address_is_told_from_a_path(text, remote):
    assert is_remote(text) == remote
    assert as_file(text).name in ("x.npy", "x.csv", "odd:name.csv")


def test_what_cannot_be_had_is_said_with_the_address(samples, bucket, monkeypatch):
    with pytest.raises(FileNotFoundError, match=r"there is no file memory://none\.npy"):
        read_table("memory://none.npy")
    with pytest.raises(
        ConnectionError, match=r"nowhere://x\.npy cannot be read: Protocol not known"
    ):
        read_table("nowhere://x.npy")
    bucket.pipe("/columns.npy", as_bytes(lambda file: np.save(file, np.asfortranarray(samples))))
    with pytest.raises(ValueError, match=r"columns\.npy is stored by columns and remote: copy it"):
        read_table("memory://columns.npy")
    bucket.pipe("/x.npy", FILES["x.npy"](samples))
    source = open_source("memory://x.npy")
    whole = bucket.cat_file("/x.npy")
    monkeypatch.setattr(type(bucket), "cat_file", lambda *_, **__: whole)
    with pytest.raises(
        ConnectionError, match=r"memory://x\.npy cannot be read in parts: copy it first"
    ):
        source.rows(3, 4)

    def lost(*_, **__):
        raise RuntimeError("the line\nis dead.")  # whatever a library may raise

    monkeypatch.setattr(type(bucket), "cat_file", lost)
    with pytest.raises(
        ConnectionError, match=r"memory://x\.npy cannot be read: the line is dead\."
    ):
        source.rows(3, 4)
    monkeypatch.setattr(type(bucket), "info", lost)
    with pytest.raises(ConnectionError, match=r"memory://y\.npy cannot be read: the line is dead"):
        read_table("memory://y.npy")


def test_an_array_that_is_cut_off_is_refused(samples, bucket):
    bucket.pipe("/x.npy", FILES["x.npy"](samples)[:-8])
    with pytest.raises(ValueError, match=r"x\.npy is truncated"):
        read_table("memory://x.npy")


def test_without_fsspec_a_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(ImportError, match=r'fsspec, which `pip install "onmf\[remote\]"`'):
        read_table("s3://bucket/x.npy")


def test_without_the_library_of_a_protocol_its_name_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "s3fs", None)
    with pytest.raises(ImportError, match=r"s3://bucket/x\.npy cannot be read: .*s3fs"):
        read_table("s3://bucket/x.npy")


@pytest.mark.parametrize("name", few(["x.npy", "x.csv", "x.parquet", "x.h5ad", "x.xlsx"], 2))
def test_a_file_of_a_web_server_is_read_as_the_same_file_here(samples, tmp_path, name):
    pytest.importorskip("aiohttp")
    content = FILES[name](samples)
    (tmp_path / name).write_bytes(content)
    with serving({name: content}, protected=True) as host:
        there = read_table(secret_address(host, name))
    np.testing.assert_array_equal(dense(read_table(tmp_path / name).X), dense(there.X))


def test_no_secret_of_an_address_is_in_an_error_or_its_traceback(samples):
    pytest.importorskip("aiohttp")
    with serving({}, protected=True) as host:
        addresses = [
            secret_address(host, "none.npy"),
            secret_address(host, "x.npy").replace("v=1", "v=2"),  # refused: 403
            secret_address("127.0.0.1:1", "x.npy"),  # nobody is there
            secret_address(host, "x.unknown"),
            secret_address("nowhere", "x.npy").replace("http", "odd"),
        ]
        for address in addresses:
            with pytest.raises((OSError, ValueError)) as told:
                ONMF(2).fit(address)
            shown = "".join(traceback.format_exception(told.value))
            assert not [secret for secret in SECRETS if secret in shown], shown
            assert "***" in shown or "x.unknown does not end in" in shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("https://me:p@ss@host/x.csv", "https://***@host/x.csv"),
        ("https://TOKEN@host/x.csv", "https://***@host/x.csv"),
        ("https://host/x.csv?sig=a/b=&se=1", "https://host/x.csv?sig=***&se=***"),
        ("https://host/x.csv?TOKEN", "https://host/x.csv?***"),
        ("az://box/x.csv?sv=1&sig=a%2F", "az://box/x.csv?sv=***&sig=***"),
        ("simplecache::https://host/x?t=1 and more", "simplecache::https://host/x?t=*** and more"),
        ("ftp://me:word@host/a@b?.csv", "ftp://***@host/a@b?.csv"),
        ("s3://bucket/a@b.csv", "s3://bucket/a@b.csv"),
        ("C:\\data\\what?.csv", "C:\\data\\what?.csv"),
    ],
)
def test_users_passwords_and_values_of_queries_are_hidden(text, shown):
    assert without_secrets(text) == shown
    assert without_secrets(f"there is no file {shown}.") == f"there is no file {shown}."


def test_a_file_beside_another_has_the_same_query():
    """A token for a folder opens the names beside a matrix as well."""
    matrix = RemoteFile("https://host/run/matrix.mtx?sig=a/b&v=1")
    assert matrix.name == "matrix.mtx"
    assert matrix.with_name("genes.tsv").address == "https://host/run/genes.tsv?sig=a/b&v=1"
    assert RemoteFile("s3://bucket/what?.npy").name == "what?.npy"
