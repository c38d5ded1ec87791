"""The shape of the package in figures: `python benchmarks/house.py`, or `make bench ONLY=house`.

A room is a top-level module or package of onmf; a folder in a package is a part of its room (as
`paper` of `core`), but the walks are also counted with folders as rooms of their own.

A walk is what one call runs of our code, in the order of the entries, after one run to warm up. An
entry is each time Python goes into code of a file of onmf in the main thread: calls of functions,
methods, properties, lambdas, comprehensions (before Python 3.12) and generators, and each time a
generator goes on. What `dataclass` and `namedtuple` generate has no file and is not counted.

* functions: those with a name that were entered, each once; files: theirs.
* changes: entries whose room is not that of the entry before.
* returns: the same sequence with the first entry of each piece of code alone, as one reads a
  program; changes into a room that had been left. Those of all entries are given as well.
"""

import ast
import inspect
import os
import re
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import chdir, redirect_stderr, redirect_stdout
from itertools import pairwise
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_digits

import onmf
from onmf import ONMF
from onmf.cli import main
from onmf.datasets import make_rays
from tables import table, write_section

ROOT = Path(onmf.__file__).parent
COLUMNS = ["figure", "here", "goal"]
LONG = 300  # lines: a file with more is too long
ESTIMATOR = {"clusterer", "est", "estimator", "model"}  # what such a parameter is called
FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)
# Without those that are verbs as well: cut, put, read, set, split.
IRREGULAR = """begun bound broken brought built chosen done drawn driven fallen found given gone
grown held hidden kept known laid learnt left lost made meant met paid proven risen said seen sent
shown spent spoken taken taught told torn understood written"""
NO_PARTICIPLES = "breed embed exceed feed indeed need proceed red seed shed speed"
FIT_GOALS = {"functions": "under 60", "changes": "under 12", "returns": "at most 3"}
CLUSTER_GOALS = {"changes": "under 40"}

Row = tuple[str, object, str]


class Source(NamedTuple):
    """One file of the package."""

    room: str
    path: Path
    lines: int
    tree: ast.Module

    @property
    def name(self) -> str:
        return self.path.relative_to(ROOT).as_posix()


class Entry(NamedTuple):
    """Python went into a piece of our code."""

    path: Path
    line: int
    name: str

    @property
    def has_name(self) -> bool:
        return not self.name.startswith("<")  # <lambda>, <listcomp>


def run() -> None:
    """The section of the page of results; the script prints the names behind the figures, too."""
    write_section("house", "The house", figures(sources()))


def figures(files: list[Source]) -> str:
    parts = size(files), lengths(files), wide(files), words(files), walks()
    return table(COLUMNS, [row for rows in parts for row in rows])


def sources() -> list[Source]:
    return [read(path) for path in sorted(ROOT.rglob("*.py"))]


def read(path: Path) -> Source:
    text = path.read_text(encoding="utf-8")
    return Source(room_of(path), path, text.count("\n"), ast.parse(text))


def room_of(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def folder_of(path: Path) -> str:
    """The room if every folder were one."""
    inside = path.relative_to(ROOT)
    return inside.parent.as_posix() if len(inside.parts) > 1 else inside.stem


def size(files: list[Source]) -> Iterator[Row]:
    rooms = {file.room for file in files if not file.room.startswith("__")}
    core = [file for file in files if file.room == "core"]
    long = [file for file in files if file.lines > LONG]
    yield "rooms", len(rooms), ""
    yield "files", len(files), ""
    yield "lines", sum(file.lines for file in files), ""
    yield "lines of core", sum(file.lines for file in core), "under 2000"
    yield f"files over {LONG} lines", len(long), "0"


def lengths(files: list[Source]) -> Iterator[Row]:
    """Lines of functions and methods, decorators not counted."""
    functions = [node for file in files for node in nodes(file, FUNCTION)]
    whole = np.array([node.end_lineno - node.lineno + 1 for node in functions])
    code = whole - [docstring_lines(node) for node in functions]
    yield "functions and methods", len(functions), ""
    yield "their lines, 95 % and most", spread(whole), ""
    yield "... without docstrings", spread(code), ""


def spread(lines: np.ndarray) -> str:
    return f"{np.percentile(lines, 95):.0f}, {lines.max()}"


def docstring_lines(node: Any) -> int:
    first = node.body[0]
    has = ast.get_docstring(node, clean=False) is not None
    return first.end_lineno - first.lineno + 1 if has else 0


def nodes(file: Source, kinds: Any) -> list[Any]:
    return [node for node in ast.walk(file.tree) if isinstance(node, kinds)]


def wide(files: list[Source]) -> Iterator[Row]:
    """Estimators that are handed on as `Any`."""
    parameters, fields = estimators_as_any(files), fields_as_any(files)
    low = below(files)
    yield "estimators as Any: parameters", len(parameters), "0"
    yield "... below the estimators", sum(room in low for room, _ in parameters), "0"
    yield "estimators as Any: fields of classes", len(fields), "0"


def estimators_as_any(files: list[Source]) -> list[tuple[str, str]]:
    """(room, place) of every parameter that is an estimator by its name and `Any` by its type."""
    return [
        (file.room, f"{file.name}: {node.name}({arg.arg})")
        for file in files
        for node in nodes(file, FUNCTION)
        for arg in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
        if arg.arg in ESTIMATOR and is_any(arg.annotation)
    ]


def fields_as_any(files: list[Source]) -> list[tuple[str, str]]:
    """The same for fields, which are parameters if the class is a dataclass."""
    return [
        (file.room, f"{file.name}: {node.name}.{line.target.id}")
        for file in files
        for node in nodes(file, ast.ClassDef)
        for line in node.body
        if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name)
        if line.target.id in ESTIMATOR and is_any(line.annotation)
    ]


def is_any(annotation: ast.expr | None) -> bool:
    """Any, or a union with it."""
    said = "" if annotation is None else ast.unparse(annotation).strip("'\"")
    return not {"Any", "typing.Any"}.isdisjoint(said.split(" | "))


def below(files: list[Source]) -> set[str]:
    """Rooms that the home of `ONMF` is built on: it imports them, or one that does, and so on."""
    arrows: dict[str, set[str]] = defaultdict(set)
    for file in files:
        arrows[file.room] |= imported(file)
    home = room_of(Path(inspect.getfile(ONMF)))
    reached, ahead = set(), {home}
    while ahead:
        reached |= ahead
        ahead = {room for known in ahead for room in arrows[known]} - reached
    return reached - {home}


def imported(file: Source) -> set[str]:
    """Rooms that a file imports from."""
    dotted = []
    for node in nodes(file, (ast.Import, ast.ImportFrom)):
        prefix = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
        dotted += [f"{prefix}{alias.name}".split(".") for alias in node.names]
    rooms = {parts[1] for parts in dotted if parts[0] == "onmf" and len(parts) > 1}
    return {room for room in rooms if (ROOT / room).is_dir() or (ROOT / f"{room}.py").is_file()}


def words(files: list[Source]) -> Iterator[Row]:
    yield "names defined in two modules or more", len(shared_names(files)), "under 15"
    yield "names that are participles, roughly", len(participles(files)), ""


def shared_names(files: list[Source]) -> dict[str, list[str]]:
    """Public functions and classes, not methods, of one name in several modules."""
    homes = defaultdict(list)
    for file in files:
        for name in sorted({node.name for node in top_level(file.tree)}):
            homes[name].append(file.name)
    return {name: found for name, found in sorted(homes.items()) if len(found) > 1}


def top_level(tree: Any) -> list[Any]:
    """Public functions and classes of a module, those under `if` and `try` as well."""
    inner = [node for node in ast.iter_child_nodes(tree) if isinstance(node, ast.If | ast.Try)]
    here = [node for node in tree.body if isinstance(node, (*FUNCTION, ast.ClassDef))]
    public = [node for node in here if not node.name.startswith("_")]
    return public + [node for part in inner for node in top_level(part)]


def participles(files: list[Source]) -> list[str]:
    """Public functions, classes and methods whose last word is one: a help, not a verdict."""
    defined = {node.name for file in files for node in nodes(file, (*FUNCTION, ast.ClassDef))}
    return sorted(name for name in defined if name[0] != "_" and is_participle(name))


def is_participle(name: str) -> bool:
    last = re.findall(r"[A-Z]?[a-z0-9]+|[A-Z]+", name)[-1].lower()
    regular = last.endswith("ed") and last not in NO_PARTICIPLES.split()
    return regular or last in IRREGULAR.split()


def names(files: list[Source]) -> Iterator[str]:
    """What stands behind the figures, in words."""
    long = [f"{file.name} ({file.lines})" for file in files if file.lines > LONG]
    yield f"Files over {LONG} lines: {listed(long)}"
    wide_ones = [place for _, place in estimators_as_any(files) + fields_as_any(files)]
    yield f"Estimators as Any: {listed(wide_ones)}"
    yield f"Rooms below the estimators: {listed(sorted(below(files)))}"
    shared = [f"{name} ({', '.join(homes)})" for name, homes in shared_names(files).items()]
    yield f"Names defined in several modules: {listed(shared)}"
    yield f"Participles, roughly: {listed(participles(files))}"


def listed(words: list[str]) -> str:
    return f"{'; '.join(words) or 'none'}."


def walks() -> Iterator[Row]:
    X = load_digits().data
    yield from walk("fit", lambda _: fit(X), FIT_GOALS)
    with tempfile.TemporaryDirectory() as place, chdir(place):
        rays, _ = make_rays(200, 20, 5, random_state=0)
        np.savetxt("x.csv", rays, delimiter=",")
        yield from walk("cluster", cluster, CLUSTER_GOALS)


def fit(X: np.ndarray) -> None:
    """1797 digits of 64 features."""
    ONMF(10, random_state=0, n_jobs=1).fit(X)


def cluster(out: str) -> None:
    """`onmf cluster x.csv -k 5`, which says nothing here."""
    with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere), redirect_stderr(nowhere):
        code = main(["cluster", "x.csv", "-k", "5", "-o", out, "--jobs", "1"])
    assert code == 0


def walk(name: str, task: Callable[[str], None], goals: dict[str, str]) -> Iterator[Row]:
    """The figures of one walk; the task gets a word that is new each time."""
    task("first")
    entries = followed(lambda: task("second"))
    first = list(dict.fromkeys(entries))
    rooms = [room_of(entry.path) for entry in entries]
    folders = [folder_of(entry.path) for entry in entries]
    counts = {
        "calls": len(entries),
        "functions": sum(entry.has_name for entry in first),
        "files": len({entry.path for entry in first}),
        "rooms": len(set(rooms)),
        "changes": changes(rooms),
        "returns": returns([room_of(entry.path) for entry in first]),
        "returns of all entries": returns(rooms),
        "rooms, folders as rooms": len(set(folders)),
        "changes, folders as rooms": changes(folders),
        "returns, folders as rooms": returns([folder_of(entry.path) for entry in first]),
    }
    yield from ((f"{name}: {what}", count, goals.get(what, "")) for what, count in counts.items())


def followed(task: Callable[[], None]) -> list[Entry]:
    """Every entry into our code while the task runs, in this thread."""
    codes: list[CodeType] = []

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(ours):
            codes.append(frame.f_code)

    ours = f"{ROOT}{os.sep}"
    sys.setprofile(note)
    try:
        task()
    finally:
        sys.setprofile(None)
    return [Entry(Path(c.co_filename), c.co_firstlineno, c.co_name) for c in codes]


def changes(rooms: list[str]) -> int:
    return sum(before != after for before, after in pairwise(rooms))


def returns(rooms: list[str]) -> int:
    """Changes into a room that had been left: all but the first into each."""
    return changes(rooms) - (len(set(rooms)) - 1)


if __name__ == "__main__":
    everything = sources()
    print(ROOT, figures(everything), *names(everything), sep="\n\n")
