"""How much there is in every room, beside its ceiling and its goal: `make house`.

Ceilings and goals are in `[tool.house]` of pyproject.toml. A ceiling is lowered whenever the room
shrinks and never raised; `tests/test_architecture.py` fails where a room is above it.
"""

import ast
import sys
import tomllib
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
SHORT = 5  # lines of the body of a function that could be a line where it is used


def house(text=None):
    """Kind (lines, files, ...) -> room -> (ceiling, goal)."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8") if text is None else text
    return tomllib.loads(text)["tool"]["house"]


def files_of(room):
    """The files that a name stands for: those below a folder, or of some patterns."""
    if (ROOT / room).is_file():
        return [ROOT / room]
    if "*" not in room:
        return sorted([*(ROOT / room).rglob("*.py"), *(ROOT / room).rglob("*.pyi")])
    found = set()
    for pattern in room.split():
        folder, _, ending = pattern.rpartition("/*")
        own = (ROOT / folder).rglob(f"*{ending}") if folder else [ROOT / pattern]
        found |= {path for path in own if path.is_file() and not built(path)}
    return sorted(found)


def built(path):
    """Whether a file is made by a command."""
    return bool({"_build", "generated", "auto_gallery"} & set(path.parts))


def lines(room):
    return sum(path.read_text(encoding="utf-8").count("\n") for path in files_of(room))


def files(room):
    return len(files_of(room))


def words(room):
    return sum(len(path.read_text(encoding="utf-8").split()) for path in files_of(room))


def trees(room):
    for path in files_of(room):
        if path.suffix == ".py":
            yield ast.parse(path.read_text(encoding="utf-8"))


def classes(room):
    return sum(isinstance(node, ast.ClassDef) for tree in trees(room) for node in ast.walk(tree))


def used_once(room):
    """Short functions of modules whose names occur once besides their definitions."""
    seen = Counter()
    for tree in trees("src"):
        for node in ast.walk(tree):
            if isinstance(node, ast.Name):
                seen[node.id] += 1
            elif isinstance(node, ast.Attribute):
                seen[node.attr] += 1
    return sum(
        seen[node.name] == 1 and is_short(node)
        for tree in trees(room)
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
    )


def is_short(function):
    body = function.body[1:] if ast.get_docstring(function) else function.body
    return bool(body) and body[-1].end_lineno - body[0].lineno < SHORT


MEASURES = {
    "lines": lines, "files": files, "words": words, "classes": classes, "used_once": used_once,
}  # fmt: skip


def sizes():
    """Kind, room, its size today, ceiling and goal."""
    for kind, rooms in house().items():
        for room, (ceiling, goal) in rooms.items():
            yield kind, room, MEASURES[kind](room), ceiling, goal


if __name__ == "__main__":
    sys.stdout.write(f"{'':56} {'today':>7} {'ceiling':>8} {'goal':>7}\n")
    for kind, room, now, ceiling, goal in sizes():
        mark = "  ABOVE ITS CEILING" if now > ceiling else "  *" if now > goal else ""
        sys.stdout.write(f"{kind + ' ' + room:56} {now:7} {ceiling:8} {goal:7}{mark}\n")
