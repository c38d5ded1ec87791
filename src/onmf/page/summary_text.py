"""What was done, with what parameters, and how it ended: sentences and key figures."""

from typing import Any

import numpy as np

from onmf.losses import loss_of
from onmf.page.clustering import ClusteringFacts
from onmf.page.names import display_name, percent
from onmf.result import FittedModel


def page_title(run: dict[str, Any]) -> str:
    """The name of the input file, if there was one."""
    source = run.get("input")
    file = source.get("file") if isinstance(source, dict) else None
    return display_name(file) if file else "Clustering report"


def opening_sentence(model: FittedModel, clustering: ClusteringFacts) -> str:
    """How many samples, features and clusters; samples in no cluster, and missing entries."""
    (n, m), terms = clustering.X.shape, clustering.terms
    outside, k = int(np.sum(clustering.labels < 0)), len(clustering.centers)
    text = (
        f"{terms.counted(n, 'sample')} with {terms.counted(m, 'feature')}, in "
        f"{terms.counted(k, 'cluster')}."
    )
    if outside:
        fit = "fits" if outside == 1 else "fit"
        text += f" {terms.counted(outside, 'sample')} {fit} no {terms.cluster}."
    if missing := getattr(model, "n_missing_", 0):
        text += f" {100 * missing / (n * m):.2g} % of the entries are missing."
    return text


def fit_sentence(model: FittedModel, clustering: ClusteringFacts) -> str:
    """By what method, and how much of the data the centroids explain."""
    parameters, k = model.get_params(deep=False), len(clustering.centers)
    method, passes = str(parameters.get("method", type(model).__name__)), int(model.n_iter_)
    how = [loss_of(model).words.loss] if "loss" in parameters else []
    if isinstance(seed := parameters.get("random_state"), int | np.integer):
        how.append(f"seed {seed}")
    given = f" ({', '.join(how)})" if how else ""
    ending = "" if getattr(model, "converged_", True) else ", stopped by a limit"
    text = (
        f"Clustered by {method}{given}. The centroid{'s explain' if k > 1 else ' explains'} "
        f"{percent(max(1 - model.relative_error_, 0.0))} of the data "
        f"({passes:,} {'pass' if passes == 1 else 'passes'}{ending})."
    )
    if getattr(model, "n_missing_", 0):
        text += " The error ignores missing entries; the map fills them from the centroids."
    return text


def key_figures(clustering: ClusteringFacts) -> dict[str, str]:
    """The numbers at the top of the page, with their names."""
    (n, m), terms = clustering.X.shape, clustering.terms
    outside = int(np.sum(clustering.labels < 0))
    texts = {
        terms.samples: f"{n:,}",
        terms.features: f"{m:,}",
        terms.clusters: f"{len(clustering.centers):,}",
    }
    return texts | ({f"in no {terms.cluster}": f"{outside:,}"} if outside else {})


def fit_figures(model: FittedModel) -> dict[str, str]:
    """The numbers of the technical section."""
    error = loss_of(model).words.error
    return {error: f"{model.relative_error_:.4f}", "passes": f"{model.n_iter_:,}"}


def topic_figures(run: dict[str, Any]) -> dict[str, str]:
    """How good the words of topics are, if the run was one of texts."""
    results = run.get("results")
    known = results.get("topics") if isinstance(results, dict) else None
    if not isinstance(known, dict):
        return {}
    return {f"topic {name}": f"{float(value):.2f}" for name, value in known.items()}
