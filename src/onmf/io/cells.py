"""Cells of text tables: what is a number, and text that no spreadsheet takes for a formula.

    '=1+1  in a file  <->  =1+1  in memory

A spreadsheet runs a cell that begins with one of = + - @, and a heading is what somebody wrote into
a file. So a text that begins with such a mark, or with apostrophes before one, is written with one
apostrophe more, and our readers take one away. Numbers are left as they are.
"""

import re
from typing import Any

FORMULA = re.compile(r"'*[=+\-@\t\r＝＋－＠]")  # noqa: RUF001  (wide marks are marks as well)


def to_number(cell: str) -> float:
    """The number in a cell; ValueError for what only Python takes for one: 1_000, other digits."""
    if "_" in cell or not cell.strip().isascii():
        raise ValueError(f"{cell!r} is not a number.")
    return float(cell)


def to_count(word: str) -> int:
    """The same for whole numbers."""
    if "_" in word or not word.strip().isascii():
        raise ValueError(f"{word!r} is not a whole number.")
    return int(word)


def is_number(cell: str) -> bool:
    try:
        to_number(cell)
    except ValueError:
        return False
    return True


def guard_cell(cell: Any) -> Any:
    """A cell as it is written."""
    if isinstance(cell, str) and FORMULA.match(cell) and not is_number(cell):
        return f"'{cell}"
    return cell


def unguard_cell(cell: str) -> str:
    """A cell as it was before it was written."""
    return cell[1:] if cell.startswith("'") and FORMULA.match(cell) else cell
