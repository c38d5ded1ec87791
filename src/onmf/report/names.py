"""Names from the data, fit to be shown: any text, of any length, in any script."""

from collections.abc import Iterable
from typing import Any

LONGEST = 64  # characters: ten thousand names must fit into a page


def shown(name: Any, longest: int = LONGEST) -> str:
    """`name` as text; the middle of a long one is left out, for beginning and end tell most."""
    text = str(name).encode("utf-8", "replace").decode("utf-8")  # a lone surrogate is no text
    if len(text) <= longest:
        return text
    return f"{text[: longest // 2]}…{text[-(longest // 2 - 1) :]}"


def named(names: Iterable[Any] | None, n: int, what: str, default: str = "") -> list[str]:
    """`n` names; `default` and a number from zero where none are given."""
    if names is None:
        return [f"{default}{i}" for i in range(n)]
    known = [shown(name) for name in names]
    if len(known) != n:
        raise ValueError(f"{len(known)} names for {n} {what}: give one for each.")
    return known
