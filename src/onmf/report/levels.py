"""Clusters of clusters as a list that opens, level by level, without a script."""

from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import Any

from onmf.io.terms import Terms
from onmf.report.document import page_section
from onmf.report.names import MAX_NAME, cluster_title, display_name

NOTE = (
    "A line with a mark opens. Similar clusters are put together where a smaller number of "
    "clusters is also possible, and have parts where their own samples show them. After the "
    "number of samples stand the features that distinguish the line from the others of its level. "
    "Nodes have the numbers of tree.json."
)


def nested_list(nodes: Sequence[Any], title: Callable[[Any], str]) -> str:
    """Nodes of a tree as nested lists; a parent comes before its parts."""
    inside: dict[int | None, str] = {}
    for node in reversed(nodes):
        line = escape(title(node))
        if parts := inside.pop(node.id, ""):
            opened = "" if node.level else " open"
            line = f"<details{opened}><summary>{line}</summary><ul>{parts}</ul></details>"
        inside[node.parent] = f"<li>{line}</li>{inside.get(node.parent, '')}"
    return f"<ul>{inside[None]}</ul>"


def levels_section(nodes: Sequence[Any], names: Mapping[int, str], terms: Terms) -> str:
    """The levels of a tree, with the names of the clusters."""

    def title(node: Any) -> str:
        if node.parent is None:
            own = f"All {terms.samples}"
        elif node.cluster is None:
            own = f"Node {node.id}"
        else:
            known = cluster_title(node.cluster, names.get(node.cluster, ""), MAX_NAME)
            own = f"{terms.cluster.capitalize()} {known}"
        words = ", ".join(map(display_name, node.words))
        return f"{own} ({terms.counted(node.size, 'sample')}){words and ': '}{words}"

    note = f'<p class="note">{escape(terms.say(NOTE))}</p>'
    content = f'{note}<div class="tree">{nested_list(nodes, title)}</div>'
    return page_section("levels", "Levels", "Levels", content)
