"""Clusters over time: their size in each period, and the words that were more frequent than usual.

    a = mean direction of the samples of a cluster in a period,    b = its centroid, of length 1
    words by (a_j - b_j) / sqrt(a_j + b_j), the largest first

A period has the samples of about one time. All of it is HTML and SVG without a script.
"""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, NamedTuple

import numpy as np

from onmf.page.document import drawing, page_section, table
from onmf.page.names import MAX_NAME, cluster_title, display_name, percent
from onmf.page.palette import css_colour
from onmf.page.panels import unit_rays
from onmf.rows.sweep import Array, divisor
from onmf.rows.terms import SAMPLES, Terms

WORDS_PER_PERIOD, WORDS_PER_CELL = 5, 4  # of a cluster: found, and shown in the table
MAX_LANES, MAX_PERIOD_COLUMNS = 60, 8  # clusters in the figure, columns of the table
LANE_WIDTH, LANE_HEIGHT = 600, 30  # of the bars of a cluster, in units of the figure
LANE_NAME = 40  # characters of the name of a cluster
AXIS_LABELS = 5  # periods named below the bars


class Period(NamedTuple):
    """Samples and words of each cluster, by id."""

    name: str
    sizes: Mapping[int, int]
    words: Mapping[int, Sequence[str]]


def period_words(
    X: Any, labels: Array, centers: Array, features: Sequence[str]
) -> dict[int, list[str]]:
    """The words that are more frequent in the samples of each cluster than in its centroid."""
    rays, words = unit_rays(centers), {}
    for k in np.unique(labels[labels >= 0]).tolist():
        sums = np.asarray(X[np.flatnonzero(labels == k)].sum(axis=0), np.float64).reshape(1, -1)
        now, usual = np.maximum(unit_rays(sums)[0], 0), np.maximum(rays[k], 0)
        total = now + usual
        more = (now - usual) / np.sqrt(divisor(total))
        best = np.argsort(-more, kind="stable")[:WORDS_PER_PERIOD]
        words[k] = [str(features[j]) for j in best if more[j] > 0]
    return words


def periods_section(
    periods: Sequence[Period], names: Mapping[int, str], terms: Terms = SAMPLES
) -> str:
    """Sizes and words over the periods; `names` are those of the clusters, by id."""
    total: dict[int, int] = {}
    for period in periods:
        for i, n in period.sizes.items():
            total[i] = total.get(i, 0) + n
    shown = sorted(sorted(total, key=lambda i: (-total[i], i))[:MAX_LANES])
    more = f" Only the {MAX_LANES} largest of {len(total)} clusters are shown."
    said = terms.say(
        f"Share of the samples that are in each cluster, in {len(periods)} periods. The number at "
        "the right is the largest share. A bar leads to its samples."
        f"{more if len(total) > MAX_LANES else ''}"
    )
    about = terms.say(
        "Features that are more frequent in a period than in the whole cluster, and the number of "
        "samples."
    )
    return page_section(
        "time",
        "Time",
        "Over time",
        f'<p class="note">{said}</p>{_lanes(periods, shown, names, terms)}'
        f'<h3>Frequent {terms.features}</h3><p class="note">{about}</p>'
        f"{_words(periods, shown, names, terms)}",
    )


def _lanes(
    periods: Sequence[Period], ids: Sequence[int], names: Mapping[int, str], terms: Terms
) -> str:
    """A line for each cluster: its name, its bars, its largest share; and the axis."""
    lines = []
    for i in ids:
        sizes = [period.sizes.get(i, 0) for period in periods]
        shares = [n / max(sum(p.sizes.values()), 1) for n, p in zip(sizes, periods, strict=True)]
        title = escape(cluster_title(i, names.get(i, ""), LANE_NAME))
        label = f"{cluster_title(i, names.get(i, ''), LANE_NAME)}: {sizes[0]:,} to {sizes[-1]:,}"
        bars = _bars(periods, i, sizes, shares, terms)
        lines.append(
            f'<li><span class="lane-name" dir="auto" title="{title}">{title}</span>'
            f"{drawing('lane', LANE_WIDTH, LANE_HEIGHT, label, bars)}"
            f'<span class="lane-most">{percent(max(shares))}</span></li>'
        )
    places = np.unique(np.linspace(0, len(periods) - 1, min(AXIS_LABELS, len(periods))).astype(int))
    axis = "".join(f"<span>{_text(periods[t].name)}</span>" for t in places)
    return f'<ol class="lanes">{"".join(lines)}</ol><div class="axis">{axis}</div>'


def _bars(
    periods: Sequence[Period], i: int, sizes: Sequence[int], shares: Sequence[float], terms: Terms
) -> list[str]:
    """A bar for each period, linked to its samples, and marks of birth and removal."""
    step, floor, most = LANE_WIDTH / len(periods), LANE_HEIGHT - 5, max(*shares, 1e-9)
    parts = [f'<line x1="0" x2="{LANE_WIDTH}" y1="{floor}" y2="{floor}"/>']
    for t, (period, size) in enumerate(zip(periods, sizes, strict=True)):
        x, height = t * step, (LANE_HEIGHT - 9) * shares[t] / most
        if size:
            told = f"{period.name}: {terms.counted(size, 'sample')}"
            words = _text(f"{told}; {', '.join(period.words.get(i, ()))}")
            parts.append(
                f"{_link(i, t, t)}"
                f'<rect x="{x:.1f}" y="{floor - height:.1f}" width="{max(step - 1, 0.8):.1f}" '
                f'height="{height:.1f}" fill="{css_colour(i)}"><title>{words}</title></rect></a>'
            )
    return parts


def _link(i: int, first: int, last: int) -> str:
    """To the list of samples, which then shows only those of a cluster in some periods."""
    return f'<a href="#list" data-cluster="{i}" data-first="{first}" data-last="{last}">'


def _words(
    periods: Sequence[Period], ids: Sequence[int], names: Mapping[int, str], terms: Terms
) -> str:
    """A table of the words, clusters x periods; a column holds several periods if need be."""
    count = min(MAX_PERIOD_COLUMNS, len(periods))
    parts = [part.tolist() for part in np.array_split(range(len(periods)), count)]
    ends = [(periods[part[0]].name, periods[part[-1]].name) for part in parts]
    heads = [a if a == b else f"{display_name(a)} to {display_name(b)}" for a, b in ends]
    rows = []
    for i in ids:
        cells = [escape(cluster_title(i, names.get(i, ""), LANE_NAME))]
        for part in parts:
            ranked = [word for t in part for word in periods[t].words.get(i, ())]
            often = sorted(dict.fromkeys(ranked), key=lambda word: -ranked.count(word))
            size = sum(periods[t].sizes.get(i, 0) for t in part)
            words = ", ".join(map(_text, often[:WORDS_PER_CELL]))
            link = _link(i, part[0], part[-1])
            cells.append(f"{words} {link}<small>{size:,}</small></a>" if size else "")
        rows.append(cells)
    label = terms.say("Features of each period")
    return table(label, [terms.cluster, *heads], rows, kind="words")


def _text(name: str) -> str:
    return escape(display_name(name, MAX_NAME))
