"""Features of the same name: numbered, added up, or only the first."""

import warnings
from collections import Counter
from typing import Literal

import numpy as np
import scipy.sparse as sp

from onmf.exceptions import TableWarning
from onmf.rows import Table, listing

Duplicates = Literal["number", "sum", "first", "refuse"]


def number_features(table: Table, file: str) -> Table:
    """TP53, TP53.1, ... for features of the same name."""
    again = Counter(table.features)
    repeated = [name for name, times in again.items() if times > 1]
    if not repeated:
        return table
    taken, seen, names = {*table.features}, Counter[str](), []
    for name in table.features:
        new = name
        while seen[name] and new in taken:
            new = f"{name}.{seen[name]}"
            seen[name] += 1
        seen[name] += not seen[name]
        taken.add(new)
        names.append(new)
    warnings.warn(
        f"{file} has several features named {listing(map(repr, repeated))}, which are numbered; "
        "--duplicates sum adds them up.",
        TableWarning,
        stacklevel=2,
    )
    return table._replace(features=names)


def merge_features(table: Table, duplicates: Duplicates, file: str) -> Table:
    """One feature per name: the sum of all with the name, or the first."""
    names, first, place = np.unique(table.features, return_index=True, return_inverse=True)
    if len(names) == len(table.features):
        return table
    ranks = np.empty(len(names), int)
    ranks[np.argsort(first)] = np.arange(len(names))  # in order of first appearance
    kept = np.sort(first)
    if duplicates == "first":
        X = table.X[:, kept]
    else:
        m = len(table.features)
        X = table.X @ sp.csr_array((np.ones(m), (np.arange(m), ranks[place])), (m, len(names)))
    done = "were summed" if duplicates == "sum" else "except the first were dropped"
    warnings.warn(
        f"{file} has {len(place) - len(names)} repeated feature names; features of the same name "
        f"{done}.",
        TableWarning,
        stacklevel=2,
    )
    return table._replace(X=X, features=[table.features[j] for j in kept])
