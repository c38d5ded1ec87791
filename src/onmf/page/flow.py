"""What became of the clusters of the previous run: a flow chart from old to new, and a table.

A ribbon is as wide as the number of samples it stands for. Only samples that are in both runs, by
name, are counted.
"""

from collections.abc import Mapping
from html import escape
from typing import NamedTuple

from onmf.io.terms import Terms
from onmf.page.document import drawing, page_section, table
from onmf.page.names import cluster_title, percent
from onmf.page.palette import css_colour

# All in units of the figure.
FLOW_WIDTH, FLOW_HEIGHT, FLOW_GAP, FLOW_BAR, FLOW_MARGIN = 640, 420, 6, 12, 150
FLOW_NAME = 18  # characters of the name of a cluster
MIN_RIBBON = 0.002  # share of the samples below which a ribbon is not drawn


class Flow(NamedTuple):
    """Two runs: how many samples went from which cluster to which, by id.

    before, after : the size of each cluster.
    drift : by how many degrees each cluster that was kept turned.
    names : of the clusters now.
    """

    moves: Mapping[tuple[int, int], int]
    before: Mapping[int, int]
    after: Mapping[int, int]
    drift: Mapping[int, float]
    names: Mapping[int, str]


def flow_section(flow: Flow, terms: Terms) -> str:
    """The chart and the table, as HTML without a script."""
    shared = sum(flow.moves.values())
    stayed = sum(n for (old, new), n in flow.moves.items() if old == new)
    text = f"{shared:,} samples are in both runs"
    text += f"; {percent(stayed / shared)} of them are in the same cluster." if shared else "."
    chart = _chart(flow, terms) if shared else ""
    text = terms.say(f"{text} Left: clusters before. Right: clusters now.")
    note = f'<p class="note">{text}</p>'
    return page_section(
        "moved", "Changes", "Changes since the previous run", note + chart + _table(flow, terms)
    )


def _chart(flow: Flow, terms: Terms) -> str:
    total, clusters = sum(flow.moves.values()), sorted({i for pair in flow.moves for i in pair})
    sizes = [dict.fromkeys(clusters, 0), dict.fromkeys(clusters, 0)]
    for (old, new), n in flow.moves.items():
        sizes[0][old] += n
        sizes[1][new] += n
    left, right = ({i: n for i, n in side.items() if n} for side in sizes)
    scale = (FLOW_HEIGHT - FLOW_GAP * max(len(left), len(right))) / total
    bars, tops = [], []
    far = FLOW_WIDTH - FLOW_MARGIN - FLOW_BAR
    for side, x, text, anchor in (
        (left, FLOW_MARGIN, FLOW_MARGIN - 8, "end"),
        (right, far, far + FLOW_BAR + 8, "start"),
    ):
        top, y = {}, 0.0
        for i, n in side.items():
            top[i], height, name = y, n * scale, _title(i, flow)
            bars += [
                f'<rect x="{x}" y="{y:.1f}" width="{FLOW_BAR}" height="{height:.1f}" '
                f'fill="{css_colour(i)}"><title>{name}: {n:,}</title></rect>',
                f'<text x="{text}" y="{y + height / 2 + 4:.1f}" text-anchor="{anchor}">{name}'
                "</text>",
            ]
            y += height + FLOW_GAP
        tops.append(top)
    parts = [*_ribbons(flow, tops, scale, MIN_RIBBON * total), *bars]
    label = terms.say("Samples from old to new clusters")
    return drawing("flow", FLOW_WIDTH, FLOW_HEIGHT, label, parts)


def _ribbons(flow: Flow, tops: list[dict[int, float]], scale: float, fewest: float) -> list[str]:
    """From the bars at the left to those at the right, which begin at `tops`."""
    x, to, middle = FLOW_MARGIN + FLOW_BAR, FLOW_WIDTH - FLOW_MARGIN - FLOW_BAR, FLOW_WIDTH / 2
    parts = []
    for (old, new), n in sorted(flow.moves.items()):
        a, b, width = tops[0][old], tops[1][new], n * scale
        tops[0][old], tops[1][new] = a + width, b + width
        if n < fewest:
            continue
        curve = (
            f"M{x} {a:.1f}C{middle} {a:.1f} {middle} {b:.1f} {to} {b:.1f}v{width:.1f}"
            f"C{middle} {b + width:.1f} {middle} {a + width:.1f} {x} {a + width:.1f}Z"
        )
        text = f"{n:,} from {cluster_title(old, '', 0)} to {cluster_title(new, '', 0)}"
        parts.append(
            f'<path class="stream" d="{curve}" fill="{css_colour(old)}"><title>{text}</title>'
            "</path>"
        )
    return parts


def _table(flow: Flow, terms: Terms) -> str:
    rows = []
    for i in sorted({*flow.before, *flow.after}):
        before, after = flow.before.get(i, 0), flow.after.get(i, 0)
        if i not in flow.before or i not in flow.after:
            change = "new" if i not in flow.before else "gone"
        else:
            change = "grew" if after > before else "shrank" if after < before else "same size"
        turned = f"{flow.drift[i]:.1f}°" if i in flow.drift else ""
        rows.append([_title(i, flow), f"{before:,}", f"{after:,}", change, turned])
    heads = (terms.cluster, "before", "now", "change", "turned by")
    return table(f"{terms.clusters.capitalize()} before and now", heads, rows)


def _title(i: int, flow: Flow) -> str:
    return escape(cluster_title(i, flow.names.get(i, ""), FLOW_NAME))
