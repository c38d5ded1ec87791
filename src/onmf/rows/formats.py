"""Files that rows are read from; the module of an ending is imported when it is asked for."""

from importlib import import_module
from pathlib import Path

from onmf.rows.room import free_memory
from onmf.rows.source import Dense, Source, Sparse
from onmf.rows.table import Options

ARRAYS = {  # ending: module, whose `open_<module>(path, options)` reads it
    ".npy": "npy",
    ".npz": "npz",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".h5ad": "h5ad",
}
MANY_BYTES = 1 << 28  # of rows that are read a few times; 256 MB are read from disk in .1 s


def open_arrays(path: str | Path, options: Options = Options()) -> Source:  # noqa: B008
    """Open a file of rows; shape and names are read at once, rows when they are asked for.

    Parameters
    ----------
    path : str or Path
        `.npy`; `.npz` with one array or one matrix of `scipy.sparse.save_npz`; `.parquet`, a file
        or a folder of files; `.h5ad`.
    options : Options
        `labels`, `layer` and `drop`, if the file has such a thing.

    Returns
    -------
    Source

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from onmf.rows import open_arrays
    >>> path = pathlib.Path(tempfile.mkdtemp(), "X.npy")
    >>> np.save(path, np.arange(6.0).reshape(3, 2))
    >>> source = open_arrays(path)
    >>> source.shape, source.rows(1, 2)
    ((3, 2), array([[2., 3.]]))
    """
    path = Path(path)
    kind = next((ARRAYS[end] for end in ARRAYS if path.name.lower().endswith(end)), None)
    if kind is None and path.is_dir():  # of Parquet files; others begin with . or _
        inside = {one.suffix for one in path.iterdir() if one.name[0] not in "._"}
        kind = "parquet" if inside == {".parquet"} else None
    if kind is None:
        raise ValueError(f"{path.name} does not end in {', '.join(ARRAYS)}.")
    if not path.exists():
        raise FileNotFoundError(f"there is no file {path}.")
    source: Source = getattr(import_module(f"onmf.rows.{kind}"), f"open_{kind}")(path, options)
    return source


def stays_on_disk(source: Source, few: bool = False) -> bool:
    """Whether the rows of a file would fill more than half of the free memory, or are many.

    few : whether they are read a few times only; a copy in memory then saves little.
    """
    large = few and isinstance(source, Dense | Sparse) and source.nbytes > MANY_BYTES
    return large or free_memory() / 2 < source.nbytes
