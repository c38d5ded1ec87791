"""Imports may only point downwards."""

import ast
import subprocess
import sys
from collections import defaultdict
from importlib import import_module
from pathlib import Path

import pytest

import house
import onmf
from syntax import nodes

ROOT = Path(onmf.__file__).parent
ARROWS = """
exceptions ->
rows -> exceptions prepare rows
result -> rows
palm -> palm result rows
search -> palm rows search
losses -> losses palm result rows search
files -> exceptions files rows
metrics -> losses metrics palm result rows
datasets -> datasets rows
prepare -> prepare rows
given -> prepare rows
explain -> explain losses result rows
estimators -> estimators exceptions explain files losses number palm result rows search
plot -> explain page result
page -> explain losses metrics page result rows
number -> estimators exceptions explain losses number plot rows search
tree -> estimators explain number result rows
annotated -> clusters explain given rows
times -> page result
clusters -> annotated estimators exceptions explain files given number page prepare result rows \
    times tree
__main__ ->
__init__ -> clusters estimators exceptions explain number page palm plot tree
"""
ALLOWED = defaultdict(set)
for line in ARROWS.strip().splitlines():
    room, below = line.split("->")
    ALLOWED[room.strip()] |= set(below.split())
MATHEMATICS = {"result", "palm", "search", "losses"}
NUMERICAL = {"numpy", "scipy"}  # all that the mathematics may import of others
HOMES = {  # an optional dependency and the only file, or folder, that imports it
    "matplotlib": "plot.py",
    "h5py": "rows/h5ad.py",
    "pyarrow": "rows/parquet.py",
    "anndata": "given.py",
    "dask": "rows/dask/",
    "distributed": "rows/dask/",
}
FILES = sorted(ROOT.rglob("*.py"))


def imported(path):
    """Dotted names of all modules a file imports."""
    for node in nodes(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module == "onmf":
            for alias in node.names:
                known = (ROOT / f"{alias.name}.py").exists() or (ROOT / alias.name).is_dir()
                yield f"onmf.{alias.name}" if known else "onmf.__init__"
        elif isinstance(node, ast.ImportFrom):
            yield node.module


def allowed(room, name):
    """May a room import this module?"""
    top, *rest = name.split(".")
    if name == "onmf":
        return True  # for its version
    if top == "onmf":
        return bool(ALLOWED[room] & {rest[0], "*"})
    return room not in MATHEMATICS or top in NUMERICAL | HOMES.keys() | sys.stdlib_module_names


def test_imports_point_downwards():
    rooms = {path: path.relative_to(ROOT).parts[0].removesuffix(".py") for path in FILES}
    upwards = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path, room in rooms.items()
        for name in imported(path)
        if not allowed(room, name)
    ]
    assert upwards == []


APP, PAPER = (sorted(ROOT.with_name(name).rglob("*.py")) for name in ("onmf_app", "onmf_paper"))
ROOMS = ("datasets", "exceptions", "explain", "files", "losses", "metrics", "number",
         "page", "plot", "prepare", "rows")  # fmt: skip
PUBLIC = ["onmf", *(f"onmf.{room}" for room in ROOMS)]
MOST_PRIVATE = 10  # names that the command takes from inside the library: to become none


def private_imports(path):
    """Names that a file imports from onmf, and that no room of it shows to users."""
    for node in nodes(path):
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names if one.name.split(".")[0] == "onmf")
        elif isinstance(node, ast.ImportFrom) and node.module.split(".")[0] == "onmf":
            shown = import_module(node.module).__all__ if node.module in PUBLIC else ()
            yield from (f"{node.module}.{one.name}" for one in node.names if one.name not in shown)


@pytest.mark.parametrize("path", PAPER, ids=lambda path: path.name)
def test_the_paper_s_studies_use_only_what_users_can(path):
    assert [*private_imports(path)] == []


def test_the_command_uses_hardly_more_than_what_users_can():
    assert len({name for path in APP for name in private_imports(path)}) <= MOST_PRIVATE


def test_nothing_imports_the_paper_s_studies_and_only_main_the_command():
    for path in FILES:
        others = {name.split(".")[0] for name in imported(path)} & {"onmf_app", "onmf_paper"}
        assert others <= ({"onmf_app"} if path == ROOT / "__main__.py" else set()), path
    for path in APP:
        assert not any(name.split(".")[0] == "onmf_paper" for name in imported(path)), path


def test_an_optional_dependency_has_one_home():
    for path in FILES:
        place = path.relative_to(ROOT).as_posix()
        for name in imported(path):
            assert place.startswith(HOMES.get(name.split(".")[0], place)), name


def test_only_the_command_prints():
    printing = [
        path.relative_to(ROOT)
        for path in FILES
        if True
        for node in nodes(path)
        if isinstance(node, ast.Call) and getattr(node.func, "id", None) == "print"
    ]
    assert printing == []


@pytest.mark.parametrize(
    ("kind", "room", "ceiling"),
    [(kind, room, own[0]) for kind, rooms in house.house().items() for room, own in rooms.items()],
)
def test_no_room_is_above_its_ceiling(kind, room, ceiling):
    assert house.MEASURES[kind](room) <= ceiling


def test_no_commit_raises_a_ceiling():
    """Compared with the last commit, and in a clean checkout with the one before."""
    told = ["git", "-C", str(house.ROOT), "show"]
    for place in ("HEAD:pyproject.toml", "HEAD~1:pyproject.toml"):
        done = subprocess.run([*told, place], capture_output=True, text=True, check=False)
        if done.returncode or "[tool.house]" not in done.stdout:
            pytest.skip(f"there is no {place} with ceilings")
        before = house.house(done.stdout)
        raised = [
            (kind, room)
            for kind, rooms in house.house().items()
            for room, (ceiling, _) in rooms.items()
            if ceiling > before.get(kind, {}).get(room, [ceiling])[0]
        ]
        assert raised == []
