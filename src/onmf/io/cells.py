"""Cells of text tables: numbers, and text that a spreadsheet does not run as a formula.

    '=1+1  in a file  <->  =1+1  in memory

A spreadsheet runs a cell that starts with = + - or @, and names may come from anybody. So a text
that starts with such a character, after any apostrophes, is written with one more apostrophe, and
read with one less. Numbers are not changed.
"""

import re
from typing import Any

FORMULA = re.compile(r"'*[=+\-@\t\r\n＝＋－＠]")  # noqa: RUF001  (full-width characters work, too)


def to_number(cell: str) -> float:
    """The number in a cell; ValueError also for 1_000 and digits of other scripts."""
    if "_" in cell or not cell.strip().isascii():
        raise ValueError(f"{cell!r} is not a number.")
    return float(cell)


def to_count(word: str) -> int:
    """The whole number in a cell."""
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
    """A cell as it is written to a file."""
    if isinstance(cell, str) and FORMULA.match(cell) and not is_number(cell):
        return f"'{cell}"
    return cell


def unguard_cell(cell: str) -> str:
    """A cell as it was before `guard_cell`."""
    return cell[1:] if cell.startswith("'") and FORMULA.match(cell) else cell
