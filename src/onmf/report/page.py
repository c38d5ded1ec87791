"""The page: facts as JSON in a script element that is never run, and one script that shows them.

Nothing is fetched: the page's Content-Security-Policy forbids it, and allows no script or style but
the two written into it, known by their hashes. Names reach the page through `textContent` alone.
"""

import json
from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

import numpy as np
from sklearn.utils import check_array

from onmf.data import open_rows
from onmf.report import facts
from onmf.report.account import account, figures, plain, sentence, title
from onmf.report.embedding import embed
from onmf.report.names import named
from onmf.report.palette import SHAPES, style, variables
from onmf.report.runs import choice_panel, consensus_panel

SCRIPTS = ("base.js", "map.js", "clusters.js", "charts.js", "page.js")  # one module, in this order
POLICY = "default-src 'none'; script-src {script}; style-src {style}; base-uri 'none'"


def html(
    model: Any,
    X: Any,
    *,
    samples: Sequence[Any] | None = None,
    features: Sequence[Any] | None = None,
    truth: Any = None,
    certainty: tuple[Any, Any] | None = None,
    run: dict[str, Any] | None = None,
    choice: Any = None,
    consensus: Any = None,
) -> str:
    """A page about a fitted model and the samples it was fitted to.

    Parameters
    ----------
    model : fitted clusterer
        As `onmf.ONMF`.
    X : array, sparse matrix, DataFrame or path of rows on disk (n_samples, n_features)
        What the model was fitted to.
    samples, features : sequence of names, optional
        By default the index of a DataFrame, the model's feature names, or numbers.
    truth : array of shape (n_samples,), optional
        Known classes: adds the confusion table and the scores.
    certainty : (confidence, distance), optional
        Of each sample, if they are known already; by default what the model says of X.
    run : dict, optional
        What was done, as in run.json; by default the model's parameters and the versions.
    choice : KChoice, optional
        Adds the curves over the number of clusters.
    consensus : Consensus, optional
        Adds the consensus map; by default that of `choice`, if it has one.

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
    samples = getattr(X, "index", None) if samples is None else samples
    features = getattr(model, "feature_names_in_", None) if features is None else features
    rows = open_rows(X)
    if rows is None:
        rows = check_array(X, accept_sparse="csr", dtype=None, ensure_all_finite=False)
    labels, k = np.asarray(model.labels_), len(model.cluster_centers_)
    check_same(rows.shape[0], labels, truth)
    names = named(samples, len(labels), "samples")
    confidence, distance = model.certainty(X) if certainty is None else certainty
    about = facts.Samples(rows, names, confidence, 1 - distance**2)
    feature_names = named(features, rows.shape[1], "features", "x")
    run = account(model) if run is None else run
    consensus = getattr(choice, "consensus", None) if consensus is None else consensus
    data = {
        "title": title(run),
        "sentence": sentence(model, rows.shape),
        "figures": figures(model, rows.shape, labels),
        "named": features is not None,
        "shapes": list(SHAPES.values()),
        "styles": [style(i) for i in range(k)],
        "clusters": facts.clusters(about, model.cluster_centers_, labels, feature_names),
        "map": facts.points(embed(rows, labels), labels, names),
        "truth": None if truth is None else facts.agreement(np.asarray(truth), labels, k),
        "convergence": facts.convergence(getattr(model, "history_", [])),
        "consensus": None if consensus is None else consensus_panel(consensus, labels, k),
        "choice": None if choice is None else choice_panel(choice),
        "run": plain({key: value for key, value in run.items() if key != "choice"}),
    }
    return render(data)


def check_same(n: int, labels: Any, truth: Any) -> None:
    """X, the model and the known classes are about the same samples."""
    if len(labels) != n:
        raise ValueError(
            f"X has {n} samples but the model was fitted to {len(labels)}: give the X that it was "
            "fitted to."
        )
    if truth is not None and len(truth) != n:
        raise ValueError(f"{len(truth)} known classes for {n} samples: give one for each.")


def render(data: dict[str, Any]) -> str:
    """The document that shows the data."""
    css, script = variables() + asset("page.css"), "\n".join(map(asset, SCRIPTS))
    policy = POLICY.format(script=digest(script), style=digest(css))
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return Template(asset("page.html")).substitute(
        policy=policy,
        title=escape(data["title"]),
        css=css,
        data=text.replace("<", "\\u003c"),  # the parser of HTML then sees no tag, JSON the same
        script=script,
    )


def asset(name: str) -> str:
    return files("onmf.report").joinpath(name).read_text(encoding="utf-8")


def digest(text: str) -> str:
    """The source expression that allows exactly this inline script or style."""
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
