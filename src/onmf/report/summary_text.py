"""What was done, with what, and how it ended: in a sentence, in figures, and in full."""

from typing import Any

import numpy as np

from onmf.bounds.certificate import FittedFactors, certificate_of_fit
from onmf.io.versions import package_versions
from onmf.losses import LOSSES, Loss
from onmf.report.clustering import ClusteringFacts
from onmf.report.names import display_name

PENALTIES = {"sncp": "smooth penalty", "nsncp": "non-smooth penalty"}


def default_record(clustering: ClusteringFacts) -> dict[str, Any]:
    """Parameters and versions of a fit that nobody kept a record of."""
    return {"parameters": clustering.parameters, "versions": package_versions()}


def page_title(run: dict[str, Any]) -> str:
    """The name of the input file, if there was one."""
    source = run.get("input")
    file = source.get("file") if isinstance(source, dict) else None
    return display_name(file) if file else "Clustering report"


def opening_sentence(clustering: ClusteringFacts) -> str:
    """What was done, for people."""
    n, m = clustering.X.shape
    means = [PENALTIES.get(str(clustering.parameters.get("penalty")), "")]
    loss = _loss(clustering)
    if "penalty" not in loss.supports:
        means = [loss.words.loss]
    if isinstance(seed := clustering.parameters.get("random_state"), int | np.integer):
        means.append(f"seed {seed}")
    by = ", ".join(filter(None, means))
    sweeps = f"{clustering.sweeps:,} sweep{'' if clustering.sweeps == 1 else 's'}"
    ending = "" if clustering.converged else ", where a limit stopped it"
    lost, missing = int(np.sum(clustering.labels < 0)), ""
    if clustering.parameters.get("outliers") is not None:
        ending += f"; {lost:,} samples fit no cluster"
    if clustering.missing_share:
        missing = (
            f" {100 * clustering.missing_share:.2g} % of the entries are missing. The error "
            "ignores them; the map fills them from the centroids."
        )
    return (
        f"{clustering.method} put {n:,} samples of {m:,} features into "
        f"{clustering.n_clusters:,} clusters{f' ({by})' if by else ''}. One centroid a sample "
        f"explains {1 - clustering.relative_error:.1%} of the data, after {sweeps} over "
        f"them{ending}.{missing}"
    )


def _loss(clustering: ClusteringFacts) -> Loss:
    return LOSSES[clustering.parameters.get("loss", "frobenius")]


def proof_sentence(run: dict[str, Any], model: FittedFactors) -> str:
    """How far from the best clustering this one can be, if the run or the fit knows."""
    results = run.get("results")
    told = results.get("proof") if isinstance(results, dict) else None
    if isinstance(told, dict):
        said = told.get("sentence")
    else:
        said = str(known) if (known := certificate_of_fit(model)) else None
    return f"{said[:1].upper()}{said[1:]}." if isinstance(said, str) else ""


def key_figures(clustering: ClusteringFacts) -> dict[str, str]:
    """The key figures, with their names."""
    n, m = clustering.X.shape
    missing = int(np.sum(clustering.labels < 0))
    texts = {
        "samples": f"{n:,}",
        "features": f"{m:,}",
        "clusters": f"{clustering.n_clusters:,}",
        _loss(clustering).words.error: f"{clustering.relative_error:.4f}",
        "sweeps": f"{clustering.sweeps:,}",
    }
    return texts | ({"in no cluster": f"{missing:,}"} if missing else {})
