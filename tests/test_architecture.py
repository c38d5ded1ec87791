"""Imports may only point downwards."""

import ast
import sys
from importlib import import_module
from pathlib import Path

import pytest

import onmf
from syntax import nodes

ROOT = Path(onmf.__file__).parent
ARROWS = """
exceptions ->
core -> core
io -> exceptions io
ledger ->
metrics -> core metrics
datasets -> datasets io
baselines -> baselines core
data -> core data exceptions io
preparation -> io preparation
explain -> core data explain
proof -> core data proof
estimators -> baselines core data estimators exceptions explain io preparation proof report
plot -> explain plot report
report -> data explain io metrics proof report
stability -> core data estimators exceptions ledger plot stability
cells -> data estimators explain io stability
cli -> *
__main__ -> cli
__init__ -> cells core estimators exceptions explain plot proof report stability
"""
ALLOWED = {
    room.strip(): set(below.split())
    for rooms, below in (line.split("->") for line in ARROWS.strip().splitlines())
    for room in rooms.split(",")
}
OUTSIDE_CORE = {"numpy", "scipy", "threadpoolctl"}  # all that `core` may import besides itself
HOMES = {  # an optional dependency and the only file, or folder, that imports it
    "matplotlib": "plot/canvas.py",
    "h5py": "io/hdf5.py",
    "pyarrow": "io/parquet.py",
    "zarr": "io/zarr.py",
    "openpyxl": "io/workbook.py",
    "anndata": "cells.py",
    "fsspec": "io/remote.py",
    "numba": "core/fast/machine.py",
    "dask": "data/dask/",
    "distributed": "data/dask/",
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
    return room != "core" or top in OUTSIDE_CORE | HOMES.keys() | sys.stdlib_module_names


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
                                     ".preparation", ".report")]  # fmt: skip


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


INSIDE_CORE = {"core": set(), "paper": {"paper"}, "fast": {"paper", "fast"}}  # besides core itself


def test_the_paper_knows_nothing_of_the_default_solver():
    for path in sorted((ROOT / "core").rglob("*.py")):
        for name in imported(path):
            core = name.startswith("onmf.core")
            below = {"paper", "fast"} & set(name.split(".")[2:3]) if core else set()
            assert below <= INSIDE_CORE[path.parent.name], f"{path.name} imports {name}"


def test_an_optional_dependency_has_one_home():
    for path in FILES:
        place = path.relative_to(ROOT).as_posix()
        for name in imported(path):
            assert place.startswith(HOMES.get(name.split(".")[0], place)), name


def test_only_the_command_prints():
    printing = [
        path.relative_to(ROOT)
        for path in FILES
        if "cli" not in path.relative_to(ROOT).parts
        for node in nodes(path)
        if isinstance(node, ast.Call) and getattr(node.func, "id", None) == "print"
    ]
    assert printing == []
