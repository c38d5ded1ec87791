"""What fuzzing has found, so that it is found no more; and every reader under a few random changes.

`make fuzz-files` looks for more.
"""

import io
import warnings

import h5py
import numpy as np
import pytest

from fuzz.targets import (
    DOCUMENTED,
    TARGETS,
    Target,
    attack,
    npy_bytes,
    sparse_seeds,
    use_rows,
)

HEADER = b"\x93NUMPY\x01\x00\x76\x00{'descr': '<f8', 'fortran_order': False, 'shape': (%s), "


def header(shape, end=b"}"):
    text = HEADER % shape + end
    return text.ljust(127) + b"\n"


UNCLOSED, HUGE = header(b"4, 3", b""), header(b"9" * 11 + b",")
PARTS = sparse_seeds()[0]
SHAPE = npy_bytes(np.array([4, 3]))


def with_indptr(*indptr):
    """A sparse matrix whose rows end where they should not."""
    old = npy_bytes(np.array([0, 2, 3, 5, 6], dtype="i4"))
    assert PARTS.count(old) == 1
    return PARTS.replace(old, npy_bytes(np.array(indptr, dtype="i4")))


BACKWARDS = with_indptr(0, 2, -65533, -1, -1)


def huge_hdf5(path, data):
    """A matrix that says it is vast, of which nothing is stored."""
    with h5py.File(path, "w") as file:
        file.create_dataset("X", (10**9, 10**6), "f8", chunks=(1, 10))


def linked_part(path, data):
    """A sparse matrix whose entries lie in another file."""
    with h5py.File(path.with_name("other.h5ad"), "w") as file:
        file["data"] = np.ones(1)
    with h5py.File(path, "w") as file:
        group = file.create_group("X")
        group.attrs["shape"] = (1, 1)
        group["indices"], group["indptr"] = [0], [0, 1]
        group["data"] = h5py.ExternalLink("other.h5ad", "data")


def rows_of_h5(lay):
    return Target("x.h5ad", use_rows, list, lay)


FOUND = {
    "a heading of two lines": (TARGETS["csv, transposed"], b'id,"a\nb"\ns,x\n'),
    "a carriage return among classes": (TARGETS["classes"], b"a\rb,x\n"),
    "a header that does not end": (TARGETS["rows, npy"], UNCLOSED + bytes(96)),
    "... in a part of a sparse matrix": (
        TARGETS["npz, sparse parts"],
        PARTS.replace(SHAPE, UNCLOSED),
    ),
    "... of a sparse matrix on disk": (
        TARGETS["rows, npz, sparse parts"],
        PARTS.replace(SHAPE, UNCLOSED),
    ),
    "a part that says it is huge": (TARGETS["npz, sparse parts"], PARTS.replace(SHAPE, HUGE)),
    "... on disk": (TARGETS["rows, npz, sparse parts"], PARTS.replace(SHAPE, HUGE)),
    "rows that end before they begin": (TARGETS["h5ad, sparse parts"], BACKWARDS),
    "... in an archive": (TARGETS["npz, sparse parts"], BACKWARDS),
    "... in an archive on disk": (TARGETS["rows, npz, sparse parts"], with_indptr(0, 2, 1, 5, 6)),
    "a run whose input is a word": (
        TARGETS["run.json"],
        b'{"source": "x", "input": {"sha256": "0"}}',
    ),
    "a vast matrix in HDF5": (rows_of_h5(huge_hdf5), b""),
    "a part in another file": (rows_of_h5(linked_part), b""),
}


@pytest.mark.parametrize("name", FOUND)
def test_what_was_found_is_refused_in_a_sentence(name, tmp_path):
    target, data = FOUND[name]
    assert attack(target, data, tmp_path) == ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(DOCUMENTED):
            target.read(tmp_path / target.name)


@pytest.mark.parametrize("name", TARGETS)
def test_a_good_file_is_read(name, tmp_path):
    target = TARGETS[name]
    if name == "run.json":
        pytest.skip("its input would have to be there")
    target.lay(tmp_path / target.name, next(iter(target.seeds())))
    target.read(tmp_path / target.name)


@pytest.mark.parametrize("name", [name for name, target in TARGETS.items() if not target.may_hang])
def test_random_changes_are_refused_in_a_sentence_or_read(name, tmp_path):
    target, rng = TARGETS[name], np.random.default_rng(0)
    seeds = list(target.seeds())
    for case in range(15):
        data = bytearray(seeds[case % len(seeds)])
        for place in rng.integers(len(data), size=rng.integers(1, 5)):
            data[place] = rng.integers(256)
        if case % 5 == 0:
            del data[rng.integers(len(data)) :]
        folder = tmp_path / str(case)
        folder.mkdir()
        assert attack(target, bytes(data), folder) == ""


def test_the_forgeries_are_what_they_say():
    with pytest.raises(Exception, match="multi-line"):
        np.load(io.BytesIO(UNCLOSED))


def test_a_parquet_file_that_declares_more_rows_than_it_has_is_refused(tmp_path):
    """Every 4 of its footer made a 5: the number of rows is one of them, and no row is made up."""
    target = TARGETS["parquet"]
    good, said = next(iter(target.seeds())), []
    for i in range(len(good) - int.from_bytes(good[-8:-4], "little") - 8, len(good) - 8):
        if good[i] == 8:  # 4, as Thrift writes it
            forged = good[:i] + b"\n" + good[i + 1 :]
            assert not attack(target, forged, tmp_path)
            try:
                target.read(tmp_path / target.name)
            except DOCUMENTED as error:
                said.append(str(error))
    assert any("declares 5 rows, but its columns have others" in sentence for sentence in said)
