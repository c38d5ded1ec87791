"""Finished trials to figures, by name, as SVG text."""

from collections.abc import Callable, Sequence
from typing import Any

from onmf.ledger import Row
from onmf_paper import curves, maps
from onmf_paper.canvas import svg

DRAWINGS: dict[str, Callable[[list[Row]], Any]] = {
    function.__name__: function
    for function in (
        curves.convergence,
        curves.accuracy,
        curves.iterations,
        maps.consensus,
        maps.maps,
        curves.ridges_sncp,
        curves.ridges_nsncp,
        curves.growth_sncp,
        curves.growth_nsncp,
        maps.contours,
        curves.exponents,
        maps.three_rays,
    )
}
WITHOUT_TRIALS = ("contours",)


def draw(name: str, rows: Sequence[Row]) -> str:
    """A figure of what has been run."""
    return svg(DRAWINGS[name], [row for row in rows if row.state == "done"])


def caption(name: str) -> str:
    """What the docstring of a drawing says."""
    return " ".join((DRAWINGS[name].__doc__ or "").split())
