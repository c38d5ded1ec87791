"""All samples, for the list that can be read, searched and sorted: columns in one block of JSON.

The browser unpacks the block when the list is first used and draws a page of rows at a time. A
text is carried up to a length at which all of them have MAX_CHARACTERS together.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from onmf.explain.typical import decimals
from onmf.page.clustering import ClusteringFacts
from onmf.page.embedding import stratified_order
from onmf.page.names import display_name, whole_text
from onmf.rows.sweep import Array

# 20,000 texts of 38 million characters: 17 MB, unpacked in 1.6 s, a search in .1 s (bench page).
MAX_CHARACTERS = 40_000_000
MAX_ROWS = 100_000  # which a browser sorts in .15 s


class SampleTimes(NamedTuple):
    """The periods there are, in order, and the number of that of each sample."""

    names: Sequence[str]
    numbers: Array


def sample_columns(clustering: ClusteringFacts, times: SampleTimes | None) -> dict[str, Any]:
    """Names, texts, clusters and numbers of the samples, and what is left out.

    A further number of each sample is one more entry of `numbers`: its title, its values, and
    whether the list begins with the largest.
    """
    rows, texts = listed_rows(clustering.labels), clustering.texts
    longest = None if texts is None else text_length([len(texts[i]) for i in rows])
    truth = clustering.truth
    numbers = {
        "certainty": ("Certainty", clustering.certainty, True),
        "distance": ("Distance", np.sqrt(np.maximum(1 - clustering.explained, 0)), False),
    }
    return {
        "name": [display_name(clustering.sample_names[i]) for i in rows],
        "text": None if texts is None else [whole_text(texts[i][:longest]) for i in rows],
        "cluster": clustering.labels[rows].tolist(),
        "numbers": {
            key: _number(title, values[rows], falls)
            for key, (title, values, falls) in numbers.items()
        },
        "class": None if truth is None else [display_name(truth[i]) for i in rows],
        "periods": None if times is None else [display_name(name) for name in times.names],
        "period": None if times is None else np.asarray(times.numbers)[rows].tolist(),
        "note": " ".join(_left_out(clustering, len(rows), longest)),
    }


def _number(title: str, values: Array, falls: bool) -> dict[str, Any]:
    """A number of each sample, and with how many decimals to show it."""
    digits = decimals(values)
    return {
        "title": title,
        "falls": falls,
        "digits": digits,
        "values": np.round(values, digits + 1).tolist(),
    }


def listed_rows(labels: Array) -> list[int]:
    """All samples or, of more than MAX_ROWS, some in proportion to the clusters."""
    if len(labels) <= MAX_ROWS:
        return list(range(len(labels)))
    order = stratified_order(labels, np.random.default_rng(0), MAX_ROWS)
    return list(np.sort(order).tolist())


def text_length(lengths: Sequence[int]) -> int | None:
    """The length at which texts are cut so that all have MAX_CHARACTERS; None if they need not be.

    With the lengths in order, l_1 <= l_2 <= ..., the first i texts stay whole and the others share
    what is left: (MAX_CHARACTERS - l_1 - ... - l_i) / (n - i).
    """
    ordered = np.sort(np.asarray(lengths, np.int64))
    if ordered.sum() <= MAX_CHARACTERS:
        return None
    before = np.concatenate([[0], np.cumsum(ordered)[:-1]])
    share = (MAX_CHARACTERS - before) // np.arange(len(ordered), 0, -1)
    return int(share[np.argmax(ordered > share)])


def _left_out(clustering: ClusteringFacts, shown: int, longest: int | None) -> list[str]:
    n, terms = len(clustering.labels), clustering.terms
    said = []
    if shown < n:
        said.append(
            terms.say(
                f"{shown:,} of the {n:,} samples, chosen at random in proportion to the clusters; "
                "labels.csv has all."
            )
        )
    if longest is not None:
        said.append(f"Texts are shown up to {longest:,} characters.")
    return said
