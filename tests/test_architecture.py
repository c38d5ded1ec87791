"""Imports may only point downwards."""

import ast
import sys
from importlib import import_module
from pathlib import Path

import pytest

import onmf

ROOT = Path(onmf.__file__).parent
ARROWS = """
exceptions ->
core -> core
io -> exceptions io
ledger ->
metrics -> core data
datasets -> datasets io
baselines -> baselines core
data -> core data exceptions io
preparation -> io preparation
estimators -> baselines core data estimators exceptions io preparation report
plot -> plot report
report -> data metrics report
stability -> core data estimators ledger plot stability
cli -> *
__main__ -> cli
__init__ -> core estimators exceptions plot report stability
"""
ALLOWED = {
    room.strip(): set(below.split())
    for rooms, below in (line.split("->") for line in ARROWS.strip().splitlines())
    for room in rooms.split(",")
}
OUTSIDE_CORE = {"numpy", "scipy"}  # all that `core` may import besides itself
HOMES = {  # an optional dependency and the only file that imports it
    "matplotlib": "plot/canvas.py",
    "h5py": "io/hdf5.py",
    "pyarrow": "io/parquet.py",
    "zarr": "io/zarr.py",
    "anndata": "estimators/anndata.py",
    "numba": "core/fast/kernels.py",
    "dask": "data/dask.py",
    "distributed": "data/dask.py",
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
            assert top in OUTSIDE_CORE | HOMES.keys() | sys.stdlib_module_names, name


PAPER = sorted(ROOT.with_name("onmf_paper").rglob("*.py"))
PUBLIC = [f"onmf{rest}" for rest in ("", ".datasets", ".ledger", ".metrics", ".plot",
                                     ".preparation", ".report")]  # fmt: skip


@pytest.mark.parametrize("path", PAPER, ids=lambda path: path.name)
def test_the_paper_s_studies_use_only_what_users_can(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = [alias.name for alias in getattr(node, "names", ()) if isinstance(alias, ast.alias)]
        if isinstance(node, ast.Import):
            assert not any(name.split(".")[0] == "onmf" for name in names), names
        elif isinstance(node, ast.ImportFrom) and node.module.split(".")[0] == "onmf":
            assert node.module in PUBLIC
            assert set(names) <= set(import_module(node.module).__all__), node.module


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_nothing_imports_the_paper_s_studies(path):
    assert not any(name.split(".")[0] == "onmf_paper" for name in imported(path))


INSIDE_CORE = {"core": set(), "paper": {"paper"}, "fast": {"paper", "fast"}}  # besides core itself


@pytest.mark.parametrize("path", sorted((ROOT / "core").rglob("*.py")), ids=lambda path: path.stem)
def test_the_paper_knows_nothing_of_the_default_solver(path):
    for name in imported(path):
        below = (
            {"paper", "fast"} & set(name.split(".")[2:3]) if name.startswith("onmf.core") else set()
        )
        assert below <= INSIDE_CORE[path.parent.name], f"{path.name} imports {name}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_an_optional_dependency_has_one_home(path):
    for name in imported(path):
        place = path.relative_to(ROOT).as_posix()
        assert place == HOMES.get(name.split(".")[0], place), name


def test_only_the_command_prints():
    for path in FILES:
        if "cli" in path.relative_to(ROOT).parts:
            continue
        calls = [n.func for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Call)]
        assert not any(isinstance(f, ast.Name) and f.id == "print" for f in calls), path
