"""Clusters of clusters as a list that opens, level by level, without a script."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from onmf.explain.tree import nested_list
from onmf.page.document import page_section
from onmf.page.names import MAX_NAME, cluster_title, display_name
from onmf.rows.terms import Terms

NOTE = (
    "A line with a mark opens; a number of samples leads to them. Similar clusters are put "
    "together where a smaller number of clusters is also possible, and have parts where their own "
    "samples show them. After the number of samples stand the features that distinguish the line "
    "from the others of its level. Nodes have the numbers of tree.json."
)


JOINED = (
    "The groups above the clusters only put similar ones together, to be read more easily: nothing "
    "in the data shows that there are so many."
)


def levels_section(nodes: Sequence[Any], names: Mapping[int, str], terms: Terms) -> str:
    """The levels of a tree, with the names of the clusters."""

    def title(node: Any) -> str:
        size = escape(terms.counted(node.size, "sample"))
        if node.parent is None:
            return f"All {size}"
        words = ", ".join(map(display_name, node.words))
        after = escape(f"{words and ': '}{words}")
        if node.cluster is None:
            return f"Node {node.id} ({size}){after}"
        known = cluster_title(node.cluster, names.get(node.cluster, ""), MAX_NAME)
        own = escape(f"{terms.cluster.capitalize()} {known}")
        return f'{own} (<a href="#list" data-cluster="{int(node.cluster)}">{size}</a>){after}'

    said = NOTE if all(node.evidence for node in nodes) else f"{NOTE} {JOINED}"
    note = f'<p class="note">{escape(terms.say(said))}</p>'
    content = f'{note}<div class="tree">{nested_list(nodes, title)}</div>'
    return page_section("levels", "Levels", "Levels", content)
