"""HTML documents: the frame that all pages of onmf share, and the parts they are made of.

A page fetches nothing. Its Content-Security-Policy forbids it, and allows only the script, style
and pictures that are in the document.
"""

from base64 import b64encode
from collections.abc import Collection, Iterable, Mapping, Sequence
from gzip import compress
from hashlib import sha256
from html import escape
from importlib.resources import files
from string import Template

from onmf.page.palette import css_variables

PACKING = 6  # level of gzip: of 100,000 samples 3 % larger than 9, in a tenth of the time
POLICY = (
    "default-src 'none'; script-src {script}; style-src {style}; img-src data:; base-uri 'none'"
)


def document(
    title: str,
    main: str,
    *,
    header: str = "",
    css: str = "",
    data: str = "",
    script: str = "",
    packed: Mapping[str, bytes] | None = None,
) -> str:
    """A self-contained HTML document in the look of onmf's pages.

    Parameters
    ----------
    title : str
        Plain text.
    main, header : str
        HTML of the content, and of the right of the page's header. Text must be escaped.
    css : str
        Rules in addition to those that all pages share.
    data : str
        JSON for the script, which finds it in the element `data`.
    script : str
        A JavaScript module. By default the document has no script.
    packed : dict of str to bytes, optional
        More data for the script, which finds each, compressed by gzip and in base64, in the element
        of this name.

    Returns
    -------
    str

    Examples
    --------
    >>> from onmf.page import document
    >>> page = document("A & B", "<h1>Two letters</h1>")
    >>> "<title>A &amp; B</title>" in page, "<script" in page
    (True, False)
    """
    css = css_variables() + asset("document.css") + css
    safe = data.replace("<", "\\u003c")  # the same JSON, in which HTML finds no tag
    blocks = "".join(
        f'<script type="text/plain" id="{name}">{_packed(content)}</script>\n'
        for name, content in (packed or {}).items()
    )
    scripts = (
        f'<script type="application/json" id="data">{safe}</script>\n{blocks}'
        f'<script type="module">{script}</script>\n'
    )
    return Template(asset("document.html")).substitute(
        policy=POLICY.format(script=_source(script) if script else "'none'", style=_source(css)),
        title=escape(title),
        css=css,
        header=header,
        main=main,
        scripts=scripts if script else "",
    )


def asset(name: str) -> str:
    """A file of this package as text."""
    return files("onmf.page").joinpath(name).read_text(encoding="utf-8")


def page_section(key: str, short: str, title: str, content: str) -> str:
    """A section with a heading; `short` is its name in the navigation."""
    return (
        f'<section id="{key}" data-short="{short}" aria-labelledby="{key}-title">'
        f'<h2 id="{key}-title">{title}</h2>{content}</section>'
    )


def lead(title: str, sentence: str) -> str:
    """The top of a page."""
    return (
        f'<section class="lead" aria-labelledby="title"><h1 id="title" dir="auto">{escape(title)}'
        f'</h1><p id="sentence">{escape(sentence)}</p></section>'
    )


def table(
    label: str,
    heads: Iterable[str],
    rows: Iterable[Sequence[str]],
    best: Collection[tuple[int, int]] = (),
    kind: str = "",
) -> str:
    """A table that scrolls if it is too wide. Heads are text; cells are HTML, the first a head.

    `best` has the row and column of the cells to emphasise.
    """
    head = "".join(f'<th scope="col">{escape(text)}</th>' for text in heads)
    lines = []
    for i, (first, *cells) in enumerate(rows):
        marks = [' class="best"' if (i, j) in best else "" for j in range(1, len(cells) + 1)]
        line = "".join(f"<td{mark}>{cell}</td>" for mark, cell in zip(marks, cells, strict=True))
        lines.append(f'<tr><th scope="row">{first}</th>{line}</tr>')
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(label)}">'
        f'<table class="{kind}"><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table></div>"
    )


def drawing(kind: str, width: float, height: float, label: str, parts: Iterable[str]) -> str:
    """An SVG figure of these parts; lengths are in its own units."""
    return (
        f'<svg class="{kind}" viewBox="0 0 {width:g} {height:g}" role="img" '
        f'aria-label="{escape(label)}">{"".join(parts)}</svg>'
    )


def _packed(content: bytes) -> str:
    """Compressed, the same bytes for the same content, as text in which HTML finds no tag."""
    return b64encode(compress(content, PACKING, mtime=0)).decode()


def _source(text: str) -> str:
    """What the policy needs to allow this inline script or style."""
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
