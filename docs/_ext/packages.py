"""A diagram of the packages, from the arrows that the tests enforce: `.. onmf-packages::`.

A package is one row above the highest package it imports, with the first sentence of its docstring.
So the picture cannot differ from the code.
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
    """Package -> what it may import, read from the test."""
    values = {
        node.targets[0].id: node.value
        for node in ast.parse(TEST.read_text(encoding="utf-8")).body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }
    found = {}
    for line in ast.literal_eval(values["ARROWS"]).strip().splitlines():
        packages, below = line.split("->")
        for package in packages.split(","):
            found[package.strip()] = set(below.split()) - {package.strip(), FACE}
    everything = set(found) - {FACE}
    del found[FACE]
    return {package: everything if below == {"*"} else below for package, below in found.items()}


def height(name: str, below: dict[str, set[str]], above: tuple[str, ...] = ()) -> int:
    """The longest way down; two packages that import each other count as one step."""
    down = (height(other, below, (*above, name)) for other in below[name] if other not in above)
    return 1 + max(down, default=-1)


def sentence(name: str) -> str:
    path = SOURCE / name / "__init__.py"
    path = path if path.exists() else SOURCE / f"{name}.py"
    first = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))).split("\n\n")[0]
    short = " ".join(first.split()).split(". ")[0].split(": ")[0]
    return short.rstrip(".:").replace("`", "")


class Packages(Directive):
    """Rows of boxes, those that import above those that are imported."""

    def run(self) -> list[nodes.Node]:
        below = arrows()
        heights = {name: height(name, below) for name in below}
        rows = []
        for level in sorted(set(heights.values()), reverse=True):
            boxes = "".join(
                f"<div><b>{name}</b><span>{escape(sentence(name))}</span>"
                f"<small>{', '.join(sorted(below[name])) if name != 'cli' else 'all'}</small></div>"
                for name in sorted(below)
                if heights[name] == level
            )
            rows.append(f"<div>{boxes}</div>")
        return [nodes.raw("", f'<div class="packages">{"".join(rows)}</div>', format="html")]


def setup(app: Any) -> dict[str, bool]:
    app.add_directive("onmf-packages", Packages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
