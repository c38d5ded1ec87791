"""The page of a comparison of methods: their table, and the starts behind every mean."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape
from typing import Any, NamedTuple

from onmf.report.document import asset, document
from onmf.report.names import display_name

ROW, LEFT, WIDTH, EDGE = 26, 130, 460, 26  # of a figure, in its own units

FRAME = """<section class="lead" aria-labelledby="title">
  <h1 id="title" dir="auto">{title}</h1>
  <p id="sentence">{sentence}</p>
</section>
<section aria-labelledby="table-title">
  <h2 id="table-title">Means over the starts</h2>
  <p class="note">{note}</p>
  <div class="scroll" tabindex="0" role="region" aria-label="Methods and measures">{table}</div>
  {failures}
</section>
<section aria-labelledby="starts-title">
  <h2 id="starts-title">Every start</h2>
  <p class="note">A dot is a start, the bar their mean.</p>
  <div class="spreads">{figures}</div>
</section>
<section class="long" aria-labelledby="run-title">
  <h2 id="run-title">Parameters and versions</h2>
  <div class="record">{record}</div>
</section>"""


class RivalTable(NamedTuple):
    """A table of methods, as text, and what stands behind it.

    heads, rows : names of the columns, and the cells of each method, its name first.
    best : row and column of the cells that are the best of their column.
    failures : of methods that did not finish, why.
    starts : title of a measure -> method -> its values, one a start.
    record : what was done, with what: groups of names and values.
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


def comparison_page(told: RivalTable) -> str:
    """One self-contained HTML document, without any script."""
    title = display_name(told.title)
    main = FRAME.format(
        title=escape(title),
        sentence=escape(told.sentence),
        note=escape(told.note),
        table=_table(told),
        failures="".join(f"<p>{escape(display_name(why, 400))}</p>" for why in told.failures),
        figures="".join(_spread(name, values) for name, values in told.starts.items()),
        record="".join(_group(name, values) for name, values in told.record.items()),
    )
    return document(title, main, css=asset("comparison.css"))


def _table(told: RivalTable) -> str:
    heads = "".join(f'<th scope="col">{escape(head)}</th>' for head in told.heads)
    lines = []
    for i, (name, *cells) in enumerate(told.rows):
        marks = [' class="best"' if (i, j) in told.best else "" for j in range(1, len(cells) + 1)]
        line = "".join(f"<td{m}>{escape(c)}</td>" for m, c in zip(marks, cells, strict=True))
        lines.append(f'<tr><th scope="row">{escape(name)}</th>{line}</tr>')
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{''.join(lines)}</tbody></table>"


def _spread(name: str, values: Mapping[str, Sequence[float]]) -> str:
    """The starts of every method on a line, from the lowest value of all to the highest."""
    known = [value for row in values.values() for value in row]
    if not known:
        return ""
    low, high = min(known), max(known)

    def across(value: float) -> float:
        share = (value - low) / (high - low) if high > low else 0.5
        return LEFT + EDGE + share * (WIDTH - LEFT - 2 * EDGE)

    parts = [
        part
        for i, (method, row) in enumerate(values.items())
        for part in _starts(method, row, ROW * (i + 0.5), across)
    ]
    height = ROW * (len(values) + 1)
    ends = ((across(low), low), (across(high), high)) if high > low else ((across(low), low),)
    parts += [
        f'<text class="end" x="{x:.1f}" y="{height - 8}" text-anchor="middle">{value:.3g}</text>'
        for x, value in ends
    ]
    label = escape(f"{name} of every start of {len(values)} methods")
    return (
        f"<figure><figcaption>{escape(name)}</figcaption>"
        f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{label}">{"".join(parts)}'
        "</svg></figure>"
    )


def _starts(
    method: str, values: Sequence[float], y: float, across: Callable[[float], float]
) -> Iterator[str]:
    """One line of a figure: a method, the mean of its starts, and the starts."""
    yield f'<text x="{LEFT - 8}" y="{y + 4:g}" text-anchor="end">{escape(method)}</text>'
    yield f'<line x1="{LEFT}" x2="{WIDTH}" y1="{y:g}" y2="{y:g}"/>'
    if values:
        x = across(sum(values) / len(values))
        ends = f'x1="{x:.1f}" x2="{x:.1f}" y1="{y - 9:g}" y2="{y + 9:g}"'
        yield f'<line class="mean" {ends}/>'
    for value in values:
        place = f'cx="{across(value):.1f}" cy="{y:g}" r="5"'
        yield f"<circle {place}><title>{value:.4g}</title></circle>"


def _group(name: str, values: Mapping[str, Any]) -> str:
    rows = "".join(
        f"<dt>{escape(display_name(key))}</dt><dd>{escape(display_name(value, 400))}</dd>"
        for key, value in values.items()
    )
    return f"<div><h3>{escape(name)}</h3><dl>{rows}</dl></div>"
