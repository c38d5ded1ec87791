"""One self-contained HTML page about a clustering: `onmf.page.html(model, X)`."""

from onmf.page.document import document
from onmf.page.page import html
from onmf.page.versions import package_versions

__all__ = ["document", "html", "package_versions"]
