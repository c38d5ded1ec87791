"""The page of a comparison of methods: their table, and the values of every start."""

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any, NamedTuple

from onmf.page.document import asset, document, drawing, lead, table
from onmf.page.names import MAX_VALUE, display_name

# All in units of a figure.
SPREAD_ROW, SPREAD_WIDTH, SPREAD_LEFT, SPREAD_EDGE = 26, 460, 130, 26

FRAME = """{lead}
<section aria-labelledby="table-title">
  <h2 id="table-title">Means over the starts</h2>
  <p class="note">{note}</p>
  {table}
  {failures}
</section>
<section aria-labelledby="starts-title">
  <h2 id="starts-title">Every start</h2>
  <p class="note">A dot is a start, the bar is their mean.</p>
  <div class="spreads">{figures}</div>
</section>
<section class="long" aria-labelledby="run-title">
  <h2 id="run-title">Parameters and versions</h2>
  <div class="record">{record}</div>
</section>"""


class RivalTable(NamedTuple):
    """A table of methods as text, and the values behind it.

    heads, rows : names of the columns, and the cells of each method, its name first.
    best : row and column of the best cells of each column.
    failures : why a method did not finish.
    starts : title of a measure -> method -> its value for each start.
    record : groups of names and values: parameters and versions.
    """

    title: str
    sentence: str
    note: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    best: set[tuple[int, int]]
    failures: Sequence[str]
    starts: Mapping[str, Mapping[str, Sequence[float]]]
    record: Mapping[str, Mapping[str, Any]]


def comparison_page(facts: RivalTable) -> str:
    """One self-contained HTML document, without any script."""
    title = display_name(facts.title)
    rows = [[escape(cell) for cell in row] for row in facts.rows]
    main = FRAME.format(
        lead=lead(title, facts.sentence),
        note=escape(facts.note),
        table=table("Methods and measures", facts.heads, rows, facts.best),
        failures="".join(f"<p>{_value(why)}</p>" for why in facts.failures),
        figures="".join(_spread(name, values) for name, values in facts.starts.items()),
        record="".join(_group(name, values) for name, values in facts.record.items()),
    )
    return document(title, main, css=asset("comparison.css"))


def _spread(name: str, values: Mapping[str, Sequence[float]]) -> str:
    """The starts of every method on a line, from the lowest value of all to the highest."""
    known = [value for row in values.values() for value in row]
    if not known:
        return ""
    low, high = min(known), max(known)
    begin, end = SPREAD_LEFT + SPREAD_EDGE, SPREAD_WIDTH - SPREAD_EDGE

    def across(value: float) -> float:
        return begin + (end - begin) * ((value - low) / (high - low) if high > low else 0.5)

    height = SPREAD_ROW * (len(values) + 1)
    parts = [
        part
        for i, (method, row) in enumerate(values.items())
        for part in _starts(method, [(across(value), value) for value in row], i)
    ]
    parts += [
        f'<text class="end" x="{across(value):.1f}" y="{height - 8}" text-anchor="middle">'
        f"{value:.3g}</text>"
        for value in sorted({low, high})
    ]
    label = f"{name} of every start of {len(values)} methods"
    figure = drawing("spread", SPREAD_WIDTH, height, label, parts)
    return f"<figure><figcaption>{escape(name)}</figcaption>{figure}</figure>"


def _starts(method: str, values: Sequence[tuple[float, float]], row: int) -> Iterator[str]:
    """One line of a figure: a method, the mean of its starts, and the starts as (x, value)."""
    y = SPREAD_ROW * (row + 0.5)
    name = escape(method)
    yield f'<text x="{SPREAD_LEFT - 8}" y="{y + 4:g}" text-anchor="end">{name}</text>'
    yield f'<line x1="{SPREAD_LEFT}" x2="{SPREAD_WIDTH}" y1="{y:g}" y2="{y:g}"/>'
    if values:
        mean = sum(x for x, _ in values) / len(values)
        place = f'x1="{mean:.1f}" x2="{mean:.1f}" y1="{y - 9:g}" y2="{y + 9:g}"'
        yield f'<line class="mean" {place}/>'
    for x, value in values:
        circle = f'<circle cx="{x:.1f}" cy="{y:g}" r="5">'
        yield f"{circle}<title>{value:.4g}</title></circle>"


def _group(name: str, values: Mapping[str, Any]) -> str:
    rows = "".join(
        f"<dt>{escape(display_name(key))}</dt><dd>{_value(value)}</dd>"
        for key, value in values.items()
    )
    return f"<div><h3>{escape(name)}</h3><dl>{rows}</dl></div>"


def _value(value: Any) -> str:
    return escape(display_name(value, MAX_VALUE))
