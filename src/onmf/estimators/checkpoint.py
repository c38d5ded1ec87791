"""Checkpoints: the state of a fit on disk, from which another process resumes.

    folder/name.notes  =  a container whose header has the facts; arrays in them by their names

Each file is there in full or not at all, and has the fingerprint of the data and parameters it
belongs to: for any other it is refused. Of what else is in the folder nothing is touched.
"""

import hashlib
import json
import warnings
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from numbers import Integral
from pathlib import Path
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from onmf.exceptions import CheckpointWarning
from onmf.io import replace_files
from onmf.io.container import read_container, write_container
from onmf.result import CheckpointStore
from onmf.rows.sweep import Array, Block, Data

CHECKPOINT_KIND = "onmf checkpoint 3"  # the number is that of the facts in it
CHECKPOINT_SUFFIX = ".notes"
NOT_COMPARED = (
    "n_jobs",
    "verbose",
    "callback",
    "random_state",
)


class Checkpoint(CheckpointStore):
    """Checkpoints in a folder."""

    def __init__(self, folder: str | Path, fingerprint: str) -> None:
        self.folder, self.fingerprint, self.failed = Path(folder), fingerprint, False
        self.own: set[Path] = set()  # files of this fit, which go when it ends
        self.folder.mkdir(parents=True, exist_ok=True)

    @classmethod
    def of(cls, folder: str | Path, estimator: str, parameters: dict[str, Any], data: Data) -> Self:
        """For a fit of this estimator; what is already in the folder must belong to it."""
        checkpoints = cls(folder, fit_fingerprint(estimator, parameters, data))
        for path in checkpoints.folder.glob(f"*{CHECKPOINT_SUFFIX}"):
            checkpoints.read(path)
        return checkpoints

    def path(self, name: str) -> Path:
        return self.folder / f"{name}{CHECKPOINT_SUFFIX}"

    def recall(self, name: str) -> dict[str, Any] | None:
        return self.read(path) if (path := self.path(name)).exists() else None

    def read(self, path: Path) -> dict[str, Any]:
        facts = read_notes(path)
        if facts.pop("fingerprint", None) != self.fingerprint:
            raise ValueError(
                f"the checkpoint {path} belongs to a fit of other data or with other parameters: "
                "name another folder, or delete it."
            )
        self.own.add(path)
        return facts

    def note(self, name: str, facts: Callable[[], dict[str, Any]]) -> None:
        """A disk that is full, or gone, stops no fit: what was noted before stays."""
        try:
            write_notes(self.path(name), facts() | {"fingerprint": self.fingerprint})
            self.own.add(self.path(name))
        except OSError as error:
            if not self.failed:
                warnings.warn(
                    f"the checkpoint in {self.folder} cannot be written ({error}): the fit goes "
                    "on, and what was noted before stays.",
                    CheckpointWarning,
                    stacklevel=2,
                )
            self.failed = True

    def close(self, stop: str) -> None:
        """Remove the files of a fit that has ended; one that a callback stopped can be resumed."""
        if stop != "callback":
            for path in self.own:
                path.unlink(missing_ok=True)


def write_notes(path: Path, facts: dict[str, Any]) -> None:
    """Put the facts in the place of what was there, or leave that as it was."""
    arrays: dict[str, Array] = {}
    header = {"facts": json.dumps(facts, default=partial(_set_aside, arrays))}
    write = partial(write_container, kind=CHECKPOINT_KIND, header=header, arrays=arrays)
    replace_files(path.parent, {path.name: write})


def _set_aside(arrays: dict[str, Array], value: Any) -> Any:
    """For JSON: numbers as they are, an array by its name."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        arrays[name := str(len(arrays))] = value
        return {"array": name}
    raise TypeError(f"a checkpoint does not keep {type(value).__name__}")


def read_notes(path: Path) -> dict[str, Any]:
    """The facts of a file that is whole."""
    try:
        header, arrays = read_container(path, CHECKPOINT_KIND)
        facts = json.loads(header["facts"], object_hook=partial(_put_back, arrays))
        if not isinstance(facts, dict):
            raise ValueError("it has no facts.")
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise ValueError(
            f"the checkpoint {path} is damaged, cut off, or of another version: delete it to "
            "start again."
        ) from error
    return facts


def _put_back(arrays: dict[str, Array], value: dict[str, Any]) -> Any:
    """The array, where JSON has its name."""
    return arrays[value["array"]] if value.keys() == {"array"} else value


def fit_fingerprint(estimator: str, parameters: dict[str, Any], data: Data) -> str:
    """The same for the same rows, wherever they are and however cut, and the same parameters."""
    compared = {name: text(parameters[name]) for name in sorted({*parameters} - {*NOT_COMPARED})}
    seed = parameters["random_state"]
    seed = seed if isinstance(seed, Integral) else None
    rows, _ = data.sweep(row_digests)
    content = hashlib.sha256(data.gather(rows).tobytes())
    content.update(np.ascontiguousarray(data.weight, np.float64).tobytes())
    facts = [estimator, compared, text(seed), *data.shape, str(data.dtype), content.hexdigest()]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()


def row_digests(block: Block, rows: Any) -> tuple[Array, tuple[()]]:
    """SHA-256 of each row: how many entries are not zero, where (if not all), and their bytes.

    Row by row, so that the cuts do not matter: about a microsecond a row and a second a gigabyte.
    """
    m, (columns, values, ends) = block.X.shape[1], _nonzeros(block.X)
    digests = bytearray()
    for i, j in pairwise(ends.tolist()):
        where = b"" if j - i == m else columns[i:j].tobytes()
        head = (j - i).to_bytes(8, "little")
        digests += hashlib.sha256(head + where + values[i:j].tobytes()).digest()
    return np.frombuffer(digests, np.uint8).reshape(block.X.shape[0], -1), ()


def _nonzeros(X: Any) -> tuple[Array, Array, Array]:
    """Columns and values of the entries that are not zero, and where each row's end."""
    n, m = X.shape
    if sp.issparse(X):
        if not X.data.all():
            X = X.copy()
            X.eliminate_zeros()
        return X.indices.astype(np.int64), X.data, X.indptr
    if X.all():
        return np.empty(0, np.int64), X.ravel(), np.arange(0, n * m + 1, m)
    numbers, columns = np.nonzero(X)
    ends = np.append(0, np.cumsum(np.bincount(numbers, minlength=n)))
    return columns.astype(np.int64), X[numbers, columns], ends


def text(value: Any) -> str:
    """Arrays by their content, functions by their name, all else as Python writes it."""
    if isinstance(value, np.ndarray):
        content = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
        return f"{value.dtype} {value.shape} {content}"
    if isinstance(value, tuple | list):
        return repr([text(item) for item in value])
    if isinstance(value, BaseEstimator):  # a solver, wherever it saves its state
        settings = value.get_params(deep=False) | {"checkpoint": None}
        return f"{type(value).__name__} {sorted(settings.items())}"
    if callable(value) and hasattr(value, "__qualname__"):
        return f"{value.__module__}.{value.__qualname__}"
    return repr(value)
