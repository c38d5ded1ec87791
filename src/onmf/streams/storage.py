"""The state of a stream as arrays of a file, and back.

    stream.<field>     the sums of each cluster        life.<field>     what waits, since when

Rows that are kept are CSR: three arrays each.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp

from onmf.losses import LOSSES
from onmf.losses.batches import BatchSums
from onmf.rows.sweep import Array
from onmf.streams.births import StreamHistory
from onmf.streams.evidence import MAX_DEVIATIONS_BELOW, CosineSums

SUMS_PREFIX, HISTORY_PREFIX = "stream.", "life."
KEPT_ROWS = ("waiting", "warmup")  # fields of a history that are matrices
CSR_PARTS = ("data", "indices", "indptr")
FORMER_PARTS = {"energy": "explained", "room": "waiting", "early": "warmup"}  # of version 0.1


def stream_arrays(sums: BatchSums | None, history: StreamHistory | None) -> dict[str, Array]:
    """What a file keeps of a stream; nothing if there is none."""
    if sums is None:
        return {}
    arrays = {SUMS_PREFIX + name: value for name, value in sums.as_dict().items()}
    if history is None:
        return arrays
    facts = history._asdict()
    facts |= {"batch": np.array([history.batch]), "levels": np.stack(history.levels)}
    for name in KEPT_ROWS:
        rows = facts.pop(name)
        facts |= {f"{name}.{part}": getattr(rows, part) for part in CSR_PARTS}
    return arrays | {HISTORY_PREFIX + name: np.asarray(value) for name, value in facts.items()}


def take_stream(arrays: dict[str, Array], shape: tuple[int, int], loss: Any) -> dict[str, Any]:
    """The stream of a model with centroids of this shape, whose arrays leave the others."""
    sums, history = (_take_out(arrays, prefix) for prefix in (SUMS_PREFIX, HISTORY_PREFIX))
    if not sums:
        return {}
    k, m = shape
    kinds = LOSSES[loss].kinds_of_batch if loss in [*LOSSES] else ()
    kind = next((kind for kind in kinds if set(kind.names()) == set(sums)), None)
    if kind is None:
        raise ValueError("the parts of its stream are unknown.")
    _check(sums, {name: (k, m) if name in kind.by_feature else (k,) for name in sums})
    state: dict[str, Any] = {"_stream": kind(**sums)}
    return state | ({"_stream_history": _sound_history(history, k, m)} if history else {})


def _take_out(arrays: dict[str, Array], prefix: str) -> dict[str, Array]:
    """The arrays with this prefix, by their present names; they leave the others."""
    own = {}
    for name in [name for name in arrays if name.startswith(prefix)]:
        word = name.removeprefix(prefix)
        for old, new in FORMER_PARTS.items():
            if word == old or word.startswith((f"{old}.", f"{old}_")):
                word = new + word.removeprefix(old)
        own[word] = arrays.pop(name)
    return own


def _sound_history(parts: dict[str, Array], k: int, m: int) -> StreamHistory:
    rows = {
        name: _sound_rows([parts.pop(f"{name}.{part}") for part in CSR_PARTS], m)
        for name in KEPT_ROWS
    }
    if len(parts["levels"]) == 3:  # of version 0.1: at most so many are novel, by Chebyshev
        number = parts["levels"][:1]
        parts["levels"] = np.vstack([parts["levels"], number / MAX_DEVIATIONS_BELOW**2])
    waiting, warmup = (rows[name].shape[0] for name in KEPT_ROWS)
    wanted = {"batch": (1,), "first": (k,), "last": (k,), "levels": (4, k)}
    wanted |= {"waiting_weight": (waiting,), "since": (waiting,), "warmup_weight": (warmup,)}
    _check(parts, wanted)
    batch, levels = int(parts.pop("batch")[0]), CosineSums(*parts.pop("levels"))
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
    if np.isinf(data).any():
        raise ValueError("the samples of its stream are not all finite.")
    return rows


def _check(parts: dict[str, Array], wanted: dict[str, Any]) -> None:
    """They are all there, of these shapes, and finite."""
    if {name: array.shape for name, array in parts.items()} != wanted:
        raise ValueError("the parts of its stream differ in shape.")
    if not all(np.isfinite(array).all() for array in parts.values()):
        raise ValueError("the parts of its stream are not all finite.")
