"""Indented lines of a docstring are formulas: shown as they stand, not as a quotation."""

from itertools import pairwise
from typing import Any


def as_they_stand(
    app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]
) -> None:
    if any(line.startswith("---") for line in lines):  # numpydoc's sections are indented, too
        return
    starts = [
        i
        for i, (before, line) in enumerate(pairwise(["", *lines]))
        if line.startswith("    ") and not before.strip()
    ]
    for i in reversed(starts):
        text = next((line for line in reversed(lines[:i]) if line.strip()), "")
        if not text.startswith("    ") and not text.endswith("::"):
            lines[i:i] = ["::", ""]


def setup(app: Any) -> dict[str, bool]:
    app.connect("autodoc-process-docstring", as_they_stand, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
