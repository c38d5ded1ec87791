"""Whether the first line of a table is a header, and which columns are text."""

from collections.abc import Sequence
from itertools import pairwise

from onmf.rows import ID_HEADINGS, numbered
from onmf_app.read.cells import Number, has_no_value, is_amount, is_cell

FEWEST_SPACED = 3  # numbers at equal steps, such as years, that may be a header
CERTAIN = 5  # such numbers that are one wherever they lie: 2 in 1,000 lines of five small counts
FEWEST_RISING = 6  # numbers that rise at any steps: one line in 720 does by chance


def is_header(number: Number, first: Sequence[str], below: Sequence[Sequence[str]]) -> bool:
    """Whether a line is a header, given some lines of its width below it.

    A word above a column of numbers is a heading. A line with numbers above all columns of numbers
    is a sample, unless they are the numbers of the columns: 0, 1, ..., or such that chance does not
    explain them (`_number_columns`).
    """
    if len(first) > 1 and list(first) == numbered(len(first)):  # as pandas numbers columns
        return True
    if len(first) > 1 and first[0].strip().lower() in ID_HEADINGS:
        return True
    if not below:
        return not _is_numeric(number, first[1:] or first)
    columns = [*zip(*below, strict=True)]
    numeric = [j for j, cells in enumerate(columns) if _is_numeric(number, cells)]
    if not numeric or not all(is_cell(number, first[j], gaps=True) for j in numeric):
        return True
    lines = [[row[j] for j in numeric] for row in (first, *below)]
    values = [[number(c) for c in cells if is_cell(number, c)] for cells in lines]
    full = [row for row in values[1:] if len(row) == len(numeric)]
    return len(values[0]) == len(numeric) and _number_columns(values[0], full)


def _is_numeric(number: Number, cells: Sequence[str]) -> bool:
    """Whether all values of a column are numbers, and there are some."""
    return any(is_cell(number, c) for c in cells) and all(
        is_cell(number, c, gaps=True) for c in cells
    )


def _number_columns(first: Sequence[float], below: Sequence[Sequence[float]]) -> bool:
    """Whether numbers are those of columns: years, times or wavelengths above other numbers.

    Most lines below do not lie at equal steps, or rise, as they do. A few at equal steps also lie
    outside the numbers below them, and none of numbers that only rise is found below it.
    """
    columns = [*zip(*below, strict=True)]
    if not columns:
        return False
    pairs = [*zip(first, columns, strict=True)]
    if len(first) >= FEWEST_SPACED and _is_spaced(first):
        usual = 2 * sum(map(_is_spaced, below)) > len(below)
        outside = all(not min(column) <= x <= max(column) for x, column in pairs)
        return not usual and (len(first) >= CERTAIN or outside)
    usual = 2 * sum(map(_is_rising, below)) > len(below)
    rising = len(first) >= FEWEST_RISING and _is_rising(first)
    return rising and not usual and all(x not in column for x, column in pairs)


def _is_rising(values: Sequence[float]) -> bool:
    return all(a < b for a, b in pairwise(values))


def _is_spaced(values: Sequence[float]) -> bool:
    """Whether neighbours differ by the same, which is not zero."""
    step = values[1] - values[0]
    return step != 0 and all(abs(b - a - step) <= 1e-6 * abs(step) for a, b in pairwise(values))


def is_text(number: Number, cells: Sequence[str]) -> bool:
    """Whether most values of a column are no numbers in any notation."""
    values = [cell for cell in cells if not has_no_value(cell)]
    return 2 * sum(not is_amount(c) and not is_cell(number, c) for c in values) > len(values)
