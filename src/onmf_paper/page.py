"""The page of results.

Every text goes through `escape`; figures are pictures in data addresses, so that they can neither
run anything nor disturb each other.
"""

import base64
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from typing import NamedTuple

from onmf_paper.methods import NAMES, PAPER
from onmf_paper.tables import ResultTable, TableEntry
from onmf_paper.verdicts import Verdict

TITLE = "Clustering by orthogonal NMF: the paper again"


class Picture(NamedTuple):
    """A figure: its name, what it shows, and the drawing."""

    name: str
    caption: str
    svg: str


class Section(NamedTuple):
    """What there is to say of a study."""

    name: str
    title: str
    verdict: Verdict | None
    note: str
    tables: Sequence[ResultTable]
    pictures: Sequence[Picture]
    unfinished: int  # trials that were planned and have not ended well


def paper_page(sections: Sequence[Section], facts: dict[str, str]) -> str:
    """The page.

    Parameters
    ----------
    sections : sequence of Section
    facts : dict
        Machine, versions, date, seeds: whatever a reader must know to run it again.

    Returns
    -------
    str
    """
    links = "".join(
        f'<li><a href="#{escape(s.name)}">{escape(s.title)}</a>{_verdict_word(s.verdict)}</li>'
        for s in sections
    )
    terms = "".join(f"<dt>{escape(k)}</dt><dd>{escape(v)}</dd>" for k, v in facts.items())
    lead = (
        f'<section class="lead"><h1>{TITLE}</h1>'
        "<p>S. Wang, T.-H. Chang, Y. Cui and J.-S. Pang, <cite>Clustering by Orthogonal NMF Model "
        "and Non-Convex Penalty Optimization</cite>, IEEE Transactions on Signal Processing 69, "
        "2021. Our means ± standard deviations over the starts, the paper's numbers below them; "
        "the best of ours on each data set in bold. Methods in italics are not in the paper.</p>"
        f'<dl class="facts">{terms}</dl><ul class="contents">{links}</ul></section>'
    )
    css = files("onmf_paper").joinpath("paper.css").read_text(encoding="utf-8")
    policy = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; form-action 'none'"
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"/>'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}"/>'
        '<meta name="viewport" content="width=device-width, initial-scale=1"/>'
        f"<title>{TITLE}</title><style>{css}</style></head>"
        f"<body><main>{lead}{''.join(map(_section, sections))}</main></body></html>\n"
    )


def _verdict_word(verdict: Verdict | None) -> str:
    return f": <strong>{escape(verdict.word)}</strong>" if verdict else ""


def _section(section: Section) -> str:
    parts = [f'<section id="{escape(section.name)}"><h2>{escape(section.title)}</h2>']
    if section.verdict:
        parts.append(
            f'<p class="verdict"><strong>{escape(section.verdict.word)}.</strong> '
            f"{escape(section.verdict.why)}</p>"
        )
    if section.note:
        parts.append(f'<p class="note">{escape(section.note)}</p>')
    if section.unfinished:
        parts.append(f"<p>{section.unfinished} trials were planned and have not been run.</p>")
    parts += [_table(table) for table in section.tables if table.entries]
    parts += map(_figure, section.pictures)
    return "".join([*parts, "</section>"])


def _table(table: ResultTable) -> str:
    """Methods down, data across."""
    methods = [m for m in table.methods if any((m, d) in table.entries for d in table.data)]
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in table.data)
    lines = "".join(
        f'<tr class="{"printed" if method in PAPER else "added"}">'
        f'<th scope="row">{escape(NAMES[method])}</th>'
        + "".join(_cell(table, table.entries.get((method, name))) for name in table.data)
        + "</tr>"
        for method in methods
    )
    heading = escape(table.heading)
    return (
        f'<h3>{heading}</h3><div class="scroll" tabindex="0" role="region" aria-label="{heading}">'
        f'<table><thead><tr><th scope="col">method</th>{head}</tr></thead><tbody>{lines}</tbody>'
        f"</table></div>{_missing_cells(table)}"
    )


def _cell(table: ResultTable, entry: TableEntry | None) -> str:
    if entry is None:
        return "<td>&#8211;</td>"
    mean = table.text(entry.mean)
    mean = f"<strong>{mean}</strong>" if entry.best else mean
    sd = "" if entry.sd is None else f' <span class="deviation">± {table.text(entry.sd)}</span>'
    printed = "" if entry.published is None else f"<small>paper {entry.published:g}</small>"
    return f'<td title="{entry.n} starts">{mean}{sd}{printed}</td>'


def _missing_cells(table: ResultTable) -> str:
    """Which cells were not run."""
    by_method: dict[str, list[str]] = {}
    for method, data in table.missing():
        by_method.setdefault(method, []).append(data)
    if not by_method:
        return ""
    listing = "; ".join(
        NAMES[method] + ("" if len(data) == len(table.data) else f" on {', '.join(data)}")
        for method, data in by_method.items()
    )
    return f'<p class="note">Not run: {escape(listing)}.</p>'


def _figure(picture: Picture) -> str:
    address = base64.b64encode(picture.svg.encode()).decode()
    caption = escape(picture.caption)
    return (
        f'<figure><img src="data:image/svg+xml;base64,{address}" alt="{caption}"/>'
        f"<figcaption>{caption}</figcaption></figure>"
    )
