"""Every warning of the package has a name, so that it can be caught or silenced alone."""

import ast
from pathlib import Path

import pytest

import onmf
from onmf import exceptions

FILES = sorted(Path(onmf.__file__).parent.rglob("*.py"))


def warned(path):
    """The categories that a file gives its warnings: names, or None where there is none."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("warnings.warn", "warn"):
            named = [word.value for word in node.keywords if word.arg == "category"]
            category = (node.args[1:2] or named or [None])[0]
            yield category and ast.unparse(category)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_warning_is_of_a_class_of_the_package(path):
    for category in warned(path):
        assert category in exceptions.__all__, f"{path} warns with {category}"


def test_every_class_is_used_documented_and_a_user_warning():
    used = {category for path in FILES for category in warned(path)}
    assert used == set(exceptions.__all__)
    for name in exceptions.__all__:
        category = getattr(onmf.exceptions, name)
        assert issubclass(category, UserWarning)
        assert category.__doc__
