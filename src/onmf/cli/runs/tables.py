"""The tables of a result, in which clusters are named by their ids."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from onmf import ONMF, Baseline
from onmf.explain import Marker
from onmf.io import Sheet
from onmf.io.output import ROWS_PER_BLOCK
from onmf.io.table import one_line
from onmf.rows.sweep import Array

TOP_FEATURES = 20  # per cluster
MOST_MARKERS = 100  # per cluster
MOST_OUTLIERS_NAMED = 10  # in run.json

Model = ONMF | Baseline


def ids_of_clusters(model: Model) -> Array:
    """The id of each cluster of a model."""
    return np.asarray(getattr(model, "cluster_ids_", range(len(model.cluster_centers_))))


def ids_of_labels(ids: Array, labels: Array) -> Array:
    """The cluster id of each label; -1 stays."""
    return np.append(ids, -1)[labels]


def cluster_sizes(labels: Array, k: int) -> Array:
    """Number of samples in each of k clusters."""
    return np.bincount(labels[labels >= 0], minlength=k)


def probability_columns(ids: Array, P: Array) -> dict[str, Array]:
    """The probability of each cluster, by its id."""
    return {f"probability_{i}": own for i, own in zip(ids.tolist(), np.asarray(P).T, strict=True)}


def knows_strangers(model: Model) -> bool:
    """Whether a model can tell them: those of older versions cannot."""
    return hasattr(model, "stranger_limits_")


def stranger_count(marked: Array | None) -> int | None:
    """How many samples are marked; None if the model cannot tell."""
    return None if marked is None else int(np.sum(marked))


def stranger_sentence(count: int, samples: int) -> str:
    """How many samples are unlike those of the fit."""
    return f"{count} of {samples} samples are strangers: unlike all samples of the fit."


def labels_sheet(samples: Sequence[str], ids: Array, **columns: Array) -> Sheet:
    """labels.csv: the cluster of each sample, and more columns of numbers."""
    return Sheet(["sample", "cluster", *columns], _label_rows(samples, ids, [*columns.values()]))


def _label_rows(
    samples: Sequence[str], ids: Array, columns: Sequence[Array]
) -> Iterator[tuple[Any, ...]]:
    """Rows of labels.csv, made when they are written: a number as text takes 50 bytes."""
    for start in range(0, len(ids), ROWS_PER_BLOCK):
        some = slice(start, start + ROWS_PER_BLOCK)
        numbers = [written(column[some]) for column in columns]
        yield from zip(samples[some], ids[some].tolist(), *numbers, strict=True)


def written(column: Array) -> list[str]:
    """Numbers with six digits; yes and no as most programs read them."""
    if column.dtype.kind == "b":
        return ["true" if value else "false" for value in column.tolist()]
    return [f"{value:.6f}" for value in column.tolist()]


def labels_parquet(samples: Sequence[str], ids: Array, **columns: Array) -> bytes:
    """labels.parquet: the same with numbers as they are."""
    from onmf.io.parquet import parquet_bytes  # needs pyarrow

    return parquet_bytes({"sample": samples, "cluster": ids, **columns})


def scales_sheet(samples: Sequence[str], scales: Sequence[Any]) -> Sheet:
    """scales.csv: the cluster of each sample at every scale, coarse to fine."""
    columns = [np.array([*scale.names, "-1"])[scale.labels].tolist() for scale in scales]
    rows = zip(samples, *columns, strict=True)
    return Sheet(["sample", *(f"K={scale.k}" for scale in scales)], rows)


def markers_sheet(found: Sequence[Marker]) -> Sheet:
    """markers.csv: the most distinctive features of each cluster, best first."""
    rows = [[row.cluster, row.feature, *[f"{value:.6g}" for value in row[2:]]] for row in found]
    return Sheet(Marker._fields, rows)


def centers_sheet(ids: Array, centers: Array, features: Sequence[str]) -> Sheet:
    """centers.csv."""
    rows = [[i, *row] for i, row in zip(ids.tolist(), centers.tolist(), strict=True)]
    return Sheet(["cluster", *features], rows)


def top_sheet(ids: Array, top: Sequence[Sequence[tuple[str, float]]]) -> Sheet:
    """top_features.csv: the features of each cluster with the largest weights."""
    rows = [
        [cluster, rank, name, f"{weight:.6g}"]
        for cluster, features in zip(ids, top, strict=True)
        for rank, (name, weight) in enumerate(features, 1)
    ]
    return Sheet(["cluster", "rank", "feature", "weight"], rows)


def outlier_record(model: Model, samples: Sequence[str]) -> dict[str, Any] | None:
    """The number of outliers and the names of the worst; None without --outliers."""
    if not hasattr(model, "outlier_score_"):
        return None
    score = model.outlier_score_
    first = np.argsort(-score, kind="stable")[:MOST_OUTLIERS_NAMED]
    worst = [
        {"sample": str(samples[i]), "score": float(f"{score[i]:.4g}")}
        for i in first
        if score[i] > 1
    ]
    return {"samples": int(np.sum(score > 1)), "worst": worst}


def outlier_sentence(samples: int, worst: list[dict[str, Any]]) -> str:
    """The number of outliers, and the worst of them."""
    names = ", ".join(one_line(each["sample"]) for each in worst[:3])
    more = ", ..." if samples > 3 else ""
    return f"{samples} outliers in no cluster{f': {names}{more}' if samples else ''}."


def score_sentence(scores: Mapping[str, float]) -> str:
    """Agreement with the true classes, in words."""
    return ", ".join(f"{name.replace('_', ' ')} {v:.3f}" for name, v in scores.items()) + "."
