"""When all pages are written: every link inside the site leads somewhere, none is needed outside.

A page may point to another site, but must load nothing from one, so that it can be read offline.
"""

from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from sphinx.util import logging

LOG = logging.getLogger(__name__)
LOADS = {("script", "src"), ("img", "src"), ("source", "src"), ("iframe", "src"), ("link", "href")}
HARMLESS = {"search", "next", "prev", "author", "canonical"}  # of <link rel=...>: nothing is loaded


class Page(HTMLParser):
    """The places of a page that can be linked to, what it links to and what it loads."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.places: set[str] = {"", "top"}
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.places |= {given[name] for name in ("id", "name") if name in given}
        for name in ("href", "src"):
            if name in given:
                self.links.append(given[name])
                if (tag, name) in LOADS and given.get("rel") not in HARMLESS:
                    self.loaded.append(given[name])


def check(app: Any, failure: Exception | None) -> None:
    if failure is not None or app.builder.name != "html":
        return
    root = Path(app.outdir)
    found = (path for path in root.rglob("*.html") if "_static" not in path.parts)
    pages = {path: Page(path) for path in sorted(found)}
    for path, page in pages.items():
        for target in page.loaded:
            if urlsplit(target).netloc:
                LOG.warning("%s needs the network for %s", path.relative_to(root), target)
        for target in page.links:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            there = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            there = there / "index.html" if there.is_dir() else there
            known = pages.get(there)
            if not there.exists() or (known and unquote(parts.fragment) not in known.places):
                LOG.warning("%s links to %s, which is not there", path.relative_to(root), target)


def setup(app: Any) -> dict[str, bool]:
    app.connect("build-finished", check, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
