"""Seed words: what a person knows of the clusters before the fit.

s_it = number of seed features j of cluster t with x_ij above the mean of feature j
sample i is known to be in t  if  s_it >= min(2, number of its seeds)  and  s_it > s_iu, u != t
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from onmf.prepare.arrays import parts_of
from onmf.rows.source import Source
from onmf.rows.table import Array, listing

ENOUGH = 2  # seeds that a sample must have: one word alone occurs in texts of every kind

Seeds = Mapping[str, Sequence[str]]


def read_seeds(path: Path) -> dict[str, list[str]]:
    """From a file with a line ``name: word word ...`` for each cluster; # starts a comment."""
    seeds: dict[str, list[str]] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8-sig").splitlines(), 1):
        line = line.partition("#")[0].strip()
        if not line:
            continue
        name, colon, words = line.partition(":")
        name, known = name.strip(), words.replace(",", " ").split()
        if not colon or not name or not known:
            raise ValueError(f"{path.name}, line {number}: expected `name: word word ...`.")
        if name in seeds:
            raise ValueError(f"{path.name}, line {number}: {name!r} occurs twice.")
        seeds[name] = known
    if not seeds:
        raise ValueError(f"{path.name} has no line `name: word word ...`.")
    return seeds


def labels_by_seeds(X: Any, feature_names: Sequence[str], seeds: Seeds) -> list[str]:
    """For each sample the name of the cluster whose seeds it has; "" if it has few, or of several.

    Parameters
    ----------
    X : array, sparse matrix or rows on disk of shape (n_samples, n_features)
    feature_names : sequence of str
        Words, genes.
    seeds : dict of str to sequence of str
        Features of each cluster, by its name; upper and lower case are the same.

    Returns
    -------
    list of str
        For `onmf.class_means`.

    Examples
    --------
    >>> from onmf.prepare import labels_by_seeds
    >>> X = [[1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1]]
    >>> seeds = {"sky": ["moon", "star"], "life": ["gene", "cell"]}
    >>> labels_by_seeds(X, ["moon", "star", "gene", "cell"], seeds)
    ['sky', '', 'life']
    """
    X = X if sp.issparse(X) or isinstance(X, Source) else np.asarray(X, np.float64)
    place = {str(name).lower(): j for j, name in enumerate(feature_names)}
    known = {name: [w for w in dict.fromkeys(map(str.lower, own)) if w in place]
             for name, own in seeds.items()}  # fmt: skip
    if without := [name for name, own in known.items() if not own]:
        raise ValueError(
            f"no seed of {listing(without)} is a feature: "
            f"{listing([word for name in without for word in seeds[name]])} do not occur, or are "
            "left out as stop words or as too rare."
        )
    columns = [place[word] for own in known.values() for word in own]
    own = np.vstack([_columns(part, columns) for part in parts_of(X)])
    has = own > np.nanmean(own, axis=0)
    ends = np.cumsum([0, *map(len, known.values())])
    hits = np.column_stack([has[:, i:j].sum(axis=1) for i, j in pairwise(ends)])
    first = hits.argmax(axis=1)
    best = hits[np.arange(len(hits)), first]
    clear = np.sum(hits == best[:, None], axis=1) == 1
    enough = np.minimum(ENOUGH, np.diff(ends))[first]
    names = [*known]
    known_to_be = np.where(clear & (best >= enough), first, -1)
    if nobody := [name for t, name in enumerate(names) if not np.any(known_to_be == t)]:
        raise ValueError(
            f"no sample has {ENOUGH} seeds of {listing(nobody)} and fewer of all others: give more "
            "or other seeds."
        )
    return ["" if t < 0 else names[t] for t in known_to_be.tolist()]


def _columns(X: Any, columns: list[int]) -> Array:
    part = X[:, columns]
    return np.asarray(part.toarray() if sp.issparse(part) else part, np.float64)
