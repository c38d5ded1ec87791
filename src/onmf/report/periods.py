"""Clusters over time: their size in each period, and the words that were more frequent than usual.

    a = mean direction of the samples of a cluster in a period,    b = its centroid, of length 1
    words by (a_j - b_j) / sqrt(a_j + b_j), the largest first

A period is a batch of a stream, or the samples of about one time. All of it is HTML and SVG without
a script.
"""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, NamedTuple

import numpy as np

from onmf.report.document import asset, document, drawing, lead, page_section, table
from onmf.report.names import MAX_NAME, cluster_title, display_name, percent
from onmf.report.palette import css_colour
from onmf.report.panels import unit_rays
from onmf.rows.sweep import Array

WORDS_PER_PERIOD, WORDS_PER_CELL = 5, 4  # of a cluster: kept, and shown in the table
MAX_LANES, MAX_PERIOD_COLUMNS = 60, 8  # clusters in the figure, columns of the table
# All in units of the figure.
LANES_WIDTH, LANE_HEIGHT, LANES_LEFT, LANES_RIGHT = 860, 34, 190, 70
LANE_NAME = 24  # characters of the name of a cluster


class Period(NamedTuple):
    """Samples and words of each cluster, by id, and the clusters that were born or removed."""

    name: str
    sizes: Mapping[int, int]
    words: Mapping[int, Sequence[str]]
    born: Sequence[int] = ()
    vanished: Sequence[int] = ()


def period_words(
    X: Any, labels: Array, centers: Array, features: Sequence[str]
) -> dict[int, list[str]]:
    """The words that are more frequent in the samples of each cluster than in its centroid."""
    rays, words = unit_rays(centers), {}
    for k in np.unique(labels[labels >= 0]).tolist():
        sums = np.asarray(X[np.flatnonzero(labels == k)].sum(axis=0), np.float64).reshape(1, -1)
        now, usual = np.maximum(unit_rays(sums)[0], 0), np.maximum(rays[k], 0)
        total = now + usual
        more = (now - usual) / np.sqrt(np.where(total > 0, total, 1))
        best = np.argsort(-more, kind="stable")[:WORDS_PER_PERIOD]
        words[k] = [str(features[j]) for j in best if more[j] > 0]
    return words


def periods_section(periods: Sequence[Period], names: Mapping[int, str]) -> str:
    """Sizes and words over the periods; `names` are those of the clusters, by id."""
    total: dict[int, int] = {}
    for period in periods:
        for i, n in period.sizes.items():
            total[i] = total.get(i, 0) + n
    shown = sorted(sorted(total, key=lambda i: (-total[i], i))[:MAX_LANES])
    more = f" Only the {MAX_LANES} largest of {len(total)} clusters are shown."
    first, last = _text(periods[0].name), _text(periods[-1].name)
    return page_section(
        "time",
        "Time",
        "Over time",
        f'<p class="note">Share of the samples that are in each cluster, in {len(periods)} '
        f"periods from {first} to {last}. The number at the right is the largest share. A ring "
        f"marks a new cluster, a cross a removed one.{more if len(total) > MAX_LANES else ''}</p>"
        f"{_lanes(periods, shown, names)}<h3>Frequent words</h3>"
        '<p class="note">Features that are more frequent in a period than in the whole cluster, '
        f"and the number of samples.</p>{_words(periods, shown, names)}",
    )


def _lanes(periods: Sequence[Period], ids: Sequence[int], names: Mapping[int, str]) -> str:
    """A line of bars for each cluster."""
    end, parts = LANES_WIDTH - LANES_RIGHT, []
    step = (end - LANES_LEFT) / len(periods)
    for lane, i in enumerate(ids):
        floor, sizes = LANE_HEIGHT * (lane + 1) - 6, [period.sizes.get(i, 0) for period in periods]
        shares = [n / max(sum(p.sizes.values()), 1) for n, p in zip(sizes, periods, strict=True)]
        most, name = max(*shares, 1e-9), escape(cluster_title(i, names.get(i, ""), LANE_NAME))
        parts += [
            f'<text x="{LANES_LEFT - 8}" y="{floor - 6}" text-anchor="end">{name}</text>',
            f'<line x1="{LANES_LEFT}" x2="{end}" y1="{floor}" y2="{floor}"/>',
            f'<text class="soft" x="{end + 8}" y="{floor - 6}">{percent(most)}</text>',
        ]
        for t, (period, size) in enumerate(zip(periods, sizes, strict=True)):
            x, height = LANES_LEFT + t * step, (LANE_HEIGHT - 10) * shares[t] / most
            words = _text(f"{period.name}: {size:,} samples; {', '.join(period.words.get(i, ()))}")
            if size:
                parts.append(
                    f'<rect x="{x:.1f}" y="{floor - height:.1f}" width="{max(step - 1, 0.8):.1f}" '
                    f'height="{height:.1f}" fill="{css_colour(i)}"><title>{words}</title></rect>'
                )
            parts += _marks(period, i, x + step / 2, floor)
    label = f"Samples of {len(ids)} clusters in {len(periods)} periods"
    return drawing("lanes", LANES_WIDTH, LANE_HEIGHT * len(ids) + 6, label, parts)


def _marks(period: Period, i: int, x: float, floor: float) -> list[str]:
    """Where a cluster was born or removed."""
    marks, look = [], 'fill="none" stroke="currentColor"'
    if i in period.born:
        marks.append(f'<circle cx="{x:.1f}" cy="{floor}" r="4" {look}/>')
    if i in period.vanished:
        marks.append(f'<path d="M{x - 4:.1f} {floor - 4}l8 8m0 -8l-8 8" {look}/>')
    return marks


def _words(periods: Sequence[Period], ids: Sequence[int], names: Mapping[int, str]) -> str:
    """A table of the words, clusters x periods; a column holds several periods if need be."""
    count = min(MAX_PERIOD_COLUMNS, len(periods))
    parts = np.array_split(range(len(periods)), count)
    columns = [[periods[t] for t in part] for part in parts]
    ends = [(column[0].name, column[-1].name) for column in columns]
    heads = [a if a == b else f"{display_name(a)} to {display_name(b)}" for a, b in ends]
    rows = []
    for i in ids:
        cells = [escape(cluster_title(i, names.get(i, ""), LANE_NAME))]
        for column in columns:
            ranked = [word for period in column for word in period.words.get(i, ())]
            often = sorted(dict.fromkeys(ranked), key=lambda word: -ranked.count(word))
            size = sum(period.sizes.get(i, 0) for period in column)
            words = ", ".join(map(_text, often[:WORDS_PER_CELL]))
            cells.append(f"{words} <small>{size:,}</small>" if size else "")
        rows.append(cells)
    return table("Words of each period", ["cluster", *heads], rows, kind="words")


def stream_page(
    title: str, periods: Sequence[Period], names: Mapping[int, str], sentence: str
) -> str:
    """The page of a stream: one self-contained HTML document, without any script."""
    shown = display_name(title)
    main = lead(shown, sentence) + periods_section(periods, names)
    return document(shown, main, css=asset("comparison.css") + asset("periods.css"))


def _text(name: str) -> str:
    return escape(display_name(name, MAX_NAME))
