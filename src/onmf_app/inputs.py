"""The inputs of a command: standard input, files that are read again, several put together."""

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from onmf.files import checksum
from onmf.rows import CELLS, DOCUMENTS, SAMPLES, listing
from onmf_app.console import note, notes, waiting, within_memory
from onmf_app.read import Input, read_input
from onmf_app.read.annotation import check_unique, value_file

STANDARD_INPUT = Path("-")
FIRST_BYTES = {  # of binary formats, for standard input
    b"PAR1": ".parquet",
    b"\x93NUMPY": ".npy",
    b"\x89HDF": ".h5ad",
    b"%%MatrixMarket": ".mtx",
    b"PK\x03\x04": ".npz",
    b"{": ".jsonl",
}
OF_SAMPLES = ("labels", "time", "batch")  # a column, or a file, with a value for each sample
TERMS = {"samples": SAMPLES, "documents": DOCUMENTS, "cells": CELLS}
_RECEIVED: list[Any] = []  # temporary folders, deleted when the process ends


def received(path: Path, text: bool = False) -> Path:
    """The path; standard input (`-`) is copied to a temporary file first."""
    if path != STANDARD_INPUT:
        return path
    stream = sys.stdin.buffer
    start = stream.read(max(map(len, FIRST_BYTES)))
    plain = ".txt" if text else ".csv"
    ending = next((e for first, e in FIRST_BYTES.items() if start.startswith(first)), plain)
    packed = ".gz" if start.startswith(b"\x1f\x8b") else ""
    _RECEIVED.append(TemporaryDirectory(prefix="onmf-"))
    place = Path(_RECEIVED[-1].name) / f"stdin{ending}{packed}"
    with place.open("wb") as file:
        file.write(start)
        shutil.copyfileobj(stream, file)
    return place


def read(path: Path, options: Mapping[str, Any], **more: Any) -> Input:
    """The input, with a progress bar and notes."""
    name = path.name
    with within_memory(name), notes(name), waiting(f"Reading {name}") as progress:
        found = read_input(path, **{**options, **more}, progress=progress)
    note(name, found.notes, TERMS[found.kind])
    return found


def read_new(path: Path, options: Mapping[str, Any], model: Any) -> Input:
    """New samples for a model: its features, or documents if it counts words."""
    options = {name: value for name, value in options.items() if name not in ("drop", "raw")}
    if not any(step.of_texts for step in model.steps):
        options = {n: v for n, v in options.items() if n not in ("text", "text_column")}
        return read(path, options, features=model.features)
    known: dict[str, Any] = {n: options[n] for n in ("encoding", "labels") if n in options}
    for asked in (options, known, known | {"text": True}):
        try:
            found = read_input(path, **asked)
        except ValueError as error:
            refused = error
        else:
            if found.kind == "documents":
                note(path.name, found.notes, DOCUMENTS)
                return found
            refused = ValueError(f"{path.name} has no texts: name their column (--text-column).")
    raise refused


def described(path: Path, samples: Sequence[Any], column: str | None, ids: str | None) -> list[str]:
    """Texts that describe these samples, matched by name, or else by order."""
    found = read_input(
        path, text=None if column is None else True, text_column=column, id_column=ids
    )
    if found.kind != "documents":
        found = read_input(path, text=True, id_column=ids)
    names = [*map(str, samples)]
    known = dict(zip(map(str, found.samples), found.data, strict=True))
    if {*names} <= known.keys():
        return [known[name] for name in names]
    if len(found.data) == len(names):
        return list(found.data)
    few = listing([repr(name) for name in names if name not in known][:3], len(names))
    raise ValueError(
        f"{path.name} has {len(found.data)} texts for {len(names)} samples, and not by their names "
        f"({few}): name them with --id-column."
    )


def read_seeds(path: Path) -> dict[str, list[str]]:
    """Lines `name: word word ...`, with commas or without."""
    found: dict[str, list[str]] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        name, colon, words = line.partition(":")
        if not line.strip() or line.startswith("#"):
            continue
        own = words.replace(",", " ").split()
        if not colon or not name.strip() or not own:
            raise ValueError(f"{path.name}, line {number}, is not `name: word word ...`.")
        if name.strip() in found:
            raise ValueError(f"{path.name}, line {number}: {name.strip()!r} was there before.")
        found[name.strip()] = own
    if not found:
        raise ValueError(f"{path.name} is empty: write lines `name: word word ...`.")
    return found


def joined(first: Input, second: Input, file: str) -> Input:
    """The samples of both, with the features of the first.

    Numbered samples go on; a document of a name that is known is called by its file, too.
    """
    import numpy as np
    import pandas as pd
    import scipy.sparse as sp

    samples, new = [*map(str, first.samples)], [*map(str, second.samples)]
    starts = [s for s in (0, 1) if [*map(str, range(s, s + len(samples)))] == samples]
    if starts:
        samples = [*map(str, range(starts[0], starts[0] + len(samples) + len(new)))]
    else:
        known = {*samples} if first.kind == "documents" else set()
        samples += [f"{file}/{name}" if name in known else name for name in new]
        check_unique(samples, "samples", file)
    X: Any = first.data
    if isinstance(X, list):
        X = [*X, *second.data]
    else:
        place = {name: j for j, name in enumerate(second.features)}
        if missing := [name for name in first.features if name not in place]:
            raise ValueError(f"{file} lacks features of the run: {listing(map(repr, missing))}.")
        order = [place[name] for name in first.features]
        if hasattr(X, "columns") or hasattr(second.data, "columns"):
            one, two = (
                part
                if hasattr(part, "columns")
                else pd.DataFrame(part.toarray() if sp.issparse(part) else part)
                for part in (X, second.data)
            )
            two = two.iloc[:, order].set_axis(first.features, axis=1)
            X = pd.concat([one.set_axis(first.features, axis=1), two])
            X.index = pd.Index(samples)
        elif sp.issparse(X) or sp.issparse(second.data):
            X = sp.csr_array(sp.vstack([X, sp.csc_array(second.data)[:, order]], "csr"))
        else:
            X = np.vstack([X, second.data[:, order]])
    values: dict[str, Any] = {}
    for key in ("classes", "times", "batches"):
        own = getattr(first, key), getattr(second, key)
        values[key] = None if None in own else [*own[0], *own[1]]
    told = (*first.notes, *second.notes)
    return first._replace(data=X, samples=samples, notes=tuple(dict.fromkeys(told)), **values)


def with_names(data: Input) -> Any:
    """The samples with the names of their features, by which a model finds them."""
    import pandas as pd
    import scipy.sparse as sp

    X, names = data.data, [*data.features]
    numbered = names == [*map(str, range(len(names)))]
    if not in_memory(data) or isinstance(X, list) or hasattr(X, "columns") or numbered:
        return X
    if sp.issparse(X):
        return pd.DataFrame.sparse.from_spmatrix(X, columns=names)
    return pd.DataFrame(X, columns=names)


def placed(found: Any, data: Input, missing: float | None = None, advice: str = "") -> Any:
    """The table of new samples; `advice` on features that they lack."""
    try:
        return found.place(with_names(data), missing=missing)
    except ValueError as error:
        own = str(error).replace("; missing=0 or NaN takes them as that", advice)
        raise ValueError(own) from error


def in_memory(data: Input) -> bool:
    """Whether the rows are in memory, not on disk."""
    import numpy as np
    import scipy.sparse as sp

    X = data.data
    return isinstance(X, list | np.ndarray) or sp.issparse(X) or hasattr(X, "columns")


def relative(folder: Path, path: str | Path) -> str:
    """A path relative to a folder, so that both can be moved."""
    try:
        return Path(os.path.relpath(Path(path).resolve(), folder.resolve())).as_posix()
    except ValueError:  # on another drive
        return str(Path(path).resolve())


def spec_of(folder: Path, spec: str) -> tuple[str, str | None]:
    """COLUMN, or FILE:COLUMN relative to a folder with the checksum of the file."""
    found = value_file(spec)
    if found is None:
        return spec, None
    path, column = found
    own = relative(folder, path)
    return own if column is None else f"{own}:{column}", checksum(path)


def spec_again(folder: Path, spec: str, digest: str) -> str | None:
    """The same from the folder's record; None if the file is gone or has changed."""
    found = value_file(str(folder / spec))
    if found is None or checksum(found[0]) != digest:
        return None
    return str(found[0]) if found[1] is None else f"{found[0]}:{found[1]}"
