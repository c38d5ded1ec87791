"""How far a stream is, as arrays of a file, and back.

    stream.<field>     the sums of each cluster        life.<field>     who waits, who was here when

Rows that are kept are CSR: three arrays each.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from onmf.streams.births import StreamHistory
from onmf.streams.novelty import Levels
from onmf.streams.sums import Stream

Array = NDArray[Any]

STREAM, LIFE = "stream.", "life."
ROWS = ("room", "early")  # of a life, which are matrices
PARTS = ("data", "indices", "indptr")


def stream_arrays(stream: Any, life: StreamHistory | None) -> dict[str, Array]:
    """What a file keeps of a stream; nothing if there is none."""
    if not isinstance(stream, Stream):  # a stream of counts begins anew
        return {}
    arrays = {STREAM + name: value for name, value in stream._asdict().items()}
    if life is None:
        return arrays
    facts = life._asdict() | {"batch": np.array([life.batch]), "levels": np.stack(life.levels)}
    for name in ROWS:
        rows = facts.pop(name)
        facts |= {f"{name}.{part}": getattr(rows, part) for part in PARTS}
    return arrays | {LIFE + name: np.asarray(value) for name, value in facts.items()}


def take_stream(arrays: dict[str, Array], shape: tuple[int, int]) -> dict[str, Any]:
    """The stream of a model with centroids of this shape, whose arrays leave the others."""
    own = {name: arrays.pop(name) for name in [*arrays] if name.startswith((STREAM, LIFE))}
    sums = {name.removeprefix(STREAM): own[name] for name in own if name.startswith(STREAM)}
    if "energy" in sums:  # in files of version 0.1
        sums["explained"] = sums.pop("energy")
    life = {name.removeprefix(LIFE): own[name] for name in own if name.startswith(LIFE)}
    if not sums:
        return {}
    k, m = shape
    wide = {name: (k, m) if name == "image" else (k,) for name in Stream._fields}
    _check(sums, wide)
    state: dict[str, Any] = {"_stream": Stream(**sums)}
    return state | ({"_stream_history": _sound_life(life, k, m)} if life else {})


def _sound_life(parts: dict[str, Array], k: int, m: int) -> StreamHistory:
    rows = {name: _sound_rows([parts.pop(f"{name}.{part}") for part in PARTS], m) for name in ROWS}
    waiting, early = (rows[name].shape[0] for name in ROWS)
    wanted = {"batch": (1,), "first": (k,), "last": (k,), "levels": (3, k)}
    wanted |= {"room_weight": (waiting,), "since": (waiting,), "early_weight": (early,)}
    _check(parts, wanted)
    batch, levels = int(parts.pop("batch")[0]), Levels(*parts.pop("levels"))
    return StreamHistory(batch=batch, levels=levels, **rows, **parts)


def _sound_rows(parts: list[Array], m: int) -> sp.csr_array:
    data, indices, indptr = parts
    if indices.dtype.kind != "i" or indptr.dtype.kind != "i" or data.dtype.kind != "f":
        raise ValueError("the samples of its stream are of the wrong type.")
    if not {data.ndim, indices.ndim, indptr.ndim} == {1} or len(indptr) < 1:
        raise ValueError("the samples of its stream are no matrix.")
    ends = indptr[0] == 0 and indptr[-1] == len(data) == len(indices)
    if not ends or (np.diff(indptr) < 0).any():  # which SciPy's check may let pass
        raise ValueError("the samples of its stream have no sound rows.")
    rows = sp.csr_array((data, indices, indptr), shape=(len(indptr) - 1, m))
    rows.check_format(full_check=True)
    if not np.isfinite(data).all():
        raise ValueError("the samples of its stream are not all finite.")
    return rows


def _check(parts: dict[str, Array], wanted: dict[str, Any]) -> None:
    """They are all there, of these shapes, and finite."""
    if {name: array.shape for name, array in parts.items()} != wanted:
        raise ValueError("the parts of its stream differ in shape.")
    if not all(np.isfinite(array).all() for array in parts.values()):
        raise ValueError("the parts of its stream are not all finite.")
