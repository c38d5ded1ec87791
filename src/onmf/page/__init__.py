"""One self-contained HTML page about a clustering: `onmf.page.html(model, X)`."""

from onmf.io.versions import package_versions
from onmf.page.document import document
from onmf.page.page import html

__all__ = ["document", "html", "package_versions"]
