"""The figures of a finished run, for a paper: each as SVG and as PDF."""

from collections.abc import Callable
from typing import Any

from onmf_app.runs.results import FinishedFit

KINDS = ("svg", "pdf")


def figure_files(run: FinishedFit) -> dict[str, bytes]:
    """Name and content of each file."""
    from onmf.plot.canvas import close_figure, figure_bytes

    files: dict[str, bytes] = {}
    for name, draw in _figures(run).items():
        ax = draw()
        files |= {f"{name}.{kind}": figure_bytes(ax, kind) for kind in KINDS}
        close_figure(ax)
    return files


def _figures(run: FinishedFit) -> dict[str, Callable[[], Any]]:
    """How each figure is drawn; those of which the run knows nothing are left out."""
    from onmf import plot

    model, table, found = run.model, run.table, run.findings.explanation
    figures: dict[str, Callable[[], Any]] = {
        "map": lambda: plot.embedding(model, table.X, feature_names=table.features),
        "centroids": lambda: plot.heat_map(model, feature_names=table.features),
    }
    if found is not None:
        figures["features"] = lambda: plot.markers(found.markers)
    if found is not None and found.markers.features == table.features:
        figures["samples"] = lambda: plot.sample_map(
            found.markers, table.X, model.labels_, truth=table.labels
        )
    if run.choice is not None:
        figures["k"] = lambda: plot.k_curves(run.choice)[0]
    if table.labels is not None:
        figures["classes"] = lambda: plot.confusion(model.labels_, table.labels)
    return figures
