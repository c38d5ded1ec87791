"""Names and values that can be shown: any text, of any length, in any script."""

import re
from collections.abc import Iterable, Sequence
from textwrap import shorten
from typing import Any

import numpy as np

MAX_NAME = 64  # characters of a name: a page holds up to ten thousand
MAX_VALUE = 400  # characters of a parameter
FIRST_WORDS_READ = 500  # characters of a document: enough, without its white space
RULE = re.compile(r"([^\w\s])\1{2,}")  # -----, ==== and the like


def display_name(name: Any, longest: int = MAX_NAME) -> str:
    """`name` as text; a long one is shortened in the middle."""
    text = whole_text(str(name))
    if len(text) <= longest:
        return text
    return f"{text[: longest // 2]}…{text[-(longest // 2 - 1) :]}"


def whole_text(text: str) -> str:
    """A text of any length that can be written in UTF-8: lone surrogates are invalid."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def first_words(name: str, text: str) -> str:
    """The name of a document and the words that it begins with."""
    start = RULE.sub(" ", text[:FIRST_WORDS_READ])
    return shorten(f"{name}: {start}", MAX_NAME, placeholder=" ...")


def display_names(names: Iterable[Any] | None, n: int, what: str, default: str = "") -> list[str]:
    """The names of `n` samples or features; by default `default` and a number from 0."""
    if names is None:
        return [f"{default}{i}" for i in range(n)]
    texts = [display_name(name) for name in names]
    check_count(texts, n, what)
    return texts


def check_count(names: Sequence[Any], n: int, what: str) -> None:
    """There is a name for each."""
    if len(names) != n:
        raise ValueError(f"{len(names)} names for {n} {what}: give one for each.")


def display_values(value: Any) -> Any:
    """A value made of text, integers, booleans, None, lists and dicts, for JSON."""
    if isinstance(value, dict):
        return {display_name(key): display_values(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [display_values(part) for part in value]
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int):
        return value
    return display_name(value if isinstance(value, str) else repr(value), MAX_VALUE)


def cluster_title(cluster: int, name: str, longest: int) -> str:
    """The id of a cluster, and its name in so many characters."""
    number = "no cluster" if cluster < 0 else str(cluster)
    return f"{number} {display_name(name, longest)}".strip()


def percent(share: float) -> str:
    return f"{100 * share:.1f} %"
