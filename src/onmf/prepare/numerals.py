"""Numbers that people write: in cells of tables, and after options."""

MINUS_SIGNS = str.maketrans("\u2212\u2013", "--")  # of a text program


def to_number(cell: str) -> float:
    """The number in a cell, 5 for 5%; ValueError also for 1_000 and digits of other scripts."""
    plain = cell.translate(MINUS_SIGNS).strip().removesuffix("%")
    if "_" in plain or not plain.isascii():
        raise ValueError(f"{cell!r} is not a number.")
    return float(plain)
