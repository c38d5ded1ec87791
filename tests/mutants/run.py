"""Small faults in the code, one at a time: how many of them do the quick tests of a package find?

    python tests/mutants/run.py losses --count 40 --seed 0

A fault is another operator, a negated condition, a number that is one larger, True for False, or a
condition of two that is dropped. Two kinds are left out. `strict` of zip and `copy` of astype show
in no result. Whole numbers that are constants of a module (MAX_NEAR = 4) say how much is tried or
how large a block is: one more is as right, a test could only repeat the number, and `make bench`
sets them. Other constants are tolerances, and count. Every test run is a forked process, into which
the changed module is loaded from memory: nothing on disk changes.
The tests of the module run first, those of the package next, and the first failure ends the run. A
run that takes ten times as long as without a fault counts as found. Faults that survive are printed
with their line.
"""

import argparse
import ast
import copy
import importlib.abc
import importlib.util
import os
import random
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
SOURCES, TESTS = ROOT / "src" / "onmf", ROOT / "tests"
OTHER_TESTS = {  # besides tests/<package>: of what calls it
    "estimators": ["test_properties.py"],
    "losses": [
        "estimators/test_loss.py",
        "estimators/test_outliers.py",
        "estimators/test_missing.py",
        "estimators/test_editing.py",
        "estimators/test_guiding.py",
    ],
    "paper": ["test_theory.py", "estimators/test_solvers.py"],
    "search": ["losses/test_contract_fits.py", "estimators/test_onmf.py", "test_extremes.py"],
}
SLOWDOWN = 10
COMPARISONS = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
ARITHMETIC = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult, ast.Pow: ast.Mult, ast.MatMult: ast.Mult,
    ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip


class Fault(NamedTuple):
    path: Path
    number: int  # of the place in the module
    line: int
    what: str


class Places(ast.NodeTransformer):
    """Every place where a fault is possible; the one that is asked for is changed."""

    def __init__(self, wanted: int = -1) -> None:
        self.wanted, self.found = wanted, []

    def here(self, node: ast.AST, what: str) -> bool:
        self.found.append((node.lineno, what))
        return len(self.found) - 1 == self.wanted

    def visit_AnnAssign(self, node):  # a type is no code
        if node.value is not None:
            node.value = self.visit(node.value)
        return node

    def visit_FunctionDef(self, node):
        node.args.defaults = [self.visit(one) for one in node.args.defaults]
        node.body = [self.visit(one) for one in node.body]
        return node

    def visit_ClassDef(self, node):  # frozen or not is no behaviour
        node.body = [self.visit(one) for one in node.body]
        return node

    def visit_Module(self, node):
        node.body = [one if is_limit(one) else self.visit(one) for one in node.body]
        return node

    def visit_Raise(self, node):  # what is said is tested elsewhere
        return node

    def visit_keyword(self, node):  # zip(strict=True) can only fail where something else is wrong
        return node if node.arg in ("strict", "copy") else self.generic_visit(node)

    def visit_Compare(self, node):
        self.generic_visit(node)
        for place, kind in enumerate(node.ops):
            other = COMPARISONS[type(kind)]
            if self.here(node, f"{type(kind).__name__} -> {other.__name__}"):
                node.ops[place] = other()
        return node

    def visit_BinOp(self, node):
        self.generic_visit(node)
        other = ARITHMETIC.get(type(node.op))
        of_types = isinstance(node.op, ast.BitOr) and isinstance(
            node.right, ast.Constant | ast.Name
        )
        if other and not of_types and not _is_text(node):
            if self.here(node, f"{type(node.op).__name__} -> {other.__name__}"):
                node.op = other()
        return node

    def visit_BoolOp(self, node):
        self.generic_visit(node)
        if self.here(node, "drop the last condition"):
            return (
                node.values[0] if len(node.values) == 2 else ast.BoolOp(node.op, node.values[:-1])
            )
        return node

    def visit_If(self, node):
        self.generic_visit(node)
        if self.here(node, "negate the condition"):
            node.test = ast.UnaryOp(ast.Not(), node.test)
        return node

    def visit_UnaryOp(self, node):
        self.generic_visit(node)
        if isinstance(node.op, ast.USub) and self.here(node, "drop the minus"):
            return node.operand
        return node

    def visit_Constant(self, node):
        if type(node.value) is bool and self.here(node, f"{node.value} -> {not node.value}"):
            return ast.copy_location(ast.Constant(not node.value), node)
        if type(node.value) in (int, float) and self.here(node, f"{node.value} -> larger"):
            new = node.value + 1 if type(node.value) is int else node.value * 2 + 1
            return ast.copy_location(ast.Constant(new), node)
        return node


def is_limit(node: ast.stmt) -> bool:
    """Whether this is a constant whose numbers are whole, as in MAX_NEAR = 4 or SIZE = 1 << 16."""
    if not isinstance(node, ast.Assign):
        return False
    kinds = ast.Constant | ast.Tuple | ast.BinOp | ast.operator | ast.expr_context
    parts = list(ast.walk(node.value))
    plain = all(isinstance(one, kinds) for one in parts)
    return plain and all(type(one.value) is int for one in parts if isinstance(one, ast.Constant))


def _is_text(node: ast.BinOp) -> bool:
    parts = (node.left, node.right)
    return any(
        isinstance(p, ast.JoinedStr) or isinstance(getattr(p, "value", 0), str) for p in parts
    )


def faults_of(path: Path) -> Iterator[Fault]:
    places = Places()
    places.visit(ast.parse(path.read_text(encoding="utf-8")))
    for number, (line, what) in enumerate(places.found):
        yield Fault(path, number, line, what)


def faulty(fault: Fault) -> ast.Module:
    tree = copy.deepcopy(ast.parse(fault.path.read_text(encoding="utf-8")))
    return ast.fix_missing_locations(Places(fault.number).visit(tree))


class Loader(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """The faulty module in the place of the one on disk."""

    def __init__(self, fault: Fault) -> None:
        parts = fault.path.relative_to(ROOT / "src").with_suffix("").parts
        self.has_parts = parts[-1] == "__init__"
        self.name, self.fault = ".".join(parts[:-1] if self.has_parts else parts), fault

    def find_spec(self, name, path=None, target=None):
        if name != self.name:
            return None
        spec = importlib.util.spec_from_file_location(name, self.fault.path, loader=self)
        if self.has_parts:
            spec.submodule_search_locations = [str(self.fault.path.parent)]
        return spec

    def exec_module(self, module) -> None:
        code = compile(faulty(self.fault), str(self.fault.path), "exec", dont_inherit=True)
        exec(code, vars(module))


def run_tests(package: str, fault: Fault, limit: float) -> bool:
    """Whether the quick tests pass, in a process of their own."""
    child = os.fork()
    if child == 0:
        os.setsid()
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        sys.meta_path.insert(0, Loader(fault))
        import pytest

        os.environ["ONMF_FUZZ_CASES"] = "10"
        options = ["-x", "-q", "-m", "not slow", "-p", "no:cacheprovider", "-p", "no:randomly"]
        os._exit(int(pytest.main([*options, *test_files(package, fault)])))
    end = time.monotonic() + limit
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status) == 0
        time.sleep(0.05)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


def test_files(package: str, fault: Fault) -> list[str]:
    every = sorted((TESTS / package).glob("test_*.py"))
    every += [TESTS / name for name in OTHER_TESTS.get(package, [])]
    return [str(path) for path in sorted(every, key=lambda path: fault.path.stem not in path.stem)]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("package", choices=sorted(p.name for p in TESTS.iterdir() if p.is_dir()))
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    for name in ("numpy", "scipy.sparse", "scipy.optimize", "sklearn.cluster", "pandas"):
        importlib.import_module(name)  # once, for all processes
    folder = SOURCES / options.package
    every = [fault for path in sorted(folder.rglob("*.py")) for fault in faults_of(path)]
    chosen = random.Random(options.seed).sample(every, min(options.count, len(every)))
    begin, none = time.monotonic(), every[0]._replace(number=-1)
    if not run_tests(options.package, none, 3600):  # loaded as the faulty ones are
        sys.exit(f"the tests of {options.package} fail without any fault")
    limit = SLOWDOWN * (time.monotonic() - begin)
    survived = []
    for done, fault in enumerate(sorted(chosen), 1):
        if run_tests(options.package, fault, limit):
            survived.append(fault)
            where = fault.path.relative_to(ROOT)
            print(f"survived: {where}:{fault.line}: {fault.what}", flush=True)
        print(f"{done} of {len(chosen)}, {len(survived)} survived", file=sys.stderr, flush=True)
    found = len(chosen) - len(survived)
    share = f"{100 * found / len(chosen):.0f} %"
    print(f"{options.package}: {found} of {len(chosen)} faults found, {share}", end=" ")
    print(f"(of {len(every)} possible ones, seed {options.seed})")


if __name__ == "__main__":
    main()
