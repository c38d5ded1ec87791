"""The tables of a result, in which clusters are named by their ids."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from onmf import ONMF
from onmf.explain import ClusterRow, Marker
from onmf.explain.typical import decimals
from onmf.metrics import (
    adjusted_rand_score,
    clustering_accuracy,
    normalized_mutual_info_score,
)
from onmf.prepare.steps import units_after
from onmf.rows import Array, Coded, Terms, one_line
from onmf_app.runs.sheets import Columns, Sheet

LONGEST_CELL = 32_767  # characters in Excel, which puts the rest into other rows
MOST_MARKERS = 100  # per cluster
MOST_OUTLIERS_NAMED = 10  # in run.json


def ids_of_labels(ids: Array, labels: Array) -> Array:
    """The cluster id of each label; -1 stays."""
    return np.append(ids, -1)[labels]


def cluster_sizes(labels: Array, k: int) -> Array:
    """Number of samples in each of k clusters."""
    return np.bincount(labels[labels >= 0], minlength=k)


def probability_columns(ids: Array, P: Array) -> dict[str, Array]:
    """The probability of each cluster, by its id."""
    return {f"probability_{i}": own for i, own in zip(ids.tolist(), np.asarray(P).T, strict=True)}


class Labels(NamedTuple):
    """The table of all samples: name, cluster, name of the cluster, numbers, text.

    numbers : columns of numbers, such as the probability.
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


def centers_sheet(model: ONMF, features: Sequence[str]) -> Sheet:
    """centers.csv, in the units of the input."""
    W = model.cluster_centers_ * units_after(getattr(model, "preprocessing_", ()))
    rows = [[i, *row] for i, row in zip(model.cluster_ids_.tolist(), W.tolist(), strict=True)]
    return Sheet(["cluster", *features], rows)


def outlier_sentence(samples: int, worst: Sequence[str]) -> str:
    """The number of outliers, and the worst of them."""
    names = ", ".join(map(one_line, worst[:3]))
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
