"""The rooms of the package as a diagram, from the arrows that the tests enforce: `.. onmf-rooms::`.

A room stands one row above the highest room it imports; what each says of itself is the first
sentence of its docstring. So the picture cannot differ from the code.
"""

import ast
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive

ROOT = Path(__file__).parents[2]
SOURCE, TEST = ROOT / "src" / "onmf", ROOT / "tests" / "test_architecture.py"
FACE = "__init__"  # the public names: fetched when asked for, so it has no place in the order


def arrows() -> dict[str, set[str]]:
    """Room and what it may import, read from the test."""
    values = {
        node.targets[0].id: node.value
        for node in ast.parse(TEST.read_text(encoding="utf-8")).body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }
    found = {}
    for line in ast.literal_eval(values["ARROWS"]).strip().splitlines():
        rooms, below = line.split("->")
        for room in rooms.split(","):
            found[room.strip()] = set(below.split()) - {room.strip(), FACE}
    everything = set(found) - {FACE, "cli"}
    del found[FACE]
    return {room: everything if below == {"*"} else below for room, below in found.items()}


def height(room: str, below: dict[str, set[str]], above: tuple[str, ...] = ()) -> int:
    """The longest way down; two rooms that know each other count as one step."""
    down = (height(other, below, (*above, room)) for other in below[room] if other not in above)
    return 1 + max(down, default=-1)


def sentence(room: str) -> str:
    path = SOURCE / room / "__init__.py"
    path = path if path.exists() else SOURCE / f"{room}.py"
    first = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))).split("\n\n")[0]
    short = " ".join(first.split()).split(". ")[0].split(": ")[0]
    return short.rstrip(".:").replace("`", "")


class Rooms(Directive):
    """Rows of boxes, those that import above those that are imported."""

    def run(self) -> list[nodes.Node]:
        below = arrows()
        heights = {room: height(room, below) for room in below}
        rows = []
        for level in sorted(set(heights.values()), reverse=True):
            boxes = "".join(
                f"<div><b>{room}</b><span>{escape(sentence(room))}</span>"
                f"<small>{', '.join(sorted(below[room])) if room != 'cli' else 'all'}</small></div>"
                for room in sorted(below)
                if heights[room] == level
            )
            rows.append(f"<div>{boxes}</div>")
        return [nodes.raw("", f'<div class="rooms">{"".join(rows)}</div>', format="html")]


def setup(app: Any) -> dict[str, bool]:
    app.add_directive("onmf-rooms", Rooms)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
