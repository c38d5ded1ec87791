"""From all columns of a table to samples and features: the same for every format.

columns named by the user  ->  `onmf.prepare.columns`  ->  names, features  ->  genes in rows
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from onmf_app.read.annotation import check_unique, class_names, read_labels
from onmf_app.read.layouts import column_of_texts, remedy, sample_names
from onmf_app.read.streams import File, listing
from onmf_app.read.tables import Parsed

SUM_NAMES = ("total", "totals", "grand total", "sum", "sums", "summe", "gesamt", "somme")
TOTALS = [f(w) for w in SUM_NAMES for f in (str.lower, str.upper, str.capitalize, str.title)]
FEW = 20  # columns that are left out one by one
MEASURED = 10  # columns of numbers, from which on they are what the table is about
Values = dict[str, list[str]]  # "labels", "time", "batch": a value for each sample


def samples_of(
    table: Parsed,
    file: File,
    asked: dict[str, str],
    *,
    drop: Sequence[str],
    raw: bool,
    id_column: str | None,
    features: Sequence[str] | None,
    transpose: bool | None,
    duplicates: str,
) -> tuple[Any, Values, tuple[str, ...]]:
    """A frame of numbers, the values that were asked for, and the columns that were left out."""
    from onmf.prepare.columns import columns

    frame, about, turned, beside = table
    if frame.index.name in drop:  # that pandas wrote
        frame, beside = frame.reset_index(drop=True), {frame.index.name}
    turned = turned if transpose is None else transpose
    every = [str(head) for head in frame.columns]
    above = about if turned else {}
    gone = {*drop} | {spec for spec in asked.values() if spec not in above}
    places = [j for j, head in enumerate(every) if head not in gone]
    heads = [every[j] for j in places]
    left = _taken(frame, places).set_axis(heads, axis=1)
    chosen = columns(left, raw=raw or features is not None)
    own = chosen.names if id_column is None else _place(id_column, heads, file)
    kept = [j for j in chosen.features if j != own]
    out = {j: why for j, why in chosen.left_out.items() if j != own}
    _note_left_out(left, heads, kept, out, file)
    single = all(left.dtypes.iloc[j] == np.float32 for j in kept)
    X = _taken(left, kept).astype(np.float32 if single else np.float64, copy=False)
    X.columns = [heads[j] for j in kept]
    if own is not None:
        X.index = _names(left.iloc[:, own])
    columns_asked = {
        k: frame.iloc[:, every.index(s)] for k, s in asked.items() if s in {*every} & gone
    }
    X, stays = _without_rows(X, {*drop} - {*every} - beside, file)
    heading = "" if own is None else heads[own]
    genes = transpose is None and not turned and _are_features(X, heading, features)
    if turned or genes:
        if transpose is None:
            file.note(
                f"{file.name} has features as rows, so it was transposed; --no-transpose keeps it."
            )
        X = X.T
        X.index, X.columns = pd.Index(sample_names(X.index)), X.columns.map(str)
        found = {k: [above[s][places[j]] for j in kept] for k, s in asked.items() if s in above}
    else:
        found = {key: column[stays].tolist() for key, column in columns_asked.items()}
    if features is not None:
        X = _of_model(X, features)
    if not X.index.is_unique:
        check_unique([*map(str, X.index)], "samples", file.name)
    X = merged(X, duplicates, file)
    values = {
        key: class_names(found[key], [*map(str, X.index)], f"column {spec!r} of {file.name}")
        if key in found else read_labels(spec, [*map(str, X.index)], file.name)
        for key, spec in asked.items()
    }  # fmt: skip
    return X, values, tuple(heads[j] for j, why in out.items() if why != "text")


def _place(column: str, heads: list[str], file: File) -> int:
    if column not in heads:
        known = listing(heads)
        raise ValueError(f"{file.name} has no column {column!r}; its columns are {known}.")
    return heads.index(column)


def _are_features(X: Any, heading: str, features: Sequence[str] | None) -> bool:
    """Whether the rows are genes, or what a model calls its features."""
    from onmf.prepare.genes import rows_are_genes

    if isinstance(X.index, pd.RangeIndex):
        return False
    if features is not None:
        there = [len({*features} & {*map(str, names)}) for names in (X.columns, X.index)]
        return there[1] > 2 * there[0]
    rows = [*X.index] if X.index.dtype == object else [""] * len(X)
    return bool(rows_are_genes(rows, [*X.columns], heading))


def _taken(frame: Any, places: list[int]) -> Any:
    """Some columns; if few are left out, the others are not copied."""
    gone = sorted({*range(frame.shape[1])} - {*places})
    if len(gone) > FEW:
        return frame.iloc[:, places]
    some = frame.copy(deep=False)
    some.columns = range(frame.shape[1])
    for j in gone:
        del some[j]
    return some


def _note_left_out(
    left: Any, heads: list[str], kept: list[int], out: dict[int, str], file: File
) -> None:
    """Say which columns are no features; refuse a table without any."""
    words = {
        heads[j]: [str(c) for c in left.iloc[:20, j] if c == c and c not in (None, "")]
        for j, why in out.items() if why == "text"
    }  # fmt: skip
    texts = column_of_texts(words) if len(kept) < MEASURED else None
    if not kept:
        raise ValueError(
            f"{file.name} has no column of numbers; {remedy(texts)}, and classes of the samples of "
            "another table are read with --labels FILE:COLUMN."
        )
    said = f"; {remedy(texts)}" if texts is not None else ""
    note_left_out(file, {heads[j]: why for j, why in out.items()}, said)


def note_left_out(file: File, out: dict[str, str], remedy: str = "") -> None:
    """Say which columns are no features."""
    if plain := [head for head in out if head and out[head] == "text"]:
        which = f"{listing(plain)}{remedy}"
        file.note(f"{file.name} has columns without numbers, which are not used: {which}.")
    reasons = dict.fromkeys(why for why in out.values() if why != "text")
    if said := "; ".join(
        f"{listing(repr(head) for head in out if out[head] == why)} ({why})" for why in reasons
    ):
        file.note(f"{file.name}: left out as no measurements: {said}; --raw keeps them.")


def _names(column: Any) -> Any:
    """A column as an index: whole numbers, or text."""
    if column.dtype.kind in "iu":
        return pd.Index(column)
    if column.dtype.kind == "f" and (column == np.floor(column)).all():
        return pd.Index(column.astype(np.int64))
    return pd.Index(column.astype(object).map(lambda c: "" if c is None or c != c else str(c)))


def _without_rows(X: Any, gone: set[str], file: File) -> tuple[Any, Any]:
    """The rows that are not to be dropped, nor named as, and equal to, the sum of all others."""
    stays = np.ones(len(X), bool)
    if gone:
        samples = X.index.map(str)
        if unknown := gone - {*samples}:
            said = listing(sorted(map(repr, unknown)))
            raise ValueError(f"{file.name} has no column or row {said} to drop.")
        stays &= ~samples.isin([*gone])
    sums = np.flatnonzero(X.index.isin(TOTALS) & stays)
    if len(sums):
        others = X[stays & ~X.index.isin(TOTALS)]
        total = np.nansum(others, axis=0)
        equal = [i for i in sums if len(others) > 1 and np.allclose(X.iloc[i], total, 1e-3, 0)]
        stays[equal] = False
        if equal:
            said = listing(repr(X.index[i]) for i in equal)
            file.note(f"{file.name}: {said} is the sum of the others, and left out.")
    return (X if stays.all() else X[stays]), stays


def _of_model(X: Any, features: Sequence[str]) -> Any:
    """The columns that a model knows by name; of numbered ones, by their places."""
    numbered = [*X.columns] == [*map(str, range(X.shape[1]))]
    if numbered and not {*features} <= {*X.columns} and X.shape[1] == len(features):
        return X.set_axis([*features], axis=1)
    known = {*features}
    found = [j for j, head in enumerate(X.columns) if head in known]
    return X.iloc[:, found] if found else X


def merged(X: Any, how: str, file: File) -> Any:
    """Features of the same name: TP53, TP53.1, ...; added up; or only the first."""
    repeated = [head for head, times in Counter(X.columns).items() if times > 1]
    if not repeated:
        return X
    if how == "refuse":
        check_unique([*X.columns], "features", file.name)
    if how == "number":
        taken, seen, names = {*X.columns}, Counter[str](), []
        for head in X.columns:
            new = head
            while seen[head] and new in taken:
                new = f"{head}.{seen[head]}"
                seen[head] += 1
            seen[head] += not seen[head]
            taken.add(new)
            names.append(new)
        said = listing(map(repr, repeated))
        file.note(
            f"{file.name} has several features named {said}, which are numbered; "
            "--set read.duplicates=sum adds them up."
        )
        return X.set_axis(names, axis=1)
    again = X.columns.duplicated()
    done = "were summed" if how == "sum" else "except the first were dropped"
    file.note(
        f"{file.name} has {again.sum()} repeated feature names; features of the same name {done}."
    )
    return X.loc[:, ~again] if how == "first" else X.T.groupby(level=0, sort=False).sum().T
