"""Imports may only point downwards."""

import ast
import sys
from pathlib import Path

import pytest

import onmf

ROOT = Path(onmf.__file__).parent
ARROWS = """
core -> core
exceptions, ledger, validation, preprocessing ->
chain -> places
metrics -> core
datasets -> datasets files
files -> files
baselines -> baselines core
storage -> chain core exceptions files storage
solvers -> baselines core validation
checkpoint -> core exceptions files
places -> core distributed files places validation
distributed -> core places validation
report -> metrics places report
plot -> report
clusterer -> core distributed exceptions files places report solvers storage validation
estimators -> baselines checkpoint clusterer core places solvers storage validation
annotated -> estimators report
stability -> __init__ clusterer core estimators ledger plot solvers stability validation
runs -> chain files metrics places runs storage
studies -> __init__ datasets files ledger metrics preprocessing studies
cli -> *
__main__ -> cli
__init__ -> annotated core estimators exceptions plot report stability
"""
ALLOWED = {
    room.strip(): set(below.split())
    for rooms, below in (line.split("->") for line in ARROWS.strip().splitlines())
    for room in rooms.split(",")
}
OUTSIDE_CORE = {"numpy", "scipy", "threadpoolctl"}  # all that `core` may import besides itself
ONE_FILE = {  # an optional dependency and the only files that import it
    "matplotlib": {"plot.py", "canvas.py"},
    "h5py": {"h5ad.py", "hdf5.py"},
    "pyarrow": {"parquet.py"},
    "anndata": {"annotated.py"},
    "numba": {"compiled.py"},
    "dask": {"distributed.py"},
    "distributed": {"distributed.py"},
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
