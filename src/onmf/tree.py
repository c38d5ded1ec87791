"""Clusters of clusters: `build_tree`, from coarse to fine.

    above   clusters of the model are merged by Ward's linkage of their unit centroids, to as many
            as the coarser scales of `choose_k` have; if it has none, many clusters are put together
            to n = argmax h_{k-n} - h_{k-n-1}, where the heights h of the merges have a gap
    below   a cluster is split where `choose_k`, on its samples alone, finds evidence of parts

So every level is a partition into whole clusters of the next, and a level without evidence for it
is marked.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.cluster.hierarchy import cut_tree, linkage
from sklearn.base import clone
from sklearn.preprocessing import normalize

from onmf.estimators import ONMF
from onmf.explain import groups
from onmf.explain.checks import has_groups
from onmf.explain.tree import Node, Tree
from onmf.number import choose_k
from onmf.number.choice import FEW_SAMPLES
from onmf.result import known_feature_names
from onmf.rows.sweep import Array
from onmf.rows.table import Table

WORDS = 5  # distinctive features of a node
FEW_CLUSTERS = 7  # are read one by one; more are put together even without evidence

__all__ = ["Node", "Tree", "build_tree"]


class Above(NamedTuple):
    """Labels of coarser levels, whether there is evidence for them, and all merges."""

    levels: list[Array]
    evidence: bool
    merges: tuple[tuple[int, int], ...]


def build_tree(
    model: ONMF, X: Any, *, feature_names: Sequence[str] | None = None, max_depth: int = 3
) -> Tree:
    """Put the clusters of a fitted model together, and split them, where there is evidence.

    More than seven clusters are put together in any case, so that they can be read; such nodes have
    ``evidence=False``.

    Parameters
    ----------
    model : ONMF
        Fitted. Its clusters are one level of the tree, which becomes its attribute ``tree_``.
    X : array, sparse matrix, DataFrame or texts
        What the model was fitted to, in memory.
    feature_names : sequence of str, optional
        By default those of the model.
    max_depth : int, default=3
        At most so many levels below the root.

    Returns
    -------
    Tree

    Examples
    --------
    >>> import onmf
    >>> from onmf.datasets import make_rays
    >>> X, _ = make_rays(120, 20, 3, random_state=0)
    >>> print(onmf.build_tree(onmf.ONMF(3, random_state=0).fit(X), X))
    0 (120)
      1 (40): ...
      2 (40): ...
      3 (40): ...
    """
    names = known_feature_names(model, getattr(X, "columns", feature_names))
    X = model._prepared(X)
    X = X.X if isinstance(X, Table) else getattr(X, "to_numpy", lambda: X)()
    labels = np.asarray(model.labels_)
    if X.shape[0] != len(labels):
        raise ValueError(
            f"X has {X.shape[0]} samples but the model was fitted to {len(labels)}: give the X "
            "that it was fitted to."
        )
    above = coarser_levels(model, X, labels)
    levels = [*above.levels, labels]
    while len(levels) < max_depth and (finer := split_all(model, X, levels[-1])) is not None:
        levels.append(finer)
    model.tree_ = tree_of(levels[:max_depth], above, model, X, names)
    return model.tree_


def coarser_levels(model: ONMF, X: Any, labels: Array) -> Above:
    """The clusters of the model that have samples, merged to as many as coarser scales have.

    By Ward's linkage of the unit centroids: closer to the classes than average linkage, which
    leaves one large group and single clusters, on three of four subsets of TDT2 and two of three
    samples of 20 Newsgroups, and than the clusters of these scales themselves (`make bench
    ONLY=tree`).
    """
    known = np.unique(labels[labels >= 0])
    k = len(known)
    if k < 2:
        return Above([], True, ())
    found = linkage(normalize(model.cluster_centers_[known]), "ward")
    merges = tuple((int(a), int(b)) for a, b in found[:, :2])
    if k < 3:
        return Above([], True, merges)
    choice = choose_k(clone(model), X, range(2, k + 1), beyond=False, n_jobs=model.n_jobs)
    sizes = sorted({scale.k for scale in choice.scales if scale.k < k and choice.evidence})
    evidence = bool(sizes) or k <= FEW_CLUSTERS
    place = np.full(len(model.cluster_centers_) + 1, -1)
    levels = []
    for n in sizes if evidence else [largest_gap(found[:, 2])]:
        place[known] = cut_tree(found, n)[:, 0]  # fcluster made too few groups in SciPy 1.13
        levels.append(place[labels])
    return Above([level for level in levels if has_groups(level)], evidence, merges)


def largest_gap(heights: Array) -> int:
    """The number of groups before the merge that costs most more than the one before it.

    From sqrt(k), as many groups as clusters in each, to half of the clusters: more groups hardly
    help to read, and of fewer the last merge always costs most.
    """
    k = len(heights) + 1
    several = np.arange(int(np.sqrt(k)), k // 2 + 1)
    return int(several[np.argmax(heights[k - several] - heights[k - several - 1])])


def split_all(model: ONMF, X: Any, labels: Array) -> Array | None:
    """The parts of all clusters that have some; None if none has."""
    names = ("loss", "random_state", "n_jobs")
    part = ONMF(**{name: getattr(model, name) for name in names})
    finer, n = labels.copy(), int(labels.max()) + 1
    for own in range(n):
        rows = np.flatnonzero(labels == own)
        if len(rows) < FEW_SAMPLES:  # no measure tells clusters from none
            continue
        choice = choose_k(part, X[rows], n_jobs=model.n_jobs)
        if choice.evidence:
            number = np.append(own, np.arange(n, n + choice.best_k - 1))
            finer[rows] = number[np.maximum(choice.model.labels_, 0)]
            n += choice.best_k - 1
    return finer if n > labels.max() + 1 else None


def tree_of(
    levels: list[Array], coarse: Above, model: ONMF, X: Any, names: Sequence[str] | None
) -> Tree:
    """Nodes for nested labels; a cluster that the next level does not split is its own leaf."""
    of_model = len(coarse.levels)
    inside = levels[-1] >= 0
    nodes = [Node(0, None, 0, int(inside.sum()), None, ())]
    above = np.where(inside, 0, -1)  # node of each sample
    ids = model.cluster_ids_.tolist()
    words = any(step.of_texts for step in getattr(model, "preprocessing_", ()))
    rank: Any = "presence" if words else "mean"
    for number, labels in enumerate(levels):
        known, at = np.unique(labels[labels >= 0]), above.copy()
        top: list[list[str]] = [[] for _ in known]
        if has_groups(labels):
            top = groups(labels, X, feature_names=names, rank=rank).top(WORDS)
        for place, own in enumerate(known.tolist()):
            rows = np.flatnonzero(labels == own)
            parent = int(above[rows[0]])
            if number and nodes[parent].size == len(rows) and number != of_model:
                continue  # not split
            cluster = ids[own] if number == of_model else None
            evidence = coarse.evidence or number >= of_model
            facts = (parent, number + 1, len(rows), cluster, tuple(top[place]), evidence)
            at[rows] = len(nodes)
            nodes.append(Node(len(nodes), *facts))
        above = at
    return Tree(nodes, above, coarse.merges)
