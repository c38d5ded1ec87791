"""Every reader of files, with good files to begin from: what `make fuzz-files` attacks.

A target lays some bytes down as a file and reads it. Where a checksum would turn every change away
at the door, the bytes are only what lies behind it, and the checksum is made to match.
"""

import gzip
import hashlib
import io
import json
import tempfile
import warnings
import zipfile
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import h5py
import numpy as np
import openpyxl
import pyarrow as pa
import pyarrow.parquet
import scipy.sparse as sp

import onmf
from onmf import ONMF
from onmf.rows import Check, PlacementRequest, place
from onmf.rows.room import NoRoomError
from onmf.rows.scale import safe_scale
from onmf_app.read.annotation import read_labels
from onmf_app.run import record_of
from reading import read_documents, read_table

DOCUMENTED = (
    ValueError,
    FileNotFoundError,
    NoRoomError,
)  # of any file; FormatError is a ValueError
X = np.array([[1, 0, 2.5], [0, 3, 0], [1, 1, 0], [0, 0, 4]])
MAGIC = b"\x93NUMPY"
PARTS = ("indices", "indptr", "format", "shape", "data")  # in the order of scipy's save_npz


class Target(NamedTuple):
    """How a file is made of bytes and read, and bytes to begin with."""

    name: str  # of the file
    read: Callable[[Path], Any]
    seeds: Callable[[], Iterable[bytes]]
    lay: Callable[[Path, bytes], object] = Path.write_bytes
    may_hang: bool = False  # the HDF5 library loops for ever in some forged heaps


def attack(target: Target, data: bytes, folder: Path) -> str:
    """ "" if the reader accepts the bytes or refuses them in a sentence; else what is wrong."""
    path = folder / target.name
    try:
        target.lay(path, data)
    except Unfit:
        return ""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            target.read(path)
    except DOCUMENTED as error:
        said = str(error)
        return "" if said.strip() and "\n" not in said else f"not a sentence: {said!r}"
    return ""


class Unfit(Exception):  # noqa: N818  (not an error: there is nothing to attack)
    """Bytes that cannot be dressed up as the file."""


# --- reading, and then some use of what was let in ------------------------------------------------


def use_table(path: Path, **options: Any) -> None:
    table = read_table(path, **options)
    n, m = table.X.shape
    assert (n, m) == (len(table.samples), len(table.features))
    assert all(isinstance(name, str) for name in (*table.samples, *table.features))
    if sp.issparse(table.X):
        table.X.check_format(full_check=True)
    table.X.sum()


def use_model(path: Path) -> None:
    model = onmf.ONMF.load(path)
    model.predict(np.ones((2, model.n_features_in_)))
    model.unusual(np.ones((2, model.n_features_in_)))


def use_rows(path: Path) -> None:
    """The first look of `fit` at rows on disk: it reads all of them."""
    placed = place(path, None, PlacementRequest(Check("ONMF"), safe_scale))
    assert np.isfinite(placed.data.sqnorm)


# --- good files -----------------------------------------------------------------------------------


def saved(write: Callable[[Path], object], name: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, name)
        write(path)
        return path.read_bytes()


def csv_seeds(mark: str = ",", classes: bool = False) -> list[bytes]:
    lines = ["sample,a,b", "s1,1,0.5", 's2,"2e3",0', "s3,0,1"]
    if classes:
        lines = [
            f"{line},{last}" for line, last in zip(lines, ["type", "x", '"y"', "x"], strict=True)
        ]
    plain = ["1,2,3", "4,5,6"]
    return ["\n".join(text).replace(",", mark).encode() for text in (lines, plain)]


def npy_seeds() -> list[bytes]:
    arrays = (X, np.asfortranarray(X, "f4"), X.astype("i8"), X.astype(">u2"), X[:, 0])
    return [npy_bytes(array) for array in arrays]


def npy_bytes(array: Any) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=False)
    return stream.getvalue()


def npz_seeds() -> list[bytes]:
    kinds = (sp.csr_array, sp.csc_array, sp.coo_array)
    sparse = [saved(lambda path, k=kind: sp.save_npz(path, k(X)), "x.npz") for kind in kinds]
    return [*sparse, saved(lambda path: np.savez_compressed(path, X=X), "x.npz")]


def sparse_seeds() -> list[bytes]:
    """The five arrays of a sparse matrix, one after the other."""
    with zipfile.ZipFile(io.BytesIO(npz_seeds()[0])) as archive:
        members = {info.filename.removesuffix(".npy"): archive.read(info) for info in
                   archive.infolist()}  # fmt: skip
    return [b"".join(members[name] for name in PARTS)]


def market_seeds() -> list[bytes]:
    return [
        b"%%MatrixMarket matrix coordinate real general\n% x\n3 2 2\n1 1 2.5\n3 2 1e-3\n",
        b"%%MatrixMarket matrix array integer general\n2 2\n1\n2\n3\n4\n",
        b"%%MatrixMarket matrix coordinate pattern general\n2 2 1\n2 1\n",
    ]


def parquet_seeds() -> list[bytes]:
    table = pa.table({"id": ["a", "b", "c", "d"], "x": X[:, 0], "y": X[:, 1].astype("f4")})
    numbers = pa.table({"x": X[:, 0], "y": [1, 2, 3, 4]})
    write = pyarrow.parquet.write_table
    return [saved(lambda path, t=t: write(t, path), "x.parquet") for t in (numbers, table)]


def h5ad_bytes(matrix: Callable[[h5py.File], object]) -> bytes:
    def write(path: Path) -> None:
        with h5py.File(path, "w", libver="latest") as file:
            matrix(file)
            for axis, names in (("obs", ["a", "b", "c", "d"]), ("var", ["x", "y", "z"])):
                file.create_group(axis).attrs["_index"] = "name"
                file[axis]["name"] = names
            file["obs/type"] = [1, 2, 1, 2]

    return saved(write, "x.h5ad")


def put_dense(file: h5py.File) -> None:
    file["X"] = X


def put_sparse(file: h5py.File, parts: dict[str, Any] | None = None) -> None:
    A = sp.csr_array(X)
    parts = parts or {"data": A.data, "indices": A.indices, "indptr": A.indptr, "shape": A.shape}
    group = file.create_group("X")
    group.attrs["encoding-type"] = "csr_matrix"
    group.attrs["shape"] = parts["shape"]
    for name in ("data", "indices", "indptr"):
        group[name] = parts[name]


def h5ad_seeds() -> list[bytes]:
    return [h5ad_bytes(put_dense), h5ad_bytes(put_sparse)]


@cache
def model_parts() -> tuple[dict[str, Any], dict[str, bytes]]:
    """The header and the arrays of a saved model."""
    whole = saved(ONMF(2, random_state=0).fit(X).save, "m.onmf")
    with zipfile.ZipFile(io.BytesIO(whole)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    return json.loads(members.pop("model.json")), members


def model_seeds() -> list[bytes]:
    return [saved(ONMF(2, random_state=0).fit(X).save, "m.onmf")]


# --- bytes dressed up -----------------------------------------------------------------------------


def lay_gzip(path: Path, data: bytes) -> None:
    path.write_bytes(gzip.compress(data, 1))


def lay_member(path: Path, data: bytes) -> None:
    """One member of an archive, packed."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("X.npy", data)


def cut_at_magic(data: bytes) -> dict[str, bytes]:
    """The parts of a sparse matrix, which begin where the mark of NumPy's format is."""
    starts = [i for i in range(len(data)) if data.startswith(MAGIC, i)][: len(PARTS)]
    if len(starts) < len(PARTS):
        raise Unfit
    parts = [data[i:j] for i, j in pairwise([*starts, len(data)])]
    return dict(zip(PARTS, parts, strict=True))


def lay_sparse(path: Path, data: bytes, packing: int = zipfile.ZIP_DEFLATED) -> None:
    with zipfile.ZipFile(path, "w", packing) as archive:
        for name, content in cut_at_magic(data).items():
            archive.writestr(f"{name}.npy", content)


def lay_h5(path: Path, data: bytes) -> None:
    """A sparse matrix in HDF5 with parts that are sound arrays but need not fit each other."""
    try:
        parts = {
            name: np.load(io.BytesIO(content), allow_pickle=False)
            for name, content in cut_at_magic(data).items()
        }
        path.write_bytes(h5ad_bytes(partial(put_sparse, parts=parts)))
    except Exception:  # NumPy and h5py refuse to make it
        raise Unfit from None


def lay_model(path: Path, header: Any, members: dict[str, bytes]) -> None:
    facts = header.get("arrays") if isinstance(header, dict) else None
    for name, content in members.items():
        fact = facts.get(name.removesuffix(".npy")) if isinstance(facts, dict) else None
        if isinstance(fact, dict):
            fact["sha256"] = hashlib.sha256(content).hexdigest()
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in {"model.json": json.dumps(header), **members}.items():
            archive.writestr(name, content)


def lay_header(path: Path, data: bytes) -> None:
    """Another header, around arrays whose checksums match."""
    try:
        header = json.loads(data)
    except (ValueError, RecursionError):
        raise Unfit from None
    lay_model(path, header, model_parts()[1])


def lay_centers(path: Path, data: bytes) -> None:
    """Other centroids, of which the header says what it sees."""
    header, members = json.loads(json.dumps(model_parts()[0])), dict(model_parts()[1])
    with suppress(Exception):
        array = np.load(io.BytesIO(data), allow_pickle=False)
        fact = {"dtype": array.dtype.str, "shape": list(array.shape)}
        header["arrays"]["cluster_centers_"] = fact
    lay_model(path, header, members | {"cluster_centers_.npy": data})


@cache
def workbook_parts() -> dict[str, bytes]:
    """The parts of a small workbook."""
    book, file = openpyxl.Workbook(), io.BytesIO()
    for row in (["id", "a", "b"], ["x", 1, 2.5], ["y", 3, None]):
        book.active.append(row)
    book.save(file)
    with zipfile.ZipFile(file) as packed:
        return {name: packed.read(name) for name in packed.namelist()}


def workbook_seeds(name: str) -> list[bytes]:
    return [content for part, content in workbook_parts().items() if part.endswith(name)]


def lay_workbook(name: str, path: Path, data: bytes) -> None:
    """A workbook of which one part is another."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for part, content in workbook_parts().items():
            packed.writestr(part, data if part.endswith(name) else content)


def json_seeds(value: Any) -> list[bytes]:
    return [json.dumps(value).encode()]


RUN = {
    **{key: {} for key in ("files", "read", "asked", "beside", "parameters", "results")},
    "inputs": [{"path": "x.csv", "sha256": "0"}], "lineage": [], "notes": [],
}  # fmt: skip
TARGETS = {
    "csv": Target(
        "x.csv", partial(use_table, labels="type"), partial(csv_seeds, classes=True)
    ),
    "tsv": Target("x.tsv", use_table, partial(csv_seeds, "\t")),
    "csv, transposed": Target("x.csv", partial(use_table, transpose=True), csv_seeds),
    "json": Target("x.json", use_table, lambda: [b'[{"id": "a", "u": 1}, {"u": 2.5, "v": null}]']),
    "csv.gz": Target("x.csv.gz", use_table, lambda: map(gzip.compress, csv_seeds())),
    "documents": Target("x.txt", read_documents, lambda: [b"stars\n\ngenes \xc3\xa9\n"]),
    "classes": Target(
        "y.csv", lambda path: read_labels(path, ["a", "b"]), lambda: [b"a,x\nb,y\n", b"x\ny\n"]
    ),
    "npy": Target("x.npy", use_table, npy_seeds),
    "npz": Target("x.npz", use_table, npz_seeds),
    "npz, one member": Target("x.npz", use_table, npy_seeds, lay_member),
    "npz, sparse parts": Target("x.npz", use_table, sparse_seeds, lay_sparse),
    "mtx": Target("x.mtx", use_table, market_seeds),
    "mtx.gz": Target("x.mtx.gz", use_table, market_seeds, lay_gzip),
    "parquet": Target("x.parquet", partial(use_table, labels="y"), parquet_seeds),
    "h5ad": Target("x.h5ad", partial(use_table, labels="type"), h5ad_seeds, may_hang=True),
    "h5ad, sparse parts": Target("x.h5ad", use_table, sparse_seeds, lay_h5),
    "model": Target("m.onmf", use_model, model_seeds),
    "model, header": Target("m.onmf", use_model, lambda: json_seeds(model_parts()[0]), lay_header),
    "model, centroids": Target(
        "m.onmf", use_model, lambda: [model_parts()[1]["cluster_centers_.npy"]], lay_centers
    ),
    **{
        f"xlsx, {part}": Target(
            "x.xlsx", use_table, partial(workbook_seeds, part), partial(lay_workbook, part)
        )
        for part in ("sheet1.xml", "workbook.xml", "styles.xml", "workbook.xml.rels")
    },
    "run.json": Target(
        "run.json", lambda path: record_of(path.parent),
        lambda: json_seeds(RUN),
    ),
    "rows, npy": Target("x.npy", use_rows, npy_seeds),
    "rows, npz": Target("x.npz", use_rows, npz_seeds),
    "rows, npz, one member": Target("x.npz", use_rows, npy_seeds, lay_member),
    "rows, npz, sparse parts": Target("x.npz", use_rows, sparse_seeds, lay_sparse),
    "rows, npz, stored parts": Target(
        "x.npz", use_rows, sparse_seeds, partial(lay_sparse, packing=zipfile.ZIP_STORED)
    ),
    "rows, h5ad": Target("x.h5ad", use_rows, h5ad_seeds, may_hang=True),
    "rows, h5ad, sparse parts": Target("x.h5ad", use_rows, sparse_seeds, lay_h5),
    "rows, parquet": Target("x.parquet", use_rows, parquet_seeds),
}  # fmt: skip
