"""The page about a clustering: facts as JSON, and one script that shows them.

The JSON is in a script element that is never run. Names reach the page only through `textContent`:
whatever they contain, they are text.
"""

import json
from collections.abc import Sequence
from html import escape
from string import Template
from typing import Any

from onmf.explain import Explanation
from onmf.page.clustering import read_clustering
from onmf.page.document import asset, document
from onmf.page.embedding import embed
from onmf.page.images import thumbnails
from onmf.page.levels import levels_section
from onmf.page.markers import cluster_panels, dots_panel
from onmf.page.names import display_values
from onmf.page.palette import SHAPES, style
from onmf.page.panels import class_agreement, convergence_panel, heat_panel, map_panel
from onmf.page.periods import Period, periods_section
from onmf.page.runs import choice_panel
from onmf.page.samples import SampleTimes, listed_rows, sample_columns
from onmf.page.summary_text import (
    fit_figures,
    fit_sentence,
    key_figures,
    opening_sentence,
    page_title,
    topic_figures,
)
from onmf.page.versions import package_versions
from onmf.result import FittedModel
from onmf.rows.terms import SAMPLES, Terms

# Joined to one module, in this order.
SCRIPTS = ("base.js", "save.js", "map.js", "clusters.js", "list.js", "grids.js", "charts.js",
           "page.js")  # fmt: skip
# Parts of the record that the page shows elsewhere.
SHOWN_ELSEWHERE = {
    *("choice", "lineage", "reason", "table", "scales"),
    *("clusters", "cluster_names"),
}
NAVIGATION = '<nav aria-label="Sections"></nav>\n  <button type="button" id="theme">Dark</button>'


def html(
    model: FittedModel,
    X: Any,
    *,
    samples: Sequence[Any] | None = None,
    features: Sequence[Any] | None = None,
    truth: Any = None,
    explanation: Explanation | None = None,
    run: dict[str, Any] | None = None,
    choice: Any = None,
    periods: Sequence[Period] = (),
    times: SampleTimes | None = None,
    texts: Sequence[str] | None = None,
    images: Sequence[int] | None = None,
    terms: Terms = SAMPLES,
) -> str:
    """A page about a fitted model and the samples it was fitted to.

    Parameters
    ----------
    model : fitted clusterer
        As `onmf.ONMF`. Adds the levels of its ``tree_``, if `onmf.build_tree` made one.
    X : array, sparse matrix, DataFrame or path of rows on disk (n_samples, n_features)
        The data that the model was fitted to.
    samples, features : sequence of names, optional
        By default the index of a DataFrame, the model's feature names, or numbers.
    truth : array of shape (n_samples,), optional
        Known classes: adds the confusion table and the scores.
    explanation : Explanation, optional
        The result of `model.explain(X)`; computed by default.
    run : dict, optional
        The record of the run, as in run.json; by default the model's parameters and the versions.
    choice : KChoice, optional
        Adds the curves over the number of clusters.
    periods : sequence of Period, optional
        Adds sizes and words of the clusters over time.
    times : SampleTimes, optional
        The period of each sample, by which the list of samples can be chosen.
    texts : sequence of str, optional
        The text of each sample, for the list of samples.
    images : pair of int, or three, optional
        Height and width, and 3 for colours, of samples that are images: the list of samples has
        thumbnails.
    terms : Terms, optional
        What the page calls samples, features and clusters: ``onmf.rows`` has those of texts and
        of cells.

    Returns
    -------
    str
        An HTML document without links to anything else.

    Examples
    --------
    >>> from onmf import ONMF
    >>> from onmf.datasets import make_rays
    >>> X, y = make_rays(60, 8, 3, random_state=0)
    >>> page = html(ONMF(n_clusters=3, random_state=0).fit(X), X, truth=y)
    >>> page[:15]
    '<!doctype html>'
    """
    clustering = read_clustering(model, X, samples, features, truth, explanation, texts, terms)
    labels, classes, k = clustering.labels, clustering.truth, len(clustering.centers)
    if run is None:
        set_by_user = {n: v for n, v in model.get_params(deep=False).items() if n != "callback"}
        run = {"parameters": set_by_user, "versions": package_versions()}
    record = without_shown(run)
    columns = sample_columns(clustering, times)
    facts = {
        "title": page_title(run),
        "words": terms.words(),
        "sentence": opening_sentence(model, clustering),
        "figures": key_figures(clustering) | topic_figures(run),
        "fit": fit_sentence(model, clustering),
        "fit_figures": fit_figures(model),
        "outside": int((labels < 0).sum()),
        "orders": [
            {"key": key, "title": own["title"], "falls": own["falls"]}
            for key, own in columns["numbers"].items()
        ],
        "periods": columns.pop("periods") or [],
        "shapes": list(SHAPES.values()),
        "ids": clustering.ids,
        "styles": [style(i) for i in clustering.ids],
        "clusters": cluster_panels(clustering, images),
        "dots": dots_panel(clustering),
        "heat": heat_panel(clustering),
        "map": map_panel(embed(clustering.X, labels), clustering),
        "truth": None if classes is None else class_agreement(classes, labels, k),
        "convergence": convergence_panel(getattr(model, "history_", ())),
        "choice": None if choice is None else choice_panel(choice, terms),
        "run": display_values(record),
    }
    packed = {"samples": compact_json(columns).encode()}
    if images is not None:
        small = thumbnails(clustering.X, listed_rows(labels), images)
        packed["images"] = small.content
        facts["image"] = [small.width, small.height, small.channels]
    names = {i: panel["name"] for i, panel in zip(clustering.ids, facts["clusters"], strict=True)}
    words = {own: escape(noun) for own, noun in terms.words().items()}
    tree = getattr(model, "tree_", None)
    levels = "" if tree is None else levels_section(tree.nodes, names, terms)
    more = periods_section(periods, names, terms) if periods else ""
    return document(
        facts["title"],
        Template(asset("clustering.html")).substitute(words, levels=levels, more=more),
        header=NAVIGATION,
        css=asset("clustering.css") + asset("periods.css"),
        data=compact_json(facts),
        packed=packed,
        script="\n".join(map(asset, SCRIPTS)),
    )


def without_shown(record: dict[str, Any]) -> dict[str, Any]:
    """The record of the run without what the page shows elsewhere."""
    return {
        key: without_shown(value) if isinstance(value, dict) else value
        for key, value in record.items()
        if key not in SHOWN_ELSEWHERE
    }


def compact_json(facts: Any) -> str:
    """Without spaces, characters as they are."""
    return json.dumps(facts, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
