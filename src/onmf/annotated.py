"""What `Clusters.annotate` writes into an AnnData object, where scanpy's users expect it."""

from typing import TYPE_CHECKING, Any

import numpy as np

from onmf.explain import Markers
from onmf.rows.source import OBSM
from onmf.rows.sweep import Array

if TYPE_CHECKING:
    from onmf.clusters import Clusters

TOP_VARIABLES = 20  # per cluster, in uns


def write_clusters(found: "Clusters", adata: Any, key: str) -> None:
    """Labels and scores into ``obs`` and ``obsm``, centroids into ``varm``, the rest into ``uns``.

    The observations are those that were clustered, by name; of others everything is missing. If
    `adata` is a view, it is written into the object that it is of, as well.
    """
    if adata.is_view:
        parent = adata._adata_ref
        adata._init_as_actual(adata.copy())
        write_clusters(found, parent, key)
    import pandas as pd

    place = pd.Index(found.samples.index.astype(str)).get_indexer(adata.obs_names.astype(str))
    inside, n = place >= 0, adata.n_obs
    if not inside.any():
        raise ValueError("no observation of the object was clustered: the names differ.")
    model, X = found.onmf, found.prepared_samples
    labels, names = model.labels_, [str(k) for k in model.cluster_ids_]

    def spread(values: Array, empty: float = np.nan) -> Array:
        whole = np.full((n, *values.shape[1:]), empty, values.dtype)
        whole[inside] = values[place[inside]]
        return whole

    adata.obs[key] = pd.Categorical.from_codes(spread(labels, -1), names)
    adata.obs[f"{key}_certainty"] = spread(found.samples["probability"].to_numpy())
    adata.obs[f"{key}_unusual"] = spread(found.samples["unusual"].to_numpy())
    adata.obsm[f"X_{key}"] = spread(model.decision_function(X), 0)
    adata.obsm[f"{key}_membership"] = spread(np.asarray(model.membership_), 0)
    variables = [str(name) for name in adata.var_names]
    known = {name: number for number, name in enumerate(found.features)}
    if set(variables) & known.keys() and not (found.layer or "").startswith(OBSM):
        places = np.array([known.get(name, -1) for name in variables])
        centers = model.cluster_centers_.T
        adata.varm[f"{key}_centers"] = np.where(places[:, None] >= 0, centers[places], 0)
    adata.uns.update(entries_of_uns(found, key))


def entries_of_uns(found: "Clusters", key: str) -> dict[str, Any]:
    """What is written about the result as a whole."""
    import pandas as pd

    model = found.onmf
    facts: dict[str, Any] = {
        "params": {"layer": found.layer or "X"} | storable(model.get_params(deep=False)),
        "relative_error": float(model.relative_error_),
        "n_iter": int(model.n_iter_),
        "converged": bool(model.converged_),
        "notes": found.notes,
    }
    if found.choice is not None:
        facts["reason"] = found.choice.reason
    if found.markers is None:
        return {key: facts}
    facts["top_features"] = with_text(found.markers.frame(TOP_VARIABLES))
    facts["clusters"] = with_text(pd.DataFrame(found.rows))
    return {key: facts, f"rank_genes_groups_{key}": ranking(found.markers, key, found.layer)}


def with_text(frame: Any) -> Any:
    """A table with the ids of clusters as text, as the categories of `obs` are."""
    return frame.assign(**{name: frame[name].astype(str) for name in ("cluster", "neighbour")})


def ranking(markers: Markers, groupby: str, layer: str | None) -> dict[str, Any]:
    """All variables of each cluster that has cells, in scanpy's layout of record arrays."""
    known = [k for k in range(len(markers.clusters)) if markers.sizes[k]]
    columns = {
        "names": np.array(markers.features, dtype=object),
        "scores": markers.facts.score.astype(np.float32),
        "pvals": markers.p_value,
        "pvals_adj": markers.p_adjusted,
        "logfoldchanges": markers.facts.log2_fold_change.astype(np.float32),
    }
    params: dict[str, Any] = {
        "groupby": groupby,
        "reference": "rest",
        "method": "onmf: effect size, p-values by halves of the variables and gaps",
        "use_raw": layer == "raw",
        "corr_method": "benjamini-hochberg",
    }
    if layer not in (None, "raw"):
        params["layer"] = layer
    layout: dict[str, Any] = {"params": params}
    for name, values in columns.items():
        by_rank = [(values if values.ndim == 1 else values[k])[markers.order[k]] for k in known]
        kinds = [(str(markers.clusters[k]), values.dtype) for k in known]
        layout[name] = np.rec.fromarrays(by_rank, dtype=kinds)
    return layout


def storable(params: dict[str, Any]) -> dict[str, Any]:
    """What was set, as values that an .h5ad file can hold."""
    plain = bool | int | float | str
    return {
        name: value if isinstance(value, plain) else repr(value)
        for name, value in params.items()
        if value is not None
    }
