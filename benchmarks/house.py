"""Size and structure of the package in figures: `make bench ONLY=house`.

`python benchmarks/house.py` also prints the names behind the figures. What a call runs is counted
in a second run, after one to warm up: functions of our files that Python enters in the main thread.
Code that `dataclass` and `namedtuple` generate has no file and is not counted.
"""

import ast
import inspect
import os
import sys
import tempfile
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import chdir, redirect_stderr, redirect_stdout
from itertools import combinations
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_digits
from sklearn.utils.estimator_checks import check_estimator

import onmf
from onmf import ONMF, Baseline
from onmf.baselines import METHODS
from onmf.datasets import make_rays
from onmf.losses import LOSSES, Loss
from onmf.losses.support import FEATURES, refusal
from onmf_app import main
from tables import table, write_section

ROOT = Path(onmf.__file__).parent
COLUMNS = ["figure", "here", "goal"]
MAX_FILE = 300  # lines
FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)
OF_A_MODEL = {"fit", "fit_predict", "predict", "labels_", "cluster_centers_"}

Row = tuple[str, object, str]


class Source(NamedTuple):
    """One file of the package."""

    name: str
    lines: int
    tree: ast.Module

    @property
    def package(self) -> str:
        return self.name.split("/")[0].removesuffix(".py")


def run() -> None:
    """Write the section of the page of results."""
    write_section("house", "Size and structure of the package", figures(sources()))


def sources() -> list[Source]:
    texts = {path: path.read_text(encoding="utf-8") for path in sorted(ROOT.rglob("*.py"))}
    return [
        Source(path.relative_to(ROOT).as_posix(), text.count("\n"), ast.parse(text))
        for path, text in texts.items()
    ]


def figures(files: list[Source]) -> str:
    return table(COLUMNS, [*size(files), *structure(files), *checks(), *calls()])


def checks() -> Iterator[Row]:
    """scikit-learn's checks of estimators, with no failure expected."""
    rivals = [Baseline(method, 2, init="nndsvd", max_iter=40) for method in METHODS]
    ours = [("ONMF(2)", [ONMF(2)]), ("ONMF()", [ONMF()])]  # some count columns: two, or four
    for name, models in (*ours, (f"{len(rivals)} rivals", rivals)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = [
                one for each in models for one in check_estimator(each, on_skip=None, on_fail=None)
            ]
        failed = Counter(one["check_name"] for one in found if one["status"] == "failed")
        which = "".join(f", {check} {count}" for check, count in sorted(failed.items()))
        yield f"estimator checks that fail, {name}", f"{failed.total()} of {len(found)}{which}", "0"


def size(files: list[Source]) -> Iterator[Row]:
    """Lines of functions and methods are counted without decorators."""
    functions = [node for file in files for node in nodes(file, FUNCTION)]
    whole = np.array([node.end_lineno - node.lineno + 1 for node in functions])
    code = whole - [docstring_lines(node) for node in functions]
    yield "lines of src/onmf", sum(file.lines for file in files), "21,000"
    yield "packages and modules", len({file.package for file in files} - {"__init__"}), ""
    yield "files", len(files), ""
    yield f"files over {MAX_FILE} lines", len(long_files(files)), "0"
    yield "functions and methods", len(functions), ""
    yield "their lines, 95 % and most", spread(whole), ""
    yield "the same without docstrings", spread(code), ""


def structure(files: list[Source]) -> Iterator[Row]:
    losses = ", ".join(LOSSES)
    yield f"comparisons with names of losses ({losses})", len(comparisons(files)), "0"
    for solver in ("fast", "palm"):
        alone, pairs, tried = refusals(solver)
        yield f"features that a loss does not have, solver {solver}", len(alone), ""
        yield "refused pairs of those that it has", f"{len(pairs)} of {tried}", ""
    yield "parameters of ONMF", len(inspect.signature(ONMF).parameters), "15"
    yield "constants with several values", len(shared_constants(files)), "0"
    yield "protocols for a model", len(model_protocols(files)), "1"
    yield "public names defined in several modules", len(shared_names(files)), "under 15"


def nodes(file: Source, kinds: Any) -> list[Any]:
    return [node for node in ast.walk(file.tree) if isinstance(node, kinds)]


def spread(lines: np.ndarray) -> str:
    return f"{np.percentile(lines, 95):.0f}, {lines.max()}"


def docstring_lines(node: Any) -> int:
    first = node.body[0]
    has = ast.get_docstring(node, clean=False) is not None
    return first.end_lineno - first.lineno + 1 if has else 0


def long_files(files: list[Source]) -> list[str]:
    return [f"{file.name} ({file.lines})" for file in files if file.lines > MAX_FILE]


def comparisons(files: list[Source]) -> list[str]:
    """Places outside of losses/ where something is compared with the name of a loss."""
    return [
        f"{file.name}:{node.lineno}"
        for file in files
        if file.package != "losses"
        for node in nodes(file, ast.Compare)
        if any(
            isinstance(part, ast.Constant) and part.value in LOSSES
            for side in (node.left, *node.comparators)
            for part in ast.walk(side)
        )
    ]


def refusals(solver: str) -> tuple[list[str], list[str], int]:
    """For all losses: features that are refused, refused pairs of others, how many pairs."""
    alone, refused, tried = [], [], 0
    for loss in LOSSES.values():

        def works(*features: str, loss: Loss = loss) -> bool:
            return not refusal(loss.name, loss.supports, solver, features)

        alone += [f"{loss.name}: {name}" for name in FEATURES if not works(name)]
        pairs = list(combinations(filter(works, FEATURES), 2))
        refused += [f"{loss.name}: {' with '.join(pair)}" for pair in pairs if not works(*pair)]
        tried += len(pairs)
    return alone, refused, tried


def shared_constants(files: list[Source]) -> dict[str, list[str]]:
    """Constants of modules that have different values under one name."""
    homes: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for file in files:
        for name, value in constants(file):
            homes[name][value].append(file.name)
    return {
        name: [home for found in values.values() for home in found]
        for name, values in sorted(homes.items())
        if len(values) > 1
    }


def constants(file: Source) -> Iterator[tuple[str, str]]:
    """Names in capitals that a module assigns, and their values as text."""
    for line in file.tree.body:
        if not isinstance(line, ast.Assign | ast.AnnAssign) or line.value is None:
            continue
        for target in line.targets if isinstance(line, ast.Assign) else [line.target]:
            names = target.elts if isinstance(target, ast.Tuple) else [target]
            parts = getattr(line.value, "elts", []) if isinstance(target, ast.Tuple) else []
            values = parts if len(parts) == len(names) else [line.value] * len(names)
            for name, value in zip(names, values, strict=True):
                if isinstance(name, ast.Name) and name.id.isupper():
                    yield name.id, ast.unparse(value)


def model_protocols(files: list[Source]) -> list[str]:
    """Protocols with a method or an attribute of a scikit-learn estimator."""
    return [
        f"{node.name} ({file.name})"
        for file in files
        for node in nodes(file, ast.ClassDef)
        if any("Protocol" in ast.unparse(base) for base in node.bases)
        and OF_A_MODEL & {member_name(line) for line in node.body}
    ]


def member_name(line: ast.stmt) -> str | None:
    target = line.target if isinstance(line, ast.AnnAssign) else line
    return getattr(target, "name", getattr(target, "id", None))


def shared_names(files: list[Source]) -> dict[str, list[str]]:
    """Public functions and classes, not methods, of one name in several modules."""
    homes = defaultdict(list)
    for file in files:
        for name in sorted({node.name for node in top_level(file.tree)}):
            homes[name].append(file.name)
    return {name: found for name, found in sorted(homes.items()) if len(found) > 1}


def top_level(tree: Any) -> list[Any]:
    """Public functions and classes of a module, also those under `if` and `try`."""
    inner = [node for node in ast.iter_child_nodes(tree) if isinstance(node, ast.If | ast.Try)]
    here = [node for node in tree.body if isinstance(node, (*FUNCTION, ast.ClassDef))]
    public = [node for node in here if not node.name.startswith("_")]
    return public + [node for part in inner for node in top_level(part)]


def calls() -> Iterator[Row]:
    """What a fit to 1797 digits of 64 features runs, and what the command runs on a small table."""
    X = load_digits().data
    yield from counts("a fit", lambda _: ONMF(10, random_state=0, n_jobs=1).fit(X))
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        np.savetxt("x.csv", make_rays(200, 20, 5, random_state=0)[0], delimiter=",")
        yield from counts("onmf cluster", cluster)


def cluster(out: str) -> None:
    with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere), redirect_stderr(nowhere):
        code = main(["cluster", "x.csv", "-k", "5", "-o", out, "--jobs", "1"])
    assert code == 0


def counts(name: str, task: Callable[[str], object]) -> Iterator[Row]:
    """Functions and files that a task runs; it gets another word each time."""
    task("first")
    entered = entries(lambda: task("second"))
    named = {code for code in entered if not code.co_name.startswith("<")}  # no lambda, no listcomp
    yield f"functions of {name}", len(named), ""
    yield f"files of {name}", len({code.co_filename for code in entered}), ""


def entries(task: Callable[[], object]) -> set[CodeType]:
    """The code of ours that a task enters in this thread."""
    codes: set[CodeType] = set()
    ours = f"{ROOT}{os.sep}"

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(ours):
            codes.add(frame.f_code)

    sys.setprofile(note)
    try:
        task()
    finally:
        sys.setprofile(None)
    return codes


def names(files: list[Source]) -> Iterator[str]:
    """The names behind the figures."""
    yield f"Long files: {listed(long_files(files))}"
    yield f"Comparisons with names of losses: {listed(comparisons(files))}"
    alone, pairs, _ = refusals("fast")
    yield f"Features that a loss does not have, solver fast: {listed(alone)}"
    yield f"Refused pairs, solver fast: {listed(pairs)}"
    yield f"Protocols for a model: {listed(model_protocols(files))}"
    for title, shared in (
        ("Constants with several values", shared_constants(files)),
        ("Names defined in several modules", shared_names(files)),
    ):
        places = [f"{name} ({', '.join(found)})" for name, found in shared.items()]
        yield f"{title}: {listed(places)}"


def listed(words: list[str]) -> str:
    return f"{'; '.join(words) or 'none'}."


if __name__ == "__main__":
    everything = sources()
    print(ROOT, figures(everything), *names(everything), sep="\n\n")
