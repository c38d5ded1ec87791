"""What is written about a fit into an AnnData object, where scanpy's users expect it."""

from typing import IO, Any, NamedTuple

import numpy as np

from onmf.cells.matrix import at_variables, log_base
from onmf.estimators import ONMF
from onmf.explain import Explanation, Markers
from onmf.explain.explanation import clusters_or_none
from onmf.number import KChoice
from onmf.rows.source import OBSM, RAW
from onmf.rows.sweep import Array

TOP_VARIABLES = 20  # per cluster, in uns


class CellFit(NamedTuple):
    """A fit, what it was fitted to, and what is known about it.

    samples : a table, or an embedding.
    about : which matrix of the object it was.
    varm : the centroids, one row for each variable of the object; None if it has others.
    choice : how the number of clusters was chosen.
    rank_key : the key of `uns` for the ranking.
    """

    model: ONMF
    samples: Any
    explanation: Explanation | None
    about: dict[str, Any]
    varm: Array | None
    choice: KChoice | None
    rank_key: str = "rank_genes_groups_onmf"


def annotated(source: str, layer: str | None, fit: CellFit, file: IO[bytes]) -> None:
    """Write the .h5ad file `source` into `file`, with a fit to its X, or to a layer."""
    try:
        import anndata
    except ImportError as missing:
        raise ImportError(
            '--write-h5ad needs AnnData: `pip install "onmf[anndata]"` installs it.'
        ) from missing
    adata = anndata.read_h5ad(source)
    is_raw = layer == RAW and RAW not in adata.layers  # as `io.annotated` reads it
    base = log_base(adata, None if is_raw else layer)
    if base is not None and not getattr(fit.model, "preprocessing_", ()):
        found = clusters_or_none(
            fit.model, fit.samples, feature_names=fit.samples.features, log_base=base
        )
        fit = fit._replace(explanation=found)
    if layer is not None and layer.startswith(OBSM):
        fit = fit._replace(about={"obsm": layer.removeprefix(OBSM)}, explanation=None)
    elif is_raw:
        centers = at_variables(adata, fit.samples.features, fit.model.cluster_centers_)
        fit = fit._replace(about={"use_raw": True}, varm=centers)
    else:
        about = {} if layer is None else {"layer": layer}
        fit = fit._replace(about=about, varm=fit.model.cluster_centers_.T)
    write_fit(adata, "onmf", fit)
    adata.write_h5ad(file.name)


def write_fit(
    adata: Any, key: str, fit: CellFit, rows: Any = slice(None), columns: Any = slice(None)
) -> None:
    """Write a fit to these observations and variables of an object into it."""
    import pandas as pd

    model, found, n = fit.model, fit.explanation, adata.n_obs
    labels, names = model.labels_, [str(k) for k in range(len(model.cluster_centers_))]
    certainty = (labels >= 0).astype(float) if found is None else found.certainty
    adata.obs[key] = pd.Categorical.from_codes(_at(rows, labels, n, -1), names)
    adata.obs[f"{key}_certainty"] = _at(rows, certainty, n, np.nan)
    adata.obs[f"{key}_unusual"] = _at(rows, model.unusual(fit.samples), n, np.nan)
    adata.obsm[f"X_{key}"] = _at(rows, model.decision_function(fit.samples), n)
    adata.obsm[f"{key}_membership"] = _at(rows, np.asarray(model.membership_), n)
    if fit.varm is not None:
        adata.varm[f"{key}_centers"] = _at(columns, fit.varm, adata.n_vars)
    adata.uns.update(_entries_of_uns(fit, key))


def _at(where: Any, values: Array, n: int, empty: float = 0) -> Array:
    """An array of n rows with these values at some of them."""
    whole = np.full((n, *values.shape[1:]), empty, values.dtype)
    whole[where] = values
    return whole


def _with_text(frame: Any) -> Any:
    """A table with the ids of clusters as text, as the categories of `obs` are."""
    return frame.assign(**{name: frame[name].astype(str) for name in ("cluster", "neighbour")})


def _entries_of_uns(fit: CellFit, key: str) -> dict[str, Any]:
    """What is written about the fit as a whole."""
    import pandas as pd

    model, found = fit.model, fit.explanation
    facts: dict[str, Any] = {
        "params": {"layer": "X"} | fit.about | _storable(model.get_params(deep=False)),
        "relative_error": float(model.relative_error_),
        "n_iter": int(model.n_iter_),
        "converged": bool(model.converged_),
    }
    if fit.choice is not None:
        facts["reason"] = fit.choice.reason
    if found is None:
        return {key: facts}
    top = found.markers.frame(TOP_VARIABLES)
    facts["top_features"] = _with_text(top)
    facts["clusters"] = _with_text(pd.DataFrame(found.clusters()))
    return {key: facts, fit.rank_key: _ranking(found.markers, key, fit.about)}


def _ranking(markers: Markers, groupby: str, about: dict[str, Any]) -> dict[str, Any]:
    """All variables of each cluster that has cells, in scanpy's layout of record arrays."""
    known = [k for k in markers.clusters if markers.sizes[k]]
    columns = {
        "names": np.array(markers.features, dtype=object),
        "scores": markers.facts.score.astype(np.float32),
        "pvals": markers.p_value,
        "pvals_adj": markers.p_adjusted,
        "logfoldchanges": markers.facts.log2_fold_change.astype(np.float32),
    }
    layout: dict[str, Any] = {
        "params": {
            "groupby": groupby,
            "reference": "rest",
            "method": "onmf: effect size, p-values by halves of the variables and gaps",
            "use_raw": about.get("use_raw", False),
            "corr_method": "benjamini-hochberg",
        }
        | ({"layer": about["layer"]} if "layer" in about else {})
    }
    for name, values in columns.items():
        by_rank = [(values if values.ndim == 1 else values[k])[markers.order[k]] for k in known]
        kinds = [(str(k), values.dtype) for k in known]
        layout[name] = np.rec.fromarrays(by_rank, dtype=kinds)
    return layout


def _storable(params: dict[str, Any]) -> dict[str, Any]:
    """What was set, as values that an .h5ad file can hold."""
    plain = bool | int | float | str
    return {
        name: value if isinstance(value, plain) else repr(value)
        for name, value in params.items()
        if value is not None
    }
