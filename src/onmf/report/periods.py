"""Clusters over time: their sizes in each period, and the words each had more of than usual.

    a = mean direction of the samples of a cluster in a period,    b = its ray
    words by (a_j - b_j) / sqrt(a_j + b_j), the largest first

A period is a batch of a stream, or samples of about one time. All of it is HTML and SVG without a
script; names are escaped.
"""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, NamedTuple

import numpy as np

from onmf.report.document import asset, document
from onmf.report.names import display_name
from onmf.report.palette import style
from onmf.report.panels import unit_rays
from onmf.rows.sweep import Array

WORDS, SHOWN_WORDS = 5, 4  # of a cluster in a period: known, and in a cell of the table
LANES, COLUMNS = 60, 8  # clusters that are shown, and periods of the table of words
LEFT, WIDTH, LANE, RIGHT = 190, 860, 34, 70  # of the figure, in its own units
NAME = 24  # characters of a cluster's


class Period(NamedTuple):
    """A batch, or a while: samples and words of each cluster by its id, what came and went."""

    name: str
    sizes: Mapping[int, int]
    words: Mapping[int, Sequence[str]]
    born: Sequence[int] = ()
    vanished: Sequence[int] = ()


def period_words(
    X: Any, labels: Array, centers: Array, features: Sequence[str]
) -> dict[int, list[str]]:
    """The words that samples of each cluster, by number, have more of than its ray."""
    rays, words = unit_rays(centers), {}
    for k in np.unique(labels[labels >= 0]).tolist():
        sums = np.asarray(X[np.flatnonzero(labels == k)].sum(axis=0), np.float64).reshape(1, -1)
        now, usual = np.maximum(unit_rays(sums)[0], 0), np.maximum(rays[k], 0)
        total = now + usual
        more = (now - usual) / np.sqrt(np.where(total > 0, total, 1))
        best = np.argsort(-more, kind="stable")[:WORDS]
        words[k] = [str(features[j]) for j in best if more[j] > 0]
    return words


def periods_section(periods: Sequence[Period], names: Mapping[int, str]) -> str:
    """Sizes and words over the periods; `names` says what the clusters are called, by id."""
    ids = {i for period in periods for i in period.sizes}
    total = {i: sum(period.sizes.get(i, 0) for period in periods) for i in ids}
    shown = sorted(sorted(ids), key=lambda i: -total[i])[:LANES]
    more = "" if len(ids) <= LANES else f" The {LANES} largest of {len(ids)} clusters are shown."
    return (
        '<section id="time" data-short="Time" aria-labelledby="time-title">'
        '<h2 id="time-title">Over time</h2>'
        f'<p class="note">Share of the samples in each cluster in {len(periods)} periods, from '
        f"{_text(periods[0].name)} to {_text(periods[-1].name)}; the number is the most in any. A "
        f"ring is a cluster that was born, a cross one that was closed.{more}</p>"
        f"{_lanes(periods, sorted(shown), names)}"
        "<h3>What was said</h3>"
        '<p class="note">Features that the samples of a cluster had more of than it usually has.'
        "</p>"
        '<div class="scroll" tabindex="0" role="region" aria-label="Words of each period">'
        f"{_words(periods, sorted(shown), names)}</div></section>"
    )


def _lanes(periods: Sequence[Period], ids: Sequence[int], names: Mapping[int, str]) -> str:
    """A line of bars for each cluster."""
    step = (WIDTH - LEFT - RIGHT) / len(periods)
    parts = []
    for lane, i in enumerate(ids):
        floor, sizes = LANE * (lane + 1) - 6, [period.sizes.get(i, 0) for period in periods]
        shares = [n / max(sum(p.sizes.values()), 1) for n, p in zip(sizes, periods, strict=True)]
        most, colour = max(*shares, 1e-9), f"var(--c{style(i)[0]})"
        parts += [
            f'<text x="{LEFT - 8}" y="{floor - 6}" text-anchor="end">{_called(i, names)}</text>',
            f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{floor}" y2="{floor}"/>',
            f'<text class="soft" x="{WIDTH - RIGHT + 8}" y="{floor - 6}">{most:.1%}</text>',
        ]
        for t, (period, size) in enumerate(zip(periods, sizes, strict=True)):
            x, height = LEFT + t * step, (LANE - 10) * shares[t] / most
            said = f"{period.name}: {size:,} samples; {', '.join(period.words.get(i, ()))}"
            if size:
                parts.append(
                    f'<rect x="{x:.1f}" y="{floor - height:.1f}" width="{max(step - 1, 0.8):.1f}" '
                    f'height="{height:.1f}" fill="{colour}"><title>{_text(said)}</title></rect>'
                )
            parts += _marks(period, i, x + step / 2, floor)
    label = f"Samples of {len(ids)} clusters in {len(periods)} periods"
    height = LANE * len(ids) + 6
    return (
        f'<svg class="lanes" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{label}">'
        f"{''.join(parts)}</svg>"
    )


def _marks(period: Period, i: int, x: float, floor: float) -> list[str]:
    """Where a cluster was born or closed."""
    marks = []
    if i in period.born:
        place = f'cx="{x:.1f}" cy="{floor}" r="4"'
        marks.append(f'<circle {place} fill="none" stroke="currentColor"/>')
    if i in period.vanished:
        cross = f"M{x - 4:.1f} {floor - 4}l8 8m0 -8l-8 8"
        marks.append(f'<path d="{cross}" stroke="currentColor" fill="none"/>')
    return marks


def _words(periods: Sequence[Period], ids: Sequence[int], names: Mapping[int, str]) -> str:
    """A table of the words: clusters by periods, of which several go into one column if need be."""
    parts = [part.tolist() for part in np.array_split(range(len(periods)), COLUMNS) if len(part)]
    heads = []
    for part in parts:
        first, last = periods[part[0]].name, periods[part[-1]].name
        heads.append(_text(first) if first == last else f"{_text(first)} to {_text(last)}")
    rows = []
    for i in ids:
        cells = []
        for part in parts:
            ranked = [word for t in part for word in periods[t].words.get(i, ())]
            often = sorted(dict.fromkeys(ranked), key=lambda word: -ranked.count(word))
            size = sum(periods[t].sizes.get(i, 0) for t in part)
            told = ", ".join(_text(word) for word in often[:SHOWN_WORDS])
            cells.append(f"<td>{told} <small>{size:,}</small></td>" if size else "<td></td>")
        rows.append(f'<tr><th scope="row">{_called(i, names)}</th>{"".join(cells)}</tr>')
    head = "".join(f'<th scope="col">{text}</th>' for text in ("cluster", *heads))
    return (
        f'<table class="words"><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table>'
    )


def stream_page(title: str, periods: Sequence[Period], names: Mapping[int, str], said: str) -> str:
    """The page of a stream: one self-contained HTML document, without any script."""
    shown = display_name(title)
    main = (
        '<section class="lead" aria-labelledby="title">'
        f'<h1 id="title" dir="auto">{escape(shown)}</h1><p id="sentence">{escape(said)}</p>'
        f"</section>{periods_section(periods, names)}"
    )
    return document(shown, main, css=asset("comparison.css") + asset("periods.css"))


def _called(i: int, names: Mapping[int, str]) -> str:
    return f"{i} {_text(names.get(i, ''), NAME)}".strip()


def _text(name: str, longest: int = 64) -> str:
    return escape(display_name(name, longest))
