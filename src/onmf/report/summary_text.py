"""What was done, with what parameters, and how it ended: sentences and key figures."""

from typing import Any

import numpy as np

from onmf.bounds.certificate import certificate_of_fit
from onmf.losses import loss_of
from onmf.report.clustering import ClusteringFacts
from onmf.report.names import counted, display_name, percent
from onmf.result import FittedModel


def page_title(run: dict[str, Any]) -> str:
    """The name of the input file, if there was one."""
    source = run.get("input")
    file = source.get("file") if isinstance(source, dict) else None
    return display_name(file) if file else "Clustering report"


def opening_sentence(model: FittedModel, clustering: ClusteringFacts) -> str:
    """What was done, and how much of the data the clusters explain."""
    parameters, (n, m) = model.get_params(deep=False), clustering.X.shape
    method, passes = str(parameters.get("method", type(model).__name__)), int(model.n_iter_)
    k = len(clustering.centers)
    how = [loss_of(model).words.loss] if "loss" in parameters else []
    if isinstance(seed := parameters.get("random_state"), int | np.integer):
        how.append(f"seed {seed}")
    given = f" ({', '.join(how)})" if how else ""
    ending = "" if getattr(model, "converged_", True) else ", stopped by a limit"
    text = (
        f"{method} put {counted(n, 'sample')} with {counted(m, 'feature')} into "
        f"{counted(k, 'cluster')}{given}. The cluster{'s explain' if k > 1 else ' explains'} "
        f"{percent(max(1 - model.relative_error_, 0.0))} of the data "
        f"({passes:,} {'pass' if passes == 1 else 'passes'}{ending})."
    )
    if parameters.get("outliers") is not None:
        outside = int(np.sum(clustering.labels < 0))
        text += f" {counted(outside, 'sample')} fit{'s' if outside == 1 else ''} no cluster."
    if missing := getattr(model, "n_missing_", 0):
        text += (
            f" {100 * missing / (n * m):.2g} % of the entries are missing. The error ignores them; "
            "the map fills them from the centroids."
        )
    return text


def bound_sentence(run: dict[str, Any], model: FittedModel) -> str:
    """By how much another clustering could be better, if the run or the fit knows."""
    results = run.get("results")
    known = results.get("proof") if isinstance(results, dict) else None
    if isinstance(known, dict):
        text = known.get("sentence")
    else:
        text = str(found) if (found := certificate_of_fit(model)) else None
    return f"{text[:1].upper()}{text[1:]}." if isinstance(text, str) else ""


def key_figures(model: FittedModel, clustering: ClusteringFacts) -> dict[str, str]:
    """The key figures, with their names."""
    n, m = clustering.X.shape
    outside = int(np.sum(clustering.labels < 0))
    texts = {
        "samples": f"{n:,}",
        "features": f"{m:,}",
        "clusters": f"{len(clustering.centers):,}",
        loss_of(model).words.error: f"{model.relative_error_:.4f}",
        "passes": f"{model.n_iter_:,}",
    }
    return texts | ({"in no cluster": f"{outside:,}"} if outside else {})


def topic_figures(run: dict[str, Any]) -> dict[str, str]:
    """How good the words of topics are, if the run was one of texts."""
    results = run.get("results")
    known = results.get("topics") if isinstance(results, dict) else None
    if not isinstance(known, dict):
        return {}
    return {f"topic {name}": f"{float(value):.2f}" for name, value in known.items()}
