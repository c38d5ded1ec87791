"""A batch of a stream: what the state keeps of it, the clusters of its samples, a sentence."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from onmf import ONMF, StreamONMF
from onmf.io import Table, to_json_values
from onmf.io.source import Source
from onmf.io.terms import Terms, batches_counted
from onmf.page.periods import WORDS_PER_PERIOD, period_words
from onmf.rows.sweep import Array, row_sqnorm
from onmf_app.runs import tables
from onmf_app.runs.changes import Changes

ROWS_FOR_WORDS = 20_000  # of a batch on disk, for the words of its clusters


def batch_labels(
    model: StreamONMF, table: Table, marked: Array | None, texts: Sequence[str] | None
) -> tables.Labels:
    """The clusters of the last batch, in the columns of labels.csv; `marked` are its strangers."""
    ids = tables.ids_of_labels(tables.ids_of_clusters(model), model.labels_)
    columns = tables.certainty_and_distance(model, table, model.labels_)
    columns |= {} if marked is None else {"stranger": marked}
    return tables.Labels(table.samples, ids, columns, model.cluster_names_, texts)


def batch_entry(model: StreamONMF, table: Table, key: str, name: str) -> dict[str, Any]:
    """What the state keeps of the last batch."""
    ids = model.cluster_ids_.tolist()
    some, labels = rows_in_memory(table, model.labels_)
    words = period_words(some, labels, model.cluster_centers_, table.features)
    facts = {
        "key": key,
        "name": name,
        "samples": len(table.samples),
        "sizes": sizes_by_id(model, model.labels_),
        "words": {str(ids[k]): own for k, own in words.items()},
        "waiting": model.n_waiting_,
        "strangers": getattr(model, "n_novel_", 0),
        "zeros": int(np.sum(row_sqnorm(some[labels < 0]) == 0)),
        "relative_error": model.relative_error_,
    }
    return dict(to_json_values(facts | (model.lineage_._asdict() if model.lineage_ else {})))


def first_entry(model: ONMF, labels: Array, known: Mapping[str, Any]) -> dict[str, Any]:
    """The same of the input of `onmf cluster`, from its record."""
    words = {str(i): named for i, named in heavy_words(model).items()}
    first = {"key": known["sha256"], "name": known["file"], "samples": len(labels)}
    return first | {"sizes": sizes_by_id(model, labels), "words": words}


def stream_sentence(
    last: Mapping[str, Any], totals: Mapping[str, Any], changes: Changes, terms: Terms
) -> str:
    """The size of a stream, and what its last batch changed."""
    said = f"{terms.counted(totals['samples'], 'sample')} in {batches_counted(totals['batches'])}, "
    said += f"{terms.counted(len(totals['clusters']), 'cluster')}. "
    said += f"The last batch, {last['name']}: {terms.counted(last['samples'], 'sample')}, "
    said += f"{terms.say(changes.sentence())}"
    if changes.strangers:
        said += f", {changes.strangers} fit no {terms.cluster}"
    if last.get("marked_strangers"):
        said += f", {last['marked_strangers']} marked as strangers"
    waiting = totals["waiting"]
    return f"{said}. {terms.counted(waiting, 'sample')} {'waits' if waiting == 1 else 'wait'}."


def sizes_by_id(model: ONMF, labels: Array) -> dict[str, int]:
    """The number of samples of each cluster that has any, by id."""
    sizes = tables.cluster_sizes(labels, len(model.cluster_centers_)).tolist()
    return {str(i): n for i, n in zip(model.cluster_ids_.tolist(), sizes, strict=True) if n}


def heavy_words(model: ONMF) -> dict[int, list[str]]:
    """The features of each cluster with the largest weights, by id."""
    tops = zip(model.cluster_ids_.tolist(), model.top_features(WORDS_PER_PERIOD), strict=True)
    return {i: [name for name, weight in top if weight > 0] for i, top in tops}


def rows_in_memory(table: Table, labels: Array) -> tuple[Any, Array]:
    """The rows and labels of a batch; if it is on disk, of ROWS_FOR_WORDS of them and no others."""
    if not isinstance(table.X, Source):
        return table.X, labels
    some = np.unique(np.linspace(0, len(labels) - 1, ROWS_FOR_WORDS).astype(int))
    return table.X[some], labels[some]
