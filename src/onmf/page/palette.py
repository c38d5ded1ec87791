"""Colours and shapes of clusters: the first eight differ by colour, the next eight also by shape.

The colours maximise the smallest distance between any two in OKLab, with full colour vision and
with each of the three colour deficiencies (Machado et al., 2009), at enough contrast with the
background. The closest pair is twice as far apart as the closest of Okabe and Ito's.
"""

LIGHT = (
    "#23459f", "#c25a02", "#248c89", "#892a12", "#6fb6d8", "#a461eb", "#d2a21f", "#222347",
)  # fmt: skip
DARK = (
    "#1366a8", "#e37016", "#16a992", "#b13e1f", "#a5c0eb", "#b07af2", "#eebd2d", "#eaebdc",
)  # fmt: skip

# Marker of matplotlib, and the same as an SVG path of about unit area around the origin.
SHAPES = {
    "o": "M-.56 0A.56 .56 0 1 0 .56 0A.56 .56 0 1 0 -.56 0Z",
    "s": "M-.5 -.5H.5V.5H-.5Z",
    "^": "M0 -.75L.7 .5H-.7Z",
    "D": "M0 -.75L.7 0L0 .75L-.7 0Z",
    "v": "M0 .75L.7 -.5H-.7Z",
    "P": "M-.22 -.7H.22V-.22H.7V.22H.22V.7H-.22V.22H-.7V-.22H-.22Z",
    "X": "M-.7 -.4L-.4 -.7L0 -.3L.4 -.7L.7 -.4L.3 0L.7 .4L.4 .7L0 .3L-.4 .7L-.7 .4L-.3 0Z",
    "*": "M0 -.85L.22 -.27L.81 -.26L.35 .11L.5 .69L0 .35L-.5 .69L-.35 .11L-.81 -.26L-.22 -.27Z",
}  # fmt: skip


def style(cluster: int) -> tuple[int, int]:
    """Numbers of the colour and of the shape of a cluster; 64 pairs, then they repeat."""
    return cluster % len(LIGHT), cluster // len(LIGHT) % len(SHAPES)


def css_colour(cluster: int) -> str:
    """The colour of a cluster as the page's CSS names it; grey for no cluster."""
    return "var(--soft)" if cluster < 0 else f"var(--c{style(cluster)[0]})"


def css_variables() -> str:
    """The colours as CSS variables --c0, --c1, ... that follow the page's colour scheme."""
    pairs = enumerate(zip(LIGHT, DARK, strict=True))
    lines = "".join(f"  --c{i}: light-dark({light}, {dark});\n" for i, (light, dark) in pairs)
    return f":root {{\n{lines}}}\n"
