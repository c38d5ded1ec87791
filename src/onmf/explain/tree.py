"""Clusters of clusters: nodes, and the finest node of each sample.

a node = the union of its parts; the parts of the root = the coarsest clusters
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any, NamedTuple, Self

import numpy as np

from onmf.rows.sweep import Array


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
    evidence : bool
        Whether `choose_k` found the number of clusters of its level; False if similar clusters are
        only put together, to be read more easily.

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
    evidence: bool = True


@dataclass(frozen=True, eq=False)
class Tree:
    """Clusters of clusters; made by `onmf.build_tree`.

    Attributes
    ----------
    nodes : list of Node
        The root first, level by level.
    leaves : ndarray of shape (n_samples,)
        The finest node of each sample, by id; -1 for a sample without a cluster.
    merges : tuple of (int, int)
        How the clusters of the model are put together, the most similar first, by Ward's linkage
        of their unit centroids: pairs of numbers, as in a linkage matrix of SciPy.

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
    merges: tuple[tuple[int, int], ...] = field(default=(), repr=False)

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

    def groups(self, n: int) -> Array:
        """The clusters of the model put together to n groups, whatever the levels are.

        Parameters
        ----------
        n : int
            From 1 to the number of clusters.

        Returns
        -------
        ndarray of shape (n_samples,)
            Numbers from 0, the group of the first cluster; -1 for a sample without a cluster.
        """
        k = len(self.merges) + 1
        if not 1 <= n <= k:
            raise ValueError(f"n must be from 1 to the {k} clusters of the model, not {n!r}.")
        group = [{own} for own in range(k)]
        for a, b in self.merges:
            group.append(group[a] | group[b])
        done = {own for pair in self.merges[: k - n] for own in pair}
        left = sorted((min(own), own) for i, own in enumerate(group[: 2 * k - n]) if i not in done)
        number = {one: place for place, (_, own) in enumerate(left) for one in own}
        return np.append([number.get(own, -1) for own in self._clusters()], -1)[self.leaves]

    def _clusters(self) -> list[int]:
        """The cluster of the model, by number, that each node is or is part of; -1 for coarser."""
        found: list[int] = []
        for node in self.nodes:
            above = -1 if node.parent is None else found[node.parent]
            found.append(above if node.cluster is None else len({*found} - {-1}))
        return found

    def to_dict(self) -> dict[str, Any]:
        """For JSON: the nodes, the finest node of each sample, and the merges."""
        nodes = [node._asdict() for node in self.nodes]
        return {"nodes": nodes, "leaves": self.leaves.tolist(), "merges": self.merges}

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
        leaves = np.array(values["leaves"], dtype=np.int64).reshape(-1)
        merges = tuple((int(a), int(b)) for a, b in values.get("merges", ()))
        for number, node in enumerate(nodes):
            below = node.parent is None if number == 0 else node.parent in range(number)
            if node.id != number or not below:
                raise ValueError(f"node {number} does not follow its parent")
            kinds = [type(part) for part in (node.level, node.size, node.evidence)]
            if kinds != [int, int, bool] or type(node.cluster) not in (int, type(None)):
                raise ValueError(f"node {number} has a value of the wrong kind")
        if not nodes or ((leaves < -1) | (leaves >= len(nodes))).any():
            raise ValueError("a sample has an unknown node")
        k = sum(node.cluster is not None for node in nodes)
        parts = [part for pair in merges for part in pair]
        late = any(max(pair) >= k + i or min(pair) < 0 for i, pair in enumerate(merges))
        if (merges and len(merges) != k - 1) or late or len({*parts}) != len(parts):
            raise ValueError("the nodes of its clusters are merged in no possible order")
        return cls(nodes, leaves, merges)

    def __str__(self) -> str:
        return "\n".join(f"{'  ' * node.level}{said(node)}" for node in self._in_order(0))

    def _repr_html_(self) -> str:
        """In a notebook: nodes that open."""
        return nested_list(self.nodes, lambda node: escape(said(node)))

    def _in_order(self, node: int) -> Iterator[Node]:
        yield self.nodes[node]
        for one in self.children(node):
            yield from self._in_order(one.id)


def said(node: Node) -> str:
    """A node in a line."""
    words = f": {', '.join(node.words)}" if node.words else ""
    return f"{node.id} ({node.size:,}){words}"


def nested_list(nodes: Sequence[Any], title: Callable[[Any], str]) -> str:
    """Nodes of a tree as nested lists, each with its title, which is HTML.

    A parent comes before its parts; a group of a single cluster is not shown beside it.
    """
    inside: dict[int | None, list[str]] = {}
    for node in reversed(nodes):
        line, parts = title(node), inside.pop(node.id, [])
        above = inside.setdefault(node.parent, [])
        if len(parts) == 1 and node.level and node.cluster is None:
            above[:0] = parts
            continue
        if parts:
            opened = "" if node.level else " open"
            below = f"<ul>{''.join(parts)}</ul>"
            line = f"<details{opened}><summary>{line}</summary>{below}</details>"
        above.insert(0, f"<li>{line}</li>")
    return f"<ul>{''.join(inside[None])}</ul>"
