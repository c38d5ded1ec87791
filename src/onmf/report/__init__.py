"""One self-contained HTML page about a clustering: `onmf.report.html(model, X)`."""

from onmf.io.versions import package_versions
from onmf.report.document import document
from onmf.report.page import html

__all__ = ["document", "html", "package_versions"]
