"""Words that describe the clusters of a matrix of embeddings: --describe."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from onmf.prepare import Tfidf, Words
from onmf.rows import Table, listing
from onmf_app.read import read_input
from onmf_app.runs.inputs import Input


class Description(NamedTuple):
    """The tf-idf of the words of each sample, the words, and the texts they are of."""

    X: Any
    words: Words
    texts: list[str]


def describe(source: Input, samples: Sequence[str]) -> Description | None:
    """The words of the texts of these samples, which are matched by name, or else by order."""
    if source.describe is None:
        return None
    path = Path(source.describe)
    read = read_input(path, text=True, text_column=source.text_column, id_column=source.id_column)
    found = Table(read.data, read.samples, [])
    texts = _in_order(found, samples, path.name)
    own = {option.parameter for option in Words.options}
    given = {n: v for n, v in source.settings.items() if n in own and v is not None}
    words = Words.fit(texts, **given)
    counts = words(texts)
    return Description(Tfidf.fit(counts)(counts), words, texts)


def _in_order(found: Table, samples: Sequence[str], file: str) -> list[str]:
    known = dict(zip(found.samples, found.X, strict=True))
    if {*samples} <= known.keys():
        return [known[name] for name in samples]
    if len(found.X) == len(samples):
        return list(found.X)
    few = listing([repr(name) for name in samples if name not in known][:3], len(samples))
    raise ValueError(
        f"{file} has {len(found.X)} texts for {len(samples)} samples, and not by their names "
        f"({few}): name them with --id-column."
    )
