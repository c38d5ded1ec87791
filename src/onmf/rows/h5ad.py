"""Annotated data in `.h5ad` files, by h5py: the only module that imports it.

    X, layers/...   a matrix: one array, or a group of `data`, `indices` and `indptr`
    obs, var        tables whose index names the samples and the features

Read without anndata, which needs pandas and pins its version. Links and data outside the file are
refused, and so are sizes that the file cannot hold. Some forged files make the HDF5 library hang:
open files of strangers with a time limit.
"""

from pathlib import Path
from typing import Any

from onmf.rows.source import OBSM, RAW, Dense, NotByRows, Source, Sparse, floating
from onmf.rows.table import (
    Options,
    check_extent,
    check_size,
    class_names,
    listing,
    reading_errors,
)

try:
    import h5py
except ImportError as missing:
    raise ImportError(
        'Files of annotated data are read by h5py, which `pip install "onmf[h5ad]"` installs.'
    ) from missing

CSR_PARTS = ("data", "indices", "indptr")


def open_h5ad(path: Path, options: Options) -> Source:
    with reading_errors(path.name, "HDF5"):
        file = h5py.File(path, "r")
        try:
            return open_annotated(file, path.name, options)
        except BaseException:
            file.close()  # the traceback would keep it open
            raise


def open_annotated(root: Any, file: str, options: Options) -> Source:
    """The matrix `X`, or a layer, with the names of samples and features."""
    if options.layer == RAW and RAW in list(root) and RAW not in _layers(root):
        own = member(root, RAW)
        samples, names = _index(root, "obs"), _index(own, "var")
        place, group = "X", own
    elif options.layer is not None and options.layer.startswith(OBSM):
        samples, names = _index(root, "obs"), None
        place, group = _embedding(root, options.layer.removeprefix(OBSM))
    else:
        samples, names = _index(root, "obs"), _index(root, "var")
        place, group = _place(root, options.layer)
    labels = None
    if options.labels is not None and samples is not None:
        labels = _classes(root, options.labels, samples)
    stored = member(group, place)
    where = f"{options.layer or place} in {file}"
    source = open_matrix(stored, where, samples=samples, names=names, labels=labels)
    (n, m), sizes = source.shape, [s if s is None else len(s) for s in (samples, names)]
    if sizes[0] not in (None, n) or sizes[1] not in (None, m):
        raise ValueError(f"its matrix is {n} x {m}, but it has {sizes[0]} x {sizes[1]} names")
    return source


def open_matrix(stored: Any, where: str, **names: Any) -> Source:
    """A data set, or a group of `data`, `indices` and `indptr` with an attribute `shape`."""
    if is_array(stored):
        return Dense.of(stored, where, **names)
    kind = str(stored.attrs.get("encoding-type", stored.attrs.get("h5sparse_format", "csr")))
    kind = kind.removesuffix("_matrix")
    shape = stored.attrs.get("shape", stored.attrs.get("h5sparse_shape", ()))
    if kind not in ("csr", "csc") or len(shape) != 2 or "indptr" not in stored:
        raise ValueError(f"{where} is not a CSR matrix with a shape: save it as CSR")
    parts = {part: member(stored, part) for part in CSR_PARTS}
    if kind == "csr":
        return Sparse.of(parts, shape, where, **names)
    n, m = (int(size) for size in shape)
    (entries,) = parts["data"].shape
    check_extent((n, m), entries, where)
    return NotByRows(
        where=where, shape=(n, m), dtype=floating(parts["data"].dtype, where), kind=kind,
        entries=entries, read=lambda: Sparse.of(parts, (m, n), where).matrix().T, **names,
    )  # fmt: skip


def is_array(item: Any) -> bool:
    """An array, not a group."""
    return hasattr(item, "dtype")


def _place(root: Any, layer: str | None) -> tuple[str, Any]:
    """Name and group of the matrix."""
    if layer is not None:
        layers = _layers(root)
        if layer not in layers:
            raise ValueError(f"it has no layer {layer!r}; its layers: {_known(root)}")
        return layer, layers
    if "X" not in list(root):
        raise ValueError("it has no matrix X")
    return "X", root


def _layers(root: Any) -> Any:
    return member(root, "layers") if "layers" in list(root) else {}


def _embeddings(root: Any) -> Any:
    return member(root, "obsm") if "obsm" in list(root) else {}


def _embedding(root: Any, name: str) -> tuple[str, Any]:
    embeddings = _embeddings(root)
    if name not in embeddings:
        raise ValueError(f"it has no embedding {OBSM}{name}; there are: {_known(root)}")
    return name, embeddings


def _known(root: Any) -> str:
    """What --layer can name."""
    known = [*_layers(root), *([RAW] if RAW in list(root) else [])]
    return listing([*known, *(OBSM + name for name in _embeddings(root))]) or "none"


def _index(root: Any, axis: str) -> list[str] | None:
    """The row names of `obs` or `var`, if any."""
    if axis not in list(root):
        return None
    frame = member(root, axis)
    name = "index" if is_array(frame) else str(frame.attrs.get("_index", "_index"))
    return [str(value) for value in _column(frame, name)]


def _classes(root: Any, name: str, samples: list[str]) -> list[str] | None:
    """A column of `obs`, if there is one of this name."""
    frame = member(root, "obs")
    if name not in _columns(frame):
        return None
    return class_names(_column(frame, name), samples, f"its column {name!r}")


def _column(frame: Any, name: str) -> list[Any]:
    """The values of a column, None where they are missing."""
    if is_array(frame):
        return _field(frame, name)
    stored = member(frame, name)
    if not is_array(stored) and "categories" in stored:
        return _by_code(member(stored, "categories"), member(stored, "codes"))
    if not is_array(stored):  # with missing values
        values, mask = _values(member(stored, "values")), _values(member(stored, "mask"))
        return [None if hidden else v for v, hidden in zip(values, mask, strict=True)]
    if "categories" in stored.attrs:  # written by anndata 0.7
        return _by_code(frame.file[stored.attrs["categories"]], stored)
    return _values(stored)


def _columns(frame: Any) -> list[str]:
    """The names of the columns of a table: a group, or an array of rows as before anndata 0.7."""
    return list((frame.dtype.names or ()) if is_array(frame) else frame)


def _field(rows: Any, name: str) -> list[Any]:
    """A column of a table as it was before anndata 0.7: categories are in `uns`."""
    if name not in _columns(rows):
        raise ValueError(f"a table has no column {name!r}")
    root, place = getattr(rows, "file", {}), f"uns/{name}_categories"
    return _by_code(member(root, place), rows[name]) if place in root else _values(rows[name])


def _by_code(categories: Any, codes: Any) -> list[Any]:
    known = _values(categories)
    return [known[code] if code >= 0 else None for code in _values(codes)]


def _values(stored: Any) -> list[Any]:
    return [v.decode() if isinstance(v, bytes) else v for v in stored[:].tolist()]


def member(group: Any, name: str) -> Any:
    """A member of a group; it must be in this file and as large as declared."""
    if not isinstance(group.get(name, getlink=True), h5py.HardLink):
        raise ValueError(f"its {name} is missing, or a link to another file")
    item = group[name]
    if isinstance(item, h5py.Dataset):
        if item.is_virtual or item.external:
            raise ValueError(f"its {name} is stored in another file")
        check_size(item.nbytes, item.id.get_storage_size(), f"its {name}")
    return item
