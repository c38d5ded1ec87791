"""Matrix Market, `.mtx` and `.mtx.gz`, with the names that sequencers' programs put beside it."""

import gzip
import zlib
from pathlib import Path

import numpy as np
import scipy.io
import scipy.sparse as sp

from onmf.files.stream import text_lines
from onmf.files.table import Table, Wish, check_extent, check_size, numbered

ROWS, COLUMNS = ("features", "genes"), ("barcodes",)  # what the names beside it are called


def read(path: Path, wish: Wish) -> Table:
    try:
        n, m, entries, kind, field, _ = scipy.io.mminfo(path)
        if field not in ("real", "integer", "unsigned-integer", "pattern", "double"):
            raise ValueError(f"its entries are {field}")
        check_size(2 * entries, path.stat().st_size, "it")  # a digit and a space each
        if kind == "coordinate":
            check_extent((n, m), entries, "it")
        X = scipy.io.mmread(path, spmatrix=False)
    except (ValueError, OverflowError, EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(f"{path.name} is not a Matrix Market file of numbers: {error}.") from error
    X = sp.csr_array(X) if sp.issparse(X) else np.asarray(X)
    return Table(X, names(path, ROWS, n), names(path, COLUMNS, m))


def names(path: Path, called: tuple[str, ...], count: int) -> list[str]:
    """The first column of a table of names beside the matrix, if it has the right length."""
    for name in called:
        for ending in (".tsv", ".tsv.gz"):
            beside = path.with_name(name + ending)
            if beside.is_file():
                found = [line.split("\t")[0].strip() for line in text_lines(beside)]
                if len(found) != count:
                    raise ValueError(
                        f"{beside.name} names {len(found)} rows or columns of {path.name}, which "
                        f"has {count}."
                    )
                return found
    return numbered(count)
