"""Imports may only point downwards."""

import ast
import sys
from pathlib import Path

import pytest

import onmf

ROOT = Path(onmf.__file__).parent
ALLOWED = {
    "core": {"core"},
    "datasets": set(),
    "exceptions": set(),
    "metrics": {"core"},
    "files": set(),
    "ledger": set(),
    "validation": set(),
    "checkpoint": {"core"},
    "places": {"core", "places", "validation", "distributed"},
    "distributed": {"core", "places", "validation"},
    "estimators": {
        "checkpoint",
        "core",
        "distributed",
        "exceptions",
        "places",
        "solvers",
        "validation",
    },
    "solvers": {"core", "validation"},
    "cli": {"__init__", "cli", "datasets", "estimators", "exceptions", "files", "metrics"},
    "__init__": {"core", "estimators"},
}
OUTSIDE_CORE = {"numpy", "scipy", "threadpoolctl"}  # all that `core` may import besides itself
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
            assert rest[0] in ALLOWED[room], f"{room} imports {name}"
        elif room == "core":
            known = OUTSIDE_CORE | ({"numba"} if path.name == "compiled.py" else set())
            assert top in known or top in sys.stdlib_module_names, name


OPTIONAL = {  # libraries that need not be there, and where they may be imported
    "dask": {"distributed.py"},
    "distributed": {"distributed.py"},
    "h5py": {"places/hdf5.py"},
    "zarr": {"places/zarrs.py"},
    "pyarrow": {"places/parquet.py"},
}


@pytest.mark.parametrize("name", OPTIONAL)
def test_an_optional_library_is_imported_in_one_place(name):
    users = {
        path.relative_to(ROOT).as_posix()
        for path in FILES
        if any(module.split(".")[0] == name for module in imported(path))
    }
    assert users == OPTIONAL[name]


def test_only_the_command_prints():
    for path in FILES:
        if "cli" in path.relative_to(ROOT).parts:
            continue
        calls = [n.func for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Call)]
        assert not any(isinstance(f, ast.Name) and f.id == "print" for f in calls), path
