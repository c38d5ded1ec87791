"""Links to a file beside a page (.html, .csv, .svg): copied to the same place, opened on a click.

Sphinx would offer such a file as a download under another name; a page must be opened, and the
same link must work in the repository.
"""

import shutil
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes

ENDINGS = {".html", ".csv", ".svg"}


def open_in_place(app: Any, doctree: nodes.document, page: str) -> None:
    folder = Path(app.env.doc2path(page)).parent
    for link in list(doctree.findall(addnodes.download_reference)):
        source = Path(app.env.relfn2path(link["reftarget"], page)[1]).resolve()
        if source.suffix not in ENDINGS or not source.is_relative_to(folder):
            continue
        target = Path(app.outdir, source.relative_to(app.srcdir))
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
        uri = source.relative_to(folder).as_posix()
        link.replace_self(nodes.reference("", "", *link.children, refuri=uri))


def setup(app: Any) -> dict[str, bool]:
    app.connect("doctree-resolved", open_in_place)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
