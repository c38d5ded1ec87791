"""The tables of a result, in which clusters are named by their ids."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from onmf import ONMF, Baseline
from onmf.explain import Calibration, ClusterRow, Marker
from onmf.explain.probabilities import NO_DOUBT, certainty_of
from onmf.explain.typical import decimals
from onmf.io import Sheet, Table, csv_writer
from onmf.io.output import Content
from onmf.io.sheets import Columns
from onmf.io.table import Coded, one_line
from onmf.io.terms import Terms
from onmf.metrics import (
    adjusted_rand_score,
    clustering_accuracy,
    normalized_mutual_info_score,
)
from onmf.prepare.steps import units_after
from onmf.rows.sweep import Array

LONGEST_CELL = 32_767  # characters in Excel, which puts the rest into other rows
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


def certainty_and_distance(model: Model, table: Table, labels: Array) -> dict[str, Array]:
    """Certainty and distance of each sample.

    Models of older versions, and models of one cluster, have no certainty curve: any label is
    certain.
    """
    margin, distance = model.nearness(table)
    curve, k = getattr(model, "certainty_curve_", None), len(model.cluster_centers_)
    known = NO_DOUBT if curve is None else Calibration.of(curve)
    return {"certainty": certainty_of(known, margin, labels, k), "distance": distance}


def knows_strangers(model: Model) -> bool:
    """Whether a model can tell them: those of older versions cannot."""
    return bool(vars(model).keys() & {"stranger_limits_", "_kept"})


def stranger_count(marked: Array | None) -> int | None:
    """How many samples are marked; None if the model cannot tell."""
    return None if marked is None else int(np.sum(marked))


def stranger_sentence(count: int, samples: int) -> str:
    """How many samples are unlike those of the fit, and how many would be by chance."""
    are = "is a stranger" if count == 1 else "are strangers"
    usual = "of samples of the same kinds, up to 3 % are called so"
    return f"{count} of {samples} samples {are}, unlike the samples of the fit; {usual}."


class Labels(NamedTuple):
    """The table of all samples: name, cluster, name of the cluster, numbers, text.

    numbers : columns of numbers, such as the certainty.
    names : of the clusters, by id.
    texts : of the samples, if they are texts.
    """

    samples: Sequence[str]
    ids: Array
    numbers: Mapping[str, Array]
    names: Mapping[int, str]
    texts: Sequence[str] | None = None

    def columns(self) -> dict[str, Any]:
        """All columns, as text only when they are written."""
        texts = [" ".join(text.split())[:LONGEST_CELL] for text in self.texts or ()]
        own = {
            "sample": self.samples,
            "cluster": self.ids,
            "name": names_of_ids(self.ids, self.names),
        }
        return {**own, **self.numbers} | ({} if self.texts is None else {"text": texts})

    def sheet(self) -> Sheet:
        """labels.csv."""
        digits = {name: decimals(own, 6, more=3) for name, own in self.numbers.items()}
        columns = self.columns()
        rows = Columns([*columns.values()], [digits.get(name, 0) for name in columns])
        return Sheet([*columns], rows)

    def content(self, ending: str, raw_names: bool = False) -> Content:
        """A file of this ending; a workbook and Parquet have the numbers as they are."""
        return {".parquet": self._parquet, ".xlsx": self._workbook}.get(
            ending, lambda: csv_writer(self.sheet(), raw_names)
        )()

    def _parquet(self) -> Content:
        from onmf.io.parquet import write_parquet  # needs pyarrow

        return partial(write_parquet, self.columns())

    def _workbook(self) -> bytes:
        from onmf.io.workbook import workbook_bytes  # needs openpyxl

        columns = self.columns()
        values = (own.tolist() if isinstance(own, np.ndarray) else own for own in columns.values())
        return workbook_bytes([*columns], zip(*values, strict=True))


def names_of_ids(ids: Array, names: Mapping[int, str]) -> Coded:
    """The name of the cluster of each sample, by its id; none for -1."""
    known = np.array(sorted({-1, *names}))
    return Coded([names.get(i, "") for i in known.tolist()], np.searchsorted(known, ids))


def scales_sheet(samples: Sequence[str], scales: Sequence[Any]) -> Sheet:
    """scales.csv: the cluster of each sample at every scale, coarse to fine."""
    columns = [np.array([*scale.names, "-1"])[scale.labels] for scale in scales]
    return Sheet(["sample", *(f"K={scale.k}" for scale in scales)], Columns([samples, *columns]))


def clusters_sheet(found: Sequence[ClusterRow], terms: Terms) -> Sheet:
    """clusters.csv: what each cluster is worth, with notes in the words of the reader."""
    told = [row._replace(note=terms.say(row.note)) for row in found]
    return Sheet(ClusterRow._fields, [[*map(_cell, row)] for row in told])


def markers_sheet(found: Sequence[Marker]) -> Sheet:
    """markers.csv: the most distinctive features of each cluster, best first."""
    return Sheet(Marker._fields, [[*map(_cell, row)] for row in found])


def _cell(value: Any) -> Any:
    """A number in a few digits; nothing for None."""
    return f"{value:.6g}" if isinstance(value, float) else "" if value is None else value


def centers_sheet(model: Model, features: Sequence[str]) -> Sheet:
    """centers.csv, in the units of the input."""
    W = model.cluster_centers_ * units_after(getattr(model, "preprocessing_", ()))
    rows = [[i, *row] for i, row in zip(ids_of_clusters(model).tolist(), W.tolist(), strict=True)]
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


def agreement_scores(truth: Sequence[str] | None, labels: Array) -> dict[str, float] | None:
    """Agreement with the true classes, if they are known."""
    if truth is None:
        return None
    return {
        "accuracy": float(clustering_accuracy(truth, labels)),
        "adjusted_rand_index": float(adjusted_rand_score(truth, labels)),
        "normalized_mutual_information": float(normalized_mutual_info_score(truth, labels)),
    }
