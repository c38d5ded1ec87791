"""Axes and ink for the figures: the only module here that imports Matplotlib."""

import io
from collections.abc import Callable
from typing import Any

import matplotlib
from cycler import cycler
from matplotlib.figure import Figure

from onmf.plot import colors

COLOURS = tuple(colors(8))
STYLE: Any = {
    "font.size": 8,
    "axes.prop_cycle": cycler(color=COLOURS),
    "axes.spines.top": False,
    "axes.spines.right": False,
    "lines.linewidth": 1.2,
    "legend.frameon": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "onmf",
}


def svg_text(draw: Callable[[Any], Any], rows: Any) -> str:
    """A drawing of the rows in the style of the page; the same rows give the same text."""
    with matplotlib.rc_context(STYLE):
        text = io.StringIO()
        draw(rows).savefig(text, format="svg", dpi=100, metadata={"Date": None, "Creator": None})
    return text.getvalue()


def axes_grid(rows: int, columns: int, width: float = 3.2, height: float = 2.2) -> tuple[Any, Any]:
    """A figure and its axes; width and height are those of one of them, in inches."""
    figure = Figure(figsize=(columns * width, rows * height), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False)


def add_legend(axis: Any, size: int) -> None:
    """Where there is anything to explain."""
    if axis.get_legend_handles_labels()[0]:
        axis.legend(fontsize=size)
