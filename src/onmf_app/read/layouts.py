"""Tables as programs and people write them: what stands above and beside the numbers.

    title, comments, counts of rows       left out
    a second header, GEO's `!Sample_...`  classes of the columns, for `labels`
    ID_REF | Geneid Chr Start ... | Hugo_Symbol Entrez_Gene_Id | Name Description
                                          rows are features; what annotates them is left out

Works on the first lines of cells, so text tables, workbooks and JSON are read alike.
"""

import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise, takewhile
from pathlib import PurePosixPath
from statistics import median
from typing import NamedTuple

from onmf_app.read.cells import Number, has_no_value, is_amount, is_cell

Line = tuple[int, list[str]]  # the number of its last line in the file, and its cells
IsNumber = Callable[[str], bool]

LINES_INSPECTED = 60  # above the table may be a page of comments; GEO's own lines do not count
ID_HEADINGS = {"", "id", "index", "sample", "sample_id", "unnamed: 0"}
# First headings that only tables with features as rows have, and the columns that annotate them.
ANNOTATIONS = {
    "id_ref": {"identifier"},
    "geneid": {"chr", "start", "end", "strand", "length"},
    "hugo_symbol": {"entrez_gene_id", "cytoband"},
    "entrez_gene_id": {"hugo_symbol", "cytoband"},
    "composite.element.ref": set(),
    "#otu id": {"taxonomy"},
}
ALIGNMENTS = re.compile(r"(\.sorted|Aligned\.sortedByCoord\.out)?\.(bam|sam|cram)$")
WORDS_OF_A_TEXT = 4  # in most cells of a column; names and classes have fewer
FEWEST_SPACED = 3  # numbers at equal steps, such as years, that may be a header
CERTAIN = 5  # such numbers that are one wherever they lie: 2 in 1,000 lines of five small counts
FEWEST_RISING = 6  # numbers that rise at any steps: one line in 720 does by chance


class Head(NamedTuple):
    """The lines from the header on, and what was found above and beside them.

    about : a class for each column, by name.
    beside : positions of the columns that annotate rows.
    turned : whether rows are surely features.
    """

    lines: list[Line]
    about: dict[str, list[str]]
    beside: set[int]
    turned: bool


def filled(cells: Sequence[str]) -> int:
    """Number of cells that are not empty."""
    return sum(bool(cell.strip()) for cell in cells)


def geo_fact(about: dict[str, list[str]], cells: list[str]) -> None:
    """`!Sample_characteristics_ch1 "tissue: b" ...` is a class named tissue."""
    name, values = cells[0].removeprefix("!Sample_"), [cell.strip() for cell in cells[1:]]
    keys = {value.partition(": ")[0] for value in values if ": " in value}
    if name.startswith("characteristics") and len(keys) == 1:
        name, values = keys.pop(), [value.partition(": ")[2] for value in values]
    about.setdefault(name, ["", *values])


def find_head(top: list[Line], is_number: IsNumber, about: dict[str, list[str]]) -> Head:
    """Titles and comments left out, and a second line of headings taken as classes."""
    if not top:
        return Head([], about, set(), False)
    if top[0][1][0].strip() == "#1.3" and len(top) > 2:
        return _of_gct_3(top, about)
    gct = top[0][1][0].strip() == "#1.2"
    widths = Counter(len(cells) for _, cells in top[len(top) // 2 :])
    width = max(widths, key=lambda size: (widths[size], size))
    start = next((i for i, (_, cells) in enumerate(top) if not _is_above(cells, width)), 0)
    above, body = top[:start], top[start:]
    headings = _headings(body, width, is_number)
    first = next((i for i in headings if _unique(body[i][1])), 0)
    others = [cells for _, cells in above if _is_grouping(cells, width)]
    others += [body[i][1] for i in headings if i != first]
    for cells in others:
        about.setdefault(cells[0].strip() or "header", _spread(cells, width))
    kept = [line for i, line in enumerate(body) if i == first or i not in headings]
    names = [cell.strip().lower() for cell in body[first][1]]
    beside = {j for j, name in enumerate(names) if j and name in ANNOTATIONS.get(names[0], ())}
    if gct:
        beside |= {1}
    known = names[0] in ANNOTATIONS and (names[0] != "geneid" or len(beside) == 5)
    return Head(kept, about, beside, gct or known)


def _of_gct_3(top: list[Line], about: dict[str, list[str]]) -> Head:
    """Version 1.3 says how many columns describe rows, and how many rows describe columns."""
    try:
        beside, described = (int(cell) for cell in top[1][1][2:4])
    except ValueError:
        raise ValueError(
            "its second line does not have the four sizes of .gct version 1.3"
        ) from None
    for _, cells in top[3 : 3 + described]:
        about[cells[0].strip()] = [cell.strip() for cell in cells]
    return Head([top[2], *top[3 + described :]], about, {*range(1, 1 + beside)}, True)


def _is_above(cells: list[str], width: int) -> bool:
    """Whether a line is a title, a comment, or a line of merged headings.

    Half of the cells of a table's first line are filled; `#` alone may begin a header, too.
    """
    comment = cells[0].lstrip().startswith("#") and len(cells) != width
    return width > 2 and (comment or 2 * filled(cells) <= width)


def _is_grouping(cells: list[str], width: int) -> bool:
    """Whether a line above the header has classes: one text, or none, before the columns."""
    return len(cells) == width and filled(cells[1:]) > 1 and not cells[0].startswith("#")


def _headings(body: list[Line], width: int, is_number: IsNumber) -> list[int]:
    """The first lines without a number in the columns that have numbers below."""
    below = [cells for _, cells in body[len(body) // 2 :] if len(cells) == width]
    if width < 3 or len(body) < 4 or not below:
        return []
    numeric = [
        j for j in range(1, width)
        if 2 * sum(is_number(cells[j]) for cells in below) > len(below)
    ]  # fmt: skip
    plain = takewhile(lambda line: _is_plain(line[1], numeric, width, is_number), body)
    return list(range(len(list(plain)))) if numeric else []


def _is_plain(cells: list[str], numeric: list[int], width: int, is_number: IsNumber) -> bool:
    """Whether a line has text, and no number, in columns of numbers."""
    cells = ["", *cells] if len(cells) == width - 1 else cells
    if len(cells) != width:
        return False
    values = [cells[j] for j in numeric if cells[j].strip()]
    return 2 * len(values) > len(numeric) and not any(map(is_number, values))


def _unique(cells: list[str]) -> bool:
    names = [cell for cell in cells[1:] if cell.strip()]
    return len({*names}) == len(names)


def _spread(cells: list[str], width: int) -> list[str]:
    """Values of merged cells, which only their first cell has, for all of their columns."""
    found, last = [], ""
    for cell in (["", *cells] if len(cells) == width - 1 else cells)[1:]:
        last = cell.strip() or last
        found.append(last)
    return ["", *found]


def sample_names(headings: Iterable[str]) -> list[str]:
    """Headings of featureCounts, which are paths of alignments, as names of samples."""
    names = list(headings)
    short = [ALIGNMENTS.sub("", PurePosixPath(name).name) for name in names]
    files = all(map(ALIGNMENTS.search, names)) and len({*short}) == len(names)
    return short if files else names


def is_header(number: Number, first: Sequence[str], below: Sequence[Sequence[str]]) -> bool:
    """Whether a line is a header, given some lines of its width below it.

    A word above a column of numbers is a heading. A line with numbers above all columns of numbers
    is a sample, unless they are the numbers of the columns: 0, 1, ..., or such that chance does not
    explain them (`_number_columns`).
    """
    if len(first) > 1 and list(first) == [*map(str, range(len(first)))]:  # as pandas numbers them
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


def column_of_texts(columns: dict[str, list[str]]) -> str | None:
    """The column whose cells have most words, if most have so many that they are texts."""
    words = {n: median(len(c.split()) for c in cells) for n, cells in columns.items() if cells}
    longest = max(words, key=lambda name: words[name], default=None)
    return longest or None if longest is not None and words[longest] >= WORDS_OF_A_TEXT else None


def remedy(texts: str | None) -> str:
    """How to cluster the texts of a table."""
    return f"documents are read with --text-column {shlex.quote(texts or '')}".removesuffix(" ''")
