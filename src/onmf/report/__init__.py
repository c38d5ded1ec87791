"""One self-contained HTML page about a clustering: `onmf.report.html(model, X)`."""

from onmf.report.page import html

__all__ = ["html"]
