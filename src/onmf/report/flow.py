"""What became of the clusters of the run before: a small flow chart, old to new, and a table.

A ribbon is as wide as the samples, known to both runs by name, that it carries.
"""

from collections.abc import Mapping
from html import escape
from typing import NamedTuple

from onmf.report.names import display_name
from onmf.report.palette import style

WIDTH, HEIGHT, GAP, BAR = 640, 420, 6, 12  # of the figure, in its own units
SIDE = 150  # for the names at either side
FEWEST = 0.002  # of all samples: a ribbon of a smaller share is not drawn
NAME = 18  # characters of a cluster's


class Flow(NamedTuple):
    """Two runs: samples that went from which cluster to which, by id; all samples of each cluster.

    drift : by how many degrees each cluster that was kept turned.
    names : what the clusters are called now.
    """

    moves: Mapping[tuple[int, int], int]
    before: Mapping[int, int]
    after: Mapping[int, int]
    drift: Mapping[int, float]
    names: Mapping[int, str]


def flow_section(flow: Flow) -> str:
    """The chart and the table, as HTML without a script."""
    shared = sum(flow.moves.values())
    stayed = sum(n for (old, new), n in flow.moves.items() if old == new)
    said = f"{shared:,} samples are in both runs"
    said += f"; {stayed / shared:.1%} of them have the id they had." if shared else "."
    return (
        '<section id="moved" data-short="Moved" aria-labelledby="moved-title">'
        '<h2 id="moved-title">Since the run before</h2>'
        f'<p class="note">{escape(said)} Left: clusters before; right: now.</p>'
        f"{_chart(flow) if shared else ''}"
        '<div class="scroll" tabindex="0" role="region" aria-label="Clusters before and now">'
        f"{_table(flow)}</div></section>"
    )


def _chart(flow: Flow) -> str:
    total, clusters = sum(flow.moves.values()), sorted({i for pair in flow.moves for i in pair})
    sides = [dict.fromkeys(clusters, 0), dict.fromkeys(clusters, 0)]
    for (old, new), n in flow.moves.items():
        sides[0][old] += n
        sides[1][new] += n
    left, right = ({i: n for i, n in side.items() if n} for side in sides)
    scale = (HEIGHT - GAP * max(len(left), len(right))) / total
    parts, ends = [], []
    for side, x, anchor in ((left, SIDE, "end"), (right, WIDTH - SIDE - BAR, "start")):
        place, y = {}, 0.0
        for i, n in side.items():
            place[i], name = y, _called(i, flow)
            text = x - 8 if anchor == "end" else x + BAR + 8
            parts += [
                f'<rect x="{x}" y="{y:.1f}" width="{BAR}" height="{n * scale:.1f}" '
                f'fill="{_colour(i)}"><title>{name}: {n:,}</title></rect>',
                f'<text x="{text}" y="{y + n * scale / 2 + 4:.1f}" text-anchor="{anchor}">'
                f"{name}</text>",
            ]
            y += n * scale + GAP
        ends.append(place)
    ribbons = _ribbons(flow, ends, scale, FEWEST * total)
    return (
        f'<svg class="flow" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="Samples from old to new clusters">{ribbons}{"".join(parts)}</svg>'
    )


def _ribbons(flow: Flow, ends: list[dict[int, float]], scale: float, fewest: float) -> str:
    """From the bars at the left to those at the right; `ends` is where each bar begins."""
    x, to, middle, parts = SIDE + BAR, WIDTH - SIDE - BAR, WIDTH / 2, []
    for (old, new), n in sorted(flow.moves.items()):
        a, b, width = ends[0][old], ends[1][new], n * scale
        ends[0][old], ends[1][new] = a + width, b + width
        if n < fewest:
            continue
        curve = (
            f"M{x} {a:.1f}C{middle} {a:.1f} {middle} {b:.1f} {to} {b:.1f}v{width:.1f}"
            f"C{middle} {b + width:.1f} {middle} {a + width:.1f} {x} {a + width:.1f}Z"
        )
        said = f"{n:,} samples from {_number(old)} to {_number(new)}"
        parts.append(
            f'<path class="stream" d="{curve}" fill="{_colour(old)}"><title>{said}</title></path>'
        )
    return "".join(parts)


def _table(flow: Flow) -> str:
    rows = []
    for i in sorted({*flow.before, *flow.after}):
        before, after = flow.before.get(i, 0), flow.after.get(i, 0)
        if i not in flow.before or i not in flow.after:
            state = "appeared" if i not in flow.before else "vanished"
        else:
            state = "grew" if after > before else "shrank" if after < before else "kept its size"
        turned = f"{flow.drift[i]:.1f}°" if i in flow.drift else ""
        cells = "".join(f"<td>{cell}</td>" for cell in (f"{before:,}", f"{after:,}", state, turned))
        rows.append(f'<tr><th scope="row">{_called(i, flow)}</th>{cells}</tr>')
    heads = ("cluster", "before", "now", "it", "turned by")
    head = "".join(f'<th scope="col">{text}</th>' for text in heads)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def _number(i: int) -> str:
    return "no cluster" if i < 0 else str(i)


def _called(i: int, flow: Flow) -> str:
    return f"{_number(i)} {escape(display_name(flow.names.get(i, ''), NAME))}".strip()


def _colour(i: int) -> str:
    return "var(--soft)" if i < 0 else f"var(--c{style(i)[0]})"
