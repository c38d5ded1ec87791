"""The gallery: every script has its place, needs no download, and its page opens with a picture."""

import ast
import importlib.util
from pathlib import Path
from types import SimpleNamespace

import pytest

DOCS = Path(__file__).parents[1] / "docs"
SCRIPTS = sorted((DOCS / "gallery").glob("plot_*.py"))
NETWORK = {"urllib", "requests", "http", "socket", "pooch"}

PAGE = """
Title
=====

What the picture
shows: ``all``.

.. GENERATED FROM PYTHON SOURCE LINES 9-12

A heading
---------

.. GENERATED FROM PYTHON SOURCE LINES 12-20

.. code-block:: Python

    draw()

.. image-sg:: /auto_gallery/images/first.png
   :alt: first
   :srcset: /auto_gallery/images/first.png

   :class: sphx-glr-single-img

.. GENERATED FROM PYTHON SOURCE LINES 20-30

.. image-sg:: /auto_gallery/images/second.png
   :alt: second

The end.
"""


@pytest.fixture(scope="module")
def house():
    spec = importlib.util.spec_from_file_location("house", DOCS / "_ext" / "house.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def moved(house, docname, text):
    app = SimpleNamespace(
        config=SimpleNamespace(sphinx_gallery_conf={"gallery_dirs": "auto_gallery"})
    )
    source = [text]
    house.picture_first(app, docname, source)
    return source[0]


def test_every_script_has_its_place(house):
    order = house.Order("gallery")
    assert sorted(order(script.name) for script in SCRIPTS) == list(range(len(house.Order.PAGES)))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_script_opens_with_a_title_and_needs_no_download(script):
    tree = ast.parse(script.read_text(encoding="utf-8"))
    title, rule, _, *opening = ast.get_docstring(tree).splitlines()
    assert len(rule) == len(title)
    assert set(rule) == {"="}
    assert 1 <= len(opening) <= 5
    assert opening[-1].endswith(".")
    for node in ast.walk(tree):
        names = [alias.name for alias in getattr(node, "names", []) if hasattr(alias, "name")]
        for name in [*names, getattr(node, "module", None) or ""]:
            assert name.split(".")[0] not in NETWORK
            assert not name.startswith(("fetch_", "load_tdt2", "load_tcga", "load_newsgroups"))


def test_the_first_picture_moves_before_the_first_code_and_nothing_is_lost(house):
    page = moved(house, "auto_gallery/plot_one", PAGE)
    marks = ("What the", "first.png", "A heading", "draw()", "second.png", "The end")
    places = [page.index(mark) for mark in marks]
    assert places == sorted(places)
    same = page.replace(":alt: What the picture shows: all.", ":alt: first")
    assert same != page  # it is described by the text above it, the second by its own titles
    assert sorted(filter(None, same.splitlines())) == sorted(filter(None, PAGE.splitlines()))


def test_pages_outside_the_gallery_stay_as_they_are(house):
    assert moved(house, "guide/index", PAGE) == PAGE
    assert moved(house, "auto_gallery/plot_two", "Title\n=====\n") == "Title\n=====\n"
