"""Clusters of clusters: `build_tree`, from coarse to fine.

    above   clusters of the model are merged by average linkage of their unit centroids, to as many
            as the coarser scales of `choose_k` have
    below   a cluster is split where `choose_k`, on its samples alone, finds evidence of parts

So every level is a partition into whole clusters of the next, and no level is there without
evidence for it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from sklearn.base import clone
from sklearn.preprocessing import normalize

from onmf.estimators import ONMF
from onmf.explain import groups
from onmf.explain.checks import has_groups
from onmf.io import Table, to_json_values
from onmf.report.levels import nested_list
from onmf.result import known_feature_names
from onmf.rows.sweep import Array
from onmf.stability import choose_k
from onmf.stability.choice import FEW_SAMPLES

WORDS = 5  # distinctive features of a node


class Node(NamedTuple):
    """A cluster of the tree.

    Attributes
    ----------
    id : int
        0 for the root, all samples; increasing with the level.
    parent : int or None
    level : int
        0 for the root.
    size : int
        Number of samples.
    cluster : int or None
        Id of the cluster of the model that the node is; None for coarser and finer ones.
    words : tuple of str
        The most distinctive features beside the other nodes of its level.

    Examples
    --------
    >>> from onmf.tree import Node
    >>> Node(0, None, 0, 60, None, ()).size
    60
    """

    id: int
    parent: int | None
    level: int
    size: int
    cluster: int | None
    words: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Tree:
    """Clusters of clusters; made by `onmf.build_tree`.

    Attributes
    ----------
    nodes : list of Node
        The root first, level by level.
    leaves : ndarray of shape (n_samples,)
        The finest node of each sample, by id; -1 for a sample without a cluster.

    Examples
    --------
    >>> import onmf
    >>> from onmf.datasets import make_rays
    >>> X, _ = make_rays(120, 20, 3, random_state=0)
    >>> tree = onmf.build_tree(onmf.ONMF(3, random_state=0).fit(X), X)
    >>> tree.depth, len(set(tree.cut(1).tolist()))
    (1, 3)
    """

    nodes: list[Node]
    leaves: Array = field(repr=False)

    @property
    def depth(self) -> int:
        """The finest level."""
        return max(node.level for node in self.nodes)

    def children(self, node: int) -> list[Node]:
        """The parts of a node.

        Parameters
        ----------
        node : int
            Its id.
        """
        return [one for one in self.nodes if one.parent == node]

    def cut(self, level: int) -> Array:
        """The node of each sample at a level, by id; its finest one where the tree ends before.

        Parameters
        ----------
        level : int
            From 0, the root, to `depth`.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        if not 0 <= level <= self.depth:
            raise ValueError(f"level must be from 0 to {self.depth}, not {level!r}.")
        above = [node.id for node in self.nodes]
        for node in self.nodes:
            if node.level > level and node.parent is not None:
                above[node.id] = above[node.parent]
        return np.append(above, -1)[self.leaves]

    def to_dict(self) -> dict[str, Any]:
        """For JSON: the nodes, and the finest node of each sample."""
        nodes = [node._asdict() for node in self.nodes]
        return dict(to_json_values({"nodes": nodes, "leaves": self.leaves}))

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """A tree from what `to_dict` gave, as of tree.json.

        Parameters
        ----------
        values : dict

        Returns
        -------
        Tree
        """
        nodes = [Node(**node | {"words": (*map(str, node["words"]),)}) for node in values["nodes"]]
        leaves = np.array(values["leaves"], dtype=np.int64)
        for number, node in enumerate(nodes):
            below = node.parent is None if number == 0 else node.parent in range(number)
            if node.id != number or not below:
                raise ValueError(f"node {number} does not follow its parent")
        if not nodes or ((leaves < -1) | (leaves >= len(nodes))).any():
            raise ValueError("a sample has an unknown node")
        return cls(nodes, leaves)

    def __str__(self) -> str:
        return "\n".join(f"{'  ' * node.level}{said(node)}" for node in self._in_order(0))

    def _repr_html_(self) -> str:
        """In a notebook: nodes that open."""
        return nested_list(self.nodes, said)

    def _in_order(self, node: int) -> Iterator[Node]:
        yield self.nodes[node]
        for one in self.children(node):
            yield from self._in_order(one.id)


def said(node: Node) -> str:
    """A node in a line."""
    words = f": {', '.join(node.words)}" if node.words else ""
    return f"{node.id} ({node.size:,}){words}"


def build_tree(
    model: ONMF, X: Any, *, feature_names: Sequence[str] | None = None, max_depth: int = 3
) -> Tree:
    """Put the clusters of a fitted model together, and split them, where there is evidence.

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
    coarse = coarser_levels(model, X, labels)
    levels = [*coarse, labels]
    while len(levels) < max_depth and (finer := split_all(model, X, levels[-1])) is not None:
        levels.append(finer)
    model.tree_ = tree_of(levels[:max_depth], len(coarse), model, X, names)
    return model.tree_


def coarser_levels(model: ONMF, X: Any, labels: Array) -> list[Array]:
    """The clusters of the model, merged to as many as the coarser scales of `choose_k` have.

    By average linkage of the unit centroids: on TDT2 closer to the classes than the clusters of
    these scales themselves (`make bench ONLY=tree`).
    """
    k = len(model.cluster_centers_)
    if k < 3:
        return []
    choice = choose_k(clone(model), X, range(2, k + 1), beyond=False, n_jobs=model.n_jobs)
    if not choice.evidence:
        return []
    merges = linkage(normalize(model.cluster_centers_), "average")
    sizes = sorted({scale.k for scale in choice.scales if scale.k < k})
    levels = [np.append(fcluster(merges, n, "maxclust") - 1, -1)[labels] for n in sizes]
    return [level for level in levels if has_groups(level)]


def split_all(model: ONMF, X: Any, labels: Array) -> Array | None:
    """The parts of all clusters that have some; None if none has."""
    names = ("loss", "equal_votes", "center_bounds", "random_state", "n_jobs")
    part = ONMF(**{name: getattr(model, name) for name in names})
    finer, n = labels.copy(), int(labels.max()) + 1
    for own in range(n):
        rows = np.flatnonzero(labels == own)
        if len(rows) < FEW_SAMPLES:  # no measure tells clusters from none
            continue
        choice = choose_k(part, X[rows], n_jobs=model.n_jobs)
        if choice.evidence:
            number = np.append(own, np.arange(n, n + choice.best_k - 1))
            finer[rows] = number[np.maximum(choice.labels, 0)]
            n += choice.best_k - 1
    return finer if n > labels.max() + 1 else None


def tree_of(
    levels: list[Array], of_model: int, model: ONMF, X: Any, names: Sequence[str] | None
) -> Tree:
    """Nodes for nested labels; a cluster that the next level does not split is its own leaf."""
    inside = levels[-1] >= 0
    nodes = [Node(0, None, 0, int(inside.sum()), None, ())]
    above = np.where(inside, 0, -1)  # node of each sample
    ids = model.cluster_ids_.tolist()
    for number, labels in enumerate(levels):
        known, at = np.unique(labels[labels >= 0]), above.copy()
        top: list[list[str]] = [[] for _ in known]
        if has_groups(labels):
            rank: Any = "presence" if is_of_texts(model) else "mean"
            top = groups(labels, X, feature_names=names, rank=rank).top(WORDS)
        for place, own in enumerate(known.tolist()):
            rows = np.flatnonzero(labels == own)
            parent = int(above[rows[0]])
            if number and nodes[parent].size == len(rows) and number != of_model:
                continue  # not split
            cluster = ids[own] if number == of_model else None
            facts = (parent, number + 1, len(rows), cluster, tuple(top[place]))
            at[rows] = len(nodes)
            nodes.append(Node(len(nodes), *facts))
        above = at
    return Tree(nodes, above)


def is_of_texts(model: Any) -> bool:
    """Whether the features are words."""
    return any(step.of_texts for step in getattr(model, "preprocessing_", ()))
