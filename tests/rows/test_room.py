"""Memory is counted before it is spent: a small file may hold any number of zeros."""

import gzip
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

from onmf.rows import open_arrays as open_source
from onmf.rows import room as memory
from reading import read_table

N = 40_000_000


@pytest.fixture(name="zeros")
def zeros_packed(tmp_path):
    path = tmp_path / "zeros.npz"
    np.savez_compressed(path, X=np.zeros((N // 1000, 1000), np.uint8))
    assert path.stat().st_size < N / 500
    return path


def test_zeros_are_unpacked_once_and_not_copied(zeros):
    tracemalloc.start()
    try:
        open_source(zeros).matrix()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert N <= peak < 1.2 * N


def packed_text(path):
    path.write_bytes(gzip.compress(b"a,b,c\n" + b"0,0,0\n" * 100_000))


def packed_market(path):
    head = b"%%MatrixMarket matrix array real general\n1000 300\n"
    path.write_bytes(gzip.compress(head + b"0\n" * 300_000))


def packed_sparse(path):
    sp.save_npz(path, sp.csr_array(np.ones((1000, 300))))


@pytest.mark.parametrize(
    ("name", "write"),
    [("x.csv.gz", packed_text), ("x.mtx.gz", packed_market), ("x.npz", packed_sparse)],
)
def test_what_does_not_fit_is_refused_before_it_is_unpacked(name, write, tmp_path, monkeypatch):
    write(tmp_path / name)
    monkeypatch.setattr(memory, "free_memory", lambda: 200_000)
    with pytest.raises(memory.NoRoomError, match=r"needs 0\.0 GB of memory and 0\.0 GB are free"):
        read_table(tmp_path / name)


def test_the_memory_of_zeros_is_counted(zeros, monkeypatch):
    monkeypatch.setattr(memory, "free_memory", lambda: N - 1)
    with pytest.raises(memory.NoRoomError, match="reads it in blocks"):
        open_source(zeros).matrix()


def test_what_fits_is_read(tmp_path, monkeypatch):
    packed_text(tmp_path / "x.csv.gz")
    monkeypatch.setattr(memory, "free_memory", lambda: 10_000_000)
    assert read_table(tmp_path / "x.csv.gz").X.shape == (100_000, 3)
