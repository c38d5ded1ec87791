"""Names and values fit to be shown: any text, of any length, in any script."""

from collections.abc import Iterable
from typing import Any

import numpy as np

LONGEST = 64  # characters of a name: ten thousand must fit into a page
LONGEST_VALUE = 400  # characters of a parameter


def display_name(name: Any, longest: int = LONGEST) -> str:
    """`name` as text; the middle of a long one is left out, for beginning and end tell most."""
    text = str(name).encode("utf-8", "replace").decode("utf-8")  # a lone surrogate is no text
    if len(text) <= longest:
        return text
    return f"{text[: longest // 2]}…{text[-(longest // 2 - 1) :]}"


def display_names(names: Iterable[Any] | None, n: int, what: str, default: str = "") -> list[str]:
    """`n` names; `default` and a number from zero where none are given."""
    if names is None:
        return [f"{default}{i}" for i in range(n)]
    texts = [display_name(name) for name in names]
    if len(texts) != n:
        raise ValueError(f"{len(texts)} names for {n} {what}: give one for each.")
    return texts


def display_values(value: Any) -> Any:
    """The same as text, whole numbers, truth values, None, lists and dicts."""
    if isinstance(value, dict):
        return {display_name(key): display_values(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [display_values(part) for part in value]
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int):
        return value
    return display_name(value if isinstance(value, str) else repr(value), LONGEST_VALUE)
