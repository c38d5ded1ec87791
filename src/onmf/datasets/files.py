"""Data files: at a path of the user, or in their place below ONMF_DATA. Nothing is downloaded."""

import os
import warnings
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import BadZipFile

import numpy as np
import scipy.io

from onmf.io.table import Array


class DataFile(NamedTuple):
    """The place of a file below ONMF_DATA, and how to get it."""

    place: str
    advice: str


def locate(wanted: DataFile, path: str | os.PathLike[str] | None) -> Path:
    """The path of a file; the error for a missing file says where to get it.

    `path` is the file, or a folder that has it under its usual name. None looks below the folder in
    the environment variable ONMF_DATA.
    """
    name = Path(wanted.place).name
    if path is None and "ONMF_DATA" not in os.environ:
        raise FileNotFoundError(
            f"The path of {name} is unknown: pass it, or set ONMF_DATA to a folder that has "
            f"{wanted.place}. {wanted.advice}"
        )
    where = Path(os.environ["ONMF_DATA"], wanted.place) if path is None else Path(path)
    where = where / name if where.is_dir() else where
    if not where.is_file():
        raise FileNotFoundError(f"There is no file {where}. {wanted.advice}")
    return where


def read_mat_variables(path: Path, names: list[str]) -> dict[str, Any]:
    """Variables of a MATLAB file (version 4 to 7.2)."""
    try:
        with warnings.catch_warnings():
            # Callers take sparse arrays and matrices alike; old SciPy has no `spmatrix=False`.
            warnings.filterwarnings("ignore", ".*`spmatrix`", DeprecationWarning)
            raw = scipy.io.loadmat(path, variable_names=names)
    except (ValueError, TypeError, NotImplementedError, scipy.io.matlab.MatReadError) as error:
        raise ValueError(f"{path} is not a MATLAB file of version 7 or before: {error}") from error
    return _require(raw, names, path)


def read_npz_variables(path: Path, names: list[str]) -> dict[str, Array]:
    """Arrays of a .npz file; pickled objects are refused."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as raw:
            return _require({name: raw[name] for name in names if name in raw}, names, path)
    except (ValueError, EOFError, BadZipFile, AttributeError) as error:
        raise ValueError(f"{path} cannot be read: {error}") from error


def _require(raw: dict[str, Any], names: list[str], path: Path) -> dict[str, Any]:
    """The variables of these names; none may be missing."""
    missing = [name for name in names if name not in raw]
    if missing:
        raise ValueError(f"{path} has no variable {', '.join(missing)}.")
    return {name: raw[name] for name in names}
