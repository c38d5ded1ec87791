"""Every warning of the package has a name, so that it can be caught or silenced alone."""

import ast
from pathlib import Path

import onmf
from onmf import exceptions
from syntax import nodes

ROOT = Path(onmf.__file__).parent
WARNINGS = {name for name in exceptions.__all__ if name.endswith("Warning")}


def warned(path):
    """The categories that a file gives its warnings: names, or None where there is none."""
    for node in nodes(path):
        called = getattr(node, "func", None)
        if getattr(called, "attr", getattr(called, "id", "")) != "warn":
            continue
        if ast.unparse(called) in ("warnings.warn", "warn"):
            named = [word.value for word in node.keywords if word.arg == "category"]
            category = (node.args[1:2] or named or [None])[0]
            yield category and ast.unparse(category)


def test_every_warning_is_of_a_class_of_the_package_and_every_class_is_used():
    used = {path: set(warned(path)) for path in ROOT.rglob("*.py")}
    others = {path.name: names - WARNINGS for path, names in used.items()}
    assert {name: names for name, names in others.items() if names} == {}
    assert set().union(*used.values()) == WARNINGS


def test_every_class_is_documented_and_a_warning_or_a_value_error():
    for name in exceptions.__all__:
        category = getattr(onmf.exceptions, name)
        assert issubclass(category, UserWarning if name in WARNINGS else ValueError)
        assert category.__doc__
