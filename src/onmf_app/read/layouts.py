"""Tables as programs and people write them: what stands above, below and beside the numbers.

    title, comments, counts of rows       left out
    a second header, GEO's `!Sample_...`  classes of the columns, for `labels`
    ID_REF | Geneid Chr Start ... | Hugo_Symbol Entrez_Gene_Id | Name Description
                                          rows are features; what annotates them is left out
    __no_feature, TOTAL, footnotes        left out, with a warning

Works on lines of cells, so text tables and workbooks are read alike.
"""

import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice, takewhile
from pathlib import PurePosixPath
from typing import NamedTuple

import numpy as np

from onmf.exceptions import TableWarning
from onmf.rows import Table, listing, one_line

Line = tuple[int, list[str]]  # its number, and its cells
Lines = Iterator[Line]
IsNumber = Callable[[str], bool]

LINES_INSPECTED = 60  # above the table may be a page of comments; GEO's own lines do not count
GEO_TABLE = "!series_matrix_table_"
# First headings that only tables with features as rows have, and the columns that annotate them.
ANNOTATIONS = {
    "id_ref": {"identifier"},
    "geneid": {"chr", "start", "end", "strand", "length"},
    "hugo_symbol": {"entrez_gene_id", "cytoband"},
    "entrez_gene_id": {"hugo_symbol", "cytoband"},
    "composite.element.ref": set(),
    "#otu id": {"taxonomy"},
}
NO_GENE = re.compile(  # rows of HTSeq and STAR that count reads outside genes
    r"__(no_feature|ambiguous|too_low_aqual|not_aligned|alignment_not_unique)"
    r"|N_(unmapped|multimapping|noFeature|ambiguous)",
    re.IGNORECASE,
)
TOTAL = re.compile(r"(grand )?totals?|sums?|summe|gesamt|somme", re.IGNORECASE)
LIMIT = re.compile(r"\s*[<>≤≥]=?\s*(?=[\d.,])")
ALIGNMENTS = re.compile(r"(\.sorted|Aligned\.sortedByCoord\.out)?\.(bam|sam|cram)$")


class Head(NamedTuple):
    """The lines from the header on, and what was found above and beside them.

    about : a class for each column, by name.
    beside : numbers of the columns that annotate rows.
    turned : whether rows are surely features.
    """

    lines: list[Line]
    about: dict[str, list[str]]
    beside: set[int]
    turned: bool


def filled(cells: Sequence[str]) -> int:
    """Number of cells that are not empty."""
    return sum(bool(cell.strip()) for cell in cells)


def without_notes(lines: Lines, skip_rows: int, about: dict[str, list[str]]) -> Lines:
    """The lines that are not blank, without those to skip and GEO's, whose facts go to `about`."""
    lines = ((i, cells) for i, cells in lines if i > skip_rows and filled(cells))
    for number, cells in lines:
        if not cells[0].startswith("!"):
            yield from chain([(number, cells)], takewhile(lambda line: not _ends(line[1]), lines))
            return
        if cells[0].startswith("!Sample_"):
            _add_geo_fact(about, cells)


def _ends(cells: list[str]) -> bool:
    return cells[0].startswith(GEO_TABLE)


def _add_geo_fact(about: dict[str, list[str]], cells: list[str]) -> None:
    """`!Sample_characteristics_ch1 "tissue: b" ...` is a class named tissue."""
    name, values = cells[0].removeprefix("!Sample_"), [cell.strip() for cell in cells[1:]]
    keys = {value.partition(": ")[0] for value in values if ": " in value}
    if name.startswith("characteristics") and len(keys) == 1:
        name, values = keys.pop(), [value.partition(": ")[2] for value in values]
    about.setdefault(name, ["", *values])


def find_head(lines: Lines, is_number: IsNumber, about: dict[str, list[str]]) -> Head:
    """Titles and comments left out, and a second line of headings taken as classes."""
    top = list(islice(lines, LINES_INSPECTED))
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


def note_turned(file: str) -> None:
    """Warn that rows were taken as features."""
    warnings.warn(
        f"{file} has features as rows, so it was transposed; --no-transpose keeps it.",
        TableWarning,
        stacklevel=2,
    )


def note_left_out(file: str, rows: Sequence[str], why: str) -> None:
    """Warn of rows that are not used."""
    if rows:
        few = listing([repr(one_line(row)) for row in rows])
        warnings.warn(f"{file}: {few} {why}.", TableWarning, stacklevel=2)


def without_remarks(lines: Lines, width: int, file: str) -> Lines:
    """The lines without footnotes at the end, and without counts of reads outside of genes."""
    no_genes: list[str] = []
    last: list[Line] = []  # with one text only
    for number, cells in lines:
        if NO_GENE.fullmatch(cells[0].strip()):
            no_genes.append(cells[0])
        elif width > 2 and filled(cells) == 1 and cells[0].strip():
            last.append((number, cells))
        else:
            yield from last
            last = []
            yield number, cells
    note_left_out(file, no_genes, "count reads outside of genes, and are left out")
    note_left_out(file, [cells[0] for _, cells in last], "has no numbers, and is left out")


def without_limits(cells: list[str], before: list[str]) -> tuple[list[str], list[str]]:
    """Cells such as `<20` as 20, and the different ones of them so far."""
    limits = dict.fromkeys([*before, *(cell for cell in cells if LIMIT.match(cell))])
    return [LIMIT.sub("", cell) for cell in cells], list(limits)


def without_sums(table: Table, file: str) -> Table:
    """Without rows that are named as, and are, the sum of all others."""
    sums = [i for i, name in enumerate(table.samples) if TOTAL.fullmatch(name.strip())]
    if not sums:
        return table
    others = np.delete(table.X, sums, axis=0)
    total = np.nansum(others, axis=0)
    found = [i for i in sums if len(others) > 1 and np.allclose(table.X[i], total, 1e-3, 0)]
    if not found:
        return table
    note_left_out(file, [table.samples[i] for i in found], "is the sum of the others, and left out")
    kept = np.delete(np.arange(len(table.samples)), found)
    labels = None if table.labels is None else [table.labels[i] for i in kept]
    samples = [table.samples[i] for i in kept.tolist()]
    return table._replace(X=table.X[kept], samples=samples, labels=labels)
