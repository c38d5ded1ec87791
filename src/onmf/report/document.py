"""The HTML document that every page of onmf is: one frame, one style sheet, one palette.

Nothing is fetched: the Content-Security-Policy forbids it, and allows no script or style but those
written into the document, known by their hashes, and no pictures but those it carries.
"""

from base64 import b64encode
from hashlib import sha256
from html import escape
from importlib.resources import files
from string import Template

from onmf.report.palette import css_variables

POLICY = (
    "default-src 'none'; script-src {script}; style-src {style}; img-src data:; base-uri 'none'"
)


def document(
    title: str, main: str, *, header: str = "", css: str = "", data: str = "", script: str = ""
) -> str:
    """A self-contained HTML document in the look of onmf's pages.

    Parameters
    ----------
    title : str
        Plain text.
    main, header : str
        HTML of the content, and of what stands at the right of the page's head. Text from
        elsewhere must have been escaped.
    css : str
        Rules besides those that all pages share.
    data : str
        JSON for the script, which finds it in the element `data`.
    script : str
        A JavaScript module; without one the document has no scripts at all.

    Returns
    -------
    str

    Examples
    --------
    >>> from onmf.report import document
    >>> page = document("A & B", "<h1>Two letters</h1>")
    >>> "<title>A &amp; B</title>" in page, "<script" in page
    (True, False)
    """
    css = css_variables() + asset("document.css") + css
    carried = data.replace("<", "\\u003c")  # the parser of HTML then sees no tag, JSON the same
    scripts = (
        f'<script type="application/json" id="data">{carried}</script>\n'
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
    """A file of this room as text."""
    return files("onmf.report").joinpath(name).read_text(encoding="utf-8")


def _source(text: str) -> str:
    """The source expression of the policy that allows exactly this inline script or style."""
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
