"""Imports may only point downwards."""

import ast
import sys
from collections import defaultdict
from importlib import import_module
from pathlib import Path

import pytest

import onmf
from syntax import nodes

ROOT = Path(onmf.__file__).parent
ARROWS = """
exceptions ->
rows -> exceptions io rows
result -> rows
palm -> palm result rows
search -> palm result rows search
losses -> io losses palm result rows search
io -> exceptions io
ledger ->
metrics -> losses metrics palm result rows
datasets -> datasets io
baselines -> baselines losses palm result rows search
prepare -> io prepare
explain -> explain losses result rows
bounds -> bounds losses palm result rows
estimators -> baselines bounds estimators exceptions explain io losses palm prepare page
estimators -> result rows search number
plot -> explain plot page result rows
page -> bounds explain io losses metrics page result rows
number -> estimators exceptions explain ledger losses palm plot rows search number
cells -> cells estimators exceptions explain io losses prepare rows number
texts -> estimators explain io losses prepare number
tree -> estimators explain io page result rows number
__main__ ->
__init__ -> bounds cells estimators exceptions explain palm plot page number texts tree
"""
ALLOWED = defaultdict(set)
for line in ARROWS.strip().splitlines():
    room, below = line.split("->")
    ALLOWED[room.strip()] |= set(below.split())
MATHEMATICS = {"result", "palm", "search", "losses", "bounds"}
NUMERICAL = {"numpy", "scipy"}  # all that the mathematics may import of others
HOMES = {  # an optional dependency and the only file, or folder, that imports it
    "matplotlib": "plot/canvas.py",
    "h5py": "io/hdf5.py",
    "pyarrow": "io/parquet.py",
    "zarr": "io/zarr.py",
    "openpyxl": "io/workbook.py",
    "anndata": "cells/writing.py",
    "fsspec": "io/remote.py",
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


PAPER = sorted(ROOT.with_name("onmf_paper").rglob("*.py"))
PUBLIC = [f"onmf{rest}" for rest in ("", ".datasets", ".ledger", ".metrics", ".plot",
                                     ".prepare", ".page")]  # fmt: skip


@pytest.mark.parametrize("path", PAPER, ids=lambda path: path.name)
def test_the_paper_s_studies_use_only_what_users_can(path):
    for node in nodes(path):
        names = [alias.name for alias in getattr(node, "names", ()) if isinstance(alias, ast.alias)]
        if isinstance(node, ast.Import):
            assert not any(name.split(".")[0] == "onmf" for name in names), names
        elif isinstance(node, ast.ImportFrom) and node.module.split(".")[0] == "onmf":
            assert node.module in PUBLIC
            assert set(names) <= set(import_module(node.module).__all__), node.module


def test_nothing_imports_the_paper_s_studies():
    for path in FILES:
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
