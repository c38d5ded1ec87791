"""Paper and ink for the figures: the only module of the studies that imports matplotlib."""

import io
from collections.abc import Callable
from typing import Any

try:
    import matplotlib
    from cycler import cycler
    from matplotlib.figure import Figure
except ImportError as missing:
    raise ImportError(
        'The figures need matplotlib, which `pip install "onmf[plot]"` installs.'
    ) from missing

# Okabe and Ito's colours, which people who confuse red and green can tell apart.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999")
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


def svg(drawing: Callable[[Any], Any], rows: Any) -> str:
    """A drawing of the rows in the house style; the same rows give the same text."""
    with matplotlib.rc_context(STYLE):
        text = io.StringIO()
        drawing(rows).savefig(text, format="svg", dpi=100, metadata={"Date": None, "Creator": None})
    return text.getvalue()


def panels(rows: int, columns: int, width: float = 3.2, height: float = 2.2) -> tuple[Any, Any]:
    figure = Figure(figsize=(columns * width, rows * height), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False)


def legend(axis: Any, size: int) -> None:
    """Where there is anything to explain."""
    if axis.get_legend_handles_labels()[0]:
        axis.legend(fontsize=size)
