"""The syntax of the files that tests look at, parsed once."""

import ast
import functools


@functools.cache
def nodes(path):
    """All nodes of a Python file."""
    return tuple(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
