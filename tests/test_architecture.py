"""Imports may only point downwards."""

import ast
import sys
from pathlib import Path

import pytest

import onmf

ROOT = Path(onmf.__file__).parent
ARROWS = """
exceptions ->
core -> core
io -> exceptions io
ledger ->
metrics -> core
datasets -> datasets io
baselines -> baselines core
data -> core data exceptions io
preparation -> data preparation
estimators -> baselines core data estimators exceptions io preparation report
plot -> report
report -> data metrics report
stability -> __init__ core data estimators exceptions ledger plot stability
cli -> *
__main__ -> cli
__init__ -> core estimators exceptions plot report stability
"""
ALLOWED = {
    room.strip(): set(below.split())
    for rooms, below in (line.split("->") for line in ARROWS.strip().splitlines())
    for room in rooms.split(",")
}
OUTSIDE_CORE = {"numpy", "scipy", "threadpoolctl"}  # all that `core` may import besides itself
ONE_FILE = {  # an optional dependency and the only files that import it
    "matplotlib": {"plot.py"},
    "h5py": {"h5ad.py", "hdf5.py"},
    "pyarrow": {"parquet.py"},
    "anndata": {"anndata.py"},
    "numba": {"kernels.py"},
    "dask": {"dask.py"},
    "distributed": {"dask.py"},
    "zarr": {"zarrs.py"},
}
FILES = sorted(ROOT.rglob("*.py"))


def imported(path):
    """Dotted names of all modules a file imports."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module == "onmf":
            for alias in node.names:
                known = (ROOT / f"{alias.name}.py").exists() or (ROOT / alias.name).is_dir()
                yield f"onmf.{alias.name}" if known else "onmf.__init__"
        elif isinstance(node, ast.ImportFrom):
            yield node.module


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_downwards(path):
    room = path.relative_to(ROOT).parts[0].removesuffix(".py")
    for name in imported(path):
        top, *rest = name.split(".")
        if top == "onmf":
            assert ALLOWED[room] & {rest[0], "*"}, f"{room} imports {name}"
        elif room == "core":
            assert top in OUTSIDE_CORE | ONE_FILE.keys() | sys.stdlib_module_names, name


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_an_optional_dependency_has_one_home(path):
    for name in imported(path):
        assert path.name in ONE_FILE.get(name.split(".")[0], {path.name}), name


def test_only_the_command_prints():
    for path in FILES:
        if "cli" in path.relative_to(ROOT).parts:
            continue
        calls = [n.func for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Call)]
        assert not any(isinstance(f, ast.Name) and f.id == "print" for f in calls), path
