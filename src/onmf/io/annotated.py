"""Annotated data, the same in HDF5 files and Zarr stores.

    X, layers/...   a matrix: one array, or a group of `data`, `indices` and `indptr`
    obs, var        tables whose index names the samples and the features

Read without anndata, which needs pandas and pins its version. A file with a single matrix, under
any name, is read as well. Each format has a function `member(group, name)`, which refuses sizes
that the file cannot hold.
"""

from collections.abc import Callable
from typing import Any

from onmf.io.columns import class_names
from onmf.io.source import Dense, NotByRows, Source, Sparse, floating
from onmf.io.table import Options, check_extent, listing

MemberOf = Callable[[Any, str], Any]
RAW, OBSM = "raw", "obsm/"  # names of layers that are elsewhere
CSR_PARTS = ("data", "indices", "indptr")


def open_annotated(root: Any, file: str, options: Options, member: MemberOf) -> Source:
    """The matrix `X`, or a layer, or the only matrix, with the names of samples and features."""
    if options.layer == RAW and RAW in list(root) and RAW not in _layers(root, member):
        own = member(root, RAW)
        samples, names = _index(root, "obs", member), _index(own, "var", member)
        place, group = "X", own
    elif options.layer is not None and options.layer.startswith(OBSM):
        samples, names = _index(root, "obs", member), None
        place, group = _embedding(root, options.layer.removeprefix(OBSM), member)
    else:
        samples, names = _index(root, "obs", member), _index(root, "var", member)
        place, group = _place(root, options.layer, member)
    labels = None
    if options.labels is not None and samples is not None:
        labels = _classes(root, options.labels, samples, member)
    stored = member(group, place)
    where = f"{options.layer or place} in {file}"
    source = open_matrix(stored, where, member, samples=samples, names=names, labels=labels)
    (n, m), sizes = source.shape, [s if s is None else len(s) for s in (samples, names)]
    if sizes[0] not in (None, n) or sizes[1] not in (None, m):
        raise ValueError(f"its matrix is {n} x {m}, but it has {sizes[0]} x {sizes[1]} names")
    return source


def open_matrix(stored: Any, where: str, member: MemberOf | None = None, **names: Any) -> Source:
    """A data set, or a group of `data`, `indices` and `indptr` with an attribute `shape`."""
    if is_array(stored):
        return Dense.of(stored, where, **names)
    kind = str(stored.attrs.get("encoding-type", stored.attrs.get("h5sparse_format", "csr")))
    kind = kind.removesuffix("_matrix")
    shape = stored.attrs.get("shape", stored.attrs.get("h5sparse_shape", ()))
    if kind not in ("csr", "csc") or len(shape) != 2 or "indptr" not in stored:
        raise ValueError(f"{where} is not a CSR matrix with a shape: save it as CSR")
    parts = {part: stored[part] if member is None else member(stored, part) for part in CSR_PARTS}
    if kind == "csr":
        return Sparse.of(parts, shape, where, **names)
    n, m = (int(size) for size in shape)
    (entries,) = parts["data"].shape
    check_extent((n, m), entries, where)
    return NotByRows(
        where=where, shape=(n, m), dtype=floating(parts["data"].dtype, where), kind=kind,
        entries=entries, read=lambda: Sparse.of(parts, (m, n), where).matrix().T, **names,
    )  # fmt: skip


def observations(root: Any, name: str, member: MemberOf) -> list[Any]:
    """A column of `obs`, None where a value is missing."""
    frame = member(root, "obs")
    if name not in (known := _columns(frame)):
        raise ValueError(f"obs has no column {name!r}, only {listing(known)}")
    return _column(frame, name, member)


def is_array(item: Any) -> bool:
    """An array, not a group."""
    return hasattr(item, "dtype")


def _place(root: Any, layer: str | None, member: MemberOf) -> tuple[str, Any]:
    """Name and group of the matrix."""
    if layer is not None:
        layers = _layers(root, member)
        if layer not in layers:
            raise ValueError(f"it has no layer {layer!r}; its layers: {_known(root, member)}")
        return layer, layers
    names = list(root)
    if "X" in names:
        return "X", root
    matrices = [name for name in names if _is_matrix(root, name, member)]
    if len(matrices) != 1:
        raise ValueError(f"it has no matrix X; its matrices: {', '.join(matrices) or 'none'}")
    return matrices[0], root


def _layers(root: Any, member: MemberOf) -> Any:
    return member(root, "layers") if "layers" in list(root) else {}


def _embeddings(root: Any, member: MemberOf) -> Any:
    return member(root, "obsm") if "obsm" in list(root) else {}


def _embedding(root: Any, name: str, member: MemberOf) -> tuple[str, Any]:
    embeddings = _embeddings(root, member)
    if name not in embeddings:
        raise ValueError(f"it has no embedding {OBSM}{name}; there are: {_known(root, member)}")
    return name, embeddings


def _known(root: Any, member: MemberOf) -> str:
    """What --layer can name."""
    known = [*_layers(root, member), *([RAW] if RAW in list(root) else [])]
    return listing([*known, *(OBSM + name for name in _embeddings(root, member))]) or "none"


def _is_matrix(root: Any, name: str, member: MemberOf) -> bool:
    try:
        item = member(root, name)
    except ValueError:
        return False
    return len(item.shape) == 2 if is_array(item) else "indptr" in item


def _index(root: Any, axis: str, member: MemberOf) -> list[str] | None:
    """The row names of `obs` or `var`, if any."""
    if axis not in list(root):
        return None
    frame = member(root, axis)
    name = "index" if is_array(frame) else str(frame.attrs.get("_index", "_index"))
    return [str(value) for value in _column(frame, name, member)]


def _classes(root: Any, name: str, samples: list[str], member: MemberOf) -> list[str] | None:
    """A column of `obs`, if there is one of this name."""
    frame = member(root, "obs")
    if name not in _columns(frame):
        return None
    return class_names(_column(frame, name, member), samples, f"its column {name!r}")


def _column(frame: Any, name: str, member: MemberOf) -> list[Any]:
    """The values of a column, None where they are missing."""
    if is_array(frame):
        return _field(frame, name, member)
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


def _field(rows: Any, name: str, member: MemberOf) -> list[Any]:
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
