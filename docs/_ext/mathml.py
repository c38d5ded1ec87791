"""Formulas as MathML, by docutils: no script, no download, and a mistyped formula is a warning.

Browsers have drawn MathML themselves since 2023, with the mathematics font of the system.
"""

import re
from html import escape
from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number

LOG = logging.getLogger(__name__)


# Browsers stretch these to the height of the formula, and those with an exponent to another one.
BARS = re.compile("<mo>([‖⟨⟩])</mo>")


def translate(formula: str, node: nodes.Element, *, block: bool) -> str:
    try:
        return BARS.sub(r'<mo stretchy="false">\1</mo>', tex2mathml(formula, as_block=block))
    except MathError as error:
        LOG.warning("%s in the formula %s", error, formula, location=node)
        return f"<code>{escape(formula)}</code>"


def inline(writer: Any, node: nodes.math) -> None:
    writer.body.append(translate(node.astext(), node, block=False))
    raise nodes.SkipNode


def display(writer: Any, node: nodes.math_block) -> None:
    target = f' id="{node["ids"][0]}"' if node["ids"] else ""
    writer.body.append(f'<div class="math"{target}>')
    writer.body.append(translate(node.astext(), node, block=True))
    if node["number"]:
        writer.body.append(f'<span class="eqno">({get_node_equation_number(writer, node)})</span>')
    writer.body.append("</div>\n")
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, bool]:
    app.add_html_math_renderer("mathml", (inline, None), (display, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
