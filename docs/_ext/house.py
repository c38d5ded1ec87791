"""The gallery's manner: figures in one style, and every page opens with its first picture.

sphinx-gallery puts a figure below the code that draws it. A reader wants to see it first, so the
first figure of each page moves up, between the code and the text that says what it shows, which is
also its alternative text.
"""

import re
from typing import Any

# The block that sphinx-gallery writes for one figure: a directive and its indented lines.
FIGURE = re.compile(r"^\.\. image-sg::.*\n(?:(?:   .*)?\n)+", re.MULTILINE)
CODE = re.compile(r"^\.\. GENERATED FROM PYTHON SOURCE LINES.*\n", re.MULTILINE)


def picture_first(app: Any, docname: str, source: list[str]) -> None:
    folder = app.config.sphinx_gallery_conf["gallery_dirs"]
    text = source[0]
    figure, code = FIGURE.search(text), CODE.search(text)  # the opening text has no such mark
    if docname.startswith(f"{folder}/plot_") and figure and code:
        text = text[: figure.start()] + text[figure.end() :]
        opening, rest = text[: code.start()], text[code.start() :]
        source[0] = f"{opening}{described(figure.group(), opening)}\n{rest}"


def described(figure: str, opening: str) -> str:
    """The figure with the text that says what it shows for those who cannot see it."""
    words = opening.rpartition("===\n")[2].replace("`", "").split()
    return re.sub(r"(?<=:alt: ).*", lambda _: " ".join(words), figure, count=1)


class Order:
    """A sort key: pages in the order in which they are best read."""

    PAGES = (
        "three_rays", "colours", "documents", "embeddings", "expression", "digits", "wine",
        "choose_k", "growing_penalty", "stream",
    )  # fmt: skip

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __call__(self, file: str) -> int:
        return self.PAGES.index(file.removeprefix("plot_").removesuffix(".py"))


def style(gallery_conf: Any, path: str) -> None:
    """The look of every figure; sphinx-gallery calls it before each script."""
    import matplotlib
    from cycler import cycler

    from onmf.plot import colors

    matplotlib.rcParams.update(
        {
            "axes.prop_cycle": cycler(color=colors(8)),
            "axes.spines.right": False,
            "axes.spines.top": False,
            "axes.titlelocation": "left",
            "axes.titlesize": "medium",
            "figure.dpi": 100,
            "font.size": 10,
            "legend.frameon": False,
        }
    )


def setup(app: Any) -> dict[str, bool]:
    app.connect("source-read", picture_first)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
