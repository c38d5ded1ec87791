"""How the site is built: `make docs`. Nothing on it needs a network, not even the formulas."""

import os
import re
import sys
import warnings
from pathlib import Path

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS / "_ext"))
os.environ.setdefault("MPLBACKEND", "Agg")

from onmf import __version__  # noqa: E402

project, author, release = "onmf", "onmf developers", __version__
copyright = author  # noqa: A001
html_title = "onmf"
root_doc = "index"
exclude_patterns = ["_build", "gallery/*.rst", "**/README.txt"]
nitpicky = True  # a name that leads nowhere is an error
# There is no network to look for the names of other packages in.
nitpick_ignore_regex = [("py:.*", r"(?!onmf).*")]

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "mathml",
    "beside",
    "house",
    "command",
    "formulas",
    "packages",
    "links",
]
html_math_renderer = "mathml"

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "substitution"]
myst_heading_anchors = 3
myst_substitutions = {"release": release}

autosummary_generate = True
autodoc_typehints = "none"  # numpydoc says the types in words
autodoc_member_order = "bysource"
numpydoc_show_class_members = False  # the templates list them
numpydoc_class_members_toctree = False
default_role = "py:obj"  # what stands between single backticks is a name: linked where it is known

templates_path = ["_templates"]
html_theme = "pydata_sphinx_theme"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_logo = "_static/logo.svg"
html_favicon = "_static/logo.svg"
html_show_sourcelink = False
html_show_search_summary = False  # a page opened from a file may not fetch others
html_sidebars = {page: [] for page in ("index", "theory", "benchmarks", "reliability", "paper/**")}
html_theme_options = {
    "logo": {"text": "onmf"},
    "navbar_align": "left",
    "header_links_before_dropdown": 8,
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_exclude = ".linenos, .gp, .go"

sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "auto_gallery",
    "filename_pattern": r"/plot_",
    "doc_module": ("onmf",),
    "backreferences_dir": "api/generated/examples",
    "reference_url": {"onmf": None},
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,  # its page would need the network
    "remove_config_comments": True,
    "reset_modules": ("matplotlib", "house.style"),
    "within_subsection_order": "house.Order",
    "image_srcset": ["2x"],
}
warnings.filterwarnings("error", module="onmf")  # a gallery that warns does not teach


def results_are_a_page(app, page, source):
    """Links that work in the repository, where the results lie beside their scripts, work here."""
    source[0] = re.sub(r"\]\((\.\./)+benchmarks/RESULTS\.md", "](/benchmarks.md", source[0])


def without_way_back(app, page, template, context, doctree):
    """A page of source has no links to the reference: viewcode's miss names with two homes."""
    if page.startswith("_modules/"):
        context["body"] = re.sub(r'<a class="viewcode-back".*?</a>', "", context["body"])


def setup(app):
    app.connect("source-read", results_are_a_page)
    app.connect("html-page-context", without_way_back)
