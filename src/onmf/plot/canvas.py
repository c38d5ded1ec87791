"""Axes, colours and markers of the figures: the only module that imports Matplotlib."""

from io import BytesIO
from typing import Any

from onmf.page.palette import LIGHT, SHAPES, style
from onmf.rows.sweep import Array

try:
    import matplotlib.pyplot as plt
    from matplotlib.colors import LinearSegmentedColormap, ListedColormap
except ImportError as missing:
    raise ImportError(
        'onmf.plot needs Matplotlib: `pip install "onmf[plot]"` installs it.'
    ) from missing

ACCENT, MUTED = "#1f5d57", "#8a8f99"


def axes_or_new(ax: Any) -> Any:
    """The given axes, or those of a new figure."""
    return plt.subplots(layout="constrained")[1] if ax is None else ax


def figure_bytes(ax: Any, kind: str) -> bytes:
    """The figure of some axes as a file, "svg" or "pdf"."""
    file = BytesIO()
    ax.figure.savefig(file, format=kind, bbox_inches="tight")
    return file.getvalue()


def close_figure(ax: Any) -> None:
    """Free the figure of some axes."""
    plt.close(ax.figure)


def panels(count: int, height: float, across: int = 4, width: float = 3.2) -> Array:
    """`count` axes, up to `across` in a row."""
    across = min(count, across)
    down = -(-count // across)
    size = (width * across, height * down)
    _, axes = plt.subplots(down, across, figsize=size, squeeze=False, layout="constrained")
    for ax in axes.flat[count:]:
        ax.remove()
    return axes.ravel()[:count]


def colors(n_clusters: int) -> list[str]:
    """The colour of each cluster in all figures and on the page, to use in your own.

    There are eight; they repeat, and clusters of the same colour have different markers.

    Parameters
    ----------
    n_clusters : int

    Returns
    -------
    list of str

    Examples
    --------
    >>> from onmf import plot
    >>> plot.colors(2)
    ['#23459f', '#c25a02']
    """
    return [cluster_look(k)["color"] for k in range(n_clusters)]


def cluster_look(k: int) -> dict[str, Any]:
    """Colour and marker of a cluster, as on the page."""
    if k < 0:
        return {"color": MUTED, "marker": "."}
    colour, shape = style(int(k))
    return {"color": LIGHT[colour], "marker": list(SHAPES)[shape]}


def shades_of(colour: str) -> Any:
    """A colour map from white to a colour."""
    return LinearSegmentedColormap.from_list("shades", ["#ffffff", colour])


def two_shades(below: str, above: str) -> Any:
    """A colour map from one colour over white to another."""
    return LinearSegmentedColormap.from_list("two shades", [below, "#ffffff", above])


def label_colours(n_clusters: int) -> Any:
    """A colour map of the labels -1, 0, 1, ..."""
    return ListedColormap([MUTED, *colors(n_clusters)])


def plain_text(name: str) -> str:
    """A name without formulas: Matplotlib takes text between dollars for one."""
    return name.replace("$", r"\$")
