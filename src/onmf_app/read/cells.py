"""Cells of text tables: numbers, and text that a spreadsheet does not run as a formula.

    '=1+1  in a file  <->  =1+1  in memory

A spreadsheet runs a cell that starts with = + - or @, and names may come from anybody. So a text
that starts with such a character, after any apostrophes and spaces, is written with one more
apostrophe, and read with one less. Numbers are not changed.
"""

import re
from collections.abc import Callable
from typing import Any
from unicodedata import category

Number = Callable[[str], float]  # the number in a cell; ValueError if there is none

MINUS_SIGNS = str.maketrans("\u2212\u2013", "--")  # of a text program
SPACES = " \u00a0\u202f"  # all of them may group digits
NO_VALUE = {
    "", "-", ".", "?", "na", "n/a", "#n/a", "<na>", "nan", "null", "<null>", "none", "missing",
}  # fmt: skip
AMOUNT = re.compile(  # a number in any notation, also a limit or in percent; no date
    r"\s*[<>≤≥]?=?\s*[+-]?(\d{1,3}([.,'_\s]\d{3})+([.,]\d+)?|\d+([.,]\d*)?|[.,]\d+)\s*%?\s*"
)
LIMIT = re.compile(r"\s*[<>≤≥]=?\s*(?=[\d.,])")
# Full-width and small signs work, too; what no one sees before them is dropped by some programs.
SIGNS = "=+@＝＋－＠﹦﹢﹣﹫-"  # noqa: RUF001
UNSEEN = "\ufeff" + "".join(
    c for c in map(chr, range(0x3001)) if c.isspace() or category(c) in ("Cc", "Cf")
)
FORMULA = re.compile(rf"'*(?:[\t\r\n]|[{UNSEEN}]*[{SIGNS}])")
FORMULA_STARTS = {"'", *SIGNS, *UNSEEN}


def to_number(cell: str) -> float:
    """The number in a cell, 5 for 5%; ValueError also for 1_000 and digits of other scripts."""
    plain = cell.translate(MINUS_SIGNS).strip().removesuffix("%")
    if "_" in plain or not plain.isascii():
        raise ValueError(f"{cell!r} is not a number.")
    return float(plain)


def is_cell(number: Number, cell: str, gaps: bool = False) -> bool:
    """Whether a cell is a number or, if there may be gaps, has no value."""
    try:
        number(cell)
    except ValueError:
        return gaps and has_no_value(cell)
    return True


def is_number(cell: Any) -> bool:
    return is_cell(to_number, str(cell))


def is_amount(cell: str) -> bool:
    """Whether a cell is a number in some notation, perhaps a limit or in percent."""
    return AMOUNT.fullmatch(cell) is not None


def has_no_value(cell: str) -> bool:
    return cell.strip().lower() in NO_VALUE


def guard_cell(cell: Any) -> Any:
    """A cell as it is written to a file."""
    if isinstance(cell, str) and FORMULA.match(cell) and not is_number(cell):
        return f"'{cell}"
    return cell


def unguard_cell(cell: str) -> str:
    """A cell as it was before `guard_cell`."""
    return cell[1:] if cell.startswith("'") and FORMULA.match(cell) else cell


def number_reader(decimal: str, thousands: str) -> Number:
    """`to_number` for other decimal signs and for digits in groups of three."""
    thousands = thousands or ("." if decimal == "," else "")
    if decimal == "." and not thousands:
        return to_number
    part = re.escape(thousands) if thousands.strip() else f"[{SPACES}]"
    shape = re.compile(rf"[+-]?\d{{1,3}}(?:{part}\d{{3}})+(?:{re.escape(decimal)}\d*)?", re.ASCII)
    gone = re.compile(part)

    def number(cell: str) -> float:
        plain = cell.strip()
        if shape.fullmatch(plain):
            plain = gone.sub("", plain)
        elif decimal != "." and "." in plain:
            raise ValueError("a point is not the decimal sign here.")
        return to_number(plain.replace(decimal, "."))

    return number
