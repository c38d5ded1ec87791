"""The page of results: one HTML file without anything from outside.

Every text goes through `escape`; figures are pictures in data addresses, so that they can neither
run anything nor disturb each other.
"""

import base64
from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from onmf_paper.methods import NAMES, PAPER
from onmf_paper.tables import Entry, Table
from onmf_paper.verdicts import Verdict

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem;
  color: #1a1a1a; background: #fff; }
h2 { margin-top: 3rem; border-top: 1px solid #ddd; padding-top: 1rem; }
table { border-collapse: collapse; margin: 1rem 0; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 600; padding: .3rem 0; }
th, td { padding: .2rem .6rem; text-align: right; border-bottom: 1px solid #eee; }
th:first-child { text-align: left; } thead th { border-bottom: 2px solid #888; }
tr.ours th { font-style: italic; }
td small { display: block; color: #666; } .sd { color: #666; }
.verdict { border-left: 4px solid #0072B2; padding: .5rem 1rem; background: #f4f8fb; }
.wide { overflow-x: auto; } figure { margin: 1rem 0; } figcaption { color: #444; }
img { max-width: 100%; height: auto; } dl { display: grid; grid-template-columns: 9rem 1fr; }
dd { margin: 0; }
"""


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
    tables: Sequence[Table]
    pictures: Sequence[Picture]
    unfinished: int  # trials that were planned and have not ended well


def render(sections: Sequence[Section], facts: dict[str, str]) -> str:
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
        f'<li><a href="#{escape(s.name)}">{escape(s.title)}</a>{word(s.verdict)}</li>'
        for s in sections
    )
    known = "".join(f"<dt>{escape(k)}</dt><dd>{escape(v)}</dd>" for k, v in facts.items())
    body = "".join(map(section, sections))
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"/>'
        '<meta name="viewport" content="width=device-width, initial-scale=1"/>'
        '<link rel="icon" href="data:,"/>'
        f"<title>Clustering by orthogonal NMF: the paper again</title><style>{STYLE}</style></head>"
        "<body><h1>Clustering by orthogonal NMF: the paper again</h1>"
        "<p>S. Wang, T.-H. Chang, Y. Cui and J.-S. Pang, <cite>Clustering by Orthogonal NMF Model "
        "and Non-Convex Penalty Optimization</cite>, IEEE Transactions on Signal Processing 69, "
        "2021. Our means ± standard deviations over the starts, the paper's numbers below them; "
        "the best of ours on each data set in bold. Methods in italics are not in the paper.</p>"
        f"<dl>{known}</dl><ul>{links}</ul>{body}</body></html>\n"
    )


def word(verdict: Verdict | None) -> str:
    return f": <strong>{escape(verdict.word)}</strong>" if verdict else ""


def section(found: Section) -> str:
    parts = [f'<section id="{escape(found.name)}"><h2>{escape(found.title)}</h2>']
    if found.verdict:
        parts.append(
            f'<p class="verdict"><strong>{escape(found.verdict.word)}.</strong> '
            f"{escape(found.verdict.why)}</p>"
        )
    if found.note:
        parts.append(f"<p>{escape(found.note)}</p>")
    if found.unfinished:
        parts.append(f"<p>{found.unfinished} trials were planned and have not been run.</p>")
    parts += [table(each) for each in found.tables if each.entries]
    parts += map(picture, found.pictures)
    return "".join([*parts, "</section>"])


def table(found: Table) -> str:
    """Methods down, data across."""
    methods = [m for m in found.methods if any((m, d) in found.entries for d in found.data)]
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in found.data)
    lines = "".join(
        f'<tr class="{kind(method)}"><th scope="row">{escape(NAMES[method])}</th>'
        + "".join(cell(found, found.entries.get((method, name))) for name in found.data)
        + "</tr>"
        for method in methods
    )
    return (
        f'<div class="wide"><table><caption>{escape(found.heading)}</caption>'
        f'<thead><tr><th scope="col">method</th>{head}</tr></thead><tbody>{lines}</tbody></table>'
        f"</div>{absent(found)}"
    )


def kind(method: str) -> str:
    return "theirs" if method in PAPER else "ours"


def cell(found: Table, entry: Entry | None) -> str:
    if entry is None:
        return "<td>&#8211;</td>"
    mean = found.text(entry.mean)
    mean = f"<strong>{mean}</strong>" if entry.best else mean
    sd = "" if entry.sd is None else f' <span class="sd">± {found.text(entry.sd)}</span>'
    printed = "" if entry.published is None else f"<small>paper {entry.published:g}</small>"
    return f'<td title="{entry.n} starts">{mean}{sd}{printed}</td>'


def absent(found: Table) -> str:
    """Which cells were not run."""
    by_method: dict[str, list[str]] = {}
    for method, data in found.missing():
        by_method.setdefault(method, []).append(data)
    if not by_method:
        return ""
    said = "; ".join(
        NAMES[method] + ("" if len(data) == len(found.data) else f" on {', '.join(data)}")
        for method, data in by_method.items()
    )
    return f"<p>Not run: {escape(said)}.</p>"


def picture(found: Picture) -> str:
    address = base64.b64encode(found.svg.encode()).decode()
    caption = escape(found.caption)
    return (
        f'<figure><img src="data:image/svg+xml;base64,{address}" alt="{caption}"/>'
        f"<figcaption>{caption}</figcaption></figure>"
    )
