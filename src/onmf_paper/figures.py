"""Finished trials to figures, by name, as SVG text."""

from collections.abc import Callable, Sequence
from typing import Any

from onmf_paper import curves, maps
from onmf_paper.drawing import svg_text
from onmf_paper.ledger import Row

DRAWINGS: dict[str, Callable[[list[Row]], Any]] = {
    "convergence": curves.draw_convergence,
    "accuracy": curves.draw_accuracy,
    "iterations": curves.draw_iterations,
    "consensus": maps.draw_consensus,
    "maps": maps.draw_tsne_maps,
    "ridges_sncp": curves.draw_ridges_sncp,
    "ridges_nsncp": curves.draw_ridges_nsncp,
    "growth_sncp": curves.draw_growth_sncp,
    "growth_nsncp": curves.draw_growth_nsncp,
    "contours": maps.draw_contours,
    "exponents": curves.draw_exponents,
    "three_rays": maps.draw_three_rays,
    "unlucky_starts": maps.draw_unlucky_starts,
}
WITHOUT_TRIALS = ("contours",)


def draw_figure(name: str, rows: Sequence[Row]) -> str:
    """A figure of what has been run."""
    return svg_text(DRAWINGS[name], [row for row in rows if row.state == "done"])


def figure_caption(name: str) -> str:
    """What the docstring of a drawing says."""
    return " ".join((DRAWINGS[name].__doc__ or "").split())
